"""Evaluations against loops over the definitions and against models with known numbers."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.training.attention_sums import length_sums, sums
from anyorder.training.config import Architecture, Config, Data, Initial
from anyorder.training.evaluation import evaluate
from anyorder.training.initial import initial_model
from anyorder.training.reference import evaluation_set, held_out
from tests import oracles

UNIFORM = Config(
    data=Data(order=2, length=8),
    architecture=Architecture(dimension=4, mlp="none", heads=(2, 1), last_mlp=False, pre_norm=False, qk_norm=False),
    initial=Initial(weights="gpt2"),
)
"""An output matrix of zeros: the uniform distribution everywhere, with any attention."""


def test_a_uniform_model_has_the_excess_of_the_uniform_distribution():
    evaluation = evaluation_set(UNIFORM.data, 64, 3)
    measured = evaluate(initial_model(UNIFORM, jax.random.key(0)), evaluation)
    excess, gaps = np.empty((64, 7)), np.empty((64, 7))
    for i, (tokens, truth) in enumerate(zip(np.asarray(evaluation.tokens), np.asarray(evaluation.truth), strict=True)):
        for place, token in enumerate(range(2, 9)):
            bayes = oracles.ESTIMATORS["add_beta"](tokens.tolist(), token - 1, 2, 2)
            against = -sum(p * math.log(q) for p, q in zip(truth[token], bayes, strict=True))
            excess[i, place] = math.log(2) - oracles.entropy(truth[token])
            gaps[i, place] = math.log(2) - against
    np.testing.assert_allclose(measured.excess_by_position, excess.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(measured.gap_by_position, gaps.mean(axis=0), rtol=1e-7, atol=1e-12)
    assert measured.excess == pytest.approx(excess.mean())
    assert measured.excess_error == pytest.approx(excess.mean(axis=1).std(ddof=1) / 8)
    assert measured.gap == pytest.approx(gaps.mean())
    assert measured.gap_error == pytest.approx(gaps.mean(axis=1).std(ddof=1) / 8)
    assert measured.loss == pytest.approx(math.log(2))
    assert measured.true_loss == pytest.approx(math.log(2) - excess.mean())
    assert [len(heads) for heads in measured.attention] == [2, 1]


def test_the_reference_has_the_bayes_floor_and_the_kgram_of_the_same_sequences():
    about = evaluation_set(Data(order=2, length=32), 4096, 0).reference
    # The published floor at k = 2, T = 32, exact: 0.0865.
    assert abs(about.floor_excess - 0.0865) < 4 * about.floor_excess_error + 5e-5
    assert about.position == list(range(2, 33))
    assert len(about.floor_excess_by_position) == 31
    assert about.kgram.infinite
    assert 0.07 < about.kgram.missed_probability < 0.10
    assert 0.8 < about.kgram.coverage < 1


def brute_force(weights, tokens, order):
    """Sums over queries of one attention map, by loops over Definition 2; row and column 0 are the beginning's."""
    length = len(tokens)
    matching = beginning = distance = share = 0.0
    offsets = [0.0] * order
    for n in range(length):
        ideal = [0.0] * length
        matches = [
            i for i in range(order, n + 1) if all(tokens[i - j] == tokens[n - j + 1] for j in range(1, order + 1))
        ]
        for i in matches if n >= order - 1 else ():
            ideal[i] = 1 / len(matches)
            matching += weights[n + 1][i + 1]
            share += weights[n + 1][i + 1] / (1 - weights[n + 1][0])
        beginning += weights[n + 1][0]
        distance += sum((weights[n + 1][i + 1] - ideal[i]) ** 2 for i in range(length))
        if n >= order:
            for j in range(1, order + 1):
                offsets[j - 1] += weights[n + 1][n + 1 - j]
    return matching, beginning, offsets, math.sqrt(distance), share


@pytest.mark.parametrize("order", [1, 2, 3])
def test_attention_sums_are_those_of_loops(order):
    rng = np.random.default_rng(order)
    tokens = rng.integers(0, 2, 11)
    weights = np.tril(rng.random((2, 12, 12)))
    weights /= weights.sum(axis=2, keepdims=True)
    computed = sums(jnp.asarray(weights), jnp.asarray(tokens, jnp.int32), order)
    for head in range(2):
        matching, beginning, offsets, distance, share = brute_force(weights[head], tokens.tolist(), order)
        assert float(computed.matching[head]) == pytest.approx(matching)
        assert float(computed.beginning[head]) == pytest.approx(beginning)
        assert computed.offsets[head].tolist() == pytest.approx(offsets)
        assert float(computed.distance[head]) == pytest.approx(distance)
        assert float(computed.share[head]) == pytest.approx(share)


def test_masses_are_means_over_queries():
    """Keys of zeros and no positions: attention is uniform over the rows so far, beginning token included."""
    config = dataclasses.replace(
        UNIFORM, architecture=dataclasses.replace(UNIFORM.architecture, key_positions="none", heads=(1,))
    )
    model = initial_model(config, jax.random.key(0))
    head = dataclasses.replace(model.layers[0].heads[0], key=jnp.zeros((4, 4), jnp.float32))
    model = dataclasses.replace(model, layers=(dataclasses.replace(model.layers[0], heads=(head,)), model.layers[1]))
    evaluation = evaluation_set(config.data, 32, 0)
    first = evaluate(model, evaluation).attention[0][0]
    assert first.beginning_mass == pytest.approx(np.mean([1 / (n + 2) for n in range(8)]), rel=1e-6)
    expected = np.mean([1 / (n + 2) for n in range(2, 8)])
    assert first.offset_mass == pytest.approx([expected, expected], rel=1e-6)
    totals, queries = 0.0, 0
    for tokens in np.asarray(evaluation.tokens)[:, :-1].tolist():
        for n in range(8):
            count = sum(all(tokens[i - j] == tokens[n - j + 1] for j in (1, 2)) for i in range(2, n + 1) if n >= 1)
            totals, queries = totals + count / (n + 2), queries + (count > 0)
    assert first.matching_mass == pytest.approx(totals / queries, rel=1e-6)
    assert evaluation.queries == queries


@pytest.mark.slow
def test_transition_noise_has_a_floor_and_token_noise_has_none():
    noisy = Data(order=2, length=16, transition_noise=0.25)
    evaluation = evaluation_set(noisy, 256, 0)
    naive = jax.vmap(
        lambda tokens, truth: (
            estimators.exact_loss(estimators.add_beta(tokens, order=2, alphabet_size=2).probabilities, truth)
            - estimators.true_loss(truth)
        )
    )(evaluation.tokens, evaluation.truth)
    assert evaluation.floor is not None
    assert evaluation.floor.mean() < np.asarray(naive)[:, 1:].mean()

    evaluation = evaluation_set(Data(order=2, length=8, token_noise=0.25), 16, 0)
    about = evaluation.reference
    assert about.floor_excess is None
    assert about.no_floor == "token noise hides the chain: its Bayes predictor has no closed form"
    measured = evaluate(initial_model(UNIFORM, jax.random.key(0)), evaluation)
    assert measured.gap is None
    assert measured.excess > 0


def test_another_concentration_has_another_floor():
    data = Data(order=1, length=8, concentration=0.5)
    evaluation = evaluation_set(data, 2048, 0)
    wrong = jax.vmap(
        lambda tokens, truth: estimators.exact_loss(
            estimators.add_beta(tokens, order=1, alphabet_size=2, beta=1.0).probabilities, truth
        )
    )(evaluation.tokens, evaluation.truth)
    assert (evaluation.floor + evaluation.true).mean() < np.asarray(wrong).mean()


def test_drawing_held_out_sequences_measures_nothing(monkeypatch):
    data = Data(order=1, length=8)
    drawn = evaluation_set(data, 16, 5)

    def refuse(*given, **options):
        raise AssertionError("only the sequences were requested")

    for name in ("floor", "kgram", "true_loss"):
        monkeypatch.setattr(estimators, name, refuse)
    np.testing.assert_array_equal(held_out(data, 16, 5).tokens, drawn.tokens)


def test_the_spectrum_is_that_of_the_probe():
    from anyorder.probing.spectrum import join, rows, tally

    generator = np.random.default_rng(0)
    tokens = generator.integers(2, size=(3, 24))
    weights = np.tril(generator.random((3, 2, 24, 24)))
    weights /= weights.sum(axis=-1, keepdims=True)
    longest, marked = 4, np.arange(24) >= 4
    kept = join([rows([weights[place]], row, marked, longest, place) for place, row in enumerate(tokens)])
    expected = tally(kept, longest).ratio
    found = np.stack(
        [length_sums(jnp.asarray(w), jnp.asarray(row), longest) for w, row in zip(weights, tokens, strict=True)]
    )
    mass, even = found.sum(axis=0).swapaxes(0, 1)
    np.testing.assert_allclose(mass / even, expected, rtol=1e-9)
