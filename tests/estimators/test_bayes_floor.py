"""The floor is the Bayes predictor, or states the reason why there is none."""

import jax
import numpy as np
import pytest

from anyorder import estimators
from anyorder.chains import BagSymmetric, Kernel, OrderMixture, Source, TokenNoise, TransitionNoise, Tree
from anyorder.training.config import Data
from tests.chains.test_shared_rows import KEY, drawn


@pytest.mark.slow
def test_the_floor_is_the_bayes_predictor_by_enumeration():
    """The posterior mean of the next row over many kernels of the prior, weighted by their likelihood."""
    tokens = [0, 1, 1, 0, 1, 1, 1, 0]
    for prior in (BagSymmetric(2, 2), OrderMixture(2, 0, 2), Tree(2, 2)):
        kernels = np.concatenate([drawn(prior), np.asarray(jax.vmap(prior.draw)(jax.random.split(KEY, 60_000)))])
        weights = np.ones(len(kernels))
        for n in range(2, len(tokens)):
            weights *= kernels[(slice(None), *tokens[n - 2 : n], tokens[n])]
        expected = np.average(kernels[(slice(None), *tokens[-2:])], axis=0, weights=weights)
        exact = estimators.floor(Source(prior, 9))(tokens).probabilities[-1]
        np.testing.assert_allclose(exact, expected, atol=0.01)


def test_where_no_floor_is_known_there_is_a_reason():
    assert "rows of the tree prior under noise" in estimators.floor(Source(Tree(2), 8, TransitionNoise(0.1))).reason
    assert estimators.floor(Source(Tree(2), 8)).reason is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Data(prior="floored"), "floored prior"),
        (Data(prior="reversible"), "reversible prior"),
        (Data(start="stationary"), "stationary start"),
        (Data(transition_noise=0.1, alphabet_size=6, length=64), "the limit is 65536"),
    ],
)
def test_where_no_floor_is_known_the_reason_is_given(data, words):
    assert words in estimators.floor(data.source).reason


@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, TransitionNoise(0.25), TokenNoise(0.25)])
def test_the_floor_of_a_known_kernel_is_where_tokens_came_from(noise):
    kernel = Kernel([[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.2, 0.8]]])
    source = Source(kernel, 12, noise)
    chains = source.sample(seed=1, count=4000)
    predicted = jax.vmap(estimators.floor(source))(chains.tokens)
    assert np.asarray(predicted.defined[0]).tolist() == [False] + [True] * 11
    if noise is None:
        np.testing.assert_allclose(predicted.probabilities[:, 1:-1], chains.truth[:, 2:], atol=1e-12)
    losses = jax.vmap(estimators.sampled_loss)(predicted, chains.tokens)[:, 1:]
    true = jax.vmap(estimators.true_loss)(chains.truth)[:, 1:]
    expected = jax.vmap(estimators.exact_loss)(predicted, chains.truth)[:, 1:]
    assert abs(losses.mean() - expected.mean()) < 0.02  # the distributions are those of the tokens that came
    assert (expected.mean() - true.mean() > 0.01) == (noise is not None)


def test_a_hidden_chain_with_a_stationary_start_has_no_floor():
    source = Source(Kernel([[0.9, 0.1], [0.5, 0.5]]), 8, TokenNoise(0.1), start="stationary")
    assert "token noise hides the chain" in estimators.floor(source).reason
