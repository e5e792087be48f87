"""Calibration: heads of known order get that order."""

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.probing import order, sequences, spectrum
from anyorder.probing.controls import distractor
from tests.probing import heads


def read(make, *, max_length=5, count=8, chance="uniform", **settings):
    drawn = sequences(count, max_length=max_length, length=240, **settings)
    attention = np.stack([make(row) for row in drawn.tokens])
    return spectrum(attention, drawn.tokens, max_length=max_length, queries=drawn.queries, chance=chance)


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("symbols", [2, 4])
def test_ideal_heads_read_their_order(k, symbols):
    spectra = read(lambda row: heads.induction(row, k), max_length=9, symbols=symbols)
    found = order(spectra)
    assert found.order == k
    assert not found.graded
    assert distractor(spectra, k) < 0.01
    assert abs(found.mean - k) < 0.5


@pytest.mark.parametrize(
    "make", [heads.uniform, heads.duplicate, lambda row: heads.at_offset(row, 1), lambda row: heads.at_offset(row, 3)]
)
def test_heads_without_induction_have_no_order(make):
    assert order(read(make)).order is None


def test_an_order_at_the_cap_says_so():
    found = order(read(lambda row: heads.induction(row, 4), max_length=3))
    assert (found.order, found.capped) == (3, True)


def test_a_mixture_of_orders_is_graded():
    def mixed(row):
        return 0.8 * heads.induction(row, 1) + 0.2 * heads.induction(row, 4)

    found = order(read(mixed))
    assert found.graded
    assert found.steps[0] > 0.1
    assert found.steps[3] > 0.1


def test_uniform_sequences_of_others_read_the_order_too():
    tokens = np.random.default_rng(0).integers(4, size=(12, 96))
    for k in (1, 2, 3):
        attention = np.stack([heads.induction(row, k) for row in tokens])
        assert order(spectrum(attention, tokens, max_length=4)).order == k


@pytest.mark.slow
def test_noise_has_an_order_no_more_often_than_stated():
    """Random rows, many of them nearly on one key: of 200 heads at a level of 1 in 100 at most 7 may have one."""
    generator = np.random.default_rng(0)
    drawn = sequences(8, length=74, max_length=3)
    attention = np.stack([[heads.noise(row, generator) for _ in range(200)] for row in drawn.tokens]).astype(np.float32)
    spectra = spectrum(attention, drawn.tokens, max_length=3, queries=drawn.queries)
    found = [order(spectra[head], level=1e-2).order for head in range(200)]
    assert sum(one is not None for one in found) <= 7


def test_one_sequence_is_too_few():
    with pytest.raises(InputError, match="needs at least 2"):
        order(read(heads.uniform, count=1))
