"""Attention of trained models of orders 1, 2, 3, next to the ideal (Fig. 2 and App. H.1)."""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import Array, Int

from anyorder.io.atomic import Row, Tables
from anyorder.papers.experiment import Budget, OnPage, Result, Table, Task, experiment, of_preset
from anyorder.papers.figure_data import AttentionMap, Chart, Figure, MapGrid, Plot, each, grouped, sequence_maps
from anyorder.papers.two_can.experiments import learned_code
from anyorder.papers.two_can.printed import JUDGED, SHOWN
from anyorder.sweeps.analysis import spread
from anyorder.training.config import Data
from anyorder.training.reference import held_out
from anyorder.training.run import Summary

ORDERS: dict[Budget, tuple[int, ...]] = {"tiny": (2,), "quick": (1, 2, 3), "paper": (1, 2, 3)}
#: Sequences shown, and sequences over which weights of layer 1 and the attention between contexts are averaged.
SEQUENCES, AVERAGED = 3, 256


def charts(tables: Tables) -> dict[str, Figure]:
    """Weight of layer 1 at each offset, mean and standard deviation over seeds, one panel for each order."""
    panels = []
    for order, own in sorted(grouped(tables["offsets"], "order").items()):
        lines = each(own, "preset", "offset", "weight", "preset {}", "o-")
        panels.append(Chart("offset", "weight of layer 1", lines, title=f"order {order}", from_zero=True))
    caption = (
        "Layer 1: mean weight at each offset, with the standard deviation over seeds; the window ends at offset k."
    )
    return {"offsets": Plot(caption, panels, width=2.7, shared=True)}


@experiment(
    "Attention of trained models",
    "Fig. 2 and App. H.1",
    {"tiny": 0.4, "quick": 4, "paper": 60},
    paper="In layer 1 attention rises along the last k tokens and then drops to nearly zero, in layer 2 it lies on the "
    "positions that the k-gram counts; the maps are shown for orders 1, 2 and 3, averaged over sequences for layer 1 "
    "and for single sequences for layer 2. Fig. 2 is order 3.",
    reading="The models are those of the authors' architecture, preset `published`; beside them those of the presets "
    "`paper` and `floor`. The latter have a beginning token: its row and column are marked by a dot. Layer 2 is shown "
    "on the first three held-out sequences in which each symbol is at least a quarter of the tokens and no run is "
    "longer than eight.",
    on_page=OnPage(
        figures=("offsets", "layer-1", *(f"{JUDGED}-layer-2-order-{order}" for order in (3, 2, 1))),
        wide={
            "offsets": (("preset", "order"), "offset", "weight"),
            "spectrum": (("preset", "order"), "match_length", "attention"),
        },
        charts=charts,
    ),
)
def attention_maps(task: Task) -> Result:
    """Train models of every preset and order; keep maps, weights by offset, spectra, codes and confusions."""
    found: dict[str, list[Row]] = {name: [] for name in CAPTIONS}
    figures: dict[str, Figure] = {}
    cells = list(itertools.product(task.among(SHOWN), ORDERS[task.budget]))
    averages: dict[str, list[AttentionMap]] = {}
    for part, (preset, order) in task.parts(cells):
        config = of_preset(task, preset, Data(order=order, length=32))
        trained = part.train(config)
        drawn = held_out(*config.evaluation).tokens[:, :-1]
        tokens = drawn[:AVERAGED]
        heads = [learned_code.first_heads(model, tokens) for model in trained.models]
        weights = np.stack([learned_code.offset_weights(first, order) for first, _ in heads])
        seconds = [second for _, second in heads]
        about = {"preset": preset, "order": order}
        row = attention_row(trained.summary, weights, order)
        row["uniform_distance"] = float(learned_code.uniform_distances(drawn, order).mean())
        row["match_contrast"] = spread([learned_code.match_contrast(second, tokens, order) for second in seconds])
        ideal = learned_code.longer_match_ratio(learned_code.ideal_maps(tokens, order), tokens, order)
        row["longer_match"] = spread([learned_code.longer_match_ratio(second, tokens, order) for second in seconds])
        found["attention"].append(about | row | {"longer_match_ideal": ideal})
        found["offsets"] += [
            about | {"offset": offset, "in_window": 1 <= offset <= order, "weight": spread(weights[:, offset])}
            for offset in range(weights.shape[1])
        ]
        spectra = zip(*(model.attention[1][0].spectrum for model in trained.summary.models), strict=True)
        found["spectrum"] += [
            about | {"match_length": length, "attention": spread(np.array(values, np.float64))}
            for length, values in enumerate(spectra)
        ]
        if order > 1:
            found["base"].append(about | learned_code.fitted_base(weights, order) | {"construction": 3})
        pairs = confusions(about, weights, seconds, tokens)
        found["overlap"].append(overlap(about, pairs, len(heads)))
        found["confused"] += pairs
        first, _ = heads[0]
        average = AttentionMap(f"{preset}, order {order}", np.asarray(first, np.float32).mean(axis=0))
        averages.setdefault(preset, []).append(average)
        shown = learned_code.telling(drawn, SEQUENCES)
        second = learned_code.first_heads(trained.models[0], shown)[1]
        figures[f"{preset}-layer-2-order-{order}"] = layer_two(preset, order, second, shown)
    for name, grid in {
        "layer-1": [maps for preset, maps in averages.items() if preset == JUDGED],
        "layer-1-beside": [maps for preset, maps in averages.items() if preset != JUDGED],
    }.items():
        if grid:
            figures[name] = MapGrid("Layer 1 of the first seed, averaged over sequences.", grid)
    return Result(
        {name: Table(CAPTIONS[name], rows) for name, rows in found.items() if rows},
        charts(found) | figures,
        settings={"data": "T = 32, Dirichlet(1) rows"},
        preset=JUDGED,
        config=of_preset(task, JUDGED, Data(order=2, length=32)),
    )


def attention_row(summary: Summary, weights: np.ndarray, order: int) -> Row:
    """One order: losses, attention of layer 1 by offset, and of layer 2 on the matches."""
    models, reference = summary.models, summary.reference
    window, beyond = weights[:, 1 : order + 1].sum(axis=1), 1 - weights[:, : order + 1].sum(axis=1)
    rise, end = np.sum([learned_code.rises_and_ends(row, order) for row in weights], axis=0).tolist()
    second = [model.attention[1][0] for model in models]
    return {
        "excess": spread([model.excess for model in models]),
        "floor": reference.floor_excess,
        "layer_1_on_last_k": float(window.mean()),
        "layer_1_on_itself": float(weights[:, 0].mean()),
        "layer_1_beyond_k": float(beyond.mean()),
        "seeds_that_rise_to_k": rise if order > 1 else None,
        "seeds_that_end_at_k": end,
        "layer_2_on_matches": float(np.mean([head.matching_mass for head in second])),
        "chance": reference.chance_matching_mass,
        "distance_to_ideal": float(np.mean([head.distance for head in second])),
    }


def confusions(
    about: Row, weights: np.ndarray, seconds: list[learned_code.Maps], tokens: Int[Array, "count length"]
) -> list[Row]:
    """Every pair of contexts: in how many seeds its codes overlap, and in how many layer 2 confuses it."""
    order = about["order"]
    by_seed = [learned_code.pairs(row, second, tokens, order) for row, second in zip(weights, seconds, strict=True)]
    beyond = [learned_code.weight_beyond(row, order) for row in weights]
    return [
        about
        | {
            "contexts": " ".join(same[0].contexts).translate(LETTERS),
            "code_distance": float(np.median([pair.code_distance for pair in same])),
            "weight_beyond": float(np.median(beyond)),
            "seeds_that_overlap": sum(pair.code_distance < far for pair, far in zip(same, beyond, strict=True)),
            "attention_ratio": float(np.median([pair.attention for pair in same])),
            "seeds_that_confuse": sum(pair.attention > learned_code.CONFUSED for pair in same),
        }
        for same in zip(*by_seed, strict=True)
    ]


def overlap(about: Row, pairs: list[Row], seeds: int) -> Row:
    """The numbers of pairs of contexts that overlap and that are confused."""
    confused = [pair["seeds_that_confuse"] for pair in pairs]
    return about | {
        "pairs": len(pairs),
        "overlap_in_every_seed": sum(pair["seeds_that_overlap"] == seeds for pair in pairs),
        "confused_in_every_seed": sum(count == seeds for count in confused),
        "confused_in_any_seed": sum(count > 0 for count in confused),
    }


def layer_two(preset: str, order: int, second: learned_code.Maps, tokens: Int[Array, "count length"]) -> MapGrid:
    """Layer 2 on a few sequences, the pseudo-attention map, and their difference."""
    values = np.asarray(second, np.float32)
    ideal = np.asarray(learned_code.ideal_maps(tokens, order), np.float32)
    begins = values.shape[1] - ideal.shape[1]
    ideal = np.pad(ideal, ((0, 0), (begins, 0), (begins, 0)))
    shown = {"layer 2": values, "pseudo-attention": ideal, "difference": np.abs(values - ideal)}
    grid = list(zip(*(sequence_maps(title, maps, tokens) for title, maps in shown.items()), strict=True))
    caption = (
        f"Preset {preset}, order {order}: layer 2 on three sequences, the pseudo-attention map, and their difference."
    )
    return MapGrid(caption, grid)


#: Tokens as in the figures.
LETTERS = str.maketrans("01", "ab")
CAPTIONS = {
    "attention": "Excess loss and attention, over the seeds of each order and preset. Layer 1: its attention at "
    "offsets 1 … k, on the token itself and beyond offset k, and the numbers of seeds in which its weight rises from "
    "offset 1 to k (from order 2 on) and drops after it (offset k + 1 has less than half of it). Layer 2: its "
    "attention on the matching positions, next to that of uniform attention; its Frobenius distance to the "
    "pseudo-attention map, next to that of uniform attention; its mean attention on keys of match length k or more "
    "over that on other keys (`match_contrast`); and the ratio of its attention on matching keys whose next older "
    "token agrees too to that on other matching keys (`longer_match`), next to the same ratio of the pseudo-attention "
    "map.",
    "offsets": "Weight of layer 1 at each offset: mean, standard deviation and each seed.",
    "spectrum": "Attention of layer 2 by match length, relative to uniform attention; the last length is that or more.",
    "base": "Base b of weights ∝ b^i at offsets 1 … k, by least squares of logarithms, with its 95% confidence "
    "interval over seeds; App. B has 3.",
    "overlap": "Numbers of pairs of contexts: all, those whose codes overlap, so that layer 2 may confuse them, and "
    "those that it confuses.",
    "confused": "Pairs of contexts (oldest token first). The codes of two contexts overlap, so that layer 2 may "
    "confuse them, if they differ by less than the weight beyond the window; layer 2 confuses them if a key of the "
    "other context gets more than half of the attention of a key of the query's context. Medians over seeds, and "
    "counts of seeds.",
}
