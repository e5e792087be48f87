"""The command line as a user meets it: output, exit codes, error lines."""

import os
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
    (["list"], "'list' is not a command; constructions, papers, 'reproduce list' and 'claims list' print the lists"),
    (["verify", "u.safetensors"], "u.safetensors is a file, verify needs the name of a construction"),
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
    (["train", "--config", "a", "--preset", "fast"], "--config and --preset together; each sets the whole config"),
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
    (["estimate", "{dir}/cut.npy", "--order", "1"], "is not a complete .npy file"),
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


FULL = "anyorder: cannot use standard output: No space left on device; choose another\n"
#: Redirections of a shell → exit code, with the line on standard error.
STREAMS = {
    "--version > /dev/full": (2, FULL),
    "constructions > /dev/full": (2, FULL),
    "constructions --json > /dev/full": (2, FULL),
    "order --help > /dev/full": (2, FULL),
    "constructions >&-": (0, ""),
    "order --help >&-": (0, ""),
    "constructions >&- 2>&- <&-": (0, ""),
    "sampel 2>&-": (2, ""),
    "sampel 2> /dev/full": (2, ""),
    "estimate - --order 1 <&-": (2, "anyorder: - is empty; it needs at least two tokens\n"),
    "constructions --json | head -c 9; exit ${PIPESTATUS[0]}": (0, ""),
    "constructions | head -c 9; exit ${PIPESTATUS[0]}": (0, ""),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", STREAMS)
def test_streams_that_are_full_closed_or_broken_leave_no_traceback(words):
    line = f"'{sys.executable}' -m anyorder {words}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == STREAMS[words]


REFUSED = [
    (["sample", "--out", "{dir}/pipe"], "pipe is a pipe; outputs are regular files, choose another name"),
    (["sample", "--out", "/dev/null"], "/dev/null is a device; outputs are regular files, choose another name"),
    (["sample", "--out", "/dev/stdout"], "/dev/stdout belongs to the system"),
    (["sample", "--out", "{dir}/a.npy", "--kernels", "{dir}/./a.npy"], "give each output its own path"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--out", "{dir}/t.txt"], "the input and --out are both"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--out", "-"], "--out is -, standard input and output are not used"),
    (["order", "{dir}/t.txt", "--figure", "{dir}/x"], "x must end in .png or .svg or .pdf; choose another name"),
    (["price", "--order", "2", "--figure", "{dir}/x.exe"], "x.exe must end in .png or .svg or .pdf"),
    (["probe", "{dir}/pipe.gguf"], "pipe.gguf is not a regular file"),
    (["probe", "{dir}/pipe.npz"], "pipe.npz is not a regular file"),
    (["train", "--out", ""], "the name of the folder to write is empty; give one"),
    (["train", "--out", "{dir}/" + "x" * 300], "File name too long; choose another name"),
    (["train", "--out", "{dir}/" + "x/" * 1900], "has more than 256 levels; choose another name"),
    (["demo", "--out", "/proc/x"], "/proc/x belongs to the system"),
    (["reproduce", "--out", "/sys/x"], "cannot write to /sys: "),
    (["explore", "--export", "/proc/x"], "/proc/x belongs to the system"),
    (["order", "{dir}/two\nlines"], "two\\nlines: No such file or directory"),
    (["order", "{dir}/t.txt", "--alphabet", "\udcffa"], "character '0' at position 0"),
    (["estimate", "/proc/self/mem", "--order", "1"], "cannot read /proc/self/mem: "),
    (["verify", "k-head", "--order", "2", "--target-error", "1e-320"], "pass --target-error 1e-100 or more"),
    (["order", "{dir}/t.txt", "--max-order", "9" * 5000], "--max-order is "),
    (["estimate", "{dir}/t.txt", "--order", "1", "--beta", "1e308"], "beta is 1e+308, must be at most 1e+09"),
    (["estimate", "{dir}/t.txt", "--order", "1", "--beta", "nan"], "beta is nan, must be a number"),
    (["sample", "--kernel", "{dir}/k.npy", "--order", "1"], "the kernel has its own order and alphabet; drop --order"),
    (["train", "--prior", "tree", "--order", "7"], "order is 7, the prior tree has 3; drop --order"),
    (["probe", "construction:k-head", "--order", "2", "--symbols", "0"], "symbols is 0, must be at least"),
    (["train", "--config", "{dir}/twice.json"], "it has the key 'seeds' twice"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_hostile_input_is_refused_before_any_work(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("0 1 0 2")
    (tmp_path / "twice.json").write_text('{"seeds": 1, "seeds": 2}')
    np.save(tmp_path / "k.npy", np.full((2, 2, 2), 0.5))
    for name in ("pipe", "pipe.gguf", "pipe.npz"):
        os.mkfifo(tmp_path / name)
    before = sorted(tmp_path.iterdir())
    code, text, error = run(*[word.format(dir=tmp_path) for word in words])
    assert (code, text) == (2, "")
    assert error.startswith("anyorder: ")
    assert error.count("\n") == 1
    assert message in error
    assert sorted(tmp_path.iterdir()) == before
