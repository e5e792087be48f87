"""Help without clutter, defaults that depend on other flags, and places that are checked before any work."""

import pytest
import tyro

from anyorder.cli.main import COMMANDS, main, parse
from anyorder.training.config import PRESETS


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
        shown = capsys.readouterr().out.split("--order INT")[1].split("--alphabet-size INT")[0]
        assert f"(default: {value})" in shown


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
