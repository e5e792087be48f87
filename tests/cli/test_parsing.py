"""Help without clutter, and places that are checked before any work."""

import pytest

from anyorder.cli.main import COMMANDS, main, parse


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
    command = parse([*words, str(tmp_path / "new")])

    def worked(*_):
        raise AssertionError("work began")

    monkeypatch.setattr(f"anyorder.cli.{COMMANDS[words[0]][0]}.{COMMANDS[words[0]][1]}.run", worked)
    (tmp_path / "file").write_text("")
    code, _, error = run(*words, tmp_path / "file" / "out")
    assert code == 2
    assert error == f"anyorder: {tmp_path / 'file'} is a file where a folder is needed; choose another name\n"
    folder = tmp_path / "folder"
    folder.mkdir()
    if command.fills:
        assert run(*words, tmp_path / "file")[2] == error
    else:
        assert run(*words, folder)[2] == f"anyorder: {folder} is a folder; name a file to write to\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_clutter(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    for clutter in ("None", "--no-json", "True", "(default: )", ">>>", "settings"):
        assert clutter not in shown
    assert shown.index("Examples:") < shown.index(" options ")
    assert shown.split("Examples:")[0].count("\n\n") == 2  # the usage and one paragraph stand before them
