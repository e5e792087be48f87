"""The same training step in plain PyTorch, batched and without wasted work. Prints milliseconds per step.

Run it with a Python that has PyTorch: `python training_torch.py paper|mamba LENGTH BATCH STEPS eager|compiled`.
"""

from __future__ import annotations

import math
import sys
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ORDER, SYMBOLS, DIMENSION, RATE = 2, 2, 64, 1e-3


class Attention(nn.Module):
    def __init__(self, d: int, rows: int, relative: bool) -> None:
        super().__init__()
        self.joint = nn.Linear(d, 3 * d, bias=False)
        self.projection = nn.Linear(d, d, bias=False)
        self.positions = nn.Parameter(0.02 * torch.randn(rows, d)) if relative else None
        offset = torch.arange(rows)[:, None] - torch.arange(rows)[None, :]
        self.register_buffer("offset", offset.clamp(min=0))
        self.register_buffer("later", offset < 0)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.joint(x).chunk(3, dim=-1)
        query = query / math.sqrt(x.shape[-1])
        if self.positions is None:
            return self.projection(F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=1.0))
        scores = query @ key.transpose(1, 2)
        by_offset = query @ self.positions.T
        scores = scores + by_offset.gather(2, self.offset.expand(len(x), -1, -1))
        return self.projection(scores.masked_fill(self.later, -math.inf).softmax(dim=-1) @ value)


class Stack(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x + self.norms[0](F.relu(self.first(x)))
        y = x + self.norms[1](F.relu(self.second(y)))
        return y + self.norms[2](F.relu(self.third(y)))


class Model(nn.Module):
    def __init__(self, d: int, rows: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, d)
        self.first, self.stack, self.second = Attention(d, rows, True), Stack(d), Attention(d, rows, False)
        self.output_bias = nn.Parameter(torch.zeros(SYMBOLS))
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        x = self.stack(x + self.first(x))
        return F.linear(x + self.second(x), self.embedding.weight, self.output_bias)


class Mamba(nn.Module):
    """One layer of Mamba-2 in its quadratic form: 4 heads, each with its own keys, behind a convolution."""

    def __init__(self, d: int, heads: int = 4, state: int = 32, expansion: int = 2, taps: int = ORDER + 1) -> None:
        super().__init__()
        self.heads, self.state, self.width, self.taps = heads, state, expansion * d // heads, taps
        channels = heads * (2 * state + self.width)
        self.joint = nn.Linear(d, channels, bias=False)
        self.gate = nn.Linear(d, expansion * d, bias=False)
        self.convolution = nn.Conv1d(channels, channels, taps, groups=channels)
        self.step = nn.Linear(d, heads)
        self.decay, self.skip = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.ones(heads))
        self.gain = nn.Parameter(torch.ones(heads, self.width))
        self.projection = nn.Linear(expansion * d, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, rows, _ = x.shape
        mixed = self.convolution(F.pad(self.joint(x).transpose(1, 2), (self.taps - 1, 0)))
        mixed = F.silu(mixed).view(batch, self.heads, -1, rows).transpose(2, 3)
        query, key, value = mixed.split([self.state, self.state, self.width], dim=-1)
        step = F.softplus(self.step(x)).transpose(1, 2)  # batch, heads, rows
        along = (-step * self.decay.exp()[:, None]).cumsum(dim=-1)
        decays = (along[..., :, None] - along[..., None, :]).tril().exp().tril()
        read = (query @ (key * step[..., None]).transpose(2, 3) * decays) @ value + self.skip[:, None, None] * value
        gated = read * F.silu(self.gate(x)).view(batch, rows, self.heads, -1).transpose(1, 2)
        normed = gated * torch.rsqrt(gated.square().mean(dim=-1, keepdim=True) + 1e-5) * self.gain[:, None]
        return self.projection(normed.transpose(1, 2).reshape(batch, rows, -1))


class MambaModel(nn.Module):
    """A layer norm, one Mamba layer, a layer norm and an untied output matrix."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.embedding, self.mamba = nn.Embedding(SYMBOLS, d), Mamba(d)
        self.before, self.after, self.output = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        return self.output(self.after(x + self.mamba(self.before(x))))


def sample(length: int, batch: int) -> Tensor:
    """Fresh kernels with uniform rows, one sequence of length + 1 tokens from each."""
    kernel = torch.rand(batch, SYMBOLS**ORDER)
    uniforms = torch.rand(length + 1 - ORDER, batch)
    tokens = [*torch.randint(SYMBOLS, (ORDER, batch))]
    context = tokens[0] * SYMBOLS + tokens[1]
    for uniform in uniforms:
        token = (uniform >= kernel.gather(1, context[:, None])[:, 0]).long()
        context = (context * SYMBOLS + token) % SYMBOLS**ORDER
        tokens.append(token)
    return torch.stack(tokens, dim=1)


def measure(kind: str, length: int, batch: int, steps: int, compiled: bool) -> float:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model(DIMENSION, length) if kind == "paper" else MambaModel(DIMENSION // 2)
    matrices = [p for p in model.parameters() if p.ndim == 2 and p is not model.embedding.weight]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    groups = [{"params": matrices, "weight_decay": 1e-3}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95), fused=True)

    forward = torch.compile(model) if compiled else model

    def step() -> None:
        tokens = sample(length, batch)
        logits = forward(tokens[:, :-1])[:, ORDER - 1 :]
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, ORDER:].flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    for _ in range(20):
        step()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps * 1e3


if __name__ == "__main__":
    print(measure(sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5] == "compiled"))
