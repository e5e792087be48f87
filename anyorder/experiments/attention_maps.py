"""Attention of trained models of orders 1, 2, 3, next to the ideal (Fig. 2 and App. H.1)."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder import estimators
from anyorder.experiments.experiment import Budget, Experiment, Result, Table, Task, to_the_floor
from anyorder.training.config import Data
from anyorder.training.evaluation import held_out
from anyorder.transformer import Transformer

ORDERS: dict[Budget, tuple[int, ...]] = {"tiny": (2,), "quick": (1, 2, 3), "paper": (1, 2, 3)}
SEQUENCES, AVERAGED = 3, 256

Maps = Float[Array, "count rows rows"]


@eqx.filter_jit
def attention(model: Transformer, tokens: Int[Array, "count length"]) -> tuple[Maps, Maps]:
    """The first head of both layers on every sequence."""

    def one(row: Int[Array, "length"]) -> tuple[Array, Array]:
        first, second = model.trace(row).attention
        return first[0], second[0]

    return jax.lax.map(one, tokens, batch_size=32)


def run(task: Task) -> Result:
    """Train a model of every order; keep its maps, and how much attention lies where it should."""
    rows: list[dict[str, object]] = []
    arrays: dict[str, np.ndarray] = {}
    orders = ORDERS[task.budget]
    for part, order in enumerate(orders):
        data = Data(order=order, length=32)
        config = to_the_floor(task, data)
        trained = task.train(config, part, len(orders))
        reference = trained.summary.reference
        best = min(range(len(trained.models)), key=lambda index: trained.summary.models[index].excess)
        model, measured = trained.models[best], trained.summary.models[best]
        drawn = held_out(data, config.measurement.evaluation_count, config.measurement.evaluation_seed)
        tokens = drawn.tokens[:, :-1]
        first, second = attention(model, tokens[:AVERAGED])
        second, ideal = (
            second[:SEQUENCES],
            jax.vmap(partial(estimators.pseudo_attention, order=order))(tokens[:SEQUENCES]),
        )
        begins = second.shape[1] - ideal.shape[1]
        arrays |= {
            f"tokens_{order}": np.asarray(tokens[:SEQUENCES]),
            f"layer_1_{order}": np.asarray(first, np.float32).mean(axis=0),
            f"layer_2_{order}": np.asarray(second, np.float32),
            f"ideal_{order}": np.pad(np.asarray(ideal, np.float32), ((0, 0), (begins, 0), (begins, 0))),
        }
        layer_1, layer_2 = measured.attention[0][0], measured.attention[1][0]
        rows.append(
            {
                "order": order,
                "seed": measured.seed,
                "excess": measured.excess,
                "floor": reference.floor_excess,
                "layer_1_on_last_k": sum(layer_1.offset_mass),
                "layer_2_on_matches": layer_2.matching_mass,
                "chance": reference.chance_matching_mass,
                "distance_to_ideal": layer_2.distance,
            }
        )
    caption = (
        "The best seed of each order: attention of layer 1 on offsets 1 … k, of layer 2 on the matching positions next "
        "to uniform attention, and the Frobenius distance of layer 2 to the pseudo-attention map."
    )
    return Result({"attention": Table(caption, rows)}, arrays, settings={"data": "T = 32, Dirichlet(1) rows"})


EXPERIMENT = Experiment(
    "attention-maps",
    "Attention of trained models",
    "Fig. 2 and App. H.1",
    "In layer 1 attention lies on the last k tokens, in layer 2 on the positions that the k-gram counts; the maps are "
    "shown for orders 1, 2 and 3, averaged over sequences for layer 1 and for single sequences for layer 2.",
    "Models are those of the floor recipe, which have a beginning token: its row and column are marked by a dot. "
    "The paper's recipe reaches such maps only after many more steps.",
    {"tiny": 0.4, "quick": 4, "paper": 4},
    run,
)
