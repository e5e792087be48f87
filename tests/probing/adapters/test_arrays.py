"""Recorded attention."""

import json

import numpy as np
import pytest

from anyorder.probing.adapters.arrays import probe_recorded
from tests.probing import heads


def test_recorded_attention_is_read(run, tmp_path):
    tokens = np.random.default_rng(0).integers(3, size=(8, 64))
    attention = np.stack([[[heads.uniform(row)], [heads.induction(row, 2)]] for row in tokens])
    np.savez(tmp_path / "a.npz", attention=attention, tokens=tokens)
    code, out, _ = run("probe", tmp_path / "a.npz", "--max-length", 3, "--json")
    assert code == 0
    assert [(head["layer"], head["order"]) for head in json.loads(out)["heads"]] == [(0, None), (1, 2)]
    np.savez(tmp_path / "b.npz", attention=attention * 2, tokens=tokens)
    np.savez(tmp_path / "c.npz", attention=attention, tokens=tokens[:, :-1])
    np.savez(tmp_path / "d.npz", attention=attention)
    np.savez(tmp_path / "e.npz", attention=np.array([{"a": 1}]), tokens=tokens)
    for name, said in (("b", "sums to 2"), ("c", "shape"), ("d", "no tokens"), ("e", "plain arrays")):
        code, out, err = run("probe", tmp_path / f"{name}.npz")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err


def test_tokens_without_repeats_and_tokens_that_are_no_ids_are_refused(run, tmp_path):
    distinct = np.arange(48).reshape(4, 12)
    attention = np.stack([[[heads.uniform(row)]] for row in distinct])
    huge = np.where(distinct % 12 == 3, 2**31, distinct % 3)
    for tokens, said in (
        (distinct, "no repeated tokens: every sequence of"),
        (distinct % 3 - 1, "tokens are -1 to 1, must be 0 to 2147483647"),
        (huge, "tokens are 0 to 2147483648, must be 0 to 2147483647"),
    ):
        np.savez(tmp_path / "a.npz", attention=attention, tokens=tokens)
        code, out, err = run("probe", tmp_path / "a.npz")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err


@pytest.mark.filterwarnings("error")
def test_sequences_without_repeats_do_not_hide_the_scores_of_others(tmp_path):
    tokens = np.arange(48).reshape(4, 12)
    tokens[0, 5] = tokens[0, 0]
    attention = np.stack([[[heads.uniform(row)]] for row in tokens])
    np.savez(tmp_path / "a.npz", attention=attention, tokens=tokens)
    (head,) = probe_recorded(tmp_path / "a.npz").heads
    assert head.scores["prefix_matching"] == pytest.approx(1 / 6)
