"""Execution of a run's steps in rounds: models in parallel on the cores of a CPU, stacked on accelerators.

On a CPU every model runs the same compiled program, in threads that use one core each (see
`anyorder.training.devices`): the weights of a model do not depend, to the last bit, on the number of models. On an
accelerator the models are one stack under `vmap`, spread over the devices if their number allows it. Measurements,
checkpoints, progress reports and stops happen between rounds.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from anyorder.chains import Source
from anyorder.io.numerics import dtype_of
from anyorder.training.config import Config, structure
from anyorder.training.devices import cores
from anyorder.training.optimiser import Numbers, numbers
from anyorder.training.step import CHUNK, Advance, State, keys, program

#: LLVM's optimisation level 2: programs compile faster than at level 3 and run no slower. JAX's own setting to skip
#: most optimisations takes precedence.
OPTIONS: dict[str, str | bool] = (
    {} if os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS") else {"xla_backend_optimization_level": "2"}
)
#: Steps between two reports of the loss.
ROUND = 100


class ProgramInputs(NamedTuple):
    """The inputs of the compiled program, other than the state, that belong to one model of a run."""

    data: PRNGKeyArray
    numbers: Numbers
    source: Source


Taken = tuple[Float[np.ndarray, "models steps"], Bool[np.ndarray, "models"]]
"""The outcome of several steps for all models: the loss of each step, and whether all weights are still finite."""


def _calls(first: int, last: int) -> list[tuple[Int[Array, ""], Int[Array, ""]]]:
    """First step and number of steps of every call."""
    return [(jnp.int32(start), jnp.int32(min(CHUNK, last - start))) for start in range(first, last, CHUNK)]


@lru_cache(maxsize=32)
def _compiled(structure: Config, frame: eqx.Module) -> Advance:
    """The compiled program, cached by structure so that later runs of equal structure do not compile again."""
    return jax.jit(program(structure, frame), compiler_options=OPTIONS)


class SideBySide:
    """One model per core: threads take the models in turn, so that three models keep two cores busy."""

    def __init__(self, advance: Advance, states: list[State], members: list[ProgramInputs]) -> None:
        self.states, self._members, self._advance = states, members, advance
        self._threads = min(len(states), cores())
        # A call of zero steps compiles the program in the background, while the caller prepares its measurements.
        compiling = ThreadPoolExecutor(1)
        self._ready = compiling.submit(lambda: advance(states[0], *members[0], jnp.int32(0), jnp.int32(0))[-1])
        compiling.shutdown(wait=False)

    def run(self, first: int, last: int) -> Taken:
        """Take the steps from `first` to before `last`."""
        self._ready.result()
        models, calls = range(len(self.states)), _calls(first, last)
        answers: list[list[tuple[Array, Array]]] = [[] for _ in models]
        waiting = deque(models)

        def work() -> None:
            while True:
                try:
                    model = waiting.popleft()
                except IndexError:  # every other model is done or in another thread
                    return
                call = calls[len(answers[model])]
                self.states[model], losses, sound = self._advance(self.states[model], *self._members[model], *call)
                answers[model].append(jax.device_get((losses, sound)))
                if len(answers[model]) < len(calls):
                    waiting.append(model)

        with ThreadPoolExecutor(self._threads) as pool:
            workers = [pool.submit(work) for _ in range(self._threads)]
            try:
                for worker in workers:
                    worker.result()
            finally:
                waiting.clear()  # an interrupt waits for the running calls only
        losses = np.stack([np.concatenate([losses for losses, _ in each]) for each in answers])
        sound = np.array([all(sound for _, sound in each) for each in answers])
        return losses[:, : last - first], sound


class Stacked:
    """All models in one program."""

    def __init__(self, advance: Advance, states: list[State], members: list[ProgramInputs]) -> None:
        count, devices = len(states), jax.local_devices()
        used = max(number for number in range(1, len(devices) + 1) if count % number == 0)
        sharding = NamedSharding(Mesh(np.asarray(devices[:used]), ("models",)), PartitionSpec("models"))
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        self._stack = jax.device_put(stacked, sharding)
        self._members = jax.device_put(jax.tree.map(lambda *leaves: jnp.stack(leaves), *members), sharding)
        self._advance = jax.jit(jax.vmap(advance, in_axes=(0, 0, 0, 0, None, None)))
        self._count = count

    @property
    def states(self) -> list[State]:
        """The state of every model."""
        host = jax.device_get(self._stack)
        return [
            jax.tree.map(lambda leaf, model=model: jnp.asarray(leaf[model], leaf.dtype), host)
            for model in range(self._count)
        ]

    def run(self, first: int, last: int) -> Taken:
        """Take the steps from `first` to before `last`."""
        answers = []
        for start, count in _calls(first, last):
            self._stack, losses, sound = self._advance(self._stack, *self._members, start, count)
            answers.append((losses[:, : int(count)], sound))
        losses, sound = zip(*jax.device_get(answers), strict=True)
        return np.concatenate(losses, axis=1), np.logical_and.reduce(np.stack(sound))


Placement = SideBySide | Stacked


def placed(
    configs: Sequence[Config],
    model: eqx.Module,
    states: Sequence[State],
    stacked: bool | None = None,
    source: Source | None = None,
) -> Placement:
    """All models, ready to take steps: in parallel or stacked, as requested or by default for the backend.

    All configs must have one structure; models are in the order of their configs. A `source` replaces theirs.
    """
    shared = structure(configs[0])
    assert all(structure(config) == shared for config in configs)
    stacked = jax.default_backend() != "cpu" if stacked is None else stacked
    members = [
        ProgramInputs(
            keys(member.seed).data,
            numbers(config, member.learning_rate),
            (config.source if source is None else source).as_inputs(dtype_of(shared.optimisation.dtype)),
        )
        for config in configs
        for member in config.members
    ]
    frame = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    if stacked:
        return Stacked(program(shared, frame), list(states), members)
    try:
        advance = _compiled(shared, frame)
    except TypeError:  # a user's module may hold integer arrays or lists
        advance = _compiled.__wrapped__(shared, frame)
    return SideBySide(advance, list(states), members)


class Round(NamedTuple):
    """Some steps of all models: the loss of each step, the models that diverged, at which steps, and the duration."""

    last: int
    losses: Float[np.ndarray, "models steps"]
    diverged: dict[int, int]
    seconds: float


def rounds(models: Placement, steps: int, first: int = 0, stops: tuple[int, ...] = ()) -> Iterator[Round]:
    """Take the steps from `first` on, in rounds that end at every multiple of `ROUND` and of the stops."""
    while first < steps:
        last = min(steps, *(first - first % length + length for length in (ROUND, *stops)))
        clock = time.perf_counter()
        losses, sound = models.run(first, last)
        diverged = {}
        for model, (curve, good) in enumerate(zip(losses, sound, strict=True)):
            wrong = np.flatnonzero(~np.isfinite(curve))
            if len(wrong) or not good:
                diverged[model] = first + int(wrong[0]) if len(wrong) else last - 1
        yield Round(last, losses, diverged, time.perf_counter() - clock)
        first = last
