"""Trained networks with few bits, held against the pseudo-attention map (App. H.4)."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.io.atomic import Tables
from anyorder.models import Transformer
from anyorder.models.quantised import Quantiser, narrow, quantised_attention, to_bits
from anyorder.papers.experiment import OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Plot, series
from anyorder.papers.two_can.experiments import learned_code
from anyorder.papers.two_can.experiments.depth import DATA
from anyorder.papers.two_can.printed import BITS, printed_series, rows_by
from anyorder.training.evaluation import held_out

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
    f"Frobenius distance of layer 2 to the pseudo-attention map, {{}}: mean over {SEQUENCES} sequences and all seeds, "
    "the standard deviation over the sequences (mean over seeds), and the mean of each seed; next to it the distance "
    "of uniform attention on the same sequences."
)


def distances(
    models: Sequence[Transformer], tokens: Int[Array, "count length"], order: int, q: Quantiser
) -> Float[np.ndarray, "models count"]:
    """Frobenius distance of layer 2 to the pseudo-attention map, of every model on every sequence."""

    @eqx.filter_jit
    def one(model: Transformer, row: Int[Array, "length"]) -> Float[Array, ""]:
        found = quantised_attention(model, row, q)[1][0, -len(row) :, -len(row) :]
        return jnp.linalg.norm(found - estimators.pseudo_attention(row, order))

    return np.asarray([[one(model, row) for row in tokens] for model in models])


def difference(recorded: Tables) -> str:
    """How far from the pseudo-attention map, and from uniform attention."""
    rows = rows_by(recorded["distance"], "bits")
    ours, theirs = rows["2"]["distance_mean"] - rows["32"]["distance_mean"], BITS["2"].mean - BITS["32"].mean
    uniform = rows["32"]["uniform_distance"]
    return (
        f"**Bits.** Layer 2 of our models is nearer to the pseudo-attention map than print at every number of bits: "
        f"{rows['32']['distance_mean']:.2f} against {BITS['32'].rounded} at 32. Two bits add {ours:.2f} here and "
        f"{theirs:.2f} in print. Uniform attention has {uniform:.2f} on the same sequences: if the paper's map is as "
        f"ours, with rows that add up to one, print is {'farther' if uniform < BITS['32'].mean else 'nearer'} than "
        "attention that does not depend on the tokens. The printed distances are those of one trained model on ten "
        "sequences; which settings of the grid it has is not said."
    )


@experiment(
    "Few bits for weights and activations",
    "App. H.4",
    {"tiny": 0.5, "quick": 2, "paper": 12},
    paper="Distances to the pseudo-attention map of "
    f"{', '.join(f'{one.mean:.2f} at {bits}' for bits, one in BITS.items())} bits: eight bits are as good as "
    "thirty-two.",
    reading="The paper names no way of quantising. Here weights, activations, queries, keys, values and attention "
    "weights are rounded wherever they enter a matrix product, to 2^b - 1 levels around zero (attention weights: 2^b "
    "levels from zero), scaled to the largest entry of each vector: two bits are the levels -1, 0 and 1. Sums, norms "
    "and the denominator of the softmax are kept. The narrow floating-point formats are ours. Ten sequences are few: "
    "the printed deviations, which are over sequences, are larger than most differences.",
    recorded=OnPage(difference=difference),
)
def bits(task: Task) -> Result:
    """Quantise the two-layer models of `depth`, and those of the floor recipe."""
    recipes = {
        "distance": ("paper preset", of_preset(task, "paper", DATA)),
        "distance_floor": ("floor preset", of_preset(task, "floor", DATA)),
    }
    tables: dict[str, Table] = {}
    for part, (key, (name, config)) in task.parts(recipes.items()):
        trained = part.train(config)
        tokens, order = held_out(*config.evaluation).tokens[:SEQUENCES, :-1], DATA.order
        uniform = float(learned_code.uniform_distances(tokens, order).mean())
        rows = []
        for bits, q in FORMATS.items():
            found = distances(trained.models, tokens, order, q)
            row = {
                "bits": bits,
                "distance_mean": float(found.mean()),
                "distance_std": float(found.std(axis=1, ddof=1).mean()),
                "distance_seeds": found.mean(axis=1).tolist(),
                "uniform_distance": uniform,
            }
            beside = BITS[bits].beside("distance", row) if key == "distance" and bits in BITS else {}
            rows.append(row | {"printed": None, "distance_difference": None, "distance_agrees": None} | beside)
        tables[key] = Table(CAPTION.format(name), rows)
    return Result(
        tables,
        {"bits": chart(tables)},
        settings={"data": "order 2, T = 32", "sequences": SEQUENCES},
        preset="paper",
        config=recipes["distance"][1],
    )


def chart(tables: dict[str, Table]) -> Plot:
    """Distances by number of bits or format."""
    places = {name: float(place) for place, name in enumerate(FORMATS)}
    lines = []
    for key, name, shift, colour in (("distance", "paper", -0.1, 0), ("distance_floor", "floor", 0.0, 2)):
        rows = [{**row, "place": places[str(row["bits"])]} for row in tables[key].rows]
        lines.append(series(f"{name} preset", rows, "place", "distance_mean", "distance_std", "o", colour, shift))
    lines.append(printed_series(BITS.values(), [places[bits] + 0.1 for bits in BITS]))
    ticks = {name.replace(" ", "\n"): place for name, place in places.items()}
    axes = "bits of weights and activations, or format", "distance to pseudo-attention"
    caption = "Frobenius distance of layer 2 to the pseudo-attention map, ten sequences."
    return Plot(caption, [Chart(*axes, lines, ticks=ticks, from_zero=True)], width=5.4)
