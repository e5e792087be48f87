"""Every construction against an independent count, over the table of cases."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, certificate, construct, plan, registry
from anyorder.constructions.sequences import hard_sequences
from tests.constructions.cases import CASES, ORACLES
from tests.constructions.test_parameters import evaluated


def worst_error(model, oracle, order, batch):
    """Largest error of a probability over all positions where the oracle is defined, and how many there are."""
    outputs = np.asarray(jax.vmap(model)(jnp.asarray(batch, jnp.int32)), np.float64)
    worst, positions = 0.0, 0
    for output, tokens in zip(outputs, batch, strict=True):
        expected = oracle(tokens.tolist(), order, model.alphabet_size)
        if model.certificate is not None and model.certificate.construction == "two-layer-qk":
            expected[order - 1] = np.nan  # its MLP makes the query from a full window before position n
        defined = ~np.isnan(expected[:, 0])
        positions += defined.sum()
        worst = max(worst, np.abs(output - expected)[defined].max(initial=0.0))
    return worst, positions


@pytest.mark.parametrize(
    ("entry", "case", "symbols"),
    [(entry, case, symbols) for entry, case in CASES for symbols in case.alphabet_sizes],
    ids=[
        f"{entry.name}-{case.dtype}-{case.orders[-1]}-S{symbols}"
        for entry, case in CASES
        for symbols in case.alphabet_sizes
    ],
)
def test_exact(entry, case, symbols):
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
        assert model.certificate.bound <= 10 * case.error  # a promise worth having


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
    assert ", ".join(str(len(layer.heads)) for layer in model.layers) == entry.heads.replace("k", str(k))
    assert len(model.layers) == entry.layers
    if entry.dimension != "any":
        assert model.dimension == evaluated(entry.dimension, k=k, S=s, T=t)
    depth, width = entry.mlp or ("0", "0")
    found = [len(layer.mlp) for layer in model.layers if layer.mlp] or [0]
    assert found == [evaluated(part, k=k) for part in depth.split(", ")]
    widest = max((mlp.weight.shape[0] for layer in model.layers for mlp in layer.mlp[::2]), default=0)
    assert widest == evaluated(width, d=model.dimension, S=s)
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

    monkeypatch.setitem(CONSTRUCTIONS, "dyadic", dataclasses.replace(entry, analyse=analyse))
    monkeypatch.setattr(registry, "certify", certify)
    for kappa in (None, 50.0):
        made = plan("dyadic", order=2, alphabet_size=2, length=16, kappa=kappa)
        assert derived == ["analysis", "certificate"]
        derived.clear()
    assert made.kappa == made.certificate.kappa == 50
    warmer = made.at(25.0)  # the analysis does not depend on the temperature
    assert derived == ["certificate"]
    assert warmer == plan("dyadic", order=2, alphabet_size=2, length=16, kappa=25.0)
