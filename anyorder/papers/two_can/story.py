"""The main results in minutes: estimators, certified constructions, one trained model, the two-stage algorithm."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from jaxtyping import Array, Int

from anyorder import estimators
from anyorder.chains import Chains
from anyorder.constructions import construct
from anyorder.constructions.exact_orders import certified as certified_order
from anyorder.constructions.verify import Verification, verify
from anyorder.estimators.matching import window_matches
from anyorder.io.atomic import Row
from anyorder.models import Certificate, Transformer
from anyorder.papers.experiment import Result, Table, Task
from anyorder.papers.figure_data import AttentionMap, Chart, Figure, MapGrid, Plot, Series
from anyorder.papers.own.floor import Comparison
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.experiments.algorithms import first_algorithm
from anyorder.training.config import Config, preset
from anyorder.training.reference import held_out

#: Construction, order, alphabet size and dtype: each at an order that shows its capability.
SHOWN = (
    ("two-layer", 3, 2, "float64"),
    ("dyadic", 10, 4, "float32"),
    ("attention-only", 6, 2, "float32"),
    ("unrolled", 20, 2, "float32"),
    ("unrolled-bayes", 12, 2, "float32"),
)


def config(steps: int, seed: int) -> Config:
    """The floor recipe for one model of order 2, with this many steps."""
    return preset("floor", seed=seed, seeds=1, steps=steps, warmup=min(100, steps // 2))


def compared(comparisons: Sequence[Comparison]) -> Result:
    """Every predictor of every order: one order as a short table and a narrow figure, and all orders in full."""

    def rows(found: Comparison) -> list[Row]:
        return [
            {
                "predictor": name,
                "excess_loss": excess.mean if np.isfinite(excess.mean) else "infinite",
                "excess_loss_error": excess.standard_error if np.isfinite(excess.mean) else None,
                "symbols given zero": missed.mean,
                "distance to the truth": distance.mean,
            }
            for name, (excess, missed, distance) in found.scores.items()
        ]

    shown = next((found for found in comparisons if found.order == 2), comparisons[0])
    caption = (
        f"Order {shown.order}: excess over the true loss of {shown.true.mean:.4f} nats, the probability of symbols to "
        "which a predictor assigns zero, and the total variation distance of its distribution to the true one."
    )
    everything = [{"order": found.order, **row} for found in comparisons for row in rows(found)]
    tables = {"predictors": Table(caption, rows(shown)), "orders": Table("The same for every order.", everything)}
    return Result(tables, curves(shown))


def curves(found: Comparison) -> dict[str, Figure]:
    """Every predictor at every position, with bands of two standard errors: narrow enough for a phone."""
    positions = np.arange(found.order, found.length)
    drawn: dict[str, Figure] = {}
    for measured, label in (("excess", "excess loss (nats)"), ("distance", "distance to the truth")):
        losses = {name: getattr(scores, measured) for name, scores in found.scores.items()}
        lines = [
            Series(name, positions, loss.position_mean, 2 * loss.position_error, "-", index)
            for index, (name, loss) in enumerate(losses.items())
            if np.isfinite(loss.mean)  # a predictor with zero probabilities has infinite loss
        ]
        chart = Chart("position of the predicted token", label, lines, f"order {found.order}", from_zero=True)
        title = f"{label[0].upper()}{label[1:]}"
        caption = f"{title} of every predictor at every position, with bands of two standard errors."
        drawn[measured] = Plot(caption, [chart], width=4.0)
    return drawn


def verified() -> Iterator[Verification]:
    """Verify every construction of `SHOWN`, one after the other."""
    for name, order, size, dtype in SHOWN:
        yield verify(name, order=order, alphabet_size=size, length=256, dtype=dtype, sequences=4)


def certified(verified: Iterable[Verification]) -> Result:
    """Every verification as a row."""
    rows = [
        {
            "construction": one.construction,
            "order": one.order,
            "number type": one.dtype,
            "heads": ", ".join(map(str, one.heads)),
            "bits needed": one.bits_needed,
            "bits there are": one.mantissa_bits,
            "worst error": one.max_error,
            "promised": one.bound,
        }
        for one in verified
    ]
    caption = (
        "Constructions on random, periodic, sparse and de Bruijn sequences: the worst error, and the certified bound."
    )
    return Result({"constructions": Table(caption, rows)})


@dataclasses.dataclass(frozen=True)
class Followed:
    """One sequence, and every predictor's distribution of the next token.

    `matches` are the positions that follow an earlier occurrence of the last k tokens. `attention` is the last
    position's attention in layer 2 by model, `predictions` the next-token distribution by predictor.
    """

    tokens: list[int]
    order: int
    matches: list[int]
    counts: list[int]
    attention: dict[str, list[float]]
    predictions: dict[str, list[float]]
    certificate: Certificate
    error: float
    certified_orders: dict[str, int]


def telling(sequences: Int[Array | np.ndarray, "count length"], order: int) -> tuple[int, list[int]]:
    """A sequence whose last tokens occurred three to six times before, with different successors, and not just before.

    Returns the row of the first such sequence, or else of the last one, and the positions after the occurrences.
    """
    for row, tokens in enumerate(np.asarray(sequences)):
        matches = np.flatnonzero(np.asarray(window_matches(tokens, order))[-1]).tolist()
        different = len({*tokens[matches].tolist()})
        if 3 <= len(matches) <= 6 and different > 1 and matches[-1] < len(tokens) - order:
            return row, matches
    return row, matches


def followed(model: Transformer, chains: Chains, order: int) -> Followed:
    """A telling sequence, with the outputs of the model, the construction and the estimators."""
    size, (chosen, matches) = model.alphabet_size, telling(chains.tokens[:, :-1], order)
    tokens, row = chains.tokens[chosen, :-1], chains.truth[chosen, -1].tolist()
    counts = np.bincount(np.asarray(tokens)[matches], minlength=size)
    built = construct("unrolled", order=order, alphabet_size=size, length=len(tokens), dtype="float32")
    exact = estimators.kgram(tokens, order=order, alphabet_size=size)
    bayes = estimators.add_beta(tokens, order=order, alphabet_size=size)
    assert built.certificate is not None
    return Followed(
        tokens=tokens.tolist(),
        order=order,
        matches=matches,
        counts=counts.tolist(),
        attention={
            name: np.asarray(one.trace(tokens).attention[-1][0, -1, -len(tokens) :], np.float64).tolist()
            for name, one in (("constructed", built), ("trained", model))
        },
        predictions={
            "k-gram: counts divided by their sum": exact.probabilities[-1].tolist(),
            "constructed transformer": built(tokens)[-1].tolist(),
            "Bayes: one added to every count": bayes.probabilities[-1].tolist(),
            "trained transformer": model(tokens)[-1].tolist(),
            "truth: the kernel's row": row,
        },
        certificate=built.certificate,
        error=float(abs(built(tokens) - exact.probabilities)[exact.defined].max()),
        certified_orders={name: certified_order(name, "float32") for name in ("two-layer", "unrolled")},
    )


def trained(task: Task, steps: int, seed: int) -> tuple[Result, Followed]:
    """One trained model next to the construction of the same predictor: losses, and attention on one sequence."""
    settings = config(steps, seed)
    data, run = settings.data, task.train(settings)
    reference, measured = run.summary.reference, run.summary.models[0]
    story = followed(run.models[0], held_out(*settings.evaluation), data.order)
    tokens = np.asarray(story.tokens, np.int32)
    # The Bayes construction has a beginning token too, so that the maps have the same rows.
    built = construct("unrolled-bayes", order=data.order, alphabet_size=data.alphabet_size, length=data.length)
    traces = {"trained": run.models[0].trace(tokens), "constructed": built.trace(tokens)}
    grid = [
        [AttentionMap(f"{name}, layer {layer}", np.asarray(trace.attention[layer - 1][0], np.float32), tokens)
         for name, trace in traces.items()]
        for layer in (1, 2)
    ]  # fmt: skip
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
    caption = "The trained model on held-out sequences: excess over the true loss, and gap to the Bayes floor."
    maps = MapGrid(
        "All positions at once: attention of the trained and of the constructed model (rows: queries; ⊢: the beginning "
        "token).",
        grid,
    )
    result = Result({"training": Table(caption, [row])}, {"attention": maps}, settings={"T": data.length})
    return result, story


def two_stage(task: Task, seed: int) -> Result:
    """A short run of Algorithm 1."""
    settings = dynamics.TwoStage(length=64, steps=200, steps_2=200, seed=seed)
    return first_algorithm(settings, lambda step, steps, excess: task.watch(step / steps, f"excess {excess:.4f}"))
