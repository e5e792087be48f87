"""`verify`, `predict`, `build`, `constructions` and `parameters` as a user meets them."""

import json

import numpy as np
import pytest

import anyorder

VERIFY_KEYS = {
    "construction", "order", "alphabet_size", "length", "dtype", "layers", "heads", "dimension", "parameters",
    "kappa", "margin", "bits_needed", "bound", "max_error", "positions_checked", "passed",
}  # fmt: skip


def test_verify_reports_error_and_bound(run):
    code, text, _ = run(
        "verify", "dyadic", "--order", 3, "--alphabet-size", 3, "--length", 128, "--sequences", 4, "--json"
    )
    report = json.loads(text)
    assert code == 0
    assert set(report) >= VERIFY_KEYS
    assert report["passed"]
    assert report["max_error"] <= report["bound"] < 1e-4
    assert report["positions_checked"] > 100


def test_verify_fails_where_a_forced_model_breaks(run):
    code, text, _ = run(
        "verify", "dyadic", "--order", 14, "--dtype", "float32", "--length", 256, "--force", "--json"
    )  # fmt: skip
    report = json.loads(text)
    assert code == 1
    assert not report["passed"]
    assert report["reason"] == "the bound is 1, which is no guarantee"
    assert report["bits_needed"] > report["mantissa_bits"]


def test_verify_takes_every_sequence_and_the_options_of_a_construction(run):
    words = ["verify", "unrolled", "--order", 2, "--heads", 2, "--exhaustive", 6, "--json"]
    code, text, _ = run(*words)
    report = json.loads(text)
    assert code == 0
    assert (report["sequences"], report["length"], report["exhaustive"]) == (64, 6, True)
    assert report["heads"] == [2, 1]
    assert report["passed"]
    assert all(report["assumptions"].values())


def test_an_option_of_two_meanings_has_both_defaults(run, capsys):
    with pytest.raises(SystemExit):
        run("verify", "--help")
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "(unrolled, unrolled-bayes; 1 by default). Heads that carry positions" in shown
    assert "(one-layer; 0 by default)" in shown


def test_verify_with_a_low_temperature_exceeds_any_target(run):
    code, text, _ = run("verify", "k-head", "--order", 2, "--length", 64, "--kappa", 1.0, "--json")
    report = json.loads(text)
    assert code == 1
    assert report["max_error"] > 0.01


@pytest.mark.parametrize("construction", ["dyadic", "bayes", "two-layer-qk", "attention-only"])
def test_predict_writes_what_the_model_gives_and_holds_it_against_the_estimator(run, tmp_path, construction):
    source, out = tmp_path / "t.txt", tmp_path / "d.npy"
    tokens = np.random.default_rng(2).integers(0, 2, 90)
    source.write_text(" ".join(map(str, tokens)))
    code, text, _ = run("predict", source, "--construction", construction, "--order", 2, "--out", out, "--json")
    report = json.loads(text)
    assert code == 0
    assert report["max_error"] < 1e-5
    assert 0.9 < report["coverage"] <= 1
    model = anyorder.construct(construction, order=2, alphabet_size=2, length=90)
    np.testing.assert_array_equal(np.load(out), np.asarray(model(tokens), np.float64))


def test_predict_scores_the_model_next_to_the_estimator(run, tmp_path):
    source = tmp_path / "t.txt"
    tokens = np.random.default_rng(2).integers(0, 2, 200)
    source.write_text(" ".join(map(str, tokens)))
    words = ["predict", source, "--construction", "bayes", "--order", 2, "--limit", 90]
    report = json.loads(run(*words, "--json")[1])
    exact = anyorder.bayes(tokens[:90], order=2, alphabet_size=2).probabilities
    loss = -np.log(np.take_along_axis(np.asarray(exact)[1:-1], tokens[2:90, None], axis=1)).mean()
    assert report["positions"] == 90
    assert report["exact_log_loss_nats"] == pytest.approx(loss)
    assert report["log_loss_nats"] == pytest.approx(loss, abs=1e-4)
    assert report["bits_per_symbol"] == pytest.approx(loss / np.log(2), abs=1e-4)
    words[3] = "dyadic"  # the k-gram gives tokens probability zero
    report = json.loads(run(*words, "--json")[1])
    assert report["exact_log_loss_nats"] is None
    assert "finite estimators: bayes, mixture, ctw" in " ".join(run(*words)[1].split())


def test_predict_reads_text(run, tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("abracadabra abracadabra\n")
    code, text, _ = run("predict", source, "--construction", "k-head", "--order", 3, "--alphabet", "auto", "--json")
    assert code == 0
    assert json.loads(text)["alphabet"] == "abrcd "


def test_build_and_load(run, tmp_path):
    out = tmp_path / "model.safetensors"
    code, text, _ = run("build", "dyadic", "--order", 2, "--alphabet-size", 3, "--length", 64, "--out", out, "--json")
    assert code == 0
    assert json.loads(text)["certificate"]["order"] == 2
    tokens = np.random.default_rng(0).integers(0, 3, 64)
    built = anyorder.construct("dyadic", order=2, alphabet_size=3, length=64)
    loaded = anyorder.load(out)
    assert loaded.certificate == built.certificate
    np.testing.assert_array_equal(loaded(tokens), built(tokens))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "dyadic", "--order", "12", "--dtype", "float32"], "needs 28 bits, float32 has 24; use float64"),
        (["verify", "tryadic", "--order", "2"], "no construction 'tryadic'"),
        (["verify", "dyadic", "--order", "0"], "order is 0, must be at least 1"),
        (["verify", "dyadic", "--order", "9", "--length", "9"], "order is 9, must be smaller than the length 9"),
        (["verify", "dyadic", "--order", "1", "--alphabet-size", "1"], "alphabet size is 1"),
        (["verify", "dyadic", "--order", "1", "--kappa", "-1"], "kappa is -1.0, must be above 0"),
        (["verify", "dyadic", "--order", "1", "--target-error", "2"], "target error is 2.0"),
        (["verify", "dyadic", "--order", "1", "--beta", "1"], "has no option beta"),
        (["verify", "bigram", "--order", "2"], "is for order 1"),
        (["verify", "unrolled", "--order", "30", "--dtype", "float32"], "float64, 2 heads (--heads 2), order ≤ 22"),
        (["verify", "unrolled", "--order", "2", "--heads", "3"], "heads is 3, must be at most the order 2"),
        (["verify", "unrolled", "--order", "2", "--group", "0"], "group is 0, must be 1 to 6"),
        (["verify", "unrolled-bayes", "--order", "2", "--beta", "0"], "beta is 0.0, must be at least 1e-09"),
        (["verify", "dyadic", "--order", "2", "--exhaustive", "30"], "at most 1048576 are enumerated; use length 20"),
        (["verify", "dyadic", "--order", "1", "--dtype", "int8"], "int8"),
        (["build", "dyadic", "--order", "1"], "--out"),
        (["predict", "{dir}/absent", "--order", "1"], "No such file"),
    ],
)  # fmt: skip
def test_bad_requests_are_one_line(run, tmp_path, words, message):
    code, text, error = run(*[word.format(dir=tmp_path) for word in words])
    assert (code, text) == (2, "")
    assert error.count("\n") == 1
    assert message in error
