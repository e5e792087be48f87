"""Models of this package in PyTorch: `load(path)` returns a plain `torch.nn.Module`, for use with other tools.

Imports PyTorch and safetensors, but neither JAX nor Equinox. The names and the layout of the tensors are a contract
(docs/pytorch.md); `state_dict` has the names of the file. Every head passes its attention weights, (…, rows, rows) with
queries in rows, through the module `layers[l].heads[h].pattern`: a forward hook there reads or replaces them.
Tokens are one sequence (T,) or a batch (B, T); everything else then has the batch in front.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional

from anyorder.errors import InputError, require
from anyorder.io.gates import gated, open_regular
from anyorder.io.trees import rebuilt
from anyorder.zoo import located

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FORMAT = "anyorder model 2"
EPSILON = 1e-5
_ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
}


@gated
def load(path: str | Path) -> Transformer:
    """Read a model written by `anyorder.save` or `anyorder build`, or `zoo:NAME`."""
    path = located(path)
    open_regular(path, "a .safetensors file").close()
    try:
        with safe_open(str(path), framework="pt") as file:
            header = dict(json.loads((file.metadata() or {})["anyorder"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a .safetensors file") from None
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        raise InputError(f"{path} is not a complete model of anyorder; write it again with `anyorder.save`") from None
    found = header.get("format")
    require(found == FORMAT, f"{path} contains {found!r}, must be {FORMAT!r}; write it again with this version")
    try:
        return rebuilt(header["value"], tensors, _KINDS, lambda tensor: tensor).eval()
    except KeyError as error:
        raise InputError(f"{path} has a {error}, which has no PyTorch form; run it with `anyorder.load`") from None


class _Part(nn.Module):
    """Fields of the file as attributes: tensors are parameters, parts are sub-modules, all others are unchanged."""

    def __init__(self, **fields: object) -> None:
        super().__init__()
        for name, value in fields.items():
            if isinstance(value, Tensor):
                self.register_parameter(name, nn.Parameter(value, requires_grad=value.is_floating_point()))
            elif isinstance(value, tuple) and all(isinstance(entry, nn.Module) for entry in value):
                setattr(self, name, nn.ModuleList(value))
            else:
                setattr(self, name, value)


class UnitNorm(_Part):
    """Rows divided by their length; zero stays zero."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise rows (…, width)."""
        squared = (x * x).sum(-1, keepdim=True)
        return x / torch.where(squared > 0, squared, torch.ones_like(squared)).sqrt()


class LayerNorm(_Part):
    """The standard layer norm, with `gain` and `bias`."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise rows (…, width)."""
        return functional.layer_norm(x, x.shape[-1:], self.gain, self.bias, EPSILON)


class _Mixer(_Part):
    """A head; `pattern` passes its attention weights."""

    def __init__(self, **fields: object) -> None:
        super().__init__(**fields)
        self.pattern = nn.Identity()


class Head(_Mixer):
    """One attention head: scores <W_K x_i + p^K_{n-i}, W_Q x_n>, values W_V x_i + p^V_{n-i}."""

    def forward(self, x: Tensor) -> Tensor:
        """The head's contribution to the stream (…, rows, d)."""
        rows = x.shape[-2]
        queries, keys, values = x @ self.query.T, x @ self.key.T, x @ self.value.T
        if self.normalise:
            queries, keys = UnitNorm()(queries), UnitNorm()(keys)
        if getattr(self, "rotary", None) is not None:
            queries, keys = _rotated(queries, self.rotary), _rotated(keys, self.rotary)
        queries = queries * self.scale
        scores = queries @ keys.mT
        places = torch.arange(rows, device=x.device)
        offsets = places[:, None] - places[None, :]
        if self.key_positions is not None:
            table = self.key_positions @ self.key.T if self.positions_through_key else self.key_positions
            seen = (offsets >= 0) & (offsets < len(table))
            column = offsets.clamp(0, len(table) - 1).expand(scores.shape)
            scores = scores + torch.where(seen, (queries @ table.T).gather(-1, column), torch.zeros_like(scores))
        scores = scores.masked_fill(offsets < 0, -math.inf)
        exponentials = (scores - scores.max(-1, keepdim=True).values).exp()
        # Sums before the division: counts stay integers, and a quotient of counts is exact.
        total = exponentials @ torch.ones(rows, 1, dtype=x.dtype, device=x.device)
        weights = exponentials / total
        pattern = self.pattern(weights)
        if pattern is not weights:  # a hook has replaced the attention
            exponentials, total = pattern, torch.ones_like(total)
        mixed = exponentials @ values
        if self.value_positions is not None:
            count = min(rows, len(self.value_positions))
            diagonals = (exponentials.diagonal(-offset, dim1=-2, dim2=-1) for offset in range(count))
            at_offset = torch.stack([functional.pad(one, (rows - one.shape[-1], 0)) for one in diagonals], dim=-1)
            mixed = mixed + at_offset @ self.value_positions[:count]
        mixed = mixed / total
        return mixed if self.projection is None else mixed @ self.projection.T


def _rotated(x: Tensor, base: float) -> Tensor:
    rows, width = x.shape[-2:]
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=x.device) / width)
    angles = torch.arange(rows, dtype=torch.float64, device=x.device)[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cosine - right * sine, left * sine + right * cosine], dim=-1)


def _convolved(taps: Tensor, x: Tensor) -> Tensor:
    """Σ_j taps[j] ⊙ x_{n-j} at every row n."""
    padded = functional.pad(x.mT, (len(taps) - 1, 0))
    return functional.conv1d(padded, taps.flip(0).T[:, None], groups=x.shape[-1]).mT


class Mamba(_Mixer):
    """One head of Mamba-2 in its quadratic form; `pattern` passes |M| with rows of sum one."""

    def forward(self, x: Tensor) -> Tensor:
        """The head's contribution to the stream (…, rows, d)."""
        rows = torch.cat([x @ weight.T for weight in (self.query, self.key, self.value)], dim=-1)
        mixed = functional.silu(_convolved(self.taps, rows) + self.taps_bias)
        queries, keys, values = mixed.split([len(self.query), len(self.key), len(self.value)], dim=-1)
        steps = functional.softplus(x @ self.step + self.step_bias)
        along = (torch.zeros_like(steps) if self.decay is None else -steps * self.decay.exp()).cumsum(-1)
        causal = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()
        decays = (along[..., :, None] - along[..., None, :]).masked_fill(~causal, -math.inf).exp()
        matrix = (queries @ (keys * steps[..., None]).mT) * decays
        sizes = matrix.abs()
        sums = sizes.sum(-1, keepdim=True)
        self.pattern(sizes / torch.where(sums > 0, sums, torch.ones_like(sums)))
        gated = (matrix @ values + self.skip * values) * functional.silu(x @ self.gate.T)
        normed = gated / (gated.square().mean(-1, keepdim=True) + EPSILON).sqrt() * self.gain
        return normed @ self.projection.T


class Recurrence(_Mixer):
    """A head with a table: each row reads the values stored so far under its features, divided by their sum."""

    def forward(self, x: Tensor) -> Tensor:
        """The head's contribution to the stream (…, rows, d)."""
        queries, keys = (torch.relu(x @ weight.T + self.bias) for weight in (self.query, self.key))
        seen = (queries @ keys.mT).tril()
        read = seen @ (x @ self.value.T)
        if self.initial is not None:
            read = read + queries @ self.initial
        total = read.sum(-1, keepdim=True)
        total = torch.where(total > 0, total, torch.ones_like(total))
        weights = seen / total
        pattern = self.pattern(weights)
        mixed = read / total if pattern is weights else pattern @ (x @ self.value.T)
        return mixed @ self.projection.T


class MLPLayer(_Part):
    """points[skip] + norm(activation(W x + b)); `skip` None adds nothing."""

    def forward(self, x: Tensor, points: list[Tensor]) -> Tensor:
        """The next point of a stack."""
        x = x @ self.weight.T
        x = _ACTIVATIONS[self.activation](x if self.bias is None else x + self.bias)
        x = x if self.norm is None else self.norm(x)
        return x if self.skip is None else points[self.skip] + x


class Layer(_Part):
    """Heads, whose outputs are added to the stream, then a stack of MLP layers."""

    def forward(self, x: Tensor) -> Tensor:
        """The stream (…, rows, d) after this layer."""
        read = x if self.attention_norm is None else self.attention_norm(x)
        if getattr(self, "convolution", None) is not None:  # version 0.2 wrote no such field
            read = _convolved(self.convolution, read)
        for head in self.heads:
            x = x + head(read)
        points, read = [x], x if self.mlp_norm is None else self.mlp_norm(x)
        for layer in self.mlp:
            read = layer(read, points)
            points.append(read)
        return points[-1]


class Transformer(_Part):
    """The whole model: `model(tokens)` are next-token probabilities (…, T, S), `model.logits(tokens)` their logits."""

    def forward(self, tokens: Tensor | ArrayLike) -> Tensor:
        """The distribution of the next token after every position, (T, S) or (B, T, S)."""
        logits = self.logits(tokens)
        if self.output_map == "softmax":
            return torch.softmax(logits, -1)
        return torch.relu(logits) if self.output_map == "relu" else logits

    def logits(self, tokens: Tensor | ArrayLike) -> Tensor:
        """W_o x + b_o after every position."""
        x = functional.embedding(torch.as_tensor(tokens, device=self.embedding.device), self.embedding)  # none below 0
        if self.positions is not None:
            x = x + self.positions[: x.shape[-2]]
        if self.beginning is not None:
            x = torch.cat([self.beginning.expand_as(x[..., :1, :]), x], dim=-2)
        for layer in self.layers:
            x = layer(x)
        x = x if self.final_norm is None else self.final_norm(x)
        x = x if self.beginning is None else x[..., 1:, :]
        logits = x @ (self.embedding if self.output is None else self.output).T
        return logits if self.output_bias is None else logits + self.output_bias

    def attention(self, tokens: Tensor | ArrayLike) -> list[Tensor]:
        """The attention weights of every layer, (…, heads, rows, rows)."""
        kept: dict[nn.Module, Tensor] = {}
        heads = [list(layer.heads) for layer in self.layers]
        hooks = [
            head.pattern.register_forward_hook(lambda module, _, out: kept.__setitem__(module, out))
            for layer in heads
            for head in layer
        ]
        try:
            self(tokens)
        finally:
            for hook in hooks:
                hook.remove()
        return [torch.stack([kept[head.pattern] for head in layer], dim=-3) for layer in heads]


class Certificate(dict[str, object]):
    """The certificate of a construction, by name."""


_KINDS = (Transformer, Layer, Head, Mamba, Recurrence, MLPLayer, UnitNorm, LayerNorm, Certificate)
