"""The command line as a user meets it: output, exit codes, error lines."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import anyorder
from anyorder.cli.command import Outcome
from anyorder.cli.main import COMMANDS, main

BAD = [
    (["smaple"], "'smaple' is not a command; did you mean sample?"),
    (["xyzzy"], "'xyzzy' is not a command; choose from demo, sample,"),
    (["--versoin"], "'--versoin' is not an option of anyorder; did you mean --version?"),
    (["sample", "--lenght", "4"], "--lenght is not an option of anyorder sample; did you mean --length?"),
    (["verify", "k-head", "--ordr", "2"], "--ordr is not an option of anyorder verify; did you mean --order?"),
    (["verify", "k-heat", "--order", "2"], "no construction 'k-heat'; did you mean k-head?"),
    (["sample", "--seed", "99999999999999999999"], "seed is 99999999999999999999, must be 0 to 9223372036854775807"),
    (["train", "--seed", "99999999999999999999"], "must be 0 to 9223372036854775807; --seed 0 is usual"),
    (["train", "--seed", "9223372036854775807", "--seeds", "2"], "pass a smaller --seed"),
    (["train", "--evaluation-seed", "99999999999999999999"], "--evaluation-seed 0 is usual"),
    *((words, "seed is -1, must be ") for words in (
        ["sample", "--seed", "-1"], ["dynamics", "--seed", "-1"], ["verify", "k-head", "--order", "2", "--seed", "-1"],
        ["train", "--seed", "-1"],
    )),
    (["sample", "--length", "1000000000", "--count", "1000"], "the limit is 268435456"),
    (["verify", "k-head", "--order", "40", "--alphabet-size", "200", "--length", "100000"], "pass --length 16384 or"),
    (["sample", "--order", "x"], "--order is 'x', must be a whole number; see anyorder sample --help"),
    (["train", "--learning-rate", "fast"], "--learning-rate is 'fast', must be a number"),
    (["dynamics", "--order", "x"], "--order is 'x', must be a whole number; see anyorder dynamics --help"),
    (["sample", "--order="], "--order is '', must be a whole number"),
    (["sample", "--no-json"], "--no-json is not an option of anyorder sample; did you mean --json?"),
    (["train", "--order", "3", "--no-tie"], "--no-tie is not an option of anyorder train; did you mean --no-tied?"),
    (["train", "--config", "a", "--preset", "fast"], "--config and --preset together; each brings a whole config"),
    (["dynamics", "two-stag"], "algorithm is 'two-stag'; did you mean two-stage?"),
    (["sample", "extra"], "extra is not expected here"),
    (["estimate", "--ordr", "2"], "--ordr is not an option of anyorder estimate; did you mean --order?"),
    (["verify", "dyadic", "--order"], "--order needs a value"),
    (["verify", "dyadic"], "anyorder verify needs --order INT"),
    (["sample", "--prior", "dirichle"], "--prior is 'dirichle'; did you mean dirichlet?"),
    (["train", "--preset", "flor"], "no preset 'flor'; did you mean floor?"),
    (["sweep", "phaze"], "'phaze' is neither a TOML file nor a sweep; did you mean phase?"),
    (["sample", "--order", "0"], "order is 0, must be at least 1"),
    (["sample", "--order", "5", "--length", "5"], "order is 5, must be smaller than the length 5"),
    (["sample", "--alphabet-size", "1"], "alphabet size is 1, must be at least 2"),
    (["sample", "--order", "40", "--length", "100"], "has about 10^12 entries, the limit is 134217728"),
    (["sample", "--count", "0"], "count is 0"),
    (["sample", "--prior", "tree", "--order", "7"], "order is 7, the prior tree has 3; drop --order"),
    (["sample", "--prior", "tree", "--order", "2"], "order is 2, the prior tree has 3; drop --order"),
    (["sample", "--token-noise", "2"], "probability is 2.0, must be between 0 and 1"),
    (["sample", "--token-noise", "0.1", "--transition-noise", "0.1"], "choose one kind of noise"),
    (["sample", "--kernels", "kernels.txt"], "must end in .npy"),
    (["sample", "--kernel", "{dir}/absent.npy"], "No such file"),
    (["sample", "--kernel", "{dir}/bad_sum.npy"], "row of context (1,) sums to 1.1, must be 1"),
    (["sample", "--kernel", "{dir}/nan.npy"], "NaN at (0, 1)"),
    (["sample", "--start", "nowhere"], "nowhere"),
    (["estimate"], "--order"),
    (["estimate", "{dir}/t.txt"], "--order"),
    (["estimate", "{dir}/absent", "--order", "1"], "No such file"),
    (["estimate", "{dir}/empty", "--order", "1"], "is empty"),
    (["estimate", "{dir}/t.txt", "--order", "0"], "order is 0, must be at least 1"),
    (["estimate", "{dir}/t.txt", "--order", "4"], "order is 4, must be smaller than the length 4"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--alphabet-size", "2"], "token 2 at position 3, must be 0 to 1"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--estimator", "kgrm"], "no estimator 'kgrm'; did you mean"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--estimator", "bayes", "--beta", "0"], "beta is 0.0, must be"),
    (["estimate", "{dir}/cut.npy", "--order", "1"], "is not a whole .npy file"),
    (["estimate", "{dir}/nantokens.npy", "--order", "1"], "has nan at position 1"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_2(run, tmp_path, words, message):
    (tmp_path / "t.txt").write_text("0 1 0 2")
    (tmp_path / "empty").write_text("")
    np.save(tmp_path / "bad_sum.npy", np.array([[0.5, 0.5], [0.6, 0.5]]))
    np.save(tmp_path / "nan.npy", np.array([[0.5, np.nan], [0.5, 0.5]]))
    np.save(tmp_path / "nantokens.npy", np.array([0, np.nan]))
    np.save(tmp_path / "whole.npy", np.arange(100) % 2)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:300])
    before = sorted(tmp_path.iterdir())
    out = ["--out", str(tmp_path / "out.npy")] if words[0] in ("sample", "estimate") else []
    code, text, error = run(*[word.format(dir=tmp_path) for word in words], *out)
    assert code == 2
    assert text == ""
    assert error.startswith("anyorder: ")
    assert error.count("\n") == 1
    assert message in error
    assert sorted(tmp_path.iterdir()) == before  # nothing was written


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    assert f"  anyorder {command}" in shown.split("Examples:")[1]


def test_help_and_version_start_at_once():
    """They import neither JAX nor the parser: 0.3 s, most of which is Python itself."""
    program = (
        "import sys\nfrom anyorder.cli import main\ncode = main(sys.argv[1:])\n"
        "assert not {'jax', 'numpy', 'tyro', 'rich'} & set(sys.modules), 'heavy'\nsys.exit(code)"
    )
    for word, said in (("--version", f"anyorder {anyorder.__version__}\n"), ("--help", "Examples:\n  anyorder demo")):
        done = subprocess.run([sys.executable, "-c", program, word], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_the_overview_names_every_command_with_a_sentence(run):
    code, text, _ = run("--help")
    assert code == 0
    assert text.index("Examples:") < text.index("Commands:")
    for name, (_, _, summary) in COMMANDS.items():
        assert f"  {name} " in text
        assert summary in text


def test_a_warning_is_one_line(capsys, monkeypatch, tmp_path):
    def warned(self):
        warnings.warn("line 3 was left out", stacklevel=1)
        return Outcome({})

    monkeypatch.setattr("anyorder.cli.sample.Sample.run", warned)
    assert main(["sample"]) == 0
    assert capsys.readouterr().err == "anyorder: line 3 was left out\n"
