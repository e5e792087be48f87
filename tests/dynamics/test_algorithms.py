"""The reduced model, both algorithms and what they learn, against plain loops, the full transformer and exact sums."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Floored, Kernel, PointMass
from anyorder.dynamics import objective
from anyorder.dynamics.algorithms import preconditioned_direction
from anyorder.errors import InputError
from tests import oracles
from tests import oracles_dynamics as own

KEY = jax.random.key(5)
SMALL = {"length": 32, "steps": 150, "steps_2": 100, "batch": 64}
#: A second-order chain that remembers both tokens, the newer one better, whose scores g_j fall from j = 1 on.
STICKY = Kernel(np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.7, 0.3], [0.1, 0.9]]]))


def random_model(order, normalise, length=12, excluded=False):
    p_key, r_key = jax.random.split(jax.random.key(order))
    p = jax.random.normal(p_key, (length,), jnp.float64)
    return dynamics.Reduced(
        p=p.at[0].set(-1e9) if excluded else p,
        a_2=jnp.float64(2.5),
        r=jax.random.normal(r_key, (order,), jnp.float64),
        normalise=normalise,
    )


def random_tokens(length=12, size=3):
    return jax.random.randint(jax.random.key(99), (length,), 0, size, jnp.int32)


@pytest.mark.parametrize(("order", "normalise", "excluded"), [(1, False, False), (1, True, True), (3, True, False)])
def test_reduced_model_is_that_of_plain_loops_and_of_the_full_transformer(order, normalise, excluded):
    model, tokens = random_model(order, normalise, excluded=excluded), random_tokens()
    asked = np.array([[(i + j) % 3 for j in range(order)] for i in range(3)])
    predicted = eqx.filter_jit(lambda model: model.predict(tokens, jnp.asarray(asked, jnp.int32), 3))(model)
    p, r = np.asarray(model.p), np.asarray(model.r)
    for context, distribution in zip(asked, predicted, strict=True):
        expected = own.reduced(np.asarray(tokens), p, r, 2.5, context, 3, normalise)
        np.testing.assert_allclose(distribution, expected, atol=1e-14)
    full = np.asarray(dynamics.as_transformer(model, 3)(tokens))
    for n in range(order - 1, len(tokens)):
        seen = np.asarray(tokens)[: n + 1]
        expected = own.reduced(seen, p, r, 2.5, seen[-order:], 3, normalise)
        np.testing.assert_allclose(full[n], expected, atol=1e-14)


def test_loss_and_its_gradient():
    drawn = chains.sample(Dirichlet(2, 2), length=10, count=1, start="stationary", seed=KEY)
    tokens, kernel = drawn.tokens[0], drawn.kernels[0]
    model, rows = random_model(2, True, 10), np.asarray(kernel).reshape(4, 2)

    def loss(p, a_2):
        contexts = [(0, 0), (0, 1), (1, 0), (1, 1)]
        total = 0.0
        for context, row in zip(contexts, rows, strict=True):
            mixed = (own.reduced(np.asarray(tokens), p, np.asarray(model.r), a_2, context, 2, True) + 0.01) / 1.02
            total += (row * np.log(row / mixed)).sum() / 4
        return total

    @jax.jit
    def both(p, a_2):
        moved = dataclasses.replace(model, p=p, a_2=a_2)
        return objective.model_excess(moved, tokens, kernel, 0.01)

    p = np.asarray(model.p)
    value, (by_p, by_a_2) = jax.value_and_grad(both, argnums=(0, 1))(model.p, model.a_2)
    assert float(value) == pytest.approx(loss(p, 2.5), abs=1e-13)
    step = 1e-6
    numeric = [(loss(p + step * unit, 2.5) - loss(p - step * unit, 2.5)) / (2 * step) for unit in np.eye(10)]
    np.testing.assert_allclose(by_p, numeric, atol=1e-8)
    assert float(by_a_2) == pytest.approx((loss(p, 2.5 + step) - loss(p, 2.5 - step)) / (2 * step), abs=1e-8)


def test_estimators_are_those_of_the_oracles():
    tokens = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1]
    counts = objective.followers(jnp.array(tokens, jnp.int32), 2, 2)
    kgram, bag = objective.frequencies(counts), objective.frequencies(objective.bagged(counts, 2))
    for place, context in enumerate(objective.all_contexts(2, 2).tolist()):
        expected = [oracles.normalise(found, 2) for found in (followers(tokens, context, False),
                                                              followers(tokens, context, True))]  # fmt: skip
        np.testing.assert_allclose(kgram[place], [float(value) for value in expected[0]])
        np.testing.assert_allclose(bag[place], [float(value) for value in expected[1]])


def followers(tokens, context, unordered):
    key = sorted if unordered else list
    found = oracles.Counter()
    for i in range(len(context), len(tokens)):
        if key(tokens[i - len(context) : i]) == key(context):
            found[tokens[i]] += 1
    return found


def test_bayes_rows_are_exact_posterior_means():
    counts = jnp.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 4.0, 1.0]])
    floored = objective.bayes_rows(Floored(1, 3, gamma=0.2), 16)(counts)
    for row, given in zip(counts, floored, strict=True):
        expected = own.floored_row([int(count) for count in row], Fraction(1, 5))
        np.testing.assert_allclose(given, [float(value) for value in expected], atol=1e-12)
    plain = objective.bayes_rows(Dirichlet(1, 3), 16)(counts)
    np.testing.assert_allclose(plain[0], [4 / 8, 1 / 8, 3 / 8])
    assert objective.bayes_rows(chains.Reversible(1, 3), 16) is None


def test_both_gradients_agree_and_more_so_for_longer_sequences():
    prior = PointMass(Kernel([[0.1, 0.9], [0.6, 0.4]]))
    short, long = (
        dynamics.agreement(dynamics.initial(length=length, a_2=0.001), prior, KEY, count=2048) for length in (5, 65)
    )
    assert long.cosine > 0.999
    assert long.relative_difference < 0.03 < 0.06 < short.relative_difference  # at T = 4 the frequencies are rough
    assert long.relative_noise < 0.02


@pytest.fixture(scope="module")
def learned():
    """Algorithm 1, in the small, with gradients from fresh chains."""
    return dynamics.two_stage(Floored(1, 2), dynamics.TwoStage(**SMALL))


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


def test_a_trajectory_is_read_back_as_it_was_and_is_safe_to_open(learned, tmp_path):
    path = tmp_path / "deep" / "t.npz"
    dynamics.write_trajectory(learned, path)
    with np.load(path, allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["attention"], learned.attention)
        assert (str(stored["algorithm"]), stored["order"], stored["floor"]) == ("two-stage", 1, learned.floor)
    again = dynamics.read_trajectory(path)
    np.testing.assert_array_equal(again.p, learned.p)
    np.testing.assert_array_equal(again.gradient, learned.gradient)
    assert (again.algorithm, again.order, again.settings) == ("two-stage", 1, learned.settings)
    assert again.evaluation == learned.evaluation
    assert [entry.name for entry in path.parent.iterdir()] == ["t.npz"]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"t\.npz is not a trajectory of anyorder dynamics; write it again"):
        dynamics.read_trajectory(path)


def test_preconditioner_is_the_printed_diagonal():
    gradient = np.array([0.3, -0.2, 0.05, 0.0, -0.7])
    diagonal = np.diag([0.0, 1.0, -0.2 / 0.05, 1.0, 1.0])
    np.testing.assert_allclose(preconditioned_direction(jnp.asarray(gradient), 2), diagonal @ gradient, atol=1e-16)
    assert preconditioned_direction(jnp.asarray(gradient), 3)[3] == -0.2  # d_1/d_3 · d_3 for d_3 → 0


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


def test_training_both_heads_tells_orders_apart():
    found = dynamics.train_jointly(PointMass(STICKY), dynamics.JointTraining(length=32, steps=150, batch=32))
    assert set(found.found) == {"from p = 0", "from dyadic", "from triadic"}
    standings = found.evaluation.standings
    assert standings["from dyadic"].excess < standings["dyadic, a_2 trained only"].excess
    for one in found.found.values():
        assert one.attention.sum() == pytest.approx(1)
        assert one.query_attention.sum() == pytest.approx(1)
        assert set(one.offsets) & {1, 2}


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
    assert [check.name for check in second] == ["time reversibility", "transition preference", "second-hop likelihood"]
    assert all(check.holds for check in second)
    newest = chains.conditions(chains.ReversibleBinary(newest_first=True), 0.2, KEY)
    assert all(check.holds for check in newest)
    assert "newest token first" in newest[1].detail


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 0}, "batch is 0, must be at least 1"),
        ({"rate": float("nan")}, "rate is nan, must be above 0 and finite"),
        ({"length": 1}, "order is 1, must be smaller than the length 1"),
        ({"steps_2": -1}, "steps_2 is -1, must be at least 0"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        dynamics.two_stage(Floored(1, 3), dynamics.TwoStage(**change))


def test_two_stage_is_about_order_one():
    with pytest.raises(InputError, match="order 2, the two-stage algorithm is about order 1; use preconditioned"):
        dynamics.two_stage(Dirichlet(2, 2))
