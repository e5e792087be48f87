"""Checks of user-defined sources that are not chains, and of user-defined priors; recall against all its sequences."""

import itertools
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import chains, estimators
from anyorder.chains import Recall, Source
from anyorder.errors import InputError
from tests import oracles
from tests.test_promises import ROOT, blocks


class Coin(chains.Process):
    """Independent tokens."""

    heads: float = 0.25
    total: float = eqx.field(static=True, default=1.0)

    def sequence(self, key, length, dtype=jnp.float64):
        row = jnp.stack([self.total - self.heads, self.heads + jnp.zeros(())]).astype(dtype)
        return jax.random.categorical(key, jnp.log(row), shape=(length,)), jnp.broadcast_to(row, (length, 2))


def test_a_process_is_sampled_with_the_distribution_of_every_token():
    drawn = chains.Source(Coin(1, 2), length=50).sample(0, 200)
    assert repr(drawn) == "Chains(200 sequences of 50 tokens over 2 symbols)"
    assert drawn.kernels is None
    np.testing.assert_array_equal(drawn.truth, np.broadcast_to([0.75, 0.25], (200, 50, 2)))
    assert abs(np.asarray(drawn.tokens).mean() - 0.25) < 0.02


def test_token_noise_acts_on_processes_and_what_needs_kernels_is_refused():
    drawn = chains.Source(Coin(1, 2), length=8, noise=chains.TokenNoise(1.0)).sample(0, 4)
    np.testing.assert_array_equal(drawn.tokens, 1 - drawn.clean)
    np.testing.assert_array_equal(drawn.truth[0, 0], [0.25, 0.75])
    for options in ({"noise": chains.TransitionNoise(0.1)}, {"start": "stationary"}, {"per_kernel": 2}):
        with pytest.raises(InputError, match="the prior given has no kernels; drop"):
            chains.Source(Coin(1, 2), length=8, **options)
    with pytest.raises(InputError, match="draws sequences and has no kernels"):
        Coin(1, 2).draw(jax.random.key(0))


class Mine(chains.Prior):
    """One row for every context."""

    row: tuple[float, ...] = (0.5, 0.5)

    def draw(self, key, dtype=jnp.float64):
        return jnp.broadcast_to(jnp.asarray(self.row, dtype), (2, len(self.row)))


def test_a_prior_of_ones_own_overrides_one_method():
    assert chains.Source(Mine(1, 2), length=5).sample(0, 3).tokens.shape == (3, 5)
    found = estimators.floor(Mine(1, 2))
    assert found.reason == "no floor is known for Mine; define its method floor(tokens), or pass `floor=`"
    assert list(estimators.references(Mine(1, 2))) == ["order-0", "order-1"]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Mine(1, 2, (0.5, 0.8)), r"Mine draws no kernel: kernel row of context \(0,\) sums to 1.3, must be 1"),
        (Mine(1, 2, (1.5, -0.5)), r"Mine draws no kernel: kernel has a negative probability at \(0, 1\)"),
        (Mine(1, 2, (0.5, 0.25, 0.25)), r"Mine draws kernels of shape \(2, 3\), must be \(2, 2\)"),
        (Coin(1, 2, total=1.5), r"Coin draws token 0 from \[1.25, 0.25\], which is not a distribution"),
        (chains.Prior(1, 2), r"Prior has no method draw\(key, dtype\); write one that returns a kernel"),
        (chains.Process(1, 2), r"Process has no method sequence\(key, length, dtype\); write one"),
    ],
)
def test_what_draws_no_distributions_is_refused_in_a_line(prior, message):
    with pytest.raises(InputError, match=message):
        chains.Source(prior, length=4).sample(0, 2)


class OneArgument(chains.Prior):
    def draw(self, key):
        return jnp.full((2, 2), 0.5)


class NotOfTheKey(chains.Prior):
    def draw(self, key, dtype=jnp.float64):
        return np.random.default_rng().dirichlet([1, 1], 2)


class NotANumber(chains.Prior):
    def draw(self, key, dtype=jnp.float64):
        return jnp.full((2, 2), jnp.nan, dtype)


class AlwaysDouble(chains.Prior):
    def draw(self, key, dtype=jnp.float64):
        return jax.random.dirichlet(key, jnp.ones(2, jnp.float64), (2,))


def test_what_cannot_be_drawn_is_refused_and_what_can_has_the_type_that_is_asked_for():
    with pytest.raises(InputError, match=r"OneArgument.draw\(key, dtype\) fails: TypeError: .* takes 2 positional"):
        chains.Source(OneArgument(1, 2), length=8)
    with pytest.raises(InputError, match="NotOfTheKey returns different results for equal keys"):
        chains.Source(NotOfTheKey(1, 2), length=8)
    with pytest.raises(InputError, match=r"NotANumber draws no kernel: kernel has NaN at \(0, 0\)"):
        chains.Source(NotANumber(1, 2), length=8)
    drawn = chains.Source(AlwaysDouble(1, 2), length=8).sample(0, 2, jnp.float32)
    assert drawn.kernels.dtype == drawn.truth.dtype == jnp.float32


def by_paths(tokens, stay=0.9, own=0.8):
    """The distribution of the next token, by a sum over all hidden paths."""
    weights = np.zeros(2)
    for path in itertools.product((0, 1), repeat=len(tokens) + 1):
        moves = np.prod([stay if one == two else 1 - stay for one, two in itertools.pairwise(path)])
        seen = np.prod([own if state == token else 1 - own for state, token in zip(path, tokens, strict=False)])
        weights += moves * seen * np.where(np.arange(2) == path[-1], own, 1 - own)
    return weights / weights.sum()


@pytest.mark.slow
def test_the_hidden_markov_source_of_the_page_is_a_plug_in_with_its_forward_algorithm(plugin, run, tmp_path):
    first, *rest = blocks(ROOT / "docs/bring-your-own.md")
    (block,) = (block for block in rest if "class HiddenMarkov" in block)
    path = plugin(first + block.partition("\nsource = ")[0])
    prior = chains.named_prior("hidden-markov", 1, 2)
    tokens = [0, 1, 1, 1, 0, 0, 1]
    rows = estimators.floor(prior)(tokens).probabilities
    np.testing.assert_allclose(rows, [by_paths(tokens[: n + 1]) for n in range(7)], rtol=1e-12)
    small = {"order": 1, "length": 8, "seeds": 1, "steps": 2, "evaluation-count": 16}
    words = [word for flag, value in small.items() for word in (f"--{flag}", value)]
    assert run("train", "--plugin", path, "--out", tmp_path / "run", "--prior", "hidden-markov", *words)[0] == 0
    code, shown, _ = run("evaluate", tmp_path / "run", "--plugin", path)
    assert code == 0
    assert "Bayes floor" in shown


def all_sequences(order, size, length):
    """Every sequence of the source, each as likely as the others."""
    pairs = length // 2 - order
    for marked, values in itertools.product(range(pairs), itertools.product(range(size - 1), repeat=pairs)):
        tokens = [0] * (order - 1 + length % 2)
        for place, value in enumerate(values):
            tokens += [size - 1 if place == marked else 0, value]
        at = order - 1 + length % 2 + 2 * marked
        yield [*tokens, *tokens[at - order + 1 : at + 1], values[marked]]


def enumerated(tokens, sequences, size):
    """The distribution of every token given those before it, by counting sequences that begin alike."""
    rows = []
    for place in range(len(tokens)):
        nexts = [other[place] for other in sequences if other[:place] == tokens[:place]]
        rows.append([Fraction(nexts.count(symbol), len(nexts)) for symbol in range(size)])
    return rows


@pytest.mark.parametrize(("order", "size", "length"), [(1, 3, 8), (1, 4, 7), (2, 3, 10), (3, 3, 12), (2, 4, 9)])
def test_tokens_come_from_what_the_enumeration_says(order, size, length):
    sequences = list(all_sequences(order, size, length))
    drawn = Source(Recall(order, size), length=length).sample(0, 64)
    seen = {tuple(tokens) for tokens in np.asarray(drawn.tokens).tolist()}
    assert seen <= set(map(tuple, sequences))
    assert len(seen) > min(10, len(sequences) // 2)
    for tokens, truth in list(zip(np.asarray(drawn.tokens).tolist(), np.asarray(drawn.truth), strict=True))[:4]:
        np.testing.assert_allclose(truth, np.array(enumerated(tokens, sequences, size), float), atol=1e-15)
        kgram = oracles.ESTIMATORS["kgram"](tokens, length - 2, order, size)
        assert kgram[tokens[-1]] == 1


def test_predictions_need_only_the_tokens_so_far():
    prior = Recall(2, 4)
    tokens, truth = prior.sequence(jax.random.key(1), 20)
    for read in (5, 12, 19):
        np.testing.assert_array_equal(prior.predict(tokens[:read], 20), truth[1 : read + 1])


def test_what_is_too_small_is_refused():
    with pytest.raises(InputError, match="alphabet size is 2, recall needs two values and a marker"):
        Recall(1, 2)
    with pytest.raises(InputError, match="length is 5, recall of order 2 needs 6 or more"):
        Source(Recall(2, 3), length=5).sample(0, 1)
