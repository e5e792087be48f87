"""Tables as displayed, and suggested next commands."""

import io
import shlex

import pytest
from rich.console import Console

from anyorder.cli.command import key_value_table, result_table, table
from anyorder.cli.main import COMMANDS, parse
from anyorder.io import plugins
from anyorder.papers import Table


def lines(made):
    console = Console(file=io.StringIO(), width=80)
    console.print(made)
    return [line.split() for line in console.file.getvalue().splitlines() if line.strip(" ─━")]


def test_cells_have_the_format_of_their_column_and_nothing_is_a_dash():
    made = table({"name": "<", "loss": ".3f", "runs": ","}, [("two layers", 0.12345, 12000), ("one", None, 7)])
    assert lines(made) == [["name", "loss", "runs"], ["two", "layers", "0.123", "12,000"], ["one", "–", "7"]]


def test_a_report_is_two_columns():
    report = {"max_error": 1e-9, "passed": True, "heads": [1, 2], "reason": None, "orders": {"float32": 1000}}
    assert lines(key_value_table(report)) == [
        ["max", "error", "1e-09"],
        ["passed", "yes"],
        ["heads", "1,", "2"],
        ["orders", "float32:", "1,000"],
    ]


def test_numbers_of_results_are_those_of_reports_and_none_is_cut():
    row = {"name": "two layers", "loss": 0.12345, "loss_error": 0.00123}
    row |= {f"a long heading, {place}": 6.25e-9 for place in ("first", "second", "third", "fourth")}
    *_, cells = lines(result_table(Table("", [row])))
    assert cells == ["two", "layers", "0.1235", "±", "0.0012", *["6.25e-09"] * 4]


#: Arguments of each command that needs some, and the keys of its report that its next step uses.
CALLS = {
    "sample": (["--out", "a b.txt"], {}),
    "estimate": (["book.txt", "--alphabet", "auto", "--order", "3"], {}),
    "order": (["book.txt", "--alphabet", "ab c"], {"selected": 2}),
    "parameters": (["--order", "2", "--alphabet-size", "2", "--length", "64"], {}),
    "price": (["--order", "2"], {}),
    "verify": (["unrolled", "--order", "3"], {}),
    "predict": (["book.txt", "--order", "3"], {}),
    "build": (["unrolled", "--order", "3", "--out", "m.safetensors"], {}),
    "export": (["k-head", "--order", "2", "--out", "induction"], {}),
    "train": ([], {"out": "runs/fast-1"}),
    "evaluate": (["runs/fast-1"], {}),
    "show": (["runs/fast-1"], {}),
    "sweep": (["learning-rate", "--dry-run"], {"sweep": "learning-rate"}),
    "probe": (["construction:unrolled", "--order", "3"], {}),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_with_a_next_step_that_parses(name):
    words, report = CALLS.get(name, ([], {}))
    step = parse([name, *words]).next_step(report)
    first = step.strip().splitlines()[0].split("   ")[0]
    program, *rest = shlex.split(first)
    assert program == "anyorder"
    parse(rest)
    assert "{" not in step


@pytest.mark.parametrize(
    ("words", "report", "step"),
    [
        (["train"], {"out": "runs/fast-1"}, "anyorder show runs/fast-1"),
        (["show", "runs/fast-1"], {}, "anyorder probe runs/fast-1"),
        (["show", "rates"], {"sweep": "rates", "command": "anyorder train --seeds 3"}, "anyorder train --seeds 3"),
        (["probe", "run", "--out", "probed"], {}, "anyorder explore --models probed"),
        (["estimate", "-", "--order", "1"], {}, "anyorder predict FILE --order 1"),
        (["sample"], {}, ""),
        (
            ["verify", "one-layer", "--order", "2", "--exhaustive", "8", "--heads", "3", "--force"],
            {"length": 8},
            "anyorder build one-layer --order 2 --alphabet-size 2 --length 8 --dtype float64 --heads 3 --force "
            "--out one-layer.safetensors",
        ),
        (["sweep", "phase", "--out", "p"], {"out": "p"}, "anyorder show p"),
    ],
)
def test_next_steps_take_up_what_was_done(words, report, step):
    assert parse(words).next_step(report) == step


def test_next_steps_load_the_same_plug_ins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "a b.py"):
        (tmp_path / name).write_text("")
    with plugins.within(["mine.py", str(tmp_path / "a b.py")]):
        assert parse(["show", "run"]).next_step({}) == "anyorder probe run --plugin mine.py --plugin 'a b.py'"
        assert "--plugin" not in parse(["demo"]).next_step({})


def test_the_next_step_is_printed_last_and_not_with_json(run):
    assert run("papers")[1].endswith("\n\nnext: anyorder reproduce list\n")
    assert "next:" not in run("papers", "--json")[1]
