"""The sampler against its kernel, the noise processes, and the priors with their assumptions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from anyorder import chains
from anyorder.chains import (
    Dirichlet,
    Floored,
    Kernel,
    PointMass,
    Reversible,
    ReversibleBinary,
    Source,
    TokenNoise,
    TransitionNoise,
)
from anyorder.errors import InputError

KEY = jax.random.key(20)
KERNEL = Kernel(np.random.default_rng(3).dirichlet(np.ones(3), size=(3, 3)))


def transition_counts(tokens, order, size):
    """Counts of (context, symbol) over a batch, by hand."""
    counts = np.zeros((size,) * (order + 1))
    words = np.lib.stride_tricks.sliding_window_view(np.asarray(tokens), order + 1, axis=1)
    np.add.at(counts, tuple(words.reshape(-1, order + 1).T), 1)
    return counts


@pytest.mark.parametrize("start", ["uniform", "stationary"])
def test_transitions_follow_the_kernel(start):
    drawn = chains.sample(PointMass(KERNEL), length=60, count=3000, start=start, seed=KEY)
    counts = transition_counts(drawn.tokens, 2, 3)
    expected = counts.sum(axis=-1, keepdims=True) * KERNEL.probabilities
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert scipy.stats.chi2.sf(statistic, df=9 * 2) > 1e-3


def test_first_tokens_are_uniform_or_stationary():
    for start, expected in (("uniform", np.full((3, 3), 1 / 9)), ("stationary", KERNEL.stationary)):
        opening = chains.sample(PointMass(KERNEL), length=5, count=40_000, start=start, seed=KEY).tokens[:, :2]
        counts = np.zeros((3, 3))
        np.add.at(counts, tuple(np.asarray(opening).T), 1)
        assert scipy.stats.chisquare(counts.ravel(), 40_000 * expected.ravel()).pvalue > 1e-3


def test_stationary_truth_of_the_opening_is_its_conditional_distribution():
    drawn = chains.sample(PointMass(KERNEL), length=5, count=50, start="stationary", seed=KEY)
    first = KERNEL.stationary.sum(axis=1)
    for tokens, truth in zip(drawn.tokens, drawn.truth, strict=True):
        np.testing.assert_allclose(truth[0], first, atol=1e-12)
        np.testing.assert_allclose(truth[1], KERNEL.stationary[tokens[0]] / first[tokens[0]], atol=1e-12)


def test_truth_is_the_row_of_the_context():
    drawn = chains.sample(Dirichlet(2, 3), length=12, count=4, seed=KEY)
    np.testing.assert_allclose(drawn.truth[:, :2], 1 / 3, rtol=1e-12)
    for kernel, tokens, truth in zip(drawn.kernels, drawn.tokens, drawn.truth, strict=True):
        for t in range(2, 12):
            np.testing.assert_array_equal(truth[t], kernel[tokens[t - 2], tokens[t - 1]])


@pytest.mark.parametrize("count", [1, 4, 5])
def test_tokens_are_those_of_a_walk_by_hand(count):
    """The uniform numbers from the public generator, and one token after the other in plain Python."""
    length, order, size = 30, 2, 3
    drawn = chains.sample(Dirichlet(order, size), length=length, count=count, seed=KEY)
    _, step_key, _ = jax.random.split(KEY, 3)
    even = count + count % 2
    words = np.asarray(jax.random.bits(step_key, (length * even // 2,), np.uint64)).view(np.uint32)
    uniforms = (words >> 8).reshape(length, even) / 2**24
    for i in range(count):
        past = ()
        for t in range(length):
            row = np.asarray(drawn.kernels)[i][past[-order:]] if t >= order else np.full(size, 1 / size)
            past += (int(np.searchsorted(np.cumsum(row)[:-1], uniforms[t, i], side="right")),)
        assert tuple(drawn.tokens[i].tolist()) == past


def test_the_same_key_gives_the_same_chains_and_kernels_are_independent():
    one, again, other = (
        chains.sample(Dirichlet(1, 2), length=9, count=6, seed=key) for key in (KEY, KEY, jax.random.key(21))
    )
    np.testing.assert_array_equal(one.tokens, again.tokens)
    assert not np.array_equal(one.kernels, other.kernels)
    assert len(np.unique(np.asarray(one.kernels).reshape(6, -1), axis=0)) == 6


def test_sampling_inside_another_compiled_program():
    @jax.jit
    def program(key):
        drawn = chains.sample(Dirichlet(2, 2), length=16, count=8, dtype=jnp.float32, seed=key)
        return drawn.tokens, drawn.truth

    tokens, truth = program(KEY)
    assert tokens.dtype == jnp.int32
    assert truth.dtype == jnp.float32
    direct = chains.sample(Dirichlet(2, 2), length=16, count=8, dtype=jnp.float32, seed=KEY)
    np.testing.assert_array_equal(tokens, direct.tokens)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniforms_are_uniform_and_below_one(dtype):
    from anyorder.chains.random import uniforms

    drawn = np.asarray(uniforms(KEY, (100_001,), dtype))
    assert drawn.dtype == dtype
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert scipy.stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.015  # halves of one word are independent


def test_token_noise_replaces_by_a_different_token_uniformly():
    drawn = chains.sample(PointMass(KERNEL), length=40, count=4000, noise=TokenNoise(0.3), seed=KEY)
    changed = np.asarray(drawn.tokens != drawn.clean)
    assert abs(changed.mean() - 0.3) < 0.005
    shifts = np.asarray((drawn.tokens - drawn.clean) % 3)[changed]
    assert scipy.stats.chisquare(np.bincount(shifts, minlength=3)[1:]).pvalue > 1e-3
    counts = transition_counts(drawn.clean, 2, 3)  # the chain underneath is the clean one
    np.testing.assert_allclose(counts / counts.sum(axis=-1, keepdims=True), KERNEL.probabilities, atol=0.02)


def test_truth_under_token_noise_is_the_distribution_of_the_observed_token():
    drawn = chains.sample(PointMass(KERNEL), length=30, count=8000, noise=TokenNoise(0.4), seed=KEY)
    expected = np.asarray(drawn.truth).sum(axis=(0, 1))
    observed = np.bincount(np.asarray(drawn.tokens).ravel(), minlength=3)
    assert abs(expected.sum() - observed.sum()) < 1e-6 * expected.sum()
    np.testing.assert_allclose(observed / observed.sum(), expected / expected.sum(), atol=0.004)


def test_transition_noise_mixes_in_a_fresh_row_at_every_step():
    drawn = chains.sample(PointMass(KERNEL), length=40, count=3000, noise=TransitionNoise(0.5), seed=KEY)
    counts = transition_counts(drawn.tokens, 2, 3)
    mixed = 0.5 * KERNEL.probabilities + 0.5 / 3  # E[P_r] is uniform
    expected = counts.sum(axis=-1, keepdims=True) * mixed
    assert scipy.stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), df=18) > 1e-3
    # The rest of each truth, (truth - (1 - α)P_d)/α, is a point of the simplex, and never the same twice.
    tokens = np.asarray(drawn.tokens)
    rows = KERNEL.probabilities[tokens[:, :-2], tokens[:, 1:-1]]
    fresh = (np.asarray(drawn.truth)[:, 2:] - 0.5 * rows) / 0.5
    assert fresh.min() >= -1e-12
    np.testing.assert_allclose(fresh.sum(axis=-1), 1, atol=1e-9)
    assert len(np.unique(fresh[..., 0].round(12))) == fresh[..., 0].size
    assert abs(fresh[..., 0].var() - 1 / 18) < 0.002  # Dirichlet(1, 1, 1): variance 1/18


def test_dirichlet_rows_have_the_right_moments():
    for concentration, size in ((1.0, 2), (1.0, 3), (0.5, 2), (4.0, 3)):
        prior = Dirichlet(1, size, concentration)
        kernels = np.asarray(jax.jit(jax.vmap(prior.draw))(jax.random.split(KEY, 20_000)))
        np.testing.assert_allclose(kernels.mean(axis=0), 1 / size, atol=0.01)
        variance = (1 / size) * (1 - 1 / size) / (concentration * size + 1)
        np.testing.assert_allclose(kernels.var(axis=0), variance, rtol=0.05)
        np.testing.assert_allclose(kernels.sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize(("size", "gamma"), [(2, 0.2), (3, 0.2), (4, 0.5)])
def test_floored_prior_satisfies_all_four_assumptions(size, gamma):
    checks = chains.check_first_order(Floored(1, size, gamma), gamma, KEY)
    assert [check.holds for check in checks] == [True] * 4, "\n".join(map(str, checks))


def test_the_checker_says_which_assumption_fails():
    def failing(prior, gamma=0.2):
        return [check.name for check in chains.check_first_order(prior, gamma, KEY) if not check.holds]

    assert failing(Dirichlet(1, 3)) == ["minimum transition probability", "non-trivial mixing"]
    assert failing(Floored(1, 2, 0.2, mixing=False)) == ["non-trivial mixing"]
    one = PointMass(Kernel([[0.8, 0.2], [0.4, 0.6]]))
    assert failing(one) == ["permutation invariance", "uniform expected transition matrix"]
    sticky = Reversible(1, 3)  # stays where it is: invariant under renaming, but its mean is not uniform
    assert "uniform expected transition matrix" in failing(sticky, gamma=0.01)


def test_reversible_binary_kernels_satisfy_the_second_order_assumption():
    kernels = np.asarray(jax.vmap(ReversibleBinary().draw)(jax.random.split(KEY, 200)))
    for kernel in kernels:
        checks = chains.check_second_order(Kernel(kernel))
        assert all(check.holds for check in checks), "\n".join(map(str, checks))
    flipped = Kernel(kernels[0][::-1])  # exchanges s_1: the preference turns round
    assert [check.holds for check in chains.check_second_order(flipped)][1] is False


@pytest.mark.parametrize(("order", "size"), [(1, 2), (1, 4), (2, 3), (3, 2)])
def test_reversible_kernels_and_what_the_any_order_assumption_can_mean(order, size):
    for seed in range(3):
        kernel = Kernel(Reversible(order, size).draw(jax.random.key(seed)))
        assert kernel.reversible
        assert kernel.probabilities.min() > 0
        checks = {check.name: check for check in chains.check_any_order(kernel)}
        assert checks["irreducibility and aperiodicity"].holds
        assert checks["time reversibility"].holds
        assert checks["falling return count"].holds
        # Printed, β_m is zero for every m ≥ 2: nothing can satisfy it.
        assert not checks["non-degenerate projection"].holds
        first = order == 1
        assert checks["spectral assumptions: self-adjoint"].holds == first
        if first:
            assert checks["spectral assumptions: positive"].holds
            assert checks["mended projection"].measured == pytest.approx(1.0)  # Σ_a φ_m(a)² μ(a)


def test_return_counts_by_hand():
    from anyorder.chains.priors import return_counts

    kernel = np.random.default_rng(1).dirichlet(np.ones(2), size=(2, 2))
    expected = np.zeros(3)
    for a in itertools.product(range(2), repeat=2):
        for path in itertools.product(range(2), repeat=3):
            word, probability = (*a, *path), 1.0
            for place in range(2, 5):
                probability *= kernel[word[place - 2], word[place - 1], word[place]]
            for lag in range(3):
                expected[lag] += probability * a.count(word[2 + lag])
    np.testing.assert_allclose(return_counts(jnp.asarray(kernel), 3), expected, rtol=1e-12)


def test_no_irreducible_chain_above_order_one_is_self_adjoint():
    for seed in range(20):
        kernel = Kernel(np.random.default_rng(seed).dirichlet(np.ones(2), size=(2, 2)))
        checks = {check.name: check for check in chains.check_any_order(kernel)}
        assert checks["spectral assumptions: self-adjoint"].measured > 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: chains.sample(Dirichlet(3, 2), length=3, count=1, seed=KEY),
            "order is 3, must be smaller than the length 3",
        ),
        (lambda: chains.sample(Dirichlet(1, 2), length=3, count=0, seed=KEY), "count is 0, must be at least 1"),
        (lambda: TokenNoise(1.5), "probability is 1.5, must be between 0 and 1"),
        (lambda: TransitionNoise(-0.1), "strength is -0.1, must be between 0 and 1"),
        (lambda: Dirichlet(1, 2, 0.0), "concentration is 0.0, must be above 0"),
        (lambda: Floored(1, 2, 1.0), "gamma is 1.0, must be between 0 and 1"),
        (lambda: ReversibleBinary(order=3), "ReversibleBinary is order 2 over 2 symbols"),
        (lambda: chains.check_first_order(Dirichlet(2, 2), 0.2, KEY), "the prior has order 2"),
        (lambda: chains.check_second_order(KERNEL), "order 2 over 3 symbols"),
        (
            lambda: chains.sample(Dirichlet(11, 2), length=20, count=1, start="stationary", seed=KEY),
            "2048 contexts' distribution, the limit is 1024",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("noise", "start", "expected"),
    [
        (None, "uniform", "000000000100 000110100101"),
        (TokenNoise(0.3), "stationary", "001000001101 000110011101"),
        (TransitionNoise(0.2), "uniform", "000000000100 001110100101"),
    ],
)
def test_a_seed_keeps_its_sequences(noise, start, expected):
    """Tokens recorded from the first sampler."""
    drawn = Source(Floored(2, 2, 0.3), 12, noise, start).sample(5, 2).tokens
    assert " ".join("".join(map(str, row)) for row in drawn.tolist()) == expected


def test_a_compiled_program_takes_a_source_as_its_input():
    traces = []

    @jax.jit
    def draw(source):
        traces.append(1)
        return source.sample(KEY, 4).tokens

    for gamma, strength in ((0.2, 0.1), (0.5, 0.5)):
        source = Source(Floored(1, 2, gamma), 8, TransitionNoise(strength))
        expected = source.sample(KEY, 4).tokens
        np.testing.assert_array_equal(draw(source.as_inputs(jnp.float64)), expected)
    assert len(traces) == 1


@pytest.mark.parametrize(("order", "size", "gamma"), [(1, 2, 0.6), (1, 4, 0.8)])
def test_a_floor_under_which_no_kernel_mixes_is_refused_instead_of_tried_for_ever(order, size, gamma):
    # the corners: one row for each symbol, S of every kind; their spread is below what Assumption 1 asks for
    corners = np.eye(size)[np.arange(size**order) % size]
    rows = (1 - gamma) * corners + gamma / size
    assert np.square(rows - rows.mean(axis=0)).sum() < gamma**2 / size
    with pytest.raises(InputError, match=f"gamma is {gamma}, rows this much alike never mix"):
        Floored(order, size, gamma)
