"""The whole story in a few minutes: estimators, certified constructions, one trained model, the two-stage algorithm."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anyorder import dynamics, estimators
from anyorder.chains import Floored
from anyorder.constructions import construct
from anyorder.constructions.verify import Verification
from anyorder.estimators import Summary
from anyorder.experiments.dynamics import standings
from anyorder.experiments.experiment import Result, Table, Task
from anyorder.experiments.figures import Chart, Figure, Map, Maps, Plot, Run, Series
from anyorder.experiments.floor import Comparison, Scores
from anyorder.training import config as configs
from anyorder.training.config import Config
from anyorder.training.evaluation import held_out


def config(steps: int, seed: int) -> Config:
    """The floor recipe for one model of order 2, with this many steps."""
    floor = configs.PRESETS["floor"]
    optimisation = dataclasses.replace(floor.optimisation, steps=steps, warmup=min(100, steps // 2))
    return dataclasses.replace(floor, seed=seed, seeds=1, optimisation=optimisation)


def compared(comparisons: Sequence[Comparison]) -> Result:
    """Every predictor of every order as a row."""
    rows = [
        {
            "order": found.order,
            "predictor": name,
            "true_loss": found.true.mean,
            "excess": scores.excess.mean if np.isfinite(scores.excess.mean) else None,
            "excess_error": scores.excess.standard_error if np.isfinite(scores.excess.mean) else None,
            "zero_probability": scores.missed.mean,
            "distance": scores.distance.mean,
            "coverage": scores.excess.coverage,
        }
        for found in comparisons
        for name, scores in found.scores.items()
    ]
    caption = (
        "Excess over the true loss in nats per token (none: infinite), the probability of tokens that are given zero, "
        "the total variation distance to the truth, and the fraction of positions where the predictor is defined."
    )
    return Result({"predictors": Table(caption, rows)}, curves(comparisons))


def curves(comparisons: Sequence[Comparison]) -> dict[str, Figure]:
    """Every predictor at every position, one panel for each order, with bands of two standard errors."""

    def chart(comparison: Comparison, label: str, of: Callable[[Scores], Summary]) -> Chart:
        positions, series = np.arange(comparison.order, comparison.length), []
        for index, (name, scores) in enumerate(comparison.scores.items()):
            found = of(scores)
            if np.isfinite(found.mean):  # the loss of a predictor that gives zero is infinite
                series.append(Series(name, positions, found.position_mean, 2 * found.position_error, "-", index))
        return Chart("position of the predicted token", label, series, f"order {comparison.order}", from_zero=True)

    shown = {
        "excess": ("excess loss (nats)", lambda scores: scores.excess),
        "distance": ("distance to the truth", lambda scores: scores.distance),
    }
    return {
        name: Plot(
            f"{label[0].upper()}{label[1:]} of every predictor at every position, with bands of two standard errors.",
            [chart(comparison, label, of) for comparison in comparisons],
            width=2.8,
            shared=True,
        )
        for name, (label, of) in shown.items()
    }


def certified(verified: Iterable[Verification]) -> Result:
    """Every verification as a row."""
    names = ("construction", "order", "alphabet_size", "dtype", "layers", "parameters", "bits_needed", "mantissa_bits",
             "max_error", "bound", "passed")  # fmt: skip
    rows = [{name: getattr(one, name) for name in names} for one in verified]
    return Result({"constructions": Table("Worst error on hard sequences, next to what is promised.", rows)})


def trained(task: Task, steps: int, seed: int) -> Result:
    """One trained model next to the construction of the same predictor: losses, and attention on one sequence."""
    settings = config(steps, seed)
    data, measurement = settings.data, settings.measurement
    run = task.train(settings)
    reference, measured = run.summary.reference, run.summary.models[0]
    tokens = held_out(data, measurement.evaluation_count, measurement.evaluation_seed).tokens[0, :-1]
    # The Bayes construction has a beginning token too, so that the maps have the same rows.
    built = construct("bayes", order=data.order, alphabet_size=data.alphabet_size, length=data.length)
    ideal = np.asarray(estimators.pseudo_attention(tokens, data.order), np.float32)
    traces = {"trained": run.models[0].trace(tokens), "constructed": built.trace(tokens)}
    grid: list[list[Map | None]] = [
        [
            Map(f"{name}, layer {layer}", np.asarray(trace.attention[layer - 1][0], np.float32), np.asarray(tokens))
            for name, trace in traces.items()
        ]
        for layer in (1, 2)
    ]
    grid[1].append(Map("pseudo-attention", np.pad(ideal, ((1, 0), (1, 0))), np.asarray(tokens)))
    row = {
        "steps": steps,
        "true_loss": measured.true_loss,
        "excess": measured.excess,
        "floor": reference.floor_excess,
        "gap": measured.gap,
        "gap_error": measured.gap_error,
        "attention_on_matches": measured.attention[1][0].matching_mass,
        "chance": reference.chance_matching_mass,
    }
    caption = "A model of order 2 after a short training: its loss over the truth, and its gap to the Bayes floor."
    maps = Maps("Trained, constructed and ideal attention on one sequence.", grid)
    return Result({"training": Table(caption, [row])}, {"attention": maps}, settings={"T": data.length})


def two_stage(task: Task, seed: int) -> Result:
    """A short run of Algorithm 1."""
    settings = dynamics.TwoStage(length=64, steps=200, steps_2=200, seed=seed)
    run = dynamics.two_stage(
        Floored(1, 3, 0.2), settings, lambda step, steps, excess: task.watch(step / steps, f"excess {excess:.4f}")
    )
    about: dict[str, Any] = {"alphabet_size": 3, "gamma": 0.2}
    row = {
        "attention_1": float(run.attention[run.stage_one_steps, 1]),
        "p_1_leads": run.leads,
        "a_2_end": float(run.a_2[-1]),
    }
    return Result(
        {
            "facts": Table("Attention at offset 1 after stage one, whether p_1 always led, and a_2 in the end.", [row]),
            "run": Table(
                "What was learned, on chains that no step has seen; losses over L*.", standings(run.evaluation)
            ),
        },
        {"run": Run("Positional scalars, a_2 and loss over the steps of both stages.", run)},
        settings={**dataclasses.asdict(settings), **about},
    )
