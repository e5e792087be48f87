"""The assumptions of certificates about the backend, and backends that violate them."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.interpreters import mlir  # the table of lowerings has no public name

from anyorder.constructions import backend, plan
from anyorder.constructions.verify import verify


def test_what_is_assumed_of_the_backend_is_named_and_checked(monkeypatch):
    asked = {"order": 3, "alphabet_size": 2, "length": 32, "sequences": 4}
    found = verify("unrolled", **asked)
    assert found.passed
    assert tuple(found.assumptions) == plan("unrolled", order=3, alphabet_size=2, length=32).certificate.assumes
    assert len(found.assumptions) == 2
    monkeypatch.setitem(backend.ASSUMPTIONS, next(iter(found.assumptions)), lambda model, request: False)
    assert not verify("unrolled", **asked).passed


@contextlib.contextmanager
def lowered(primitive, function):
    """Let the CPU compute a primitive by another function, in all programs compiled meanwhile."""
    table = mlir._platform_specific_lowerings["cpu"]
    before = table.get(primitive)
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False), platform="cpu")
    jax.clear_caches()
    try:
        yield
    finally:
        del table[primitive]
        table |= {} if before is None else {primitive: before}
        jax.clear_caches()


def dot_product(add):
    """A matrix product whose terms are added up by a function."""

    def compute(left, right, *, dimension_numbers, preferred_element_type=None, **_):
        contracted, batched = dimension_numbers

        def arranged(x, place):
            kept = [axis for axis in range(x.ndim) if axis not in (*contracted[place], *batched[place])]
            x = jnp.transpose(x, (*batched[place], *kept, *contracted[place]))
            first, last = len(batched[place]), len(batched[place]) + len(kept)
            return x.reshape(*x.shape[:first], -1, int(np.prod(x.shape[last:]))), x.shape[:first], x.shape[first:last]

        (left_rows, batch, rows), (right_rows, _, columns) = arranged(left, 0), arranged(right, 1)
        total = add(left_rows[..., :, None, :], right_rows[..., None, :, :])
        return total.reshape(*batch, *rows, *columns).astype(preferred_element_type or left.dtype)

    return compute


def reordered(left, right):
    """Terms in a different order for every column, as in blocked and parallel sums."""
    terms = left * right
    count, width = terms.shape[-2:]
    order = (np.arange(width) + np.arange(count)[:, None]) % width
    terms = jnp.take_along_axis(terms, jnp.asarray(np.broadcast_to(order, terms.shape)), axis=-1)
    total = terms[..., 0]
    for place in range(1, width):
        total = total + terms[..., place]
    return total


def coarse(left, right):
    """Factors rounded to bfloat16, as in fast modes of accelerators."""
    return (left.astype(jnp.bfloat16).astype(left.dtype) * right.astype(jnp.bfloat16).astype(right.dtype)).sum(-1)


def flushed(x, **_):
    """exp without its small values."""
    y = jnp.exp2(x * np.asarray(np.log2(np.e), x.dtype))
    return jnp.where(y < 2.0**-8, 0, y).astype(x.dtype)


REORDERS, ROUNDS = (lax.dot_general_p, dot_product(reordered)), (lax.dot_general_p, dot_product(coarse))
FLUSHES = (lax.exp_p, flushed)
SCORES, SUMS = backend.EQUAL_SCORES, backend.WHOLE_SUMS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patch", "name", "order", "dtype", "broken"),
    [
        (REORDERS, "dyadic", 3, "float64", [SCORES]),
        (REORDERS, "unrolled", 10, "float32", [SCORES]),
        (REORDERS, "k-head", 2, "float32", [SCORES]),
        (REORDERS, "bayes", 2, "float64", [SCORES]),
        (ROUNDS, "dyadic", 3, "float64", []),
        (ROUNDS, "unrolled", 10, "float32", []),
        (ROUNDS, "k-head", 2, "float32", []),
        (ROUNDS, "bayes", 2, "float64", []),
        (FLUSHES, "unrolled", 10, "float32", [SUMS]),
    ],
)
def test_a_backend_that_breaks_the_assumptions_is_refused(patch, name, order, dtype, broken):
    asked = {"order": order, "alphabet_size": 2, "length": 32, "dtype": dtype, "sequences": 4}
    with lowered(*patch):
        found = verify(name, **asked)
    assert not found.passed
    assert [assumed for assumed, kept in found.assumptions.items() if not kept] == broken
    assert (found.max_error > found.bound) == (patch is not REORDERS)  # sums in another order go wrong elsewhere
    assert ("violates the certificate's assumptions" if broken else "is above the bound") in found.reason
    assert verify(name, **asked).passed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dyadic", "k-head", "bayes"])
def test_a_backend_that_keeps_the_bound_passes(name):
    with lowered(*FLUSHES):  # weights of misses become zero: the error falls
        assert verify(name, order=2, alphabet_size=2, length=32, sequences=4).passed
