"""The birth of an induction head: the match-length spectrum of layer 2 while a model is trained."""

from __future__ import annotations

import numpy as np

from anyorder.io.atomic import Row
from anyorder.papers.experiment import Budget, Result, Table, Task, experiment, of_preset, run_name
from anyorder.papers.figure_data import Chart, Plot, Series
from anyorder.training.config import Config, Data
from anyorder.training.folder import read_metrics

ORDERS: dict[Budget, tuple[int, ...]] = {"tiny": (2,), "quick": (2, 3), "paper": (2, 3)}
LENGTH = 32
#: Steps between two measurements, and the sequences of each.
EVERY, COUNT = 50, 512


def config(task: Task, order: int) -> Config:
    """The recipe that reaches the floor, measured often."""
    count = 128 if task.budget == "tiny" else COUNT
    return of_preset(task, "floor", Data(order=order, length=LENGTH), evaluate_every=EVERY, evaluation_count=count)


def curves(task: Task, config: Config) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and for each seed the spectrum of the last layer's first head at each of them."""
    task.train(config)
    lines = [line for line in read_metrics(task.runs / run_name(config)) if line["kind"] == "evaluation"]
    steps = np.unique([line["step"] for line in lines])
    spectra = [
        [line["attention"][-1][0]["spectrum"] for line in lines if line["model"] == model]
        for model in range(task.seeds)
    ]
    return steps, np.array(spectra, float)


def born(steps: np.ndarray, spectrum: np.ndarray, length: int) -> float | None:
    """The step at which keys of this match length first exceed those one shorter by half of the final excess.

    >>> born(np.arange(4), np.array([[1.0, 1.0], [1.0, 1.2], [0.5, 1.8], [0.0, 2.0]]), 1)
    2.0
    """
    rise = spectrum[:, length] - spectrum[:, length - 1]
    if rise[-1] < 0.5:
        return None
    return float(steps[int(np.argmax(rise >= rise[-1] / 2))])


@experiment(
    "An induction head is born, order by order",
    "ours; the probe's spectrum while training",
    {"tiny": 0.4, "quick": 3, "paper": 3},
)
def birth(task: Task) -> Result:
    """Train models of each order and follow the spectrum of layer 2."""
    rows: list[Row] = []
    charts = []
    orders = ORDERS[task.budget]
    for part, order in task.parts(orders):
        steps, found = curves(part, config(task, order))
        for seed, spectrum in enumerate(found):
            rows.append(
                {
                    "order": order,
                    "seed": seed,
                    **{f"step_{length}": born(steps, spectrum, length) for length in range(1, max(orders) + 1)},
                    "final_spectrum": [round(float(value), 3) for value in spectrum[-1]],
                }
            )
        series = [
            Series(f"ℓ = {length}", steps.tolist(), found[:, :, length].mean(axis=0).tolist(), None, "-", length)
            for length in range(order + 2)
        ]
        charts.append(Chart(f"step (order {order})", "attention over chance", series))
    caption = (
        "The step at which keys of match length ℓ get more attention than those of match length ℓ - 1, by half of the "
        f"difference at the end; measured every {EVERY} steps. None: that step of the spectrum never came."
    )
    drawn = Plot("The spectrum of layer 2 while models are trained, mean over seeds.", charts, width=4.2)
    return Result(
        {"born": Table(caption, rows)},
        {"birth": drawn},
        settings={"data": f"T = {LENGTH}, Dirichlet(1) rows"},
        preset="floor",
        config=config(task, orders[0]),
    )
