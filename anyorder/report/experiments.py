"""The figures of the experiments, drawn from their tables and arrays alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anyorder.dynamics.fit import PowerLaw
from anyorder.dynamics.objective import Standing
from anyorder.dynamics.sweep import Point, Sweep
from anyorder.experiments.dynamics import as_trajectory
from anyorder.experiments.experiment import Result
from anyorder.report import dynamics, sweeps
from anyorder.report.maps import Panel, draw_maps
from anyorder.report.style import COLOURS, STYLE, Drawing

MARKS = "osD^vPX*"


class Drawn(NamedTuple):
    """A figure, and what is to be seen on it; the caption is also its text for those who cannot see it."""

    caption: str
    figure: Figure


def _panels(across: int, width: float = 3.2, height: float = 2.8, **options: Any) -> tuple[Figure, list[Axes]]:
    figure = Drawing(figsize=(width * across + 0.2, height))
    return figure, list(figure.subplots(1, across, squeeze=False, **options)[0])


def _printed(text: str) -> tuple[float, float]:
    """Mean and deviation of a printed "a ± b".

    >>> _printed("0.10 ± 0.003")
    (0.1, 0.003)
    """
    mean, deviation = text.split("±")
    return float(mean), float(deviation)


def _names(rows: Iterable[dict[str, Any]], column: str) -> list[Any]:
    """The different values of a column, in order of appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def table_one(result: Result) -> dict[str, Drawn]:
    """Parameters along k, S and T."""
    rows = result.tables["growth"].rows
    labels = {"order": "order k", "alphabet_size": "alphabet size S", "length": "length T"}
    figure, panels = _panels(3, width=2.6, sharey=True)
    for panel, (axis, label) in zip(panels, labels.items(), strict=True):
        for index, work in enumerate(_names(rows, "work")):
            points = [(row["value"], row["parameters"]) for row in rows if row["axis"] == axis and row["work"] == work]
            panel.plot(*zip(*points, strict=True), marker=MARKS[index], markersize=3, linewidth=1.0, label=work)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel(label)
    panels[0].set_ylabel("parameters")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    return {"growth": Drawn("Parameters by the printed formulas, along k, S and T with the others fixed.", figure)}


def attention_maps(result: Result) -> dict[str, Drawn]:
    """Layer 1 of all orders, then for each order layer 2 next to the ideal on three sequences."""
    orders = [row["order"] for row in result.tables["attention"].rows]
    first = [Panel(f"order {order}", result.arrays[f"layer_1_{order}"]) for order in orders]
    drawn = {
        "layer-1": Drawn("Layer 1, averaged over sequences: attention lies on the last k tokens.", draw_maps([first]))
    }
    for order in orders:
        grid = []
        arrays = (result.arrays[f"{name}_{order}"] for name in ("tokens", "layer_2", "ideal"))
        for number, (tokens, found, ideal) in enumerate(zip(*arrays, strict=True), start=1):
            titles = ("layer 2", "pseudo-attention", "difference")
            values = (found, ideal, np.abs(found - ideal))
            grid.append(
                [Panel(f"{title}, sequence {number}", map, tokens) for title, map in zip(titles, values, strict=True)]
            )
        drawn[f"layer-2-order-{order}"] = Drawn(
            f"Order {order}: layer 2 on three sequences, the pseudo-attention map, and their absolute difference.",
            draw_maps(grid),
        )
    return drawn


def depth(result: Result) -> dict[str, Drawn]:
    """Losses of both depths, and the maps of the model with one layer."""
    rows = result.tables["excess"].rows
    figure, (panel,) = _panels(1, width=3.6)
    layers = [row["layers"] for row in rows]
    means, deviations = zip(*(_printed(row["printed"]) for row in rows), strict=True)
    panel.errorbar(
        np.array(layers) - 0.05, [row["excess_mean"] for row in rows], [row["excess_std"] or 0 for row in rows],
        fmt="o", color=COLOURS[0], label="measured",
    )  # fmt: skip
    panel.errorbar(np.array(layers) + 0.05, means, deviations, fmt="s", color=COLOURS[1], label="printed")
    panel.axhline(rows[0]["floor"], color="black", linestyle="--", linewidth=1.0, label="Bayes floor")
    panel.set_xticks(layers)
    panel.set_xlim(0.5, max(layers) + 0.5)
    panel.set_xlabel("layers")
    panel.set_ylabel("excess loss (nats)")
    panel.legend()
    tokens = result.arrays["tokens"]
    one, ideal = (
        [
            Panel(f"{title}, sequence {number}", map, row)
            for number, (map, row) in enumerate(zip(result.arrays[name], tokens, strict=True), start=1)
        ]
        for title, name in (("one layer", "one_layer"), ("pseudo-attention", "ideal"))
    )
    return {
        "excess": Drawn("Excess loss of one layer and of two, mean and standard deviation over seeds.", figure),
        "one-layer": Drawn(
            "Attention of the one-layer model on four sequences: diagonals, not the matching positions below them.",
            draw_maps([one, ideal]),
        ),
    }


def noise(result: Result) -> dict[str, Drawn]:
    """Both readings of the loss difference, what is printed, and the floor."""
    rows = result.tables["excess"].rows
    levels = np.array([row["level"] for row in rows])
    figure, (losses, masses) = _panels(2)
    means, deviations = zip(*(_printed(row["printed"]) for row in rows), strict=True)
    for shift, name, label, colour in (
        (-0.006, "excess", "reading A: over the noisy truth", COLOURS[0]),
        (0.0, "over_clean", "reading B: over the clean truth", COLOURS[2]),
    ):
        up = [row[f"{name}_mean"] for row in rows]
        losses.errorbar(levels + shift, up, [row[f"{name}_std"] or 0 for row in rows], fmt="o-", markersize=4,
                        linewidth=1.0, color=colour, label=label)  # fmt: skip
    losses.errorbar(levels + 0.006, means, deviations, fmt="s:", markersize=4, linewidth=1.0, color=COLOURS[1],
                    label="printed")  # fmt: skip
    known = [(row["level"], row["floor"]) for row in rows if row["floor"] is not None]
    losses.plot(*zip(*known, strict=True), "k--", marker="_", linewidth=1.0, label="Bayes floor (reading A)")
    losses.set_ylim(0, None)
    losses.set_xlabel("noise level")
    losses.set_ylabel("loss difference (nats)")
    masses.plot(levels, [row["matching_mass"] for row in rows], "o-", markersize=4, linewidth=1.0, label="layer 2")
    masses.plot(levels, [row["chance_mass"] for row in rows], ":", color="0.5", label="uniform attention")
    masses.set_ylim(0, 1)
    masses.set_xlabel("noise level")
    masses.set_ylabel("attention on matches")
    masses.legend()
    figure.legend(*losses.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    caption = "Loss difference by both readings next to the printed one, and attention of layer 2 on the matches."
    return {"noise": Drawn(caption, figure)}


def bits(result: Result) -> dict[str, Drawn]:
    """Distances by number of bits or format."""
    figure, (panel,) = _panels(1, width=5.4)
    shown = (("distance", "published model", -0.1, 0), ("distance_floor", "floor recipe", 0.0, 2))
    names = [row["bits"] for row in result.tables["distance"].rows]
    for key, label, shift, colour in shown:
        rows = [row for row in result.tables[key].rows if row["distance_mean"] is not None]
        places = [names.index(row["bits"]) + shift for row in rows]
        panel.errorbar(places, [row["distance_mean"] for row in rows], [row["distance_std"] for row in rows], fmt="o",
                       markersize=4, color=COLOURS[colour], label=label)  # fmt: skip
    printed = [(names.index(row["bits"]) + 0.1, *_printed(row["printed"]))
               for row in result.tables["distance"].rows if row["printed"]]  # fmt: skip
    across, means, deviations = zip(*printed, strict=True)
    panel.errorbar(across, means, deviations, fmt="s", markersize=4, color=COLOURS[1], label="printed")
    panel.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names])
    panel.set_ylim(0, None)
    panel.set_xlabel("bits of weights and activations, or format")
    panel.set_ylabel("distance to pseudo-attention")
    panel.legend(ncols=3)
    return {"bits": Drawn("Frobenius distance of layer 2 to the pseudo-attention map, ten sequences.", figure)}


def precision(result: Result) -> dict[str, Drawn]:
    """Measured bits against the order, and the largest exact orders by number type."""
    rows = result.tables["bits"].rows
    figure, (needed, orders) = _panels(2, width=3.8, height=3.4)
    for index, name in enumerate(_names(rows, "construction")):
        for style, length in zip(("-", "--", ":"), _names(rows, "length"), strict=False):
            points = [(row["order"], row["bits"]) for row in rows
                      if row["construction"] == name and row["length"] == length and row["bits"]]  # fmt: skip
            needed.plot(*zip(*points, strict=True), style, marker=MARKS[index], markersize=4, linewidth=1.0,
                        color=COLOURS[index], label=f"{name}, T = {length}")  # fmt: skip
    bound = {row["order"]: row["log2_T_plus_k"] for row in rows if row["length"] == rows[0]["length"]}
    needed.plot(list(bound), list(bound.values()), color="0.5", label=f"log2 T + k, T = {rows[0]['length']}")
    needed.set_xlabel("order k")
    needed.xaxis.set_major_locator(MaxNLocator(integer=True))
    needed.set_ylabel("significant bits for error ≤ 1/T")
    needed.legend(fontsize="x-small")
    kept = [row for row in result.tables["orders"].rows if row["construction"] not in ("bigram", "associative")]
    dtypes = [name for name in kept[0] if name not in ("construction", "tried")]
    for index, dtype in enumerate(dtypes):
        orders.plot([row[dtype] for row in kept], np.arange(len(kept)) + 0.12 * (index - 1.5), MARKS[index],
                    markersize=4, linestyle="none", label=dtype)  # fmt: skip
    orders.set_yticks(range(len(kept)), [row["construction"] for row in kept])
    orders.invert_yaxis()
    orders.set_xlabel("largest order exact to 1e-5")
    orders.legend(fontsize="x-small")
    caption = "Left: significant bits that an order needs. Right: the largest exact order by construction and dtype."
    return {"precision": Drawn(caption, figure)}


def floor(result: Result) -> dict[str, Drawn]:
    """Excess against T, one panel for each order."""
    rows = result.tables["excess"].rows
    orders = _names(rows, "order")
    figure, panels = _panels(len(orders), width=2.7, sharey=True)
    for panel, order in zip(panels, orders, strict=True):
        own = [row for row in rows if row["order"] == order]
        across = [row["length"] for row in own]
        panel.errorbar(across, [row["floor"] for row in own], [2 * row["floor_error"] for row in own], fmt="k--",
                       linewidth=1.0, label="Bayes floor")  # fmt: skip
        panel.plot(across, [row["KT"] for row in own], "-", color=COLOURS[4], linewidth=1.0, label="add-half (KT)")
        for index, recipe in enumerate(("paper preset", "floor preset")):
            points = [(row["length"], row[recipe], row[f"{recipe} std"] or 0) for row in own if row[recipe] is not None]
            if points:
                places, means, deviations = zip(*points, strict=True)
                panel.errorbar(places, means, deviations, fmt=MARKS[index], markersize=5, color=COLOURS[index],
                               fillstyle="none", label=recipe)  # fmt: skip
        panel.set_xscale("log", base=2)
        panel.set_xticks(across, list(map(str, across)))
        panel.set_title(f"order {order}")
        panel.set_xlabel("T")
    panels[0].set_ylabel("excess loss (nats)")
    panels[0].set_ylim(0, None)
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return {"floor": Drawn("Excess over the true loss against T: estimators, and models of both presets.", figure)}


def two_stage(result: Result) -> dict[str, Drawn]:
    """The run, and the sweep over T."""
    run = as_trajectory(result, "two-stage", result.tables["run"].rows, 1)
    points = tuple(
        Point(
            row["length"],
            row["attention"],
            row["a_2"],
            *(
                Standing(**{field: row[f"{who}_{field}"] for field in Standing._fields})
                for who in ("learned", "kgram", "bayes")
            ),
        )
        for row in result.tables["sweep"].rows
    )
    laws = {
        row["of"]: PowerLaw(row["exponent"], row["standard_error"], row["factor"])
        for row in result.tables["exponents"].rows
    }
    swept = Sweep(points, laws["excess"], laws["generalisation"], laws.get("floor"))
    return {
        "run": Drawn("Positional scalars, a_2 and loss over the steps of both stages.", dynamics.draw_run(run)),
        "sweep": Drawn("Excess loss and sup-norm error against T, with fitted power laws.", dynamics.draw_sweep(swept)),
    }


def preconditioned(result: Result) -> dict[str, Drawn]:
    """The run of each order on reversible chains."""
    rows = result.tables["losses"].rows
    drawn = {}
    for order in _names(rows, "order"):
        own = [row for row in rows if row["order"] == order and row["chains"] == "reversible"]
        run = as_trajectory(result, f"order-{order}", own, order)
        caption = f"Order {order}, reversible chains: p_1 … p_k rise together; the loss next to k-gram and bag of k."
        drawn[f"order-{order}"] = Drawn(caption, dynamics.draw_run(run))
    return drawn


def head_trade_off(result: Result) -> dict[str, Drawn]:
    """Certified bits and stored parameters against the order."""
    rows = result.tables["bits"].rows
    figure, (bits, parameters) = _panels(2, width=3.4, height=3.2)
    for index, name in enumerate(_names(rows, "construction")):
        own = [row for row in rows if row["construction"] == name]
        across = [row["order"] for row in own]
        style = {"marker": MARKS[index], "markersize": 3, "linewidth": 1.0, "label": name,
                 "color": COLOURS[index % len(COLOURS)]}  # fmt: skip
        bits.plot(across, [row["bits_certified"] for row in own], **style)
        parameters.plot(across, [row["parameters"] for row in own], **style)
    for level, name in ((24, "float32"), (53, "float64")):
        bits.axhline(level, color="0.6", linewidth=0.8, linestyle=":")
        bits.text(0.6, level + 0.8, name, fontsize="x-small", color="0.4")
    bits.set_ylim(0, 80)
    for panel in (bits, parameters):
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    bits.set_xlabel("order k")
    bits.set_ylabel("mantissa bits, certified")
    parameters.set_yscale("log")
    parameters.set_xlabel("order k")
    parameters.set_ylabel("stored parameters")
    figure.legend(*bits.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return {"trade-off": Drawn("One head pays for an order in bits, k heads pay in parameters.", figure)}


def phase(result: Result) -> dict[str, Drawn]:
    """Order against length, a map for each width: success, the gap, and attention."""
    rows = result.tables["phase"].rows
    orders, lengths, widths = (_names(rows, name) for name in ("order", "length", "dimension"))
    drawn = {}
    for column, label, caption in (
        ("success", "fraction of seeds", "near the floor and with attention on the matches: fraction of seeds"),
        ("gap_mean", "gap to the floor (nats)", "gap to the Bayes floor, mean over seeds"),
        ("attention", "0 = chance, 1 = all", "attention of layer 2 on the matching positions, mean over seeds"),
    ):
        maps = []
        for width in widths:
            values = np.full((len(orders), len(lengths)), np.nan)
            for row in rows:
                if row["dimension"] == width and row[column] is not None:
                    values[orders.index(row["order"]), lengths.index(row["length"])] = row[column]
            maps.append((f"d = {width}", values))
        axes = ("order k", list(map(str, orders))), ("length T", list(map(str, lengths)))
        figure = sweeps.draw_maps(maps, *axes, label, fraction=column != "gap_mean", less=column == "gap_mean")
        drawn[column.removesuffix("_mean")] = Drawn(f"Order against length, for each width: {caption}.", figure)
    return drawn


#: Experiment → what draws its figures.
FIGURES: dict[str, Callable[[Result], dict[str, Drawn]]] = {
    "table-1": table_one,
    "attention-maps": attention_maps,
    "depth": depth,
    "token-noise": noise,
    "transition-noise": noise,
    "bits": bits,
    "precision": precision,
    "floor": floor,
    "phase": phase,
    "two-stage": two_stage,
    "preconditioned": preconditioned,
    "head-trade-off": head_trade_off,
}


def figures(id: str, result: Result) -> dict[str, Drawn]:
    """All figures of an experiment, by name; none for one that has only tables."""
    if id not in FIGURES:
        return {}
    with matplotlib.rc_context(STYLE):
        return FIGURES[id](result)
