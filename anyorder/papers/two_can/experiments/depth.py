"""One layer against two on second-order chains (App. H.2)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Int

from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import OnPage, Result, Table, Task, columns, experiment, of_preset
from anyorder.papers.figure_data import Chart, MapGrid, Plot, sequence_maps, series
from anyorder.papers.two_can.experiments import as_published, learned_code
from anyorder.papers.two_can.printed import DEPTH, Printed, printed_series, rows_by, verb
from anyorder.training.config import Data
from anyorder.training.evaluation import held_out

DATA = Data(order=2, length=32)
#: Sequences that are shown, and those over which attention is averaged.
SEQUENCES, AVERAGED = 4, 256


def difference(recorded: Tables) -> str:
    """How far the table is from print, and from the evaluation of the published code."""
    rows, published = rows_by(recorded["excess"], "layers"), rows_by(recorded["as_published"], "layers")
    one, two = published[1], published[2]
    layers = [
        f"{name} {rows[count]['excess_mean']:.4f} next to {DEPTH[count]} in print, which {verb(rows[count])}"
        for count, name in ((1, "one layer"), (2, "two layers"))
    ]
    deviations = f"{one['std_over_kernels']:.3f} and {two['std_over_kernels']:.3f}"
    agree = f"{one['kernels_that_agree']:.0%} and {two['kernels_that_agree']:.0%}"
    return (
        f"**Depth.** {'; '.join(layers).capitalize()}. The evaluation of the published code takes one kernel. Over "
        f"{one['kernels']} kernels it gives {one['mean']:.3f} and {two['mean']:.3f}, with standard deviations from "
        f"kernel to kernel of {deviations}; {agree} of the kernels agree with print. What is printed may be such a "
        "number: its ± does not show the kernel's part. On one kernel the standard deviation over seeds is "
        f"{one['seed_spread']:.4f} for one layer and {two['seed_spread']:.4f} for two (medians over kernels), next to "
        f"the printed {DEPTH[1].deviation:.3f} and {DEPTH[2].deviation:.3f}: five seeds on one kernel can give the "
        f"{DEPTH[2]} of two layers, and hardly the ± {DEPTH[1].deviation:.3f} of one."
    )


@experiment(
    "One layer against two",
    "App. H.2, its table of excess losses and the maps below it",
    {"tiny": 0.3, "quick": 1.1, "paper": 25},
    paper=f"One layer stays at {DEPTH[1]} nats above the true loss, two layers come to {DEPTH[2]}; the attention of "
    "the one-layer model lies on two or three diagonals below the main one instead of on the matching positions.",
    reading="The excess is the mean over the predictions from a full window, and the expectation over the true "
    "next-token distribution is exact, so that only the sequences are sampled. The second table evaluates the same "
    "models in the way of the published code.",
    recorded=OnPage(figures=("one-layer",), difference=difference),
)
def depth(task: Task) -> Result:
    """Train both; keep the attention of the one-layer model on a few sequences."""
    rows, published = [], []
    trained = {layers: part.train(of_preset(task, "paper", DATA, layers=layers)) for part, layers in task.parts(DEPTH)}
    for layers, run in trained.items():
        models, summary = run.models, run.summary
        reference = summary.reference
        excess = columns("excess", [model.excess for model in summary.models])
        rows.append(
            {
                "layers": layers,
                **excess,
                **DEPTH[layers].beside("excess", excess),
                "floor": reference.floor_excess,
                "gap": excess["excess_mean"] - reference.floor_excess,
                "true_loss": reference.true_loss,
            }
        )
        published.append({"layers": layers, **as_published.row(task, models, DATA, DEPTH[layers])})
    tokens = held_out(DATA, AVERAGED).tokens[:, :-1]
    heads = [learned_code.first_heads(model, tokens)[0] for model in trained[1].models]
    weights = np.stack([learned_code.offset_weights(head, DATA.order) for head in heads])
    diagonals = [{"offset": offset, **columns("weight", values)} for offset, values in enumerate(weights.T)]
    below = "Attention of the one-layer model at each offset, the mean over sequences; over seeds ± standard deviation."
    caption = "Excess cross-entropy over the true loss, nats per token; mean ± standard deviation over seeds."
    chart = excess_chart("layers", rows, {"1": 1.0, "2": 2.0}, list(DEPTH.values()), shift=0.05)
    drawn = Plot("Excess loss of one layer and of two, mean and standard deviation over seeds.", [chart], width=3.8)
    return Result(
        {
            "excess": Table(caption, rows),
            "as_published": Table(as_published.CAPTION, published),
            "diagonals": Table(below, diagonals),
        },
        {"excess": drawn, "one-layer": one_layer_maps(heads[0][:SEQUENCES], tokens[:SEQUENCES])},
        settings={"data": "order 2, T = 32, Dirichlet(1) rows"},
        preset="paper",
        config=of_preset(task, "paper", DATA),
    )


def one_layer_maps(found: learned_code.Maps, tokens: Int[Array, "count length"]) -> MapGrid:
    """Attention of a one-layer model on a few sequences, above the pseudo-attention of each."""
    ideal = learned_code.ideal_maps(tokens, DATA.order)
    grid = [sequence_maps("one layer", found, tokens), sequence_maps("pseudo-attention", ideal, tokens)]
    caption = "Attention of the one-layer model on four sequences: diagonals, not the matching positions below them."
    return MapGrid(caption, grid)


def excess_chart(
    axis: str, rows: list[Row], ticks: dict[str, float], printed: list[Printed], style: str = "s", shift: float = 0.0
) -> Chart:
    """Excess losses at these ticks: measured, printed (`shift` to the right, ours to the left), and the Bayes floor."""
    placed = [row | {"place": place} for row, place in zip(rows, ticks.values(), strict=True)]
    lines = [
        series("measured", placed, "place", "excess_mean", "excess_std", "o", 0, -shift),
        printed_series(printed, [place + shift for place in ticks.values()], style),
        series("Bayes floor", placed, "place", "floor", None, "--", "black"),
    ]
    return Chart(axis, "excess loss (nats)", lines, ticks=ticks)
