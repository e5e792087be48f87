"""The folder of a sweep: `sweep.json` says what it is, `runs.jsonl` has one flat row for each run that has ended.

Rows are added as runs end, in whatever order, each whole and on the disk; when a command ends they are sorted. They
hold nothing that depends on where or when a run was trained: the same sweep gives the same table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from anyorder.errors import InputError, require
from anyorder.files import append_lines, read_lines, whole_file, write_json
from anyorder.sweeps import spec
from anyorder.sweeps.spec import Run, Sweep
from anyorder.training import config as configs

SWEEP, RUNS = "sweep.json", "runs.jsonl"
FORMAT = "anyorder sweep 1"

Row = dict[str, Any]


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep."""
    return (folder / SWEEP).exists()


def read(folder: Path) -> tuple[Sweep, list[Row]]:
    """The sweep in a folder, and its rows in order."""
    return _stored(folder), sorted(read_lines(folder / RUNS), key=lambda row: row["run"])


def _stored(folder: Path) -> Sweep:
    path = folder / SWEEP
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no {SWEEP}; give the --out folder of a sweep") from None
    except (OSError, ValueError):
        raise InputError(f"{path} is not a whole JSON file; choose another --out") from None
    known = isinstance(plain, dict) and plain.get("format") == FORMAT
    require(known, f"{path} is not of a sweep; choose another --out")
    return spec.from_stored(plain["sweep"])


class Table:
    """The rows of one sweep; refused, untouched, where the folder holds another sweep or other files."""

    def __init__(self, folder: Path, sweep: Sweep) -> None:
        self.folder, self.sweep = folder, sweep
        self.rows: dict[int, Row] = {}
        require(not folder.exists() or folder.is_dir(), f"{folder} is a file; --out is a folder")
        if is_sweep(folder):
            stored, rows = read(folder)
            differs = difference(stored, sweep)
            require(not differs, f"{folder} holds the table of another sweep ({differs}); choose another --out")
            self.rows = {row["run"]: row for row in rows}
        else:
            require(
                not folder.exists() or not any(folder.iterdir()),
                f"{folder} already holds other files; choose another --out",
            )

    def begin(self, versions: dict[str, str]) -> None:
        """Write what the sweep is; from here on the folder is its own."""
        about = {"format": FORMAT, "digest": spec.digest(self.sweep), "sweep": spec.to_plain(self.sweep)}
        write_json(self.folder / SWEEP, {**about, "versions": versions})
        self.sort()  # also drops a last line that was cut short

    def forget(self, outcome: str) -> None:
        """Drop the rows of an outcome, so that their runs are missing again."""
        self.rows = {index: row for index, row in self.rows.items() if row["outcome"] != outcome}

    def add(self, finished: Iterable[tuple[Run, dict[str, Any]]]) -> None:
        """Rows for runs that have ended."""
        rows = [{"run": run.number, **run.values, "seed": run.seed, **result} for run, result in finished]
        self.rows |= {row["run"]: row for row in rows}  # first: `sort` after an interruption writes what is known here
        append_lines(self.folder / RUNS, rows)

    def sort(self) -> None:
        """Write all rows anew, in order."""
        with whole_file(self.folder / RUNS) as temporary:
            text = "".join(json.dumps(self.rows[index], allow_nan=False) + "\n" for index in sorted(self.rows))
            temporary.write_text(text, encoding="utf-8")


def difference(one: Sweep, other: Sweep) -> str:
    """The first thing in which the runs of two sweeps differ, in words; empty if they do not."""
    if one.axes != other.axes or list(one.axes) != list(other.axes):
        for axis in dict.fromkeys([*one.axes, *other.axes]):
            if one.axes.get(axis) != other.axes.get(axis):
                values = [
                    f"{axis} {' '.join(map(str, axes[axis]))}" if axis in axes else f"no axis {axis}"
                    for axes in (one.axes, other.axes)
                ]
                return f"{values[0]}, not {values[1]}"
        return "axes in another order"
    if one.seeds != other.seeds:
        return f"seeds {' '.join(map(str, one.seeds))}, not {' '.join(map(str, other.seeds))}"
    return configs.difference(one.base, other.base)
