"""A new estimator is one entry."""

import json
import math

import numpy as np
import pytest

from anyorder import estimators
from anyorder.estimators.registry import ESTIMATORS, Estimator


def toy(tokens, *, order, alphabet_size):
    """The same distribution everywhere."""
    return estimators.Estimate(np.full((len(tokens), alphabet_size), 1 / alphabet_size), np.ones(len(tokens), bool))


class ToyCounter:
    """The same distribution everywhere, streamed."""

    filler, dtype, contexts, nbytes = 0, np.dtype(np.uint8), 1, 0

    def __init__(self, order, alphabet_size, beta):
        self.order, self.alphabet_size = order, alphabet_size

    def feed(self, stream, seen, chances, distributions):
        chances[:] = 1 / self.alphabet_size
        distributions[:] = 1 / self.alphabet_size

    def posterior(self, tail):
        return None


def test_one_entry_of_the_registry_is_enough_for_a_new_estimator(run, tmp_path, monkeypatch, capsys):
    entry = Estimator("the same distribution everywhere", f"{__name__}:toy", f"{__name__}:ToyCounter")
    monkeypatch.setitem(ESTIMATORS, "toy", entry)
    assert entry.predict([0, 1, 2], order=1, alphabet_size=4).probabilities.shape == (3, 4)
    stream = estimators.StreamingEstimator(2, 4, "toy")
    assert stream.probabilities([0, 1]).tolist() == [0.25, 0.25]
    source = tmp_path / "t.txt"
    source.write_text("0 1 2 3 1 2", encoding="utf-8")
    _, text, _ = run("estimate", source, "--order", 1, "--estimator", "toy", "--json")
    assert json.loads(text)["bits_per_symbol"] == pytest.approx(math.log2(4))
    with pytest.raises(SystemExit):
        run("estimate", "--help")
    assert "toy: the same distribution everywhere" in capsys.readouterr().out
