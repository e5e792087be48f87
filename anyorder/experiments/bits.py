"""Trained weights and activations with few bits, held against the pseudo-attention map (App. H.4)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.experiments import depth, printed
from anyorder.experiments.experiment import Experiment, Result, Table, Task, to_the_floor
from anyorder.experiments.rounding import Rounding, rounded, to_format, to_levels
from anyorder.training.evaluation import held_out
from anyorder.transformer import Transformer

FORMATS: dict[str, Rounding] = {
    "2": to_levels(2),
    "4": to_levels(4),
    "8": to_levels(8),
    "32": lambda values: values,
    "bfloat16": to_format(jnp.bfloat16),
    "float8 e4m3": to_format(jnp.float8_e4m3fn),
    "float8 e5m2": to_format(jnp.float8_e5m2),
}
SEQUENCES = 10


def distances(
    model: Transformer, tokens: Int[Array, "count length"], order: int, rounding: Rounding
) -> Float[np.ndarray, "count"]:
    """Frobenius distance of layer 2 to the pseudo-attention map on every sequence, in rounded arithmetic."""
    weights, frame = eqx.partition(model, eqx.is_array)

    def attention(weights: Transformer, row: Int[Array, "length"]) -> Float[Array, "rows rows"]:
        return eqx.combine(weights, frame).trace(row).attention[1][0]

    @jax.jit
    def one(row: Int[Array, "length"]) -> Float[Array, ""]:
        found = rounded(attention, rounding, products_only=True)(weights, row)[-len(row) :, -len(row) :]
        return jnp.linalg.norm(found - estimators.pseudo_attention(row, order))

    return np.asarray([one(row) for row in tokens])


def run(task: Task) -> Result:
    """Quantise the two-layer model of `depth`, and the model of the floor recipe."""
    configs = {"published": depth.config(task, 2), "floor recipe": to_the_floor(task, depth.DATA)}
    tables, arrays = {}, {}
    for part, (name, config) in enumerate(configs.items()):
        trained = task.train(config, part, len(configs))
        drawn = held_out(config.data, config.measurement.evaluation_count, config.measurement.evaluation_seed)
        rows = []
        for bits, rounding in FORMATS.items():
            found = distances(trained.models[0], drawn.tokens[:SEQUENCES, :-1], config.data.order, rounding)
            rows.append(
                {
                    "bits": bits,
                    "distance_mean": float(found.mean()) if np.isfinite(found).all() else None,
                    "distance_std": float(found.std(ddof=1)) if np.isfinite(found).all() else None,
                    "printed": str(printed.BITS[bits]) if name == "published" and bits in printed.BITS else None,
                }
            )
            arrays[f"{name} {bits}".replace(" ", "_")] = found
        key = "distance" if name == "published" else "distance_floor"
        tables[key] = Table(
            f"Frobenius distance of layer 2 to the pseudo-attention map, {name} model, mean ± standard deviation over "
            f"{SEQUENCES} sequences.",
            rows,
        )
    empty = [row for table in tables.values() for row in table.rows if row["distance_mean"] is None]
    notes = (
        ("No distance: with so few bits a query or key vanishes, and a zero vector has no direction.",) if empty else ()
    )
    return Result(tables, arrays, notes, settings={"data": "order 2, T = 32", "sequences": SEQUENCES})


EXPERIMENT = Experiment(
    "bits",
    "Few bits for weights and activations",
    "App. H.4",
    "Distances of 4.61, 4.58, 3.86 and 3.77 to the pseudo-attention map with 2, 4, 8 and 32 bits: eight bits are as "
    "good as thirty-two.",
    "The paper names no way of quantising. Here both operands of every matrix product are rounded to 2^b - 1 levels "
    "around zero, scaled to the largest entry of each vector, and sums are kept; the narrow floating-point formats "
    "are ours. Ten sequences are few: the printed deviations are larger than most differences.",
    {"tiny": 0.5, "quick": 0.1, "paper": 1},
    run,
)
