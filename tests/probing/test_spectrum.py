import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.probing import sequences, spectrum
from tests.estimators.sequences import slow_match_length
from tests.probing import heads


def test_the_spectrum_is_mass_over_the_mass_of_even_attention():
    generator = np.random.default_rng(1)
    tokens = generator.integers(3, size=(2, 20))
    attention = np.stack([heads.noise(row, generator) for row in tokens])
    mass, chance = np.zeros(3), np.zeros(3)
    for row, weights in zip(tokens, attention, strict=True):
        for n in range(2, 20):
            free = weights[n, 1:n].sum()
            for i in range(1, n):
                length = slow_match_length(row, n, i, 2)
                mass[length] += weights[n, i]
                chance[length] += free / (n - 1)
    found = spectrum(attention, tokens, max_length=2)
    np.testing.assert_allclose(found.ratio, mass / chance, rtol=1e-9)
    np.testing.assert_allclose(found.sink_mass, attention[:, 2:, 0].mean(), rtol=1e-9)


@pytest.mark.parametrize("chance", ["uniform", "offsets"])
def test_even_attention_is_flat(chance):
    drawn = sequences(3)
    attention = np.stack([heads.uniform(row) for row in drawn.tokens])
    found = spectrum(attention, drawn.tokens, queries=drawn.queries, chance=chance)
    np.testing.assert_allclose(found.ratio, 1, atol=0.05 if chance == "offsets" else 1e-6)


def test_a_head_that_looks_at_one_distance_is_flat_against_its_own_profile():
    drawn = sequences(24)
    attention = np.stack([heads.at_offset(row, 7) for row in drawn.tokens])
    plain, balanced = (
        spectrum(attention, drawn.tokens, queries=drawn.queries, chance=chance) for chance in ("uniform", "offsets")
    )
    assert np.abs(plain.ratio - 1).max() > 0.5
    np.testing.assert_allclose(balanced.ratio, 1, atol=1e-6)


def test_heads_keep_their_places():
    drawn = sequences(4, length=96, max_length=3)
    attention = np.stack([[[heads.uniform(row), heads.induction(row, 2)]] for row in drawn.tokens])
    found = spectrum(attention, drawn.tokens, max_length=3, queries=drawn.queries)
    alone = spectrum(attention[:, 0, 1], drawn.tokens, max_length=3, queries=drawn.queries)
    np.testing.assert_allclose(found[0, 1].ratio, alone.ratio, rtol=1e-12)
    np.testing.assert_allclose(found[0, 1].error, alone.error, rtol=1e-9)


def test_errors_shrink_with_the_number_of_sequences():
    errors = []
    for count in (8, 64):
        drawn = sequences(count, length=96, max_length=3)
        attention = np.stack([heads.induction(row, 1) for row in drawn.tokens])
        errors.append(spectrum(attention, drawn.tokens, max_length=3, queries=drawn.queries).error[2])
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize(
    ("attention", "tokens", "said"),
    [
        (np.ones((2, 4, 4)), np.zeros((2, 4), int), "row 0 sums to 4"),
        (np.full((2, 4, 4), 0.25), np.zeros((2, 4), int), "is not causal"),
        (np.eye(4)[None], np.zeros((1, 5), int), r"shape \(1, 4, 4\)"),
        (np.eye(4)[None], np.zeros((1, 4)), "must be integers"),
        (np.full((1, 4, 4), np.nan), np.zeros((1, 4), int), "not attention"),
        (np.zeros((1, 0, 4, 4)), np.zeros((1, 4), int), "must have a head"),
    ],
)
def test_what_is_no_attention_is_refused_in_one_line(attention, tokens, said):
    with pytest.raises(InputError, match=said) as refused:
        spectrum(attention, tokens)
    assert "\n" not in str(refused.value)
