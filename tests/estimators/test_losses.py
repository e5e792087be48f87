"""Losses by hand, and the Bayes floors within their Monte Carlo error."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, estimators
from anyorder.errors import InputError
from tests import oracles


def test_losses_align_predictions_with_the_next_token():
    probabilities = jnp.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    tokens = jnp.array([0, 1, 0])
    np.testing.assert_allclose(
        estimators.sampled_loss(probabilities, tokens), [-math.log(0.5), -math.log(0.9)], rtol=1e-12
    )
    truth = jnp.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_allclose(
        estimators.exact_loss(probabilities, truth), [-math.log(0.5), -math.log(0.9)], rtol=1e-12
    )
    np.testing.assert_allclose(
        estimators.true_loss(truth), [oracles.entropy([0.25, 0.75]), 0.0], rtol=1e-12, atol=1e-15
    )


def test_zero_probability_costs_infinity_only_where_it_can_come():
    certain = jnp.array([[1.0, 0.0], [1.0, 0.0]])
    assert estimators.exact_loss(certain, jnp.array([[0.5, 0.5], [1.0, 0.0]]))[0] == 0
    assert estimators.exact_loss(certain, jnp.array([[0.5, 0.5], [0.5, 0.5]]))[0] == math.inf


@pytest.mark.slow
def test_exact_loss_is_the_mean_of_the_sampled_loss():
    prior = chains.PointMass(chains.Kernel([[0.9, 0.1], [0.4, 0.6]]))
    drawn = chains.sample(prior, length=12, count=20_000, seed=0)

    def both(tokens, truth):
        probabilities = estimators.add_beta(tokens, order=1, alphabet_size=2).probabilities
        return estimators.sampled_loss(probabilities, tokens), estimators.exact_loss(probabilities, truth)

    sampled, exact = jax.vmap(both)(drawn.tokens, drawn.truth)
    difference = estimators.summarise(sampled - exact)
    assert abs(difference.mean) < 4 * difference.standard_error


def test_summary_by_hand():
    summary = estimators.summarise(np.array([[math.nan, 1.0, 3.0], [math.nan, 2.0, math.nan]]))
    assert summary.mean == 2.0  # of the sequence means 2 and 2
    assert summary.standard_error == 0.0
    np.testing.assert_allclose(summary.position_mean, [math.nan, 1.5, 3.0])
    np.testing.assert_allclose(summary.position_error[1], 0.5)
    assert summary.coverage == 0.5
    with pytest.raises(InputError, match="give at least 2"):
        estimators.summarise(np.ones((1, 3)))


# Expected excess of the Bayes predictor, binary alphabet, nats per token; (k, T): T + 1 tokens x_0 … x_T.
FLOORS = {
    (1, 8): 0.122, (1, 32): 0.062, (1, 64): 0.040,
    (2, 8): 0.151, (2, 32): 0.0864, (2, 64): 0.0594,
    (3, 8): 0.173, (3, 32): 0.115, (3, 64): 0.0844,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("order", "last"), FLOORS)
def test_bayes_floor(order, last):
    @jax.jit
    def excess(key):
        drawn = chains.sample(chains.Dirichlet(order, 2), length=last + 1, count=8192, seed=key)
        bayes = jax.vmap(lambda tokens: estimators.add_beta(tokens, order=order, alphabet_size=2).probabilities)
        return jax.vmap(estimators.exact_loss)(bayes(drawn.tokens), drawn.truth) - jax.vmap(estimators.true_loss)(
            drawn.truth
        )

    measured = estimators.summarise(excess(jax.random.key(17)))
    printed = FLOORS[order, last]
    rounding = 0.0005 if printed >= 0.1 or order == 1 else 0.00005
    assert abs(measured.mean - printed) < 4 * measured.standard_error + rounding


@pytest.mark.slow
def test_transition_noise_floor_beats_ignoring_the_noise():
    noise = chains.TransitionNoise(0.25)
    drawn = chains.sample(chains.Dirichlet(2, 2), length=33, count=4096, noise=noise, seed=1)

    def both(tokens, truth):
        aware = estimators.bayes_under_transition_noise(tokens, order=2, alphabet_size=2, strength=0.25)
        naive = estimators.add_beta(tokens, order=2, alphabet_size=2)
        return tuple(estimators.exact_loss(e.probabilities, truth) for e in (aware, naive))

    aware, naive = jax.vmap(both)(drawn.tokens, drawn.truth)
    gain = estimators.summarise(naive - aware)
    assert gain.mean > 4 * gain.standard_error
