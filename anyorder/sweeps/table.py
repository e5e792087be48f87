"""The table of a sweep: a typed row for each run that has ended, and the folder with these rows.

`sweep.json` describes the sweep, `runs.jsonl` has one flat line for each row. Lines are appended as runs end, each
complete and synced to the disk, and sorted when the command ends. They do not depend on where or when a run was
trained: the same sweep gives the same table.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal, get_args

from anyorder.errors import InputError, require
from anyorder.io.atomic import Row, append_lines, check_keys, holds, read_json, read_lines, write_json, write_lines
from anyorder.io.gates import gated
from anyorder.io.trees import as_json
from anyorder.sweeps import spec
from anyorder.sweeps.spec import Run, Sweep
from anyorder.training import config_text

SWEEP, RUNS = "sweep.json", "runs.jsonl"
FORMAT = "anyorder sweep 1"
_EXPECTED = "the folder of a sweep"

Ending = Literal["done", "diverged", "failed"]


@dataclasses.dataclass(frozen=True)
class Ended:
    """The outcome of a run: done with numbers, or diverged at a step or failed, with a reason.

    Numbers that are not finite, and gaps of chains without a floor, are None. `attention` is for the head of the last
    layer with the most mass on the matches: 0 if that head is uniform, and 1 if all its mass is on the matching
    positions.
    """

    outcome: Ending
    reason: str | None = None
    step: int | None = None
    loss: float | None = None
    true_loss: float | None = None
    excess: float | None = None
    excess_error: float | None = None
    gap: float | None = None
    gap_error: float | None = None
    floor_excess: float | None = None
    training_loss: float | None = None
    matching_mass: float | None = None
    chance_mass: float | None = None
    attention: float | None = None
    distance: float | None = None
    beginning_mass: float | None = None
    first_layer_mass: float | None = None

    def as_json(self) -> Row:
        """Plain values, without those that are None if the run is not done.

        >>> Ended("failed", "no memory").as_json()
        {'outcome': 'failed', 'reason': 'no memory'}
        """
        done = self.outcome == "done"
        return {name: value for name, value in vars(self).items() if done or value is not None or name == "reason"}

    @classmethod
    def from_json(cls, plain: Row) -> Ended:
        """The inverse of `as_json`; further keys are ignored."""
        return cls(**{name: kind(plain[name]) for name, kind in KINDS.items() if plain.get(name) is not None})


#: The types of the keys of a line.
KINDS: dict[str, type] = dict.fromkeys((field.name for field in dataclasses.fields(Ended)), float) | {
    "outcome": str,
    "reason": str,
    "step": int,
}


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One run of a sweep that has ended: its number, its values on the axes, its seed."""

    run: int
    values: dict[str, object]
    seed: int
    ended: Ended

    def as_json(self) -> Row:
        """The line of the table."""
        return {"run": self.run, **self.values, "seed": self.seed, **self.ended.as_json()}


def is_sweep(folder: Path) -> bool:
    """Whether a folder contains a sweep."""
    return (folder / SWEEP).exists()


@gated
def read_sweep(folder: str | Path) -> tuple[Sweep, list[SweepRow]]:
    """The sweep in a folder, and its rows in order."""
    folder = Path(folder)
    path = folder / SWEEP
    stored = read_json(path, _EXPECTED, {"format": str, "sweep": dict})
    require(stored["format"] == FORMAT, f"{path} contains {stored['format']!r}, must be {FORMAT!r}; give {_EXPECTED}")
    config_text.check_plugins(stored.get("plugins"), str(path))
    try:
        sweep = spec.from_stored(stored["sweep"], str(path))
    except InputError as error:
        raise InputError(f"{path} does not describe a sweep: {error}") from None
    lines = read_lines(folder / RUNS, {"run": int, "seed": int, "outcome": str})
    rows = [_row(sweep, line, f"line {place} of {folder / RUNS}") for place, line in enumerate(lines, 1)]
    return sweep, sorted(rows, key=lambda row: row.run)


def _row(sweep: Sweep, row: Row, source: str) -> SweepRow:
    """The row in a line; rejected unless it has the values and the seed of the run with its number."""
    number, way_out = row["run"], "the file was changed, restore it from a copy"
    require(0 <= number < sweep.count, f"{source} is run {number}, must be 0 to {sweep.count - 1}; {way_out}")
    cell, turn = divmod(number, len(sweep.seeds))
    values, seed = spec.values_at(sweep, cell), sweep.seeds[turn]
    for name, value in {**values, "seed": seed}.items():
        found = row.get(name)
        require(found == value, f"{source} has {name} {found!r}, run {number} has {value!r}; {way_out}")
    outcomes = get_args(Ending)
    require(row["outcome"] in outcomes, f"{source} has the outcome {row['outcome']!r}, must be {', '.join(outcomes)}")
    needed = ("excess", "attention") if row["outcome"] == "done" else ()
    kinds = {name: kind for name, kind in KINDS.items() if name in needed or row.get(name) is not None}
    check_keys(row, source, way_out, kinds)
    return SweepRow(number, values, seed, Ended.from_json(row))


class SweepFolder:
    """The rows of one sweep in its folder; a folder with another sweep or other files is rejected and left untouched.

    `again` drops the rows of failed runs, so that these count as missing.
    """

    def __init__(self, folder: Path, sweep: Sweep, again: bool = False) -> None:
        self.folder, self.sweep, self._again = folder, sweep, again
        self.rows: dict[int, SweepRow] = {}
        self._read()

    def _read(self) -> None:
        if holds(self.folder, SWEEP):
            stored, rows = read_sweep(self.folder)
            differs = sweep_difference(stored, self.sweep)
            require(not differs, f"{self.folder} contains another sweep ({differs}); choose another `out=`")
            self.rows = {row.run: row for row in rows if not (self._again and row.ended.outcome == "failed")}

    def begin(self, versions: dict[str, str]) -> None:
        """Claim the folder: write the description of the sweep, and sort its rows."""
        self._read()  # another process may have written since
        about = {"format": FORMAT, "digest": spec.sweep_digest(self.sweep), "sweep": as_json(self.sweep)}
        plugins = spec.plugins(self.sweep)
        write_json(self.folder / SWEEP, {**about, "versions": versions} | ({"plugins": plugins} if plugins else {}))
        self.sort()

    def add(self, run: Run, ended: Ended) -> None:
        """The row of a run that has ended."""
        row = SweepRow(run.number, run.values, run.seed, ended)
        self.rows[run.number] = row  # first: `sort` after an interruption writes these rows
        append_lines(self.folder / RUNS, [row.as_json()])

    def sort(self) -> None:
        """Write all rows again, in order."""
        write_lines(self.folder / RUNS, [self.rows[number].as_json() for number in sorted(self.rows)])


def sweep_difference(one: Sweep, other: Sweep) -> str:
    """The first difference between the runs of two sweeps, in words; empty if there is none."""
    for axis in dict.fromkeys([*one.axes, *other.axes]):
        if one.axes.get(axis) != other.axes.get(axis):
            first, second = (
                f"{axis} {' '.join(map(str, axes[axis]))}" if axis in axes else f"no axis {axis}"
                for axes in (one.axes, other.axes)
            )
            return f"{first}, not {second}"
    if list(one.axes) != list(other.axes):
        return "axes in another order"
    if one.seeds != other.seeds:
        return f"seeds {' '.join(map(str, one.seeds))}, not {' '.join(map(str, other.seeds))}"
    return config_text.config_difference(one.base, other.base)
