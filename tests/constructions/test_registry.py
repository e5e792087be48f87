"""Every construction against an independent count, over the table of cases, and refusals."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from anyorder.constructions import CONSTRUCTIONS, certificate, construct, plan, registry
from anyorder.constructions.construction import evaluated
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.errors import InputError
from anyorder.io.numerics import DTYPES
from tests.constructions.cases import CASES, ORACLES, TABLE, worst_error
from tests.models.small import jaxpr_dtypes


@pytest.fixture
def optimised():
    """Programs compiled as for users: the sequences are long enough that this takes less time, not more."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.mark.parametrize(
    ("entry", "case", "symbols"),
    [(entry, case, symbols) for entry, case in CASES for symbols in case.alphabet_sizes],
    ids=[
        f"{entry.name}-{case.dtype}-{case.orders[-1]}-S{symbols}"
        for entry, case in CASES
        for symbols in case.alphabet_sizes
    ],
)
@pytest.mark.slow
def test_exact(entry, case, symbols, optimised):
    for order in case.orders:
        model = construct(
            entry.name, order=order, alphabet_size=symbols, length=case.length, dtype=case.dtype, **case.options
        )
        assert model.dtype == case.dtype
        batch = hard_sequences(
            count=case.sequences, length=case.length, alphabet_size=symbols, order=order, seed=100 * order + symbols
        )
        error, positions = worst_error(model, ORACLES[model.certificate.estimator], order, batch)
        assert positions > case.length
        assert error <= case.error, f"order {order}: {error}"
        assert error <= model.certificate.bound, f"order {order}: {error} exceeds {model.certificate.bound}"
        assert model.certificate.bound <= 10 * case.error  # a useful bound


def test_every_certified_construction_has_cases():
    assert set(TABLE) == {entry.name for entry in CONSTRUCTIONS.values() if entry.analyse is not None}


LONG = """
import pathlib, re, resource, sys
import numpy as np
from anyorder.constructions import CONSTRUCTIONS, construct
from anyorder.constructions.verify import errors

tokens = np.random.default_rng(0).integers(0, 4, (1, 16_384))
model = construct("dyadic", order=5, alphabet_size=4, length=16_384, dtype="float32")
assert model.dimension == 27
error = np.nanmax(errors(model, tokens, 5))
if sys.platform == "linux":  # ru_maxrss would begin at the size of the process that started this one
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(error, peak)
"""


@pytest.mark.slow
def test_sixteen_thousand_tokens_are_exact_and_stay_below_two_gigabytes():
    finished = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    error, peak = finished.stdout.split()
    assert float(error) <= 1e-5
    assert float(peak) < 2e9


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_the_registry_tells_the_truth(name):
    entry = CONSTRUCTIONS[name]
    k, s, t = (1 if entry.largest_order else 3), 2, 16
    model = construct(name, order=k, alphabet_size=s, length=t)
    assert [len(layer.heads) for layer in model.layers] == [
        evaluated(heads, k=k, T=t) for heads in entry.heads.split(", ")
    ]
    assert len(model.layers) == entry.layers
    if entry.dimension != "any":
        assert model.dimension == evaluated(entry.dimension, k=k, S=s, T=t)
    depth, width = entry.mlp or ("0", "0")
    found = [len(layer.mlp) for layer in model.layers if layer.mlp] or [0]
    assert found == [evaluated(part, k=k) for part in depth.split(", ")]
    widest = max((mlp.weight.shape[0] for layer in model.layers for mlp in layer.mlp[::2]), default=0)
    assert widest == evaluated(width, d=model.dimension, k=k, S=s, T=t)
    assert (model.certificate is None) == (entry.exactness == "approximate")
    if model.blocks:
        assert sum(width for _, width in model.blocks) == model.dimension


def test_a_certificate_is_derived_once(monkeypatch):
    entry, derived = CONSTRUCTIONS["dyadic"], []

    def analyse(*arguments, **options):
        derived.append("analysis")
        return entry.analyse(*arguments, **options)

    def certify(*arguments):
        derived.append("certificate")
        return certificate.certify(*arguments)

    watched = dataclasses.replace(entry, name="watched", analyse=analyse)
    monkeypatch.setattr(registry, "certify", certify)
    for kappa in (None, 50.0):
        made = plan(watched, order=2, alphabet_size=2, length=16, kappa=kappa)
        assert derived == ["analysis", "certificate"]
        derived.clear()
    assert made.kappa == made.certificate.kappa == 50
    warmer = made.at(25.0)  # the analysis does not depend on the temperature
    assert derived == ["certificate"]
    assert warmer == plan(watched, order=2, alphabet_size=2, length=16, kappa=25.0)


def test_the_refusal_names_bits_and_ways_out():
    with pytest.raises(InputError) as caught:
        construct("dyadic", order=12, alphabet_size=2, length=1024, dtype="float32")
    assert str(caught.value) == (
        "order 12 with `dyadic` needs 28 bits, float32 has 24; use float64, order ≤ 10, or `unrolled`"
    )
    forced = construct("dyadic", order=12, alphabet_size=2, length=1024, dtype="float32", force=True)
    assert forced.certificate.bound == 1.0


@pytest.mark.parametrize(
    ("name", "order", "dtype", "ways"),
    [
        ("two-layer", 6, "float64", "order ≤ 5, or `unrolled`"),
        ("dyadic", 30, "float32", "order ≤ 10, or `unrolled` with 2 heads (`heads=2`)"),
        ("bayes", 4, "float32", "float64, order ≤ 1, or `unrolled-bayes`"),
        ("unrolled", 60, "float64", "2 heads (`heads=2`), order ≤ 51, or `k-head`"),
    ],
)
def test_the_best_way_out_is_named(name, order, dtype, ways):
    refused = plan(name, order=order, alphabet_size=2, length=1024, dtype=dtype)
    assert refused.refusal.partition("; use ")[2] == ways


@pytest.mark.parametrize(
    ("name", "dtype", "last"),
    [
        ("dyadic", "bfloat16", 2),
        ("dyadic", "float16", 3),
        ("dyadic", "float32", 10),
        ("dyadic", "float64", 24),
        ("attention-only", "float32", 6),
        ("attention-only", "float64", 15),
        ("two-layer", "float32", 2),
        ("two-layer", "float64", 5),
        ("two-head-qk", "float32", 2),
        ("two-head-qk", "float64", 5),
        ("bayes", "float32", 1),
        ("bayes", "float64", 14),
    ],
)
def test_the_last_order_that_each_dtype_is_trusted_with(name, dtype, last):
    construct(name, order=last, alphabet_size=2, length=1024, dtype=dtype)
    with pytest.raises(InputError, match=f"order ≤ {last}"):
        construct(name, order=last + 1, alphabet_size=2, length=1024, dtype=dtype)


@pytest.mark.parametrize(
    "name", ["two-layer", "two-layer-qk", "two-head", "three-layer", "dyadic", "attention-only", "bayes"]
)
def test_an_order_far_beyond_every_dtype_has_a_reason_and_can_be_forced(name):
    request = {"order": 128, "alphabet_size": 2, "length": 130}
    with pytest.raises(InputError, match="needs"):
        construct(name, **request)
    assert construct(name, **request, force=True).certificate.bound == 1.0


def test_scores_that_the_dtype_cannot_express_are_refused():
    with pytest.raises(InputError, match=r"scores up to 1e\+05, float16 ends at 6.55e\+04; use float32"):
        construct("dyadic", order=2, alphabet_size=2, length=64, dtype="float16", kappa=1e5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "tryadic"}, "no construction 'tryadic'; did you mean dyadic?"),
        ({"order": 0}, "order is 0, must be at least 1"),
        ({"order": 64}, "order is 64, must be smaller than the length 64"),
        ({"alphabet_size": 1}, "alphabet size is 1, must be at least 2"),
        ({"order": 129, "length": 200}, "order is 129, constructions go to 128"),
        ({"alphabet_size": 513}, "alphabet size is 513, constructions take 512 symbols"),
        ({"name": "associative", "order": 1, "dimension": 9999}, "dimension is 9999, must be 1 to 8192"),
        ({"name": "disentangled", "length": 4096}, "`disentangled` would have matrices of 12294²"),
        ({"dtype": "float8"}, "dtype is 'float8', must be one of"),
        ({"target_error": 0.0}, "target error is 0.0, must be at least 1e-100"),
        ({"kappa": -1.0}, "kappa is -1.0, must be above 0"),
        ({"beta": 2.0}, "`dyadic` has no option beta; it has none"),
        ({"name": "bayes", "beta": 0.0}, "beta is 0.0, must be above 0"),
        ({"name": "bigram", "order": 2}, "order is 2, `bigram` is for order 1"),
    ],
)
def test_bad_requests_get_one_line(options, message):
    request = {"name": "dyadic", "order": 2, "alphabet_size": 2, "length": 64} | options
    with pytest.raises(InputError) as caught:
        construct(request.pop("name"), **request)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16"])
def test_no_construction_computes_in_a_wider_type(dtype):
    for name in CONSTRUCTIONS:
        model = construct(name, order=1, alphabet_size=2, length=300, dtype=dtype, force=True)
        program = jax.make_jaxpr(model)(jnp.zeros(300, jnp.int32))
        floats = {found for found in jaxpr_dtypes(program.jaxpr) if jnp.issubdtype(found, jnp.floating)}
        assert floats == {DTYPES[dtype]}, name
