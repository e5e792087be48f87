"""Sweeps: a base config, axes over its fields, seeds and a metric; and the runs of their grid.

Nothing here imports JAX: a sweep is read, checked and counted without delay.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anyorder.errors import InputError, require, shown
from anyorder.io.atomic import Row, check_keys, read_json, short_digest
from anyorder.io.gates import gated, read_bytes
from anyorder.io.trees import as_json
from anyorder.training import config as configs
from anyorder.training import config_text
from anyorder.training.checks import check_config
from anyorder.training.config import Config, Data

#: Runs beyond which a sweep must be confirmed.
MANY = 1_000_000


class Metric(NamedTuple):
    """A metric of sweeps: its axis label, and whether smaller is better."""

    label: str
    less: bool


METRICS = {
    "gap": Metric("gap to the floor (nats)", less=True),
    "excess": Metric("excess loss (nats)", less=True),
    "loss": Metric("loss (nats)", less=True),
    "matching_mass": Metric("attention on matches", less=False),
    "attention": Metric("attention on matches, 0 = chance", less=False),
    "distance": Metric("distance to pseudo-attention", less=True),
    "success": Metric("fraction of seeds that succeed", less=False),
}


@dataclasses.dataclass(frozen=True)
class Success:
    """The criterion for a run that found the induction head: near the floor, with attention on the matches.

    `attention` is 0 for uniform attention and 1 if all mass is on the matching positions.
    """

    gap: float = 0.005
    attention: float = 0.5


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A grid of runs: every combination of the values of the axes, with every seed."""

    name: str
    base: Config
    axes: dict[str, tuple[object, ...]]
    seeds: tuple[int, ...] = (0,)
    metric: str = "gap"
    success: Success = Success()

    @property
    def cells(self) -> int:
        """Combinations of values."""
        return math.prod(map(len, self.axes.values()))

    @property
    def count(self) -> int:
        """Runs."""
        return self.cells * len(self.seeds)


class Run(NamedTuple):
    """One training run: its number in the sweep, its values on the axes, its seed and its whole config."""

    number: int
    values: dict[str, object]
    seed: int
    config: Config


@gated
def sweep(
    name: str,
    base: Config,
    axes: Mapping[str, object],
    *,
    seeds: int | Sequence[Any] = 1,
    metric: str = "gap",
    success: Success | None = None,
) -> Sweep:
    """A checked sweep; the configs of its runs are checked by `runs`.

    >>> grid = sweep("rates", configs.PRESETS["floor"], {"learning_rate": [1e-3, 1e-2], "order": [1, 2]}, seeds=3)
    >>> grid.count
    12
    """
    source = f"the sweep {name}"
    numbers = tuple(seeds) if isinstance(seeds, list | tuple) else ()
    if isinstance(seeds, int) and seeds <= MANY:
        numbers = tuple(range(seeds))
    require(
        len(numbers) > 0 and all(type(seed) is int and seed >= 0 for seed in numbers) and _distinct(numbers),
        f"{source} has seeds {shown(seeds)}, must be a number from 1 to {MANY} or a list of different seeds",
    )
    require(str(metric) in METRICS, f"{source} has the metric {metric!r}, must be one of {', '.join(METRICS)}")
    base = dataclasses.replace(base, seed=0, seeds=1)
    require(len(axes) > 0, f"{source} has no axes; give at least one list under [axes]")
    known: dict[str, tuple[object, ...]] = {}
    for axis, given in axes.items():
        spelt = configs.known(axis, source)
        require(spelt not in ("seed", "seeds"), f"{source} has the axis {axis}; seeds are given by `seeds`")
        require(spelt not in known, f"{source} has the axis {spelt} twice")
        known[spelt] = _values(base, spelt, given, source)
    rates: tuple[Any, ...] = known.get("learning_rate", (base.optimisation.learning_rate,))
    require(
        all(np.size(rate) == 1 for rate in rates),
        f"{source} has several learning rates in one run; make them an axis: learning_rate = [...]",
    )
    return Sweep(name, base, known, numbers, metric, success or Success())


def _distinct(values: Sequence[object]) -> bool:
    return len({json.dumps(value) for value in values}) == len(values)


def _values(base: Config, axis: str, given: Any, source: str) -> tuple[object, ...]:
    """The values of an axis, of the type of its field."""
    listed = _range(axis, given, source) if isinstance(given, Mapping) else given
    require(isinstance(listed, list | tuple), f"{source} has {axis} = {given!r}, must be a list or a range")
    require(len(listed) > 0, f"{source} has the empty axis {axis}; give at least one value")
    several = isinstance(configs.values(base)[axis], tuple)
    typed = []
    for value in listed:
        read = configs.values(configs.changed(base, {axis: value}, source))[axis]
        typed.append((read[0] if len(read) == 1 else list(read)) if several else read)
    require(_distinct(typed), f"{source} has a value of {axis} twice; give each once")
    return tuple(typed)


def _range(axis: str, given: Mapping[str, Any], source: str) -> list[int | float]:
    """{ from, to } with one of step, factor or count; count with log = true is spaced evenly in the logarithm."""
    way_out = "{ from = a, to = b } takes one of step, factor, or count (with log = true if wanted)"
    ways = [way for way in ("step", "factor", "count") if way in given]
    optional = {"log"} if ways == ["count"] else set()
    require(
        {"from", "to"} <= set(given) <= {"from", "to", *ways, *optional} and len(ways) == 1,
        f"{source} has the range {axis} = {dict(given)!r}; {way_out}",
    )
    first, last, way, amount = given["from"], given["to"], ways[0], given[ways[0]]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, last, amount))
    sound = numbers and first <= last
    sound = sound and (amount > 0 if way == "step" else amount > 1 and first > 0 if way == "factor" else True)
    if way == "count":
        sound = sound and isinstance(amount, int) and amount >= 1 and (not given.get("log") or first > 0)
    require(sound, f"{source} has the range {axis} = {dict(given)!r}, which does not rise from `from` to `to`")
    if way == "count":
        spaced = (np.geomspace if given.get("log") else np.linspace)(first, last, amount)
        whole = isinstance(first, int) and isinstance(last, int) and bool(np.all(spaced == np.round(spaced)))
        values = [int(value) if whole else value for value in spaced.tolist()]
    else:
        steps = (last - first) / amount if way == "step" else math.log(last / first, amount)
        require(steps < MANY, f"{source} has more than {MANY:,} values of {axis}; make the step larger")
        places = range(math.floor(steps + 1e-9) + 1)
        values = [first + amount * place if way == "step" else first * amount**place for place in places]
    return [value if isinstance(value, int) else float(f"{value:.12g}") for value in values]  # 0.1 + 0.2 is 0.3 here


@gated
def read_toml(path: str | Path) -> Sweep:
    """The sweep in a TOML file, with paths relative to its folder; docs/sweeps.md describes the format."""
    file, source = Path(path), str(path)
    data = read_bytes(path, "a TOML file or the name of a sweep")
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {str(error).splitlines()[0]}; correct it") from None
    for key in content:
        configs.known(key, source, ("name", "preset", "config", "seeds", "metric", "set", "axes", "success"))
    groups = {key: content.get(key, {}) for key in ("set", "axes", "success")}
    for key, group in groups.items():
        require(isinstance(group, Mapping), f"{source} has {key} = {group!r}, must be a table: [{key}]")
    require(
        not ("preset" in content and "config" in content),
        f"{source} has both preset and config; each sets the whole config, choose one",
    )
    base = configs.preset(str(content.get("preset", "floor")))
    if "config" in content:
        named = file.parent / str(content["config"])
        base = config_text.from_document(read_json(named, "a JSON file"), str(named))
    return sweep(
        str(content.get("name", file.stem)),
        configs.changed(base, groups["set"], source),
        groups["axes"],
        seeds=content.get("seeds", 1),
        metric=content.get("metric", "gap"),
        success=_rule(groups["success"], source),
    )


def _rule(given: Row, source: str) -> Success:
    rule = {}
    for key, value in given.items():
        spelt = configs.known(key, source, ("gap", "attention"))
        sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
        require(sound, f"{source} has success.{spelt} = {value!r}, must be a number of at least 0")
        rule[spelt] = float(value)
    return Success(**rule)


def from_stored(plain: Row, source: str = "the sweep") -> Sweep:
    """The inverse of `trees.as_json`."""
    kinds = {"name": str, "base": dict, "axes": dict, "seeds": list, "metric": str, "success": dict}
    check_keys(dict(plain), source, "give the folder of a sweep", kinds)
    base = config_text.from_json(plain["base"], source)
    success = _rule(plain["success"], source)
    return sweep(plain["name"], base, plain["axes"], seeds=plain["seeds"], metric=plain["metric"], success=success)


#: Fields of a config that version 0.2 did not have: part of a digest only if they differ from their defaults.
_NEW = (
    "mixer", "rotary_positions", "taps", "state", "expansion", "decay", "chains", "pool_seed", "keep_every",
    "own_source", "own_model",
)  # fmt: skip


def sweep_digest(sweep: Sweep) -> str:
    """A digest of everything that determines the runs of a sweep, which excludes metric and success criterion."""
    base, given = as_json(sweep.base), configs.values(sweep.base)
    del base["preset"]
    for name in _NEW:
        if given[name] == configs.DEFAULTS[name]:
            group = configs.GROUPS[name]
            del (base if group is None else base[group])[name]
    return short_digest(as_json({"base": base, "axes": sweep.axes, "seeds": sweep.seeds}))


def values_at(sweep: Sweep, cell: int) -> dict[str, object]:
    """The values of one combination, by its number.

    >>> values_at(sweep("g", configs.PRESETS["floor"], {"order": [1, 2], "length": [8, 16]}), 2)
    {'order': 2, 'length': 8}
    """
    places = np.unravel_index(cell, [len(values) for values in sweep.axes.values()])
    return {name: values[place] for (name, values), place in zip(sweep.axes.items(), places, strict=True)}


def runs(sweep: Sweep, budget: int | None = None) -> list[Run]:
    """All runs, in the order of the grid; with a budget, as many whole cells as it allows, spread over the grid.

    A larger budget includes the runs of a smaller one: cells are taken in a fixed random order.
    """
    per_cell = len(sweep.seeds)
    chosen: Sequence[int] = range(sweep.cells)
    if budget is not None and budget < sweep.count:
        order = np.random.default_rng(0).permutation(sweep.cells)
        chosen = sorted(order[: max(1, budget // per_cell)].tolist())
    found = []
    for cell in chosen:
        values = values_at(sweep, cell)
        config = configs.changed(sweep.base, values)
        try:
            check_config(config)
            require(
                sweep.metric not in ("gap", "success") or _has_floor(config.data),
                f"metric is {sweep.metric}, these chains have no Bayes floor in closed form; choose the metric excess",
            )
        except InputError as error:
            at = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise InputError(f"the sweep {sweep.name} cannot run at {at}: {error}") from None
        for turn, seed in enumerate(sweep.seeds):
            found.append(Run(cell * per_cell + turn, values, seed, dataclasses.replace(config, seed=seed)))
    return found


@functools.cache
def _has_floor(data: Data) -> bool:
    from anyorder import estimators

    return estimators.floor(data.source).reason is None


def plugins(sweep: Sweep) -> list[list[str]]:
    """Field, name and origin of every plug-in value in the base config and on the axes."""
    given = [{}, *({axis: value} for axis, values in sweep.axes.items() for value in values)]
    found = [entry for one in given for entry in config_text.plugins(configs.changed(sweep.base, one))]
    return [entry for place, entry in enumerate(found) if entry not in found[:place]]


def shapes(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs in groups that share a compiled program."""
    groups: dict[tuple[Config, int], list[Run]] = {}
    cell, kind = None, None
    for run in runs:
        if kind is None or run.values is not cell:  # the seeds of a cell are consecutive and share its structure
            cell, kind = run.values, (configs.structure(run.config), run.config.optimisation.steps)
        groups.setdefault(kind, []).append(run)
    return list(groups.values())


def chunks(runs: Sequence[Run], workers: int, most: int) -> list[list[Run]]:
    """Pieces of work for one worker each: at most `most` runs of one shape, and enough pieces for all workers."""
    groups = shapes(runs)
    pieces = math.ceil(4 * workers / max(len(groups), 1))
    split = []
    for group in groups:
        size = min(most, math.ceil(len(group) / pieces))
        split += [group[first : first + size] for first in range(0, len(group), size)]
    return split
