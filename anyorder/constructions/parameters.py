"""Counting parameters."""

from __future__ import annotations

import equinox as eqx
import jax

from anyorder.transformer import Transformer


def count_arrays(model: Transformer) -> int:
    """The number of entries of all weight arrays."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
