"""Packed weights, unpacked by hand at several kappas; a browser does the same in `local/test_forward.py`."""

import json

import jax
import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, plan
from anyorder.web.packing import pack_plan


def unpacked(packed, kappa):
    """All arrays and numbers of a packed model, in the order of its fields."""
    if isinstance(packed, list):
        return [array for part in packed for array in unpacked(part, kappa)]
    if not isinstance(packed, dict):
        return []

    def number(value):
        return value[0] + value[1] * kappa ** value[2] if isinstance(value, list) else value

    if "kappa" in packed:
        return [np.array(number(packed["kappa"]))]
    if "runs" in packed:
        array = np.zeros(packed["shape"])
        for row, column, down, right, count, value in packed["runs"]:
            for step in range(count):
                array[row + step * down, column + step * right] = number(value)
        return [array]
    return [array for part in packed.values() for array in unpacked(part, kappa)]


def weights(model):
    return [leaf for leaf in jax.tree.leaves(model) if isinstance(leaf, np.ndarray | float)]


@pytest.mark.parametrize("name", [name for name in CONSTRUCTIONS if name != "associative"])  # its arrays are dense
def test_a_model_is_unpacked_at_any_kappa(name):
    made = plan(name, order=min(2, CONSTRUCTIONS[name].largest_order or 2), alphabet_size=3, length=16)
    packed = json.loads(json.dumps(pack_plan(made)[0]))
    for kappa in (made.kappa, made.kappa / 7, 3.0):
        built = made.construction.build(made.request, kappa, **made.options)
        found, expected = unpacked(packed, kappa), weights(built)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, np.asarray(other).reshape(one.shape), rtol=1e-14)
