"""Trained networks with few bits, compared with the pseudo-attention map (App. H.4).

Both operands of every matrix product have few bits: weights, activations, queries and keys, attention weights and
values. Sums, norms, exponentials and the softmax's denominator keep full precision, since no hardware divides by a
rounded sum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, Scalar

from anyorder import estimators
from anyorder.io.atomic import Row, Tables
from anyorder.models import Transformer
from anyorder.models.hooks import Place
from anyorder.papers.experiment import OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Figure, Plot, grouped, series
from anyorder.papers.two_can.experiments import learned_code
from anyorder.papers.two_can.experiments.depth import DATA, of_judged
from anyorder.papers.two_can.printed import BITS, SHOWN, printed_series
from anyorder.sweeps.analysis import Spread
from anyorder.training.reference import held_out

Rounding = Callable[[Array], Array]


class Quantiser(NamedTuple):
    """Rounding of signed numbers, and of shares: attention weights, which are never negative."""

    signed: Rounding
    share: Rounding


def to_levels(values: Float[Array, "*shape"], steps: int) -> Float[Array, "*shape"]:
    """Rounded to this many equal steps from zero to the largest entry of each vector (the last axis)."""
    largest = jnp.maximum(jnp.abs(values).max(axis=-1, keepdims=True), jnp.finfo(values.dtype).tiny)
    return jnp.round(values / largest * steps) / steps * largest


def to_bits(number: int) -> Quantiser:
    """Uniform levels, scaled to the largest entry of each vector: 2^b - 1 around zero, for shares 2^b from zero.

    Two bits are the levels -1, 0, 1, and 0, 1/3, 2/3, 1 for attention weights.

    >>> to_bits(2).signed(jnp.array([1.0, 0.4, -0.6])).tolist()
    [1.0, 0.0, -1.0]
    """
    return Quantiser(partial(to_levels, steps=2 ** (number - 1) - 1), partial(to_levels, steps=2**number - 1))


def narrow(dtype: DTypeLike) -> Quantiser:
    """A narrow floating-point format for all operands.

    >>> narrow(jnp.bfloat16).share(jnp.float32(1.001)).item()
    1.0
    """
    largest = float(jnp.finfo(dtype).max)  # beyond it a format without infinity has only NaN

    def rounding(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.clip(values, -largest, largest).astype(dtype).astype(values.dtype)

    return Quantiser(rounding, rounding)


def quantised_attention(
    model: Transformer, tokens: Int[Array, "length"], q: Quantiser
) -> tuple[Float[Array, "heads rows rows"], ...]:
    """The quantised attention weights of every layer, which multiply the values."""

    def rounding(place: Place, values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        if place in ("embedding", "written"):
            return values
        return q.share(values) if place == "attention" else q.signed(values)

    few = jax.tree.map(lambda leaf: q.signed(leaf) if jnp.ndim(leaf) == 2 else leaf, model)
    if model.beginning is not None:
        few = dataclasses.replace(few, beginning=q.signed(jnp.asarray(model.beginning)))
    return few.trace(tokens, hook=rounding).attention


FORMATS: dict[str, Quantiser] = {
    "2": to_bits(2),
    "4": to_bits(4),
    "8": to_bits(8),
    "32": Quantiser(lambda values: values, lambda values: values),
    "bfloat16": narrow(jnp.bfloat16),
    "float8 e4m3": narrow(jnp.float8_e4m3fn),
    "float8 e5m2": narrow(jnp.float8_e5m2),
}
SEQUENCES = 10
CAPTION = (
    f"Frobenius distance of layer 2 to the pseudo-attention map: mean over {SEQUENCES} sequences and all seeds, "
    "the standard deviation over the sequences (mean over seeds), and the mean of each seed; next to it the distance "
    "of uniform attention on the same sequences."
)


def distances(
    models: Sequence[Transformer], tokens: Int[Array, "count length"], order: int, q: Quantiser
) -> Float[np.ndarray, "models count"]:
    """Frobenius distance of layer 2 to the pseudo-attention map, of every model on every sequence."""

    @eqx.filter_jit
    def one(model: Transformer, row: Int[Array, "length"]) -> Scalar:
        found = quantised_attention(model, row, q)[1][0, -len(row) :, -len(row) :]
        return jnp.linalg.norm(found - estimators.pseudo_attention(row, order))

    return np.asarray([[one(model, row) for row in tokens] for model in models])


def charts(tables: Tables) -> dict[str, Figure]:
    """Distances by number of bits or format."""
    places = {name: float(place) for place, name in enumerate(FORMATS)}
    lines = []
    for place, (preset, own) in enumerate(grouped(tables["distance"], "preset").items()):
        rows = [row | {"place": places[str(row["bits"])]} for row in own]
        shift = 0.12 * (place - 1.5)
        lines.append(series(f"{preset} preset", rows, "place", "distance", "o", 2 * place, shift))
    lines.append(printed_series(BITS.values(), [places[bits] + 0.2 for bits in BITS]))
    ticks = {name.replace(" ", "\n"): place for name, place in places.items()}
    axes = "bits of weights and activations, or format", "distance to pseudo-attention"
    caption = "Frobenius distance of layer 2 to the pseudo-attention map, ten sequences."
    return {"bits": Plot(caption, [Chart(*axes, lines, ticks=ticks, from_zero=True)], width=5.4)}


@experiment(
    "Few bits for weights and activations",
    "App. H.4",
    {"tiny": 0.5, "quick": 1, "paper": 25},
    paper="Distances to the pseudo-attention map of "
    f"{', '.join(f'{one.mean:.2f} at {bits}' for bits, one in BITS.items())} bits: eight bits are as good as "
    "thirty-two.",
    reading="The paper does not specify the quantisation. Here weights, activations, queries, keys, values and "
    "attention weights are rounded wherever they enter a matrix product, to 2^b - 1 levels around zero (attention "
    "weights: 2^b levels from zero), scaled to the largest entry of each vector: two bits are the levels -1, 0 and 1. "
    "Sums, norms and the denominator of the softmax are exact. The narrow floating-point formats are ours. Ten "
    "sequences are few: the printed deviations, which are over sequences, are larger than most differences.",
    on_page=OnPage(charts=charts),
)
def bits(task: Task) -> Result:
    """Quantise the two-layer models of every preset."""
    rows: list[Row] = []
    for part, preset in task.parts(task.among(SHOWN)):
        config = of_preset(task, preset, DATA)
        trained = part.train(config)
        tokens, order = held_out(*config.evaluation).tokens[:SEQUENCES, :-1], DATA.order
        uniform = float(learned_code.uniform_distances(tokens, order).mean())
        for bits, q in FORMATS.items():
            found = distances(trained.models, tokens, order, q)
            std = float(found.std(axis=1, ddof=1).mean())  # over sequences
            distance = Spread(float(found.mean()), std, found.mean(axis=1).tolist())
            row = {"preset": preset, "bits": bits, "distance": distance, "uniform_distance": uniform}
            beside = BITS[bits].beside("distance", distance) if preset != "floor" and bits in BITS else {}
            rows.append(row | {"printed": None, "distance_difference": None, "distance_agrees": None} | beside)
    settings = {"data": "order 2, T = 32", "sequences": SEQUENCES}
    return of_judged(task, {"distance": Table(CAPTION, rows)}, charts({"distance": rows}), **settings)
