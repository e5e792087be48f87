"""What single constructions do: their blocks, their gates, sinks and biases."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import errors
from tests import oracles_constructions as oracles
from tests.constructions.test_registry import worst_error

RANDOM = np.random.default_rng(0).integers(0, 2, (2, 200))


def test_the_mlp_of_theorem_3_isolates_the_oldest_token_and_forms_the_query():
    order, tokens = 4, RANDOM[0, :60]
    for name, base in (("two-layer", 3), ("dyadic", 2)):
        trace = construct(name, order=order, alphabet_size=2, length=60).trace(tokens)
        oldest = np.asarray(trace.block("oldest", "mlp 1.1"))
        query = np.asarray(trace.block("query", "mlp 1.2"))
        key = np.asarray(trace.block("key", "mlp 1.3"))
        for n in range(order, 60):
            code = sum(base**i * np.eye(2)[tokens[n - i]] for i in range(order))
            before = sum(base ** (i - 1) * np.eye(2)[tokens[n - i]] for i in range(1, order + 1))
            np.testing.assert_allclose(oldest[n], np.eye(2)[tokens[n - order]], atol=1e-12)
            np.testing.assert_allclose(query[n], oracles.unit(code), atol=1e-12)
            np.testing.assert_allclose(key[n], oracles.unit(before), atol=1e-12)


def test_key_positions_times_kappa_are_one_hot():
    """Erratum 11: kappa·(i + 1)·log 3 loses the weights 3^i that i·log 3 + kappa gives."""
    model = construct("three-layer", order=3, alphabet_size=2, length=40)
    quoted = jnp.zeros_like(model.layers[0].heads[0].key_positions)
    quoted = quoted.at[:3, 0].set(40.0 * math.log(3) * jnp.arange(1, 4))
    wrong = eqx.tree_at(lambda m: m.layers[0].heads[0].key_positions, model, quoted)
    row = np.asarray(model.trace(RANDOM[0, :40]).attention[0])[0, 20]
    np.testing.assert_allclose(row[[20, 19, 18]], np.array([1, 3, 9]) / 13, atol=1e-12)
    assert np.asarray(wrong.trace(RANDOM[0, :40]).attention[0])[0, 20, 18] > 0.999


def test_bigram_needs_its_gate():
    tokens = np.array([[0, 1, 1, 0, 1, 0, 0, 1] * 8])
    gated = construct("bigram", order=1, alphabet_size=2, length=64)
    published = construct("bigram", order=1, alphabet_size=2, length=64, gated=False)
    assert worst_error(gated, oracles.kgram, 1, tokens)[0] < 1e-7
    assert worst_error(published, oracles.kgram, 1, tokens)[0] > 0.1
    assert worst_error(published, oracles.biased, 1, tokens)[0] < 1e-7
    assert published.certificate.estimator == "biased"


def test_the_error_of_random_embeddings_falls_with_the_dimension():
    batch = np.random.default_rng(1).integers(0, 3, (4, 64))
    mean = []
    for dimension in (64, 256, 1024):
        options = {"order": 1, "alphabet_size": 3, "length": 64, "dtype": "float32", "dimension": dimension}
        models = [construct("associative", **options, seed=seed) for seed in range(2)]
        mean.append(np.mean([np.nanmean(errors(model, batch, 1)[:, 32:]) for model in models]))
    assert mean[0] > 0.3
    assert mean[1] < 0.85 * mean[0]
    assert mean[2] < 0.75 * mean[1]


@pytest.mark.parametrize("name", ["bayes", "k-head-bayes"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_the_sink_is_add_beta_everywhere(name, beta):
    order, symbols = 3, 3
    batch = hard_sequences(count=4, length=120, alphabet_size=symbols, order=order, seed=5)
    model = construct(name, order=order, alphabet_size=symbols, length=120, beta=beta)
    error, positions = worst_error(model, lambda tokens, k, s: oracles.add_beta(tokens, k, s, beta), order, batch)
    assert error < 1e-7
    assert positions == 4 * (120 - order + 1)  # contexts never seen are included
    np.testing.assert_allclose(model(batch[0])[order - 1], 1 / symbols, atol=1e-9)


def test_an_unseen_context_falls_back_to_the_longest_suffix():
    """The most recent token weighs most in `attention-only`: the nearest code agrees in the longest suffix."""
    order, symbols, length = 4, 3, 60
    model = construct("attention-only", order=order, alphabet_size=symbols, length=length)
    checked = 0
    for seed in range(3):
        tokens = np.random.default_rng(seed).integers(0, symbols, length).tolist()
        weights = np.asarray(model.trace(tokens).attention[1])[0]
        for n in np.flatnonzero(np.isnan(oracles.kgram(tokens, order, symbols)[:, 0])):
            if n < order:
                continue
            agreed = [
                next((j for j in range(order) if tokens[i - 1 - j] != tokens[n - j]), order)
                for i in range(order, n + 1)
            ]
            chosen = int(np.argmax(weights[n]))
            assert agreed[chosen - order] == max(agreed)
            checked += 1
    assert checked > 30
