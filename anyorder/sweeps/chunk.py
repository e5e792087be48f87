"""The work of one worker: train runs that share a compiled program, and measure each at its end.

The code is the same under every engine, with one thread per model: on devices of one kind a run is identical to the
last bit. A failed run is a result too, with its reason.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache

import equinox as eqx
import jax

from anyorder.errors import InputError, in_a_line
from anyorder.io.atomic import Row
from anyorder.models import Transformer, load
from anyorder.sweeps.table import Ended
from anyorder.training import config_text
from anyorder.training.config import Config
from anyorder.training.evaluation import evaluate
from anyorder.training.initial import initial_model
from anyorder.training.reference import evaluation_set
from anyorder.training.rounds import placed, rounds
from anyorder.training.step import keys, start

#: Runs of one chunk are measured on the same sequences.
_evaluation = lru_cache(maxsize=2)(evaluation_set)


def answers(packed: str) -> Iterator[tuple[int, Row, float]]:
    """The number, the result as plain values, and the seconds of every run in a chunk packed by `engine.pack`.

    Runs are trained one after the other on a CPU, all at once on an accelerator.
    """
    given = json.loads(packed)
    try:
        chunk = [(number, config_text.from_json(plain)) for number, plain in given]
    except InputError as error:  # a missing or different plug-in
        yield from ((number, Ended("failed", str(error)).as_json(), 0.0) for number, _ in given)
        return
    together = 1 if jax.default_backend() == "cpu" else len(chunk)
    for first in range(0, len(chunk), together):
        clock = time.perf_counter()
        numbers, configs = zip(*chunk[first : first + together], strict=True)
        found = _guarded(configs)
        spent = (time.perf_counter() - clock) / len(found)
        yield from ((number, ended.as_json(), spent) for number, ended in zip(numbers, found, strict=True))


def _guarded(configs: Sequence[Config]) -> list[Ended]:
    """Train a stack; if it raises, train its runs one by one, and record a run that raises as failed."""
    try:
        return train_together(configs)
    except Exception as error:
        if len(configs) > 1:
            return [_guarded([config])[0] for config in configs]
        return [Ended("failed", in_a_line(error))]


def train_together(configs: Sequence[Config], stacked: bool | None = None) -> list[Ended]:
    """Train configs of one structure and one number of steps, each checked and with one seed and one rate."""
    source, steps = configs[0].initial.from_model, configs[0].optimisation.steps
    loaded = None if source is None else load(source)
    models = [initial_model(config, keys(config.seed).weights, loaded) for config in configs]
    states = [start(config, model) for config, model in zip(configs, models, strict=True)]
    running = placed(configs, models[0], states, stacked)
    diverged: dict[int, int] = {}
    for taken in rounds(running, steps):
        diverged = taken.diverged | diverged
        if len(diverged) == len(configs):
            break
    frame = eqx.filter(models[0], eqx.is_inexact_array, inverse=True)
    trained = [eqx.combine(state.weights, frame) for state in running.states]
    return [
        Ended("diverged", f"the loss or a weight is not finite from step {diverged[place]} on", diverged[place])
        if place in diverged
        else _measured(config, model, float(taken.losses[place].mean()))
        for place, (config, model) in enumerate(zip(configs, trained, strict=True))
    ]


def _measured(config: Config, model: Transformer, training_loss: float) -> Ended:
    evaluation = _evaluation(*config.evaluation)
    measured, about = evaluate(model, evaluation), evaluation.reference
    layers, chance = measured.attention, about.chance_matching_mass
    head = max(layers[-1], key=lambda head: head.matching_mass)
    same = ("loss", "true_loss", "excess", "excess_error", "gap", "gap_error")
    found = {
        **{name: getattr(measured, name) for name in same},
        "floor_excess": about.floor_excess,
        "training_loss": training_loss,
        "matching_mass": head.matching_mass,
        "chance_mass": chance,
        # 0 for uniform attention, 1 if all of it is on the matching positions. Mass on the beginning token is
        # excluded: a smoothing predictor must put some there, and more in shorter sequences.
        "attention": (head.matching_share - chance) / (1 - chance),
        "distance": head.distance,
        "beginning_mass": head.beginning_mass,
        "first_layer_mass": max(sum(first.offset_mass) for first in layers[0]),
    }
    finite = {name: value if value is None or math.isfinite(value) else None for name, value in found.items()}
    return Ended("done", None, config.optimisation.steps, **finite)
