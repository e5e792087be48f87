"""Tables as a person sees them."""

import io

from rich.console import Console

from anyorder.cli.command import key_value_table, table


def lines(made):
    console = Console(file=io.StringIO(), width=80)
    console.print(made)
    return [line.split() for line in console.file.getvalue().splitlines() if line.strip(" ─━")]


def test_cells_have_the_format_of_their_column_and_nothing_is_a_dash():
    made = table({"name": "<", "loss": ".3f", "runs": ","}, [("two layers", 0.12345, 12000), ("one", None, 7)])
    assert lines(made) == [["name", "loss", "runs"], ["two", "layers", "0.123", "12,000"], ["one", "–", "7"]]


def test_a_report_is_two_columns():
    report = {"max_error": 1e-9, "passed": True, "heads": [1, 2], "reason": None, "orders": {"float32": 10}}
    assert lines(key_value_table(report)) == [
        ["max", "error", "1e-09"],
        ["passed", "yes"],
        ["heads", "1,", "2"],
        ["reason", "–"],
        ["orders", "float32:", "10"],
    ]
