"""A verification reports bound, error and failure; exhaustive verification enumerates all short sequences."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import CONSTRUCTIONS, construct, plan
from anyorder.constructions import verify as verify_module
from anyorder.constructions.hard_sequences import all_sequences
from anyorder.constructions.verify import errors, verify
from anyorder.errors import InputError
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.models import load, save
from tests import oracles_constructions as oracles


def test_verify_reports_what_was_promised_and_found():
    found = verify("dyadic", order=3, alphabet_size=4, length=128, dtype="float32", sequences=4)
    assert dataclasses.asdict(found) | {"max_error": 0, "positions_checked": 0, "parameters": 0} == {
        "construction": "dyadic",
        "order": 3,
        "alphabet_size": 4,
        "length": 128,
        "dtype": "float32",
        "layers": 2,
        "heads": (1, 1),
        "dimension": 27,
        "parameters": 0,
        "kappa": pytest.approx(1536, rel=0.01),
        "margin": pytest.approx(0.013606, rel=1e-4),
        "bits_needed": 10,
        "mantissa_bits": 24,
        "bound": pytest.approx(3.4e-7, rel=0.1),
        "max_error": 0,
        "positions_checked": 0,
        "passed": True,
        "sequences": 4,
        "exhaustive": False,
        "assumptions": {"equal keys get bit-equal scores": True},
    }
    assert 0 < found.max_error <= found.bound
    assert 100 < found.positions_checked < 4 * 128


def test_verify_fails_where_the_error_exceeds_the_bound(monkeypatch):
    monkeypatch.setattr(verify_module, "errors", lambda *_, **options: np.array([[np.nan, 1e-3]]))
    found = verify("dyadic", order=2, alphabet_size=2, length=32)
    assert not found.passed
    assert found.max_error == 1e-3
    assert found.positions_checked == 1


def test_an_output_that_is_no_number_is_an_error():
    model = construct("bigram", order=1, alphabet_size=2, length=32)
    broken = eqx.tree_at(lambda m: m.output, model, model.output * jnp.nan)
    assert np.nanmax(errors(broken, np.random.default_rng(0).integers(0, 2, (2, 32)), 1)) == np.inf


def test_a_check_comes_before_every_sequence_and_ends_the_work():
    made, calls = plan("dyadic", order=2, alphabet_size=2, length=32), []
    found = verify(made, sequences=4, check=lambda: calls.append(1))
    assert len(calls) == 4
    at_once = verify("dyadic", order=2, alphabet_size=2, length=32, sequences=4)
    assert found == dataclasses.replace(at_once, max_error=found.max_error)
    assert found.max_error == pytest.approx(at_once.max_error, abs=1e-15)

    def leave():
        calls.append(1)
        if len(calls) == 6:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        verify(made, sequences=4, check=leave)
    assert len(calls) == 6


SMALL = {"associative"}  # no certificate


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTIONS) - SMALL))
def test_every_sequence_of_nine_tokens(name):
    order = CONSTRUCTIONS[name].largest_order or 2
    found = verify(name, order=order, alphabet_size=2, length=9, exhaustive=True)
    assert found.passed
    assert found.sequences == 512
    assert found.positions_checked > 512
    assert found.max_error <= found.bound < 1e-5


@pytest.mark.parametrize(("name", "oracle"), [("kgram", "kgram"), ("bayes", "add_beta"), ("biased", "biased")])
def test_counts_of_every_sequence_are_those_of_the_oracle(name, oracle):
    batch = np.concatenate(list(all_sequences(2, 7)))
    assert len({tuple(row) for row in batch.tolist()}) == 2**7
    for order in (1, 2, 3):
        for row in batch[::5].tolist():
            exact = StreamingEstimator(order, 2, name).distributions(row)
            np.testing.assert_allclose(exact, getattr(oracles, oracle)(row, order, 2), atol=1e-15)


@pytest.mark.slow
def test_a_model_is_measured_as_it_is(tmp_path):
    made = plan("k-head", order=2, alphabet_size=2, length=64)
    save(made.build(), tmp_path / "model.safetensors")
    stored = load(tmp_path / "model.safetensors")
    assert verify(stored, sequences=4) == verify(made, sequences=4)
    broken = dataclasses.replace(stored, embedding=stored.embedding[::-1])
    assert not verify(broken, sequences=4).passed
    with pytest.raises(InputError, match="the model has no certificate"):
        verify(dataclasses.replace(stored, certificate=None))
