"""Sources: one key, one batch, inside other programs too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, estimators
from anyorder.chains import (
    BagSymmetric,
    Dirichlet,
    Floored,
    Kernel,
    OrderMixture,
    ReversibleBinary,
    Source,
    TokenNoise,
    TransitionNoise,
    Tree,
    named_prior,
)
from anyorder.errors import InputError
from tests.chains.small import KERNEL, KEY


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: chains.sample(Dirichlet(3, 2), length=3, count=1, seed=KEY),
            "order is 3, must be smaller than the length 3",
        ),
        (lambda: chains.sample(Dirichlet(1, 2), length=3, count=0, seed=KEY), "count is 0, must be at least 1"),
        (lambda: TokenNoise(jnp.array(2.0)), "probability is 2.0, must be between 0 and 1"),
        (lambda: chains.sample("tree", order=5), "order is 5, the prior has 3; drop `order=`"),
        (lambda: chains.sample(KERNEL, alphabet_size=9), "alphabet size is 9, the prior has 3; drop `alphabet_size=`"),
        (lambda: TokenNoise(1.5), "probability is 1.5, must be between 0 and 1"),
        (lambda: TransitionNoise(-0.1), "strength is -0.1, must be between 0 and 1"),
        (lambda: Dirichlet(1, 2, 0.0), "concentration is 0.0, must be at least 1e-06"),
        (lambda: Floored(1, 2, 1.0), "gamma is 1.0, must be between 0 and 1"),
        (lambda: ReversibleBinary(order=3), "ReversibleBinary is order 2 over 2 symbols"),
        (lambda: chains.check_first_order(Dirichlet(2, 2), 0.2, KEY), "the prior has order 2"),
        (lambda: chains.check_second_order(KERNEL), "order 2 over 3 symbols"),
        (
            lambda: chains.sample(Dirichlet(11, 2), length=20, count=1, start="stationary", seed=KEY),
            "a stationary start over 2048 contexts, the limit is 1024",
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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OrderMixture(2, 3, 2), "smallest order is 3, must be between 0 and the largest, 2"),
        (lambda: Tree(2, 3, concentration=0.0), "concentration is 0.0, must be at least 1e-06"),
        (lambda: named_prior("forest", 1, 2), "no prior 'forest'; did you mean floored"),
        (lambda: Source(Dirichlet(1, 2), 4).sample(0, 10**9), "sample fewer or shorter ones"),
        (lambda: Source(Dirichlet(1, 2), 4, per_kernel=2).sample(0, 3), "must be a multiple of 2"),
        (lambda: Source(Dirichlet(1, 2), 4).sample(1 << 70, 1), "seed is 1180591620717411303424"),
    ],
)
def test_bad_sources_are_refused_in_one_line(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_an_integer_is_a_key_and_what_is_shown_fits_on_a_screen():
    prior = BagSymmetric(6, 2)
    drawn = Source(prior, 200).sample(3, 8)
    np.testing.assert_array_equal(drawn.tokens, Source(prior, 200).sample(jax.random.key(3), 8).tokens)
    estimate = estimators.floor(Source(prior, 200))(drawn.tokens[0])
    for shown in (drawn, estimate, Kernel(drawn.kernels[0])):
        assert len(repr(shown)) < 100
        assert len(shown._repr_html_().split("<tr>")) <= 17
