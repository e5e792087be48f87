"""One layer against two on second-order chains (App. H.2)."""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import Array, Int

from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import Chart, Figure, MapGrid, Plot, sequence_maps, series
from anyorder.papers.two_can.experiments import as_published, learned_code
from anyorder.papers.two_can.printed import DEPTH, JUDGED, SHOWN, Printed, judged, printed_series, rows_by, verb
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Data
from anyorder.training.reference import held_out

DATA = Data(order=2, length=32)
#: Number of sequences shown, and of those over which attention is averaged.
SEQUENCES, AVERAGED = 3, 256
#: Changes of the judged one-layer model that may explain its loss, one seed each.
CHANGES: dict[str, dict[str, object]] = {
    "a kernel for each sequence": {"per_kernel": 1},
    "the MLP of App. B.1": {"mlp": "paper"},
}


def difference(recorded: Tables) -> str:
    """Compare the table with the printed one, and with the evaluation of the published code."""
    rows, published = (rows_by(judged(recorded[name]), "layers") for name in ("excess", "as_published"))
    ours = rows_by(judged(recorded["excess"], "paper"), "layers")
    one, two = published[1], published[2]
    layers = [
        f"{name}: {rows[count]['excess'].mean:.4f}, which {verb(rows[count])} with the printed {DEPTH[count]} "
        f"(`paper`: {ours[count]['excess'].mean:.4f})"
        for count, name in ((1, "one layer"), (2, "two layers"))
    ]
    deviations = f"{one['std_over_kernels']:.3f} and {two['std_over_kernels']:.3f}"
    agree = f"{one['kernels_that_agree']:.0%} and {two['kernels_that_agree']:.0%}"
    changes = [
        f"{row['excess']:.4f} with {row['change']} ({row['as_published']:.3f} in the evaluation of the published code)"
        for row in recorded["one_layer"]
    ]
    return (
        f"**Depth.** {'; '.join(layers).capitalize()}. The evaluation of the published code takes one kernel and "
        f"counts all positions. Over {one['kernels']} kernels it gives {one['mean']:.3f} and {two['mean']:.3f}, with "
        f"standard deviations from kernel to kernel of {deviations}; {agree} of the kernels agree with the printed "
        "values, which may be for a single kernel: their ± excludes the variation between kernels. On one kernel the "
        f"deviation over seeds is {one['seed_spread']:.4f} for one layer and {two['seed_spread']:.4f} for two (medians "
        f"over kernels), next to the printed {DEPTH[1].deviation:.3f} and {DEPTH[2].deviation:.3f}. In a batch of the "
        f"authors' code 16 sequences share a kernel. One layer ends at {' and at '.join(changes)}."
    )


def charts(tables: Tables) -> dict[str, Figure]:
    """The figure that is drawn from the table."""
    chart = excess_chart("layers", judged(tables["excess"]), {"1": 1.0, "2": 2.0}, list(DEPTH.values()), shift=0.05)
    return {
        "excess": Plot(
            "Excess loss of one layer and of two, mean and standard deviation over seeds.", [chart], width=3.8
        )
    }


@experiment(
    "One layer against two",
    "App. H.2, its table of excess losses and the maps below it",
    {"tiny": 0.3, "quick": 1.1, "paper": 40},
    paper=f"One layer stays at {DEPTH[1]} nats above the true loss, two layers reach {DEPTH[2]}; the attention of the "
    "one-layer model lies on two or three diagonals below the main one instead of on the matching positions.",
    reading="The models are those of the preset `published`, and beside them of `paper`. The excess is the mean over "
    "the predictions from a full window, and the expectation over the true next-token distribution is exact, so that "
    "only the sequences are sampled. The second table evaluates the same models in the way of the published code.",
    recorded=OnPage(figures=("one-layer",), difference=difference, charts=charts),
)
def depth(task: Task) -> Result:
    """Train both; keep the attention of the one-layer model on a few sequences."""
    found: dict[str, list[Row]] = {name: [] for name in CAPTIONS}
    drawn = held_out(DATA, AVERAGED).tokens[:, :-1]
    figures: dict[str, Figure] = {}
    table, changes = (half for half, _ in task.parts(("table", "changes")))
    for part, (preset, layers) in table.parts(list(itertools.product(task.among(SHOWN[:2]), DEPTH))):
        run = part.train(of_preset(task, preset, DATA, layers=layers))
        about, reference = {"preset": preset, "layers": layers}, run.summary.reference
        excess = spread([model.excess for model in run.summary.models])
        assert excess.mean is not None
        assert reference.floor_excess is not None
        found["excess"].append(
            {
                **about,
                "excess": excess,
                **DEPTH[layers].beside("excess", excess),
                "floor": reference.floor_excess,
                "gap": excess.mean - reference.floor_excess,
                "true_loss": reference.true_loss,
            }
        )
        found["as_published"].append({**about, **as_published.row(task, run.models, DATA, DEPTH[layers])})
        if layers == 1:
            heads = [learned_code.first_heads(model, drawn)[0] for model in run.models]
            weights = np.stack([learned_code.offset_weights(head, DATA.order) for head in heads])
            found["diagonals"] += [
                {"preset": preset, "offset": offset, "weight": spread(values)}
                for offset, values in enumerate(weights.T)
            ]
            shown = learned_code.telling(drawn, SEQUENCES)
            maps = one_layer_maps(learned_code.first_heads(run.models[0], shown)[0], shown)
            figures["one-layer" if preset == JUDGED else f"one-layer-{preset}"] = maps
    for part, (change, fields) in changes.parts(CHANGES.items()):
        run = part.train(of_preset(task, JUDGED, DATA, layers=1, seeds=1, **fields))
        mean = as_published.row(task, run.models, DATA, DEPTH[1])["mean"]
        row = {"preset": JUDGED, "change": change, "excess": run.summary.models[0].excess, "as_published": mean}
        found["one_layer"].append(row)
    return Result(
        {name: Table(CAPTIONS[name], rows) for name, rows in found.items()},
        charts(found) | figures,
        settings={"data": "order 2, T = 32, Dirichlet(1) rows"},
        preset=JUDGED,
        config=of_preset(task, JUDGED, DATA),
    )


def one_layer_maps(found: learned_code.Maps, tokens: Int[Array, "count length"]) -> MapGrid:
    """Attention of a one-layer model on a few sequences, above the pseudo-attention of each."""
    ideal = learned_code.ideal_maps(tokens, DATA.order)
    grid = [sequence_maps("one layer", found, tokens), sequence_maps("pseudo-attention", ideal, tokens)]
    caption = (
        "Attention of the one-layer model on three sequences: diagonals instead of the matching positions below them."
    )
    return MapGrid(caption, grid)


CAPTIONS = {
    "excess": "Excess cross-entropy over the true loss, nats per token; mean ± standard deviation over seeds.",
    "as_published": as_published.CAPTION,
    "one_layer": "The judged one-layer model with one change, one seed: excess, and the mean over kernels of the "
    "evaluation of the published code.",
    "diagonals": "Attention of the one-layer model at each offset, the mean over sequences; over seeds ± standard "
    "deviation.",
}


def excess_chart(
    axis: str, rows: list[Row], ticks: dict[str, float], printed: list[Printed], style: str = "s", shift: float = 0.0
) -> Chart:
    """Excess losses at these ticks: measured, printed (`shift` to the right, ours to the left), and the Bayes floor."""
    placed = [row | {"place": place} for row, place in zip(rows, ticks.values(), strict=True)]
    lines = [
        series("measured", placed, "place", "excess", None, "o", 0, -shift),
        printed_series(printed, [place + shift for place in ticks.values()], style),
        series("Bayes floor", placed, "place", "floor", None, "--", "black"),
    ]
    return Chart(axis, "excess loss (nats)", lines, ticks=ticks)
