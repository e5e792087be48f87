"""The whole measurement on models with a proven order, and on models without one."""

import numpy as np
import pytest

from anyorder import chains
from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.probing import OwnModel, Settings, probe, spectrum
from anyorder.probing.adapters.callables import CallableModel
from tests.probing import heads
from tests.probing.heads import FEW, with_heads


def test_calibration_every_kind_of_head_reads_what_it_is():
    makes = {
        "uniform": heads.uniform,
        "previous": lambda row: heads.at_offset(row, 1),
        "noise": lambda row: heads.noise(row, np.random.default_rng(int(row.sum()))),
        "bag of 3": lambda row: heads.bag(row, 3),
        "order 2": lambda row: heads.induction(row, 2),
    }
    result = probe(with_heads(*makes.values()), FEW)
    read = {name: (head.found.order, head.kind) for name, head in zip(makes, result.heads, strict=True)}
    assert read == {
        "uniform": (None, "none"),
        "previous": (None, "none"),
        "noise": (None, "none"),
        "bag of 3": (3, "bag"),
        "order 2": (2, "k-gram"),
    }
    assert result.heads[1].scores["previous_token"] > 0.95
    assert result.heads[4].scores["prefix_matching"] > 0.6
    assert result.heads[4].scores["copying"] > 0.9
    assert result.behaviour.order[-1] == 2


@pytest.mark.parametrize(
    ("order", "name"),
    [
        (1, "k-head"),
        (2, "dyadic"),
        (3, "two-layer"),
        (4, "unrolled"),
        (5, "k-head-bayes"),
        (6, "k-head"),
        (7, "unrolled"),
        (8, "dyadic"),
    ],
)
def test_calibration_certified_constructions_read_their_order(name, order):
    settings = Settings(sequences=10, length=192, max_length=9)
    model = construct(name, order=order, alphabet_size=2, length=192)
    result = probe(OwnModel(model, name), settings)
    *others, last = result.heads
    assert (last.found.order, last.kind, last.found.capped) == (order, "k-gram", False)
    assert all(head.found.order is None for head in others)
    shares = (np.array(last.agreement.flipped) - last.agreement.none) / last.contrast
    np.testing.assert_allclose(shares, np.arange(1, 10) > order, atol=0.05)
    assert result.behaviour.order[-1] == order


def test_heads_that_match_nothing_have_a_placebo_without_heads():
    def attend(tokens):
        return [np.stack([heads.induction(tokens, 2)])], np.zeros((len(tokens), 200))

    result = probe(CallableModel(attend, vocabulary=200), FEW)
    assert result.heads[0].found.order == 2
    assert result.controls.no_repeat.heads_above == 0


@pytest.mark.parametrize(
    "source",
    [chains.Dirichlet(2, 3), chains.Source(chains.Kernel([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]), 96)],
)
def test_test_sequences_may_come_from_a_source(source):
    model = construct("k-head", order=2, alphabet_size=3, length=96)
    found = probe(model, Settings(sequences=8, length=96, max_length=3, seed=5), source=source)
    assert [head.found.order for head in found.heads] == [None, None, 2]
    tokens = np.asarray(chains.as_source(source, 96).sample(5, 8).tokens)
    maps = np.stack([np.asarray(model.trace(row).attention[1]) for row in tokens])
    np.testing.assert_allclose(found.heads[2].spectrum, spectrum(maps, tokens, max_length=3).ratio[0], rtol=1e-6)


def test_a_source_must_fit_the_vocabulary_and_the_match_lengths():
    model = construct("k-head", order=2, alphabet_size=3, length=96)
    with pytest.raises(InputError, match="symbols is 4, must be 2 to 3"):
        probe(model, source=chains.Dirichlet(2, 4))
    with pytest.raises(InputError, match="the source has 5 tokens, must have more than the max length, 5"):
        probe(model, source=chains.Source(chains.Dirichlet(2, 3), length=5))
