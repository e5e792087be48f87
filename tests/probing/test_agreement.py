"""Agreement profiles of known heads: induction heads of every kind, and decoys."""

import numpy as np
import pytest

import anyorder
from anyorder.probing import Settings, as_json, open_model
from anyorder.probing.agreement import agreed, kind_of, profiles, score_fits
from tests.probing import heads
from tests.probing.heads import with_heads

FEW = Settings(sequences=16, length=128)


def by_score(score):
    """A head whose logarithm of attention is a function of the agreement at offsets 1 … 5, an array for each."""

    def attend(tokens):
        rows = len(tokens)
        equal = tokens[:, None] == tokens
        agree = np.stack([np.pad(equal, ((j - 1, 0), (j, 0)))[:rows, :rows] for j in range(1, 6)])
        weights = np.tril(np.exp(score(agree)))
        return weights / weights.sum(axis=1, keepdims=True)

    return attend


def suffix(agree):
    return np.logical_and.accumulate(agree).sum(axis=0)


def shifted(tokens):
    """Keys after the symbol that follows the query's in the alphabet: offset 1, with another symbol's identity."""
    after = np.concatenate([[-1], tokens[:-1]])
    return heads.normalised((after[None, :] == (tokens[:, None] + 1) % 8).astype(float))


KNOWN = {
    "order 1": (lambda row: heads.induction(row, 1), "k-gram", (1,)),
    "order 3": (lambda row: heads.induction(row, 3), "k-gram", (1, 2, 3)),
    "bag of 2": (lambda row: heads.bag(row, 2), "bag", (1, 2)),
    "only 2": (by_score(lambda agree: 12 * agree[1]), "skip", (2,)),
    "only 3": (by_score(lambda agree: 12 * agree[2]), "skip", (3,)),
    "1 and 3": (by_score(lambda agree: 12 * (agree[0] & agree[2])), "skip", (1, 3)),
    "suffixes": (by_score(lambda agree: 3 + np.log(0.01 + suffix(agree))), "graded", (1, 2)),
    "sums": (by_score(lambda agree: 0.7 * agree.sum(axis=0)), "diffuse", ()),
    "another identity": (shifted, "none", ()),
    "previous token": (lambda row: heads.at_offset(row, 1), "none", ()),
    "duplicate token": (heads.duplicate, "none", ()),
    "recency": (lambda row: heads.normalised(1.2 ** np.arange(len(row)) * np.ones((len(row), 1))), "none", ()),
}


@pytest.fixture(scope="module")
def probed():
    return anyorder.probe(with_heads(*(make for make, _, _ in KNOWN.values())), FEW)


def test_every_head_and_every_decoy_reads_what_it_is(probed):
    read = {name: (head.kind, head.needed) for name, head in zip(KNOWN, probed.heads, strict=True)}
    assert read == {name: (kind, needed) for name, (_, kind, needed) in KNOWN.items()}
    orders = [head.found.order for head in probed.heads]
    assert orders == [1, 3, 2, *[None] * (len(KNOWN) - 3)]


def test_heads_are_listed_by_kind_and_order(probed):
    assert probed.detect(3) == {"k-gram": [(0, 1)]}
    assert set(probed.detect()["k-gram"]) == {(0, 0), (0, 1)}
    assert probed.detect()["graded"] == [(0, 6)]


def test_the_mean_length_is_that_of_the_weights(probed):
    ideal, graded = probed.heads[1], probed.heads[6]
    assert ideal.mean_length == pytest.approx(3, abs=0.3)
    assert graded.weights == pytest.approx([0.2] * 5, abs=0.1)  # attention is proportional to the match length
    assert graded.mean_length == pytest.approx(3, abs=0.4)


def test_the_fit_tells_suffixes_from_sums(probed):
    sums, suffixes = probed.heads[7].score_fit, probed.heads[1].score_fit
    assert sums.offsets == pytest.approx([0.7] * 5, abs=0.01)
    assert sums.suffixes == pytest.approx([0] * 4, abs=0.01)
    assert suffixes.suffixes[1] > 5 > 1 > max(map(abs, suffixes.offsets[1:]))


def test_the_json_has_the_profile(probed):
    head = as_json(probed)["heads"][1]
    assert set(head["agreement"]) == {"all", "flipped", "alone", "none"}
    assert len(head["agreement"]["flipped"]) == len(head["agreement_error"]["alone"]) == 5
    assert (head["needed"], head["kind"], head["order"]) == ([1, 2, 3], "k-gram", 3)


def test_a_profile_is_the_mean_of_quotients_over_pairs():
    """By hand, with a start token before six symbols, K = 2: keys are those at 3 and later, before the query."""
    tokens = np.array([9, 0, 1, 0, 1, 0, 1])
    attention = np.tril(np.random.default_rng(0).random((1, 7, 7)))
    attention /= attention.sum(axis=-1, keepdims=True)
    part = agreed([attention], tokens, 2, 1)
    quotients = {(n, i): attention[0, n, i] / attention[0, n, 3:n].mean() for n in range(4, 7) for i in range(3, n)}
    by_hand = {"all": [], "none": []}
    for (n, i), value in quotients.items():
        agree = [tokens[i - 1] == tokens[n], tokens[i - 2] == tokens[n - 1]]
        if all(agree) or not any(agree):
            by_hand["all" if all(agree) else "none"].append(value)
    found = profiles([part, part], 2).mean[0]
    assert found[0] == pytest.approx(np.mean(by_hand["all"]), rel=1e-6)
    assert found[-1] == pytest.approx(np.mean(by_hand["none"]), rel=1e-6)
    assert len(score_fits([part], 2)[0].offsets) == 2


def test_halves_that_disagree_leave_an_offset_in_between():
    alone = np.zeros(3)
    assert kind_of(np.array([0, 0.5, 1]), np.array([[0, 0.1, 1], [0, 0.9, 1]]), alone) == ("graded", (1,))
    assert kind_of(np.array([0.5, 0, 1]), np.array([[0.5, 0, 1], [0.5, 0, 1]]), alone) == ("diffuse", (2,))
    assert kind_of(np.ones(3), np.ones((2, 3)), alone) == ("diffuse", ())


@pytest.mark.slow
@pytest.mark.parametrize(("order", "length", "seeds"), [(1, 32, 2), (2, 32, 2), (3, 64, 1)])
def test_trained_runs_read_the_order_that_they_were_trained_for(run, tmp_path, order, length, seeds):
    words = ("--preset", "fast", "--order", order, "--length", length, "--seeds", seeds, "--out", tmp_path / "run")
    code, _, err = run("train", *words)
    assert code == 0, err
    for member in range(seeds):
        result = anyorder.probe(open_model(tmp_path / "run", member=member))
        assert result.settings["length"] == length
        assert result.settings["beyond"] is False
        assert [head.found.order for head in result.heads if head.layer == 1] == [order]
