"""Both algorithms and their end points."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Dirichlet, Floored, Kernel, PointMass
from anyorder.errors import InputError
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.dynamics.algorithms import preconditioned_direction
from tests import oracles_dynamics as own
from tests.papers.two_can.dynamics.small import KEY, SMALL, STICKY


@pytest.mark.slow
def test_both_gradients_agree_and_more_so_for_longer_sequences():
    prior = PointMass(Kernel([[0.1, 0.9], [0.6, 0.4]]))
    short, long = (
        dynamics.agreement(dynamics.initial(length=length, a_2=0.001), prior, KEY, count=2048) for length in (5, 65)
    )
    assert long.cosine > 0.999
    assert long.relative_difference < 0.03 < 0.06 < short.relative_difference  # at T = 4 the frequencies are rough
    assert long.relative_noise < 0.02


@pytest.mark.slow
def test_two_stage_learns_the_induction_head(learned):
    assert learned.leads
    row = learned.attention[learned.stage_one_steps]
    assert row[1] > 0.98
    np.testing.assert_allclose(learned.attention.sum(axis=1), 1)
    assert (learned.a_2[:151] == 0.01).all()
    assert (learned.p[150:] == learned.p[150]).all()
    assert learned.a_2[-1] > 1
    standings = learned.evaluation.standings
    assert 0 < standings["Bayes"].excess < standings["learned"].excess < standings["k-gram"].excess
    assert standings["learned"].excess < 0.8 * learned.excess[:100].mean()
    assert learned.loss.shape == learned.excess.shape == (250,)
    assert learned.floor == learned.true_loss + standings["Bayes"].excess


def test_the_same_seed_gives_the_same_run(learned):
    again = dynamics.two_stage(Floored(1, 2), dynamics.TwoStage(**SMALL))
    np.testing.assert_array_equal(again.p, learned.p)
    np.testing.assert_array_equal(again.a_2, learned.a_2)
    assert len(repr(learned)) < 120


def test_preconditioner_is_the_printed_diagonal():
    gradient = np.array([0.3, -0.2, 0.05, 0.0, -0.7])
    diagonal = np.diag([0.0, 1.0, -0.2 / 0.05, 1.0, 1.0])
    np.testing.assert_allclose(preconditioned_direction(jnp.asarray(gradient), 2), diagonal @ gradient, atol=1e-16)
    assert preconditioned_direction(jnp.asarray(gradient), 3)[3] == -0.2  # d_1/d_3 · d_3 for d_3 → 0


@pytest.mark.slow
def test_preconditioned_ends_at_one_over_k_and_is_the_bag():
    settings = dynamics.Preconditioned(length=32, steps=150, rate=10000.0, gradient="closed", batch=8)
    run = dynamics.preconditioned(PointMass(STICKY), settings)
    assert run.spread < 1e-15
    assert run.leads
    np.testing.assert_allclose(run.attention[-1, 1:3], 0.5, atol=1e-3)
    assert (run.attention[:, 0] == 0).all()
    end = dynamics.limit(run.p[-1], PointMass(STICKY), KEY, length=33)
    assert end.to_bag < 0.3 * end.kgram_to_bag < end.to_kgram
    plain = dynamics.preconditioned(PointMass(STICKY), dataclasses.replace(settings, precondition=False))
    best = np.argmax([own.lag_score(STICKY.probabilities, lag) for lag in range(1, 6)]) + 1
    assert plain.attention[-1].argmax() == best
    assert plain.attention[-1, best] > 0.9


@pytest.mark.slow
def test_divergence_names_the_step_and_the_last_finite_value(request):
    settings = dynamics.TwoStage(**SMALL | {"length": 24}, rate_2=1e308)  # a shape that no other test has compiled
    # Whether so large a number becomes infinite depends on the order of products: the one that users have.
    jax.config.update("jax_disable_most_optimizations", False)
    request.addfinalizer(lambda: jax.config.update("jax_disable_most_optimizations", True))
    with pytest.raises(InputError, match=r"diverged at step 15\d: a_2 .* last finite excess loss was 0\.\d+") as error:
        dynamics.two_stage(Floored(1, 2), settings)
    assert "\n" not in str(error.value)
    assert "lower `rate_2=`, it is 1e+308" in str(error.value)


def test_a_prior_that_violates_an_assumption_is_named():
    failing = {check.name: check for check in chains.conditions(Dirichlet(1, 3), 0.2, KEY) if not check.holds}
    assert set(failing) == {"minimum transition probability", "non-trivial mixing"}
    assert failing["minimum transition probability"].measured < 0.2 / 3
    second = chains.conditions(PointMass(STICKY), 0.2, KEY, count=2)
    names = ["cyclic shift, as printed", "time reversibility", "transition preference", "second-hop likelihood"]
    assert [check.name for check in second] == names
    assert all(check.holds for check in second[1:])
    newest = chains.conditions(chains.ReversibleBinary(newest_first=True), 0.2, KEY)
    assert [check.holds for check in newest] == [False, True, True, True]
    assert "newest token first" in newest[2].detail
