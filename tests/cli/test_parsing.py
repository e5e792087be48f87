"""Help without clutter, defaults that depend on other flags, and places that are checked before any work."""

import dataclasses
import importlib

import pytest
import tyro

from anyorder.cli.main import COMMANDS, main, parse
from anyorder.cli.unused import RULES
from anyorder.training.config import PRESETS, Data


@pytest.mark.parametrize(
    "words",
    [
        ["demo", "--out"], ["dynamics", "--out"], ["reproduce", "--out"], ["train", "--out"], ["show", "run", "--out"],
        ["sweep", "learning-rate", "--out"], ["probe", "run", "--out"], ["explore", "--export"], ["sample", "--out"],
        ["sample", "--kernels"], ["estimate", "absent", "--order", "2", "--out"], ["order", "absent", "--figure"],
        ["predict", "absent", "--order", "2", "--out"], ["build", "dyadic", "--order", "2", "--out"],
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_written_is_said_before_any_work(run, tmp_path, words, monkeypatch):
    name = {"--kernels": "out.npy", "--figure": "out.png"}.get(words[-1], "out")
    parse([*words, str(tmp_path / name)])

    def worked(*_):
        raise AssertionError("work began")

    monkeypatch.setattr(f"anyorder.cli.{COMMANDS[words[0]][0]}.{COMMANDS[words[0]][1]}.run", worked)
    (tmp_path / "file").write_text("")
    code, _, error = run(*words, tmp_path / "file" / name)
    assert code == 2
    assert error == f"anyorder: {tmp_path / 'file'} is a file where a folder is needed; choose another name\n"
    folder = tmp_path / name
    folder.mkdir()
    if words[-1] == "--export" or words[0] in ("demo", "dynamics", "reproduce", "train", "show", "sweep", "probe"):
        assert run(*words, tmp_path / "file")[2] == error
    else:
        assert run(*words, folder)[2] == f"anyorder: {folder} is a folder; name a file to write to\n"


def test_flags_decide_the_defaults_of_others_and_are_kept():
    assert parse(["dynamics"]).order == 1
    assert parse(["dynamics", "preconditioned"]).order == 2
    assert parse(["dynamics", "preconditioned", "--order", "1"]).order == 1
    assert [parse(["sample", "--prior", prior]).order for prior in ("dirichlet", "tree")] == [2, 3]
    fast, paper = (PRESETS[name].architecture.dimension for name in ("fast", "paper"))
    assert fast != paper
    for words, dimension in (([], paper), (["--dimension", str(fast)], fast)):  # the default of another preset
        assert parse(["train", "--preset", "paper", *words]).settings.architecture.dimension == dimension


def test_help_shows_the_defaults_that_the_other_words_decide(capsys):
    for words, value in ((["--prior", "tree"], 3), (["--prior", "tree", "--ordr", "4"], 2)):
        with pytest.raises(SystemExit):
            main(["sample", *words, "--help"])
        shown = capsys.readouterr().out.split("--order INT")[1].split("--alphabet-size INT")[0].replace("│", "")
        assert f"(default: {value})" in " ".join(shown.split())


def test_a_version_of_tyro_without_events_still_gives_one_line(run, monkeypatch):
    monkeypatch.setattr(tyro, "_errors", None)
    code, text, error = run("verify", "dyadic", "--order")
    assert (code, text) == (2, "")
    assert error == "anyorder: the command line could not be read; see anyorder verify --help\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_clutter(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    for clutter in ("None", "--no-json", "True", "(default: )", ">>>", "settings"):
        assert clutter not in shown
    assert shown.index("Examples:") < shown.index(" options ")
    assert shown.split("Examples:")[0].count("\n\n") == 2  # the usage and one paragraph stand before them


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sample --gamma 0.3", "gamma is 0.3, the prior dirichlet has none; drop --gamma"),
        ("sample --chains 5 --pool-seed 3", "chains is 5, the prior dirichlet has none; drop --chains"),
        ("sample --kernel {file} --depth 3", "is a kernel without a prior; drop --depth"),
        ("train --order 1 --gamma 0.4", "gamma is 0.4, the prior dirichlet has none; drop --gamma"),
        ("estimate {file} --order 1 --beta 0.5", "beta is 0.5, kgram has none; drop --beta"),
        ("probe zoo:fast --alphabet-size 999", "alphabet size is 999, zoo:fast has its own; drop --alphabet-size"),
        ("probe zoo:fast --member 5", "member is 5, zoo:fast is not a run folder; drop --member"),
        ("probe {file} --seed 5", "a.npz has its own sequences; drop --seed"),
        (
            "probe construction:k-head --order 2 --length 16 --max-length 15",
            "max length is 15, sequences of this length allow at most",
        ),
        ("probe construction:k-head --order 2 --length 1000 --sequences 1000000", "or fewer --sequences"),
        ("verify dyadic --order 2 --exhaustive 6 --sequences 3", "takes all sequences of its own length; drop --seq"),
        (
            "verify dyadic --order 2 --kappa 5 --target-error 1e-3",
            "target error is 0.001, --kappa 5 takes its place; drop --target-error",
        ),
    ],
)
def test_flags_without_effect_are_refused(run, tmp_path, words, said):
    (tmp_path / "a.npz").write_text("")
    code, _, error = run(*words.format(file=tmp_path / "a.npz").split())
    assert code == 2
    assert said in error
    assert error.count("\n") == 1


def test_flags_with_an_effect_are_taken():
    assert parse(["sample", "--prior", "pool", "--chains", "5", "--pool-seed", "3", "--concentration", "2"]).chains == 5
    assert parse(["train", "--prior", "floored", "--gamma", "0.4"]).settings.data.gamma == 0.4
    assert parse(["estimate", "-", "--order", "1", "--estimator", "bayes", "--beta", "0.5"]).beta == 0.5
    assert (
        parse(["probe", "construction:k-head", "--order", "2", "--alphabet-size", "3", "--seed", "5"]).alphabet_size
        == 3
    )


def test_flags_that_may_be_refused_are_those_of_their_commands():
    for rule in RULES:
        command = next(one for one in COMMANDS.values() if one[1] == rule.command)
        kind = getattr(importlib.import_module(f"anyorder.cli.{command[0]}"), rule.command)
        names = {field.name for one in (kind, Data) for field in dataclasses.fields(one)}
        assert names.issuperset(rule.flags)
