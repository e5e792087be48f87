"""Estimators of a plug-in, with and without a class for streams."""

import json
import math

import numpy as np
import pytest

from anyorder import estimators
from anyorder.errors import InputError
from anyorder.estimators.registry import ESTIMATORS, Estimator

TOY = """
import numpy as np

from anyorder.estimators import Estimate
from anyorder.estimators.registry import Estimator


def everywhere(tokens, *, order, alphabet_size):
    return Estimate(np.full((len(tokens), alphabet_size), 1 / alphabet_size), np.ones(len(tokens), bool))


class Counter:
    filler, dtype, contexts, nbytes = 0, np.dtype(np.uint8), 1, 0

    def __init__(self, order, alphabet_size, beta):
        self.order, self.alphabet_size = order, alphabet_size

    def feed(self, stream, seen, chances, distributions):
        chances[:] = 1 / self.alphabet_size
        distributions[:] = 1 / self.alphabet_size

    def posterior(self, tail):
        return None


ENTRY = Estimator("toy", "the same distribution everywhere", everywhere, Counter)
"""


def test_one_file_is_enough_for_a_new_estimator(run, tmp_path, plugin, capsys):
    plugin(TOY)
    assert ESTIMATORS["toy"].predict([0, 1, 2], order=1, alphabet_size=4).probabilities.shape == (3, 4)
    stream = estimators.StreamingEstimator(2, 4, "toy")
    assert stream.probabilities([0, 1]).tolist() == [0.25, 0.25]
    source = tmp_path / "t.txt"
    source.write_text("0 1 2 3 1 2", encoding="utf-8")
    _, text, _ = run("estimate", source, "--order", 1, "--estimator", "toy", "--json")
    assert json.loads(text)["bits_per_symbol"] == pytest.approx(math.log2(4))
    with pytest.raises(SystemExit):
        run("estimate", "--help")
    assert "toy: the same distribution everywhere" in capsys.readouterr().out


def counted(tokens, *, order, alphabet_size, beta):
    """Add-β smoothing as plain NumPy, a row at a time."""
    rows = np.full((len(tokens), alphabet_size), np.nan)
    for n in range(order - 1, len(tokens)):
        counts = np.full(alphabet_size, beta)
        for m in range(order, n + 1):
            if list(tokens[m - order : m]) == list(tokens[n + 1 - order : n + 1]):
                counts[tokens[m]] += 1
        rows[n] = counts / counts.sum()
    return rows


PLAIN = Estimator("plain", "add-β smoothing, slowly", counted, beta=1.0)


@pytest.mark.parametrize("beta", [None, 0.5])
def test_a_function_alone_streams_too(beta):
    tokens = np.random.default_rng(0).integers(0, 3, 60)
    ours, theirs = (estimators.StreamingEstimator(2, 3, name, beta=beta) for name in ("bayes", PLAIN))
    assert theirs.estimator == "plain"
    for chunk in np.split(tokens, [1, 7, 40]):
        for one, other in zip(ours.feed(chunk), theirs.feed(chunk), strict=True):
            np.testing.assert_allclose(other, one, atol=1e-12)


def test_each_sequence_starts_afresh():
    stream = estimators.StreamingEstimator(1, 2, PLAIN)
    stream.feed([0, 1, 0])
    stream.begin_sequence()
    np.testing.assert_allclose(stream.feed([0, 1])[1], [[0.5, 0.5], [0.5, 0.5]])


def test_rows_of_another_shape_are_refused():
    wrong = Estimator("wrong", "too few", lambda tokens, *, order, alphabet_size: np.ones((1, alphabet_size)))
    with pytest.raises(InputError, match=r"`wrong` returns an array of shape \(1, 2\), must be \(3, 2\)"):
        wrong.predict([0, 1, 0], order=1, alphabet_size=2)
