"""The birth of an induction head: whether it forms in stages, order by order, during training.

There are two measures: the *spectrum* of layer 2, its attention by match length relative to chance; and the *distance*
D(order-j ‖ model) to the predictor of every order j = 0 … k. A model with a stage at order j is near that predictor for
some time. The rule for a stage is in docs/rules.md, written before the runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anyorder.io.atomic import Row
from anyorder.papers.experiment import Budget, Result, Table, Task, experiment, of_preset, run_name
from anyorder.papers.figure_data import Chart, Plot, Series
from anyorder.sweeps.analysis import longest, spread, wilson
from anyorder.training.config import Config, Data
from anyorder.training.folder import read_metrics

SEEDS = 8
#: Sequences of a measurement, and the fraction of the steps between two of them.
COUNT, EVERY = 512, 1 / 40
#: A stage: the distance of an order to the model, as a share of its distance to the floor, and its least duration.
NEAR, LONG, LASTING = 0.25, 3, 0.05


class Setting(NamedTuple):
    """A source and a rate; the recipe is that of the preset `floor`."""

    order: int
    alphabet_size: int
    length: int
    rate: float
    steps: int


RATE = 3e-3
SETTINGS: dict[Budget, tuple[Setting, ...]] = {
    "tiny": (Setting(2, 2, 16, RATE, 80),),
    "quick": (Setting(2, 2, 32, RATE, 2000), Setting(3, 2, 32, RATE, 2000)),
    "paper": (
        Setting(2, 2, 32, RATE, 2000),
        Setting(3, 2, 32, RATE, 2000),
        Setting(1, 3, 32, RATE / 10, 3000),
        Setting(2, 2, 32, RATE / 10, 4000),
        Setting(2, 3, 64, RATE, 2000),
        Setting(2, 3, 64, RATE / 10, 3000),
        Setting(2, 5, 64, RATE / 10, 3000),
    ),
}


class Course(NamedTuple):
    """The development of the models of a run: a row for each measurement, per seed."""

    steps: Float[np.ndarray, "times"]
    spectra: Float[np.ndarray, "seeds times lengths"]
    distances: Float[np.ndarray, "seeds times orders"]
    to_floor: Float[np.ndarray, "orders"]


def enough_seeds(task: Task) -> Task:
    """The task with at least eight seeds, except at the budget `tiny`."""
    return task if task.budget == "tiny" else dataclasses.replace(task, seeds=max(task.seeds, SEEDS))


def config(task: Task, setting: Setting) -> Config:
    """The preset `floor` for a setting, with frequent measurements."""
    data = Data(order=setting.order, alphabet_size=setting.alphabet_size, length=setting.length)
    measured = {"evaluate_every": max(int(setting.steps * EVERY), 1), "evaluation_count": COUNT}
    return of_preset(task, "floor", data, learning_rate=setting.rate, steps=setting.steps, **measured)


def course(task: Task, config: Config) -> Course:
    """Train, and read the development of the models from the metrics of the run."""
    task.train(config)
    lines = read_metrics(task.runs / run_name(config))
    reference = next(line for line in lines if line["kind"] == "reference")["predictors"]
    k = config.data.order
    names = [*(f"order-{order}" for order in range(k)), next(iter(reference))]  # the first is the floor
    measured = [line for line in lines if line["kind"] == "evaluation"]
    seeds = [[line for line in measured if line["model"] == model] for model in range(task.seeds)]
    excess = np.array([reference[name]["mean"] for name in names])
    return Course(
        np.array([line["step"] for line in seeds[0]], float),
        np.array([[line["attention"][-1][0]["spectrum"] for line in own] for own in seeds], float),
        np.array([[[line["divergence"][name]["mean"] for name in names] for line in own] for own in seeds], float),
        excess - excess[-1],
    )


def born(steps: Float[np.ndarray, "times"], spectrum: Float[np.ndarray, "times lengths"], length: int) -> float | None:
    """The step at which attention at this match length first exceeds that at one less by half of the final excess.

    >>> born(np.arange(4.0), np.array([[1.0, 1.0], [1.0, 1.2], [0.5, 1.8], [0.0, 2.0]]), 1)
    2.0
    """
    rise = spectrum[:, length] - spectrum[:, length - 1]
    if rise[-1] < 0.5:
        return None
    return float(steps[int(np.argmax(rise >= rise[-1] / 2))])


def has_stage(distances: Float[np.ndarray, "times orders"], to_floor: Float[np.ndarray, "orders"], order: int) -> bool:
    """Whether a model has a stage at an order: for long enough, the order is nearest, and near by the rule.

    >>> walk = np.array([[0.0, 0.3], [0.01, 0.3], [0.02, 0.3], [0.3, 0.1], [0.3, 0.0]])
    >>> has_stage(walk, np.array([0.2, 0.0]), 0), has_stage(walk[1:], np.array([0.2, 0.0]), 0)
    (True, False)
    """
    there = (distances.argmin(axis=1) == order) & (distances[:, order] <= NEAR * to_floor[order])
    return longest(there)[1] >= max(LONG, math.ceil(LASTING * len(there)))


def stage_row(found: Course, about: Row, order: int) -> Row:
    """The number of seeds with a stage at an order, the interval of their share, and the smallest distance."""
    waits = [has_stage(own, found.to_floor, order) for own in found.distances]
    low, high = wilson(sum(waits), len(waits))
    return {
        **about,
        "shorter_order": order,
        "seeds_with_stage": sum(waits),
        "share_from": low,
        "share_to": high,
        "nearest_share_of_run": spread((found.distances.argmin(axis=2) == order).mean(axis=1)),
        "closest": spread(found.distances[:, :, order].min(axis=1)),
        "order_above_floor": float(found.to_floor[order]),
        "end_above_floor": spread(found.distances[:, -1, -1]),
    }


def sentences(rows: Sequence[Row], seeds: int) -> list[str]:
    """One sentence per setting from the table of stages."""
    said = []
    for (k, size, length, rate, _), own in itertools.groupby(rows, itemgetter(*Setting._fields)):
        waits = [f"{row['seeds_with_stage']} of {seeds} wait at order {row['shorter_order']}" for row in own]
        said.append(f"Order {k}, {size} symbols, T = {length}, rate {rate:g}: {', '.join(waits)}.")
    return said


STAGES = (
    "Seeds that wait at an order below k, by the rule, with the 95% interval of their share; the share of the run in "
    "which that order is the nearest; the smallest D(order-j ‖ model), next to that order's excess over the floor; and "
    "D(floor ‖ model) at the end. Nats per token, mean ± standard deviation over seeds."
)
BORN = (
    "The step at which keys of match length ℓ get more attention than those of ℓ - 1, by half of the final difference: "
    "mean ± standard deviation over the seeds in which this happens."
)


@experiment(
    "Is an induction head born in stages?",
    "ours; spectrum and distance to shorter orders while training",
    {"tiny": 0.4, "quick": 8, "paper": 60},
    reading="A model has a stage at order j < k if for at least three measurements in a row, and a twentieth of the "
    "run, the add-one predictor of order j is the nearest of all orders to the model, and nearer than a quarter of its "
    "own distance to the floor. A run has forty measurements, and eight seeds.",
)
def birth(task: Task) -> Result:
    """Train models in each setting; follow the spectrum of layer 2, and the distance to every shorter order."""
    task = enough_seeds(task)
    dates: list[Row] = []
    stages: list[Row] = []
    charts: dict[str, list[Chart]] = {}
    for part, setting in task.parts(SETTINGS[task.budget]):
        found, about = course(part, config(task, setting)), setting._asdict()
        for length in range(1, setting.order + 1):
            came = [date for own in found.spectra if (date := born(found.steps, own, length)) is not None]
            dates.append({**about, "match_length": length, "step": spread(came), "seeds_where_it_came": len(came)})
        stages += [stage_row(found, about, order) for order in range(setting.order)]
        charts.setdefault("birth" if setting.rate == RATE else "slow", []).append(_chart(found, setting))
    drawn = (
        "D(order-j ‖ model) in nats while models are trained, mean over seeds. Dotted: excess of order j over the "
        "Bayes floor."
    )
    return Result(
        {"stages": Table(STAGES, stages), "born": Table(BORN, dates)},
        {name: Plot(drawn, own, width=2.7) for name, own in charts.items()},
        notes=tuple(sentences(stages, task.seeds)),
        settings={"data": "Dirichlet(1) rows", "seeds": task.seeds},
        preset="floor",
        config=config(task, SETTINGS[task.budget][0]),
    )


def _chart(found: Course, setting: Setting) -> Chart:
    steps = (found.steps / 1000).tolist()
    lines = []
    for order, values in enumerate(found.distances.mean(axis=0).T):
        lines.append(Series(f"order {order}", steps, values.tolist(), None, "-", order))
        if order < setting.order:
            level = [float(found.to_floor[order])] * 2
            lines.append(Series("", [steps[0], steps[-1]], level, None, ":", order))
    title = f"k = {setting.order}, S = {setting.alphabet_size}, rate {setting.rate:g}"
    return Chart("thousand steps", "D(order-j ‖ model)", lines, title, from_zero=True)
