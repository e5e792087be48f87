"""`anyorder estimate`: every estimator, several sequences, and explained infinite losses."""

import io
import json
import math
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder import estimators
from anyorder.estimators.registry import ESTIMATORS
from tests import oracles


@pytest.mark.parametrize("name", ["mixture", "ctw"])
def test_unknown_order(run, tmp_path, name):
    tokens = np.random.default_rng(3).integers(0, 2, 80)
    source, out = tmp_path / "t.npy", tmp_path / "d.npy"
    np.save(source, tokens)
    code, text, _ = run("estimate", source, "--order", 3, "--estimator", name, "--out", out, "--json")
    report = json.loads(text)
    expected = ESTIMATORS[name].predict(tokens, order=3, alphabet_size=2)
    np.testing.assert_allclose(np.load(out), expected.probabilities, rtol=1e-12)
    np.testing.assert_allclose(report["posterior"], expected.posterior[-1], atol=1e-12)
    losses = np.asarray(estimators.sampled_loss(expected.probabilities, jnp.asarray(tokens)))
    assert (code, report["scored"]) == (0, 77)
    assert report["log_loss_nats"] == pytest.approx(np.nanmean(losses), rel=1e-12)
    assert "posterior" in run("estimate", source, "--order", 3, "--estimator", name)[1]


def test_sequences_of_fasta_share_counts(run, tmp_path):
    source = tmp_path / "reads.fasta"
    source.write_text(">one\nACACAC\n>two\nACNAC\n", encoding="utf-8")
    code, text, _ = run("estimate", source, "--order", 1, "--json")
    report = json.loads(text)
    assert (code, report["sequences"], report["positions"]) == (0, 3, 10)
    assert report["zero_probability"] == 0
    assert report["log_loss_nats"] == 0.0
    assert report["scored"] == 3 + 1 + 1  # every pair but the first two
    assert "(1 N)" in report["notes"][0]


def test_an_infinite_loss_names_the_estimators_that_are_finite(run, tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("0 1 0 0", encoding="utf-8")
    code, out, _ = run("estimate", source, "--order", 1)
    assert code == 0
    assert "infinite: 1 tokens had probability 0; finite estimators: bayes, mixture, ctw" in " ".join(out.split())


@pytest.mark.parametrize("estimator", ["kgram", "bayes", "bag", "biased", "backoff"])
def test_estimate_reports_what_brute_force_finds(run, tmp_path, estimator):
    tokens = np.random.default_rng(1).integers(0, 3, 60).tolist()
    source, out = tmp_path / "t.txt", tmp_path / "d.npy"
    source.write_text(" ".join(map(str, tokens)))
    code, text, _ = run("estimate", source, "--order", 2, "--estimator", estimator, "--out", out, "--json")
    assert code == 0
    report = json.loads(text)
    oracle = oracles.ESTIMATORS[{"bayes": "add_beta"}.get(estimator, estimator)]
    expected = [oracle(tokens, n, 2, 3) for n in range(60)]
    written = np.load(out)
    for row, distribution in zip(written, expected, strict=True):
        if distribution is None:
            assert np.isnan(row).all()
        else:
            np.testing.assert_allclose(row, [float(p) for p in distribution], atol=1e-15)
    defined = [distribution is not None for distribution in expected]
    assert report["positions"] == 60
    assert report["defined"] == sum(defined)
    assert report["coverage"] == sum(defined) / 60
    given = [float(expected[n][tokens[n + 1]]) for n in range(59) if defined[n]]
    if 0 in given:
        assert report["log_loss_nats"] is None
        assert report["zero_probability"] == given.count(0)
        assert report["finite_estimators"] == ["bayes", "mixture", "ctw"]
    else:
        loss = -sum(map(math.log, given)) / len(given)
        assert report["log_loss_nats"] == pytest.approx(loss)
        assert report["bits_per_symbol"] == pytest.approx(loss / math.log(2))
    # Without --out only probabilities are computed: the report is the same.
    _, text, _ = run("estimate", source, "--order", 2, "--estimator", estimator, "--json")
    assert json.loads(text) == {key: value for key, value in report.items() if key != "out"}


def test_estimate_reads_text_and_standard_input(run, tmp_path, monkeypatch):
    source = tmp_path / "t.txt"
    source.write_text("abracadabra\n")
    _, text, _ = run("estimate", source, "--order", 1, "--alphabet", "auto", "--estimator", "bayes", "--json")
    report = json.loads(text)
    assert (report["alphabet"], report["alphabet_size"], report["positions"]) == ("abrcd", 5, 11)

    class Pipe:
        buffer = io.BytesIO(b"0 1 0 1 0 1 0")

    monkeypatch.setattr(sys, "stdin", Pipe)
    code, text, _ = run("estimate", "-", "--order", 1, "--json")
    assert code == 0
    assert json.loads(text)["log_loss_nats"] == pytest.approx(0.0)


def test_estimate_shows_a_table_with_the_reference(run, tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("0 1 0 0 1 1 0 1 0 1")
    code, text, _ = run("estimate", source, "--order", 1, "--estimator", "bayes")
    assert code == 0
    for label in ("log loss nats", "bits per symbol", "uniform bits per symbol", "coverage"):
        assert label in text


def test_brackets_are_shown_as_they_are(run, tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("[b][b][b]")  # the terminal's library would take it for a mark
    code, text, _ = run("estimate", source, "--order", 1, "--alphabet", "auto")
    assert code == 0
    assert "[b]" in text
