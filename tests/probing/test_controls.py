import numpy as np
import pytest

from anyorder.probing import sequences, spectrum
from anyorder.probing.controls import copying, distractor, permuted
from anyorder.probing.spectrum import join, rows
from tests.probing import heads


def one_head(make, order):
    drawn = sequences(6)
    kept = join([rows([make(row)], row, marked, 5, place)
                 for place, (row, marked) in enumerate(zip(drawn.tokens, drawn.queries, strict=True))])  # fmt: skip
    return permuted(kept.attention, kept, drawn.tokens, order)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_permuted_windows_tell_bags_from_grams(order):
    assert one_head(lambda row: heads.induction(row, order), order) < 0.01
    assert one_head(lambda row: heads.bag(row, order), order) == pytest.approx(1, abs=0.2)


def test_of_one_token_there_is_no_other_order():
    assert np.isnan(one_head(lambda row: heads.induction(row, 1), 1))


def test_the_distractor_is_one_for_a_head_of_lower_order():
    drawn = sequences(6)
    attention = np.stack([heads.induction(row, 2) for row in drawn.tokens])
    spectra = spectrum(attention, drawn.tokens, queries=drawn.queries)
    assert distractor(spectra, 2) < 0.01
    assert distractor(spectra, 4) == pytest.approx(1, abs=0.2)


def test_copying_is_a_correlation():
    generator = np.random.default_rng(0)
    attended, predicted = generator.random((200, 2, 4)), generator.random((200, 4))
    attended[:, 1] = predicted
    found = copying(attended, predicted)
    assert abs(found[0]) < 0.1
    assert found[1] == pytest.approx(1)
    by_hand = np.corrcoef(attended[:, 0].ravel(), predicted.ravel())[0, 1]
    assert found[0] == pytest.approx(by_hand)
