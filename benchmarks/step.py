"""The time of a training step on one core: forward pass, gradient, products alone, and growth with T.

Times are CPU times, the least of several rounds, of many steps inside one compiled call, including data.
"Products alone" is XLA's number of operations at the speed of NumPy's product of the same shape, measured in the same
run. The shares are from XLA's own profile of the gradient.
"""

from __future__ import annotations

import collections
import os
import pathlib
import resource
import sys
import tempfile
import time
from typing import Any, NamedTuple

from benchmarks.measure import Row, show, timed

CASES = [(preset, length, 64) for preset in ("paper", "floor") for length in (32, 64, 256)]
GROWTH = [("floor", length, 8) for length in (64, 128, 256, 512, 1024)]
ROUNDS = 5


class Step(NamedTuple):
    """Milliseconds of a batch, and the shares of the gradient's time."""

    forward: float
    gradient: float
    products: float
    gigaflops: float
    shares: dict[str, float]


def one_thread() -> None:
    """Restrict NumPy's products to one thread; must be called before NumPy is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"


def processor_time(function, rounds: int = ROUNDS) -> float:
    """CPU seconds, the least of several calls."""
    return min(timed(function, rounds, clock=time.process_time))


def measure(preset: str, length: int, batch: int, profiled: bool = True) -> Step:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import numpy as np

    from anyorder.training.config import PRESETS, changed
    from anyorder.training.initial import initial_model
    from anyorder.training.step import batch_loss, keys, parts

    config = changed(PRESETS[preset], {"length": length, "batch": batch})
    d, count = config.architecture.dimension, max(2, 20_000 // (length * batch))
    weights, frame = eqx.partition(initial_model(config, keys(0).weights), eqx.is_inexact_array)
    source, key = config.source.as_inputs(jnp.float32), keys(0).data

    def loss(weights: Any, key: Any, sequences: int = batch) -> Any:
        settings = changed(config, {"batch": sequences}).optimisation
        return batch_loss(eqx.combine(weights, frame), settings, source, key)

    def moved(weights: Any, key: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(weights, key)
        return jax.tree.map(lambda weight, slope: weight - 1e-6 * slope, weights, gradient), value

    def many(step: Any) -> Any:
        def body(place: Any, carried: Any) -> Any:
            weights, value = step(carried[0], jax.random.fold_in(key, place))
            return weights, carried[1] + value

        return jax.jit(lambda weights: jax.lax.fori_loop(0, count, body, (weights, jnp.float32(0))))

    forward, gradient = many(lambda weights, key: (weights, loss(weights, key))), many(moved)
    times = [processor_time(lambda run=run: jax.block_until_ready(run(weights))) / count for run in (forward, gradient)]
    taken = parts(batch, length * d)
    part = jax.jit(jax.value_and_grad(lambda weights, key: loss(weights, key, batch // taken)))
    operations = part.lower(weights, key).cost_analysis()["flops"] * taken
    x, w = np.ones((batch // taken * length, d), np.float32), np.ones((d, d), np.float32)
    y = np.empty_like(x)  # kept: fresh memory for every product would be measured too
    speed = 2 * x.size * d / (processor_time(lambda: [np.matmul(x, w, out=y) for _ in range(200)]) / 200)
    return Step(
        1e3 * times[0],
        1e3 * times[1],
        1e3 * operations / speed,
        operations / times[1] / 1e9,
        shares(part, weights, key) if profiled else {},
    )


def shares(function: Any, *given: Any) -> dict[str, float]:
    """Fractions of the time of a compiled function, by XLA's names of operations."""
    import jax

    compiled = function.lower(*given).compile()
    kinds = {}
    for line in compiled.as_text().splitlines():
        name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
        product = "dot(" in rest or 'dot_general"' in rest
        kinds[name.removeprefix("%")] = (
            "products" if product else "sums" if "reduce" in rest.split("metadata")[0] else "elementwise"
        )
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(20):
                jax.block_until_ready(compiled(*given))
        (path,) = pathlib.Path(folder).rglob("*.xplane.pb")
        profile = jax.profiler.ProfileData.from_file(str(path))
        least: dict[str, float] = {}
        for plane in profile.planes:
            for line in plane.lines:
                for event in line.events:
                    name = dict(event.stats).get("hlo_op")
                    if name is not None and not str(name).startswith(("while", "call")):
                        least[name] = min(least.get(name, float("inf")), event.duration_ns)
    total: collections.Counter[str] = collections.Counter()
    for name, spent in least.items():
        total[kinds.get(name, "elementwise")] += spent
    return {kind: spent / sum(total.values()) for kind, spent in total.items()}


def main() -> None:
    os.environ["NPROC"] = "1"
    one_thread()
    for preset, length, batch in CASES:
        step = measure(preset, length, batch)
        rows = [
            Row("forward pass", step.forward, "ms"),
            Row("value and gradient", step.gradient, "ms"),
            Row("backward over forward", step.gradient / step.forward - 1, "×", "at most 2.3"),
            Row("products alone over value and gradient", step.products / step.gradient, "×", "2/3"),
            Row("speed", step.gigaflops, "GFLOP/s", "60"),
            *(Row(f"{kind}, share of the gradient", 100 * share, "%") for kind, share in sorted(step.shares.items())),
        ]
        show(f"Preset {preset}, T = {length}, batch {batch}, one core", rows)
    growth = [(length, measure(preset, length, batch, profiled=False)) for preset, length, batch in GROWTH]
    rows = [
        Row(f"T = {length}", 1e3 * step.gradient / (length * GROWTH[0][2]), "µs per token") for length, step in growth
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    show("Growth, preset floor, batch 8", [*rows, Row("peak memory of this process", peak, "GB", "below 2")])


if __name__ == "__main__":
    main()
