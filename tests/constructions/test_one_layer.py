"""`one-layer`: the outputs of its heads, every sequence of small lengths, its size, and refusals."""

from __future__ import annotations

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import construct, plan
from anyorder.constructions.one_layer import LARGEST, size
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.verify import verify
from anyorder.errors import InputError
from tests.constructions.cases import TOKENS

SMALL = [
    (1, 2, 9, 0),
    (2, 2, 9, 0),
    (3, 2, 9, 0),
    (1, 3, 6, 0),
    (2, 3, 6, 0),
    (2, 2, 9, 2),
    (3, 2, 10, 1),
    (1, 3, 6, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("order", "symbols", "length", "heads"), SMALL)
def test_every_sequence(order, symbols, length, heads):
    asked = {"order": order, "alphabet_size": symbols, "length": length, "heads": heads}
    found = verify("one-layer", exhaustive=True, dtype="float32", **asked)
    assert found.passed
    assert found.layers == 1
    assert found.heads == ((heads or length) + order - 1,)
    assert found.positions_checked > 500


@pytest.mark.parametrize(("dtype", "per_head"), [("bfloat16", 6), ("float16", 9), ("float32", 22)])
def test_a_head_carries_as_many_positions_as_unrolled_carries_offsets(dtype, per_head):
    length = 40
    heads = -(-length // per_head)
    model = construct("one-layer", order=2, alphabet_size=3, length=length, dtype=dtype, heads=heads)
    trace = model.trace(TOKENS)
    shares = np.array_split(np.arange(length), heads)
    for head, share in enumerate(shares, start=1):
        code = np.asarray(trace.block(f"code_{head}", "attention 1"), np.float64)[1:]
        for n in range(length):
            expected = [
                sum(2 ** (share[-1] - t) for t in share if t <= n and TOKENS[t] == symbol) for symbol in range(3)
            ]
            assert code[n].tolist() == expected
    with pytest.raises(InputError, match=rf"heads \(`heads={heads}`\)"):
        construct("one-layer", order=2, alphabet_size=3, length=length, dtype=dtype, heads=heads - 1)


def test_the_last_length_whose_counts_a_dtype_holds():
    asked = {"order": 3, "alphabet_size": 2, "dtype": "bfloat16"}
    assert plan("one-layer", length=259, **asked).shortcoming is None
    assert plan("one-layer", length=260, **asked).refusal == (
        "order 3 with `one-layer` needs 9 bits, bfloat16 has 8; use float32, length ≤ 259, or `unrolled`"
    )


@pytest.mark.parametrize(
    ("order", "symbols", "length", "heads"), [(1, 2, 9, 0), (3, 3, 20, 0), (2, 2, 23, 4), (34, 2, 40, 3)]
)
def test_the_size_is_known_before_anything_is_made(order, symbols, length, heads):
    made = plan("one-layer", order=order, alphabet_size=symbols, length=length, heads=heads)
    assert size(made.request, heads) == count_arrays(made.build())


@pytest.mark.parametrize(
    ("heads", "length", "ways"),
    [
        (0, 4096, "length ≤ 321, pack positions into fewer heads (`heads=`), or `unrolled`"),
        (100, 4096, "length ≤ 575, or `unrolled`"),
    ],
)
def test_what_would_fill_the_memory_is_refused_first(heads, length, ways):
    asked = {"order": 2, "alphabet_size": 2, "dtype": "float64"}
    with pytest.raises(InputError) as caught:
        construct("one-layer", length=length, heads=heads, **asked)
    said, _, offered = str(caught.value).partition("; use ")
    assert said.startswith(f"`one-layer` with {length} tokens would have ")
    assert offered == ways
    with pytest.raises(InputError, match=re.escape(ways.split(",")[0])):
        verify("one-layer", length=10**17, heads=heads, **asked)  # neither 16,384 nor a length for the precision
    longest = int(ways.split()[2].strip(","))
    made = plan("one-layer", length=longest, heads=heads, **asked)
    maps = ((heads or longest) + 1) * (longest + 1) ** 2
    larger = dataclasses.replace(made.request, length=longest + 1)
    assert max(size(made.request, heads), maps) <= LARGEST
    assert max(size(larger, heads), ((heads or longest + 1) + 1) * (longest + 2) ** 2) > LARGEST


def test_the_division_is_right_for_every_count():
    """N_s matches of N: the last four layers alone, from the counts on."""
    model = construct("one-layer", order=1, alphabet_size=2, length=40)
    counts = np.array([(a, n - a) for n in range(40) for a in range(n + 1)], float)
    x = counts
    for layer in model.layers[0].mlp[3:]:
        x = np.asarray(layer.weight) @ x.T + (0 if layer.bias is None else np.asarray(layer.bias)[:, None])
        x = (np.maximum(x, 0) if layer.activation == "relu" else x).T
    found = x[:, -2:]  # `output` is the last block
    expected = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_more_heads_than_positions_are_refused():
    with pytest.raises(InputError, match="heads is 9, must be at most the length 8; pass `heads=8` or less"):
        construct("one-layer", order=1, alphabet_size=2, length=8, heads=9)


def test_there_is_no_temperature():
    with pytest.raises(InputError, match=r"kappa is 3.0, `one-layer` has no softmax to sharpen"):
        construct("one-layer", order=1, alphabet_size=2, length=8, kappa=3.0)
    assert jnp.isfinite(construct("one-layer", order=1, alphabet_size=2, length=8).positions).all()
