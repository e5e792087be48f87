"""A certified model as ground truth in PyTorch: load it, read its attention through a hook, and test a tool on it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

import anyorder
import anyorder.torch


def main() -> None:
    """A head of order 2 that is proven to be one, and the usual score, which cannot tell its order."""
    file = Path(tempfile.mkdtemp()) / "dyadic.safetensors"
    anyorder.save(anyorder.construct("dyadic", order=2, alphabet_size=4, length=64), file)
    model = anyorder.torch.load(file)
    kept: list[torch.Tensor] = []
    model.layers[1].heads[0].pattern.register_forward_hook(lambda module, inputs, output: kept.append(output.detach()))
    tokens = torch.randint(4, (64,), generator=torch.Generator().manual_seed(0))
    model(tokens)
    keys = (tokens[:, None] == torch.roll(tokens, 1)[None, :]).tril() & (torch.arange(64) > 0)
    queries = keys.any(1)
    score = (kept[0] * keys).sum(1)[queries].mean()
    print(f"prefix-matching score {score:.2f}: high, though the head matches two tokens, not one")


if __name__ == "__main__":
    main()
