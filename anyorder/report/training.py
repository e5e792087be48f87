"""The page of a training run and its figures, from its metrics and its models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anyorder import estimators
from anyorder.errors import require
from anyorder.io import plugins
from anyorder.io.atomic import Row
from anyorder.models import Transformer
from anyorder.papers.experiment import Table, TableRow
from anyorder.papers.figure_data import AttentionMap
from anyorder.papers.two_can.story import telling
from anyorder.report.figures import ACROSS, draw_maps
from anyorder.report.page import Section, as_figure, as_strip, following, write_page
from anyorder.report.style import FLOOR, Drawing, apart, logarithmic, styled, write_figure
from anyorder.report.tables import as_table
from anyorder.training import read_config, read_metrics, read_models
from anyorder.training.reference import held_out

LOSS = "Above: loss on training batches, next to the true loss and the Bayes floor. Below: gap, ± two standard errors."
POSITIONS = "Excess at every position and, below, its gap to the floor, with bands of two standard errors."
ATTENTION = (
    "Layer 1 averaged over sequences, later layers on one, next to the pseudo-attention: uniform over the matches. In "
    "the difference of the nearest head, orange is more attention and blue is less. ⊢ is the beginning token."
)
#: Sequences over which the maps of layer 1 are averaged.
AVERAGED = 256

Metrics = Sequence[Row]
Maps = Float[np.ndarray, "heads rows rows"]


def _by_model(metrics: Metrics, kind: str) -> dict[str, list[Row]]:
    """Lines of one kind for every model, by its label in a legend."""
    lines = [line for line in metrics if line["kind"] == kind]
    several = len({line["learning_rate"] for line in lines}) > 1
    named: dict[str, list[Row]] = {}
    for line in lines:
        rate = f", rate {line['learning_rate']:g}" if several else ""
        named.setdefault(f"seed {line['seed']}{rate}", []).append(line)
    return named


def _reference(metrics: Metrics) -> Row:
    found = [line for line in metrics if line["kind"] == "reference"]
    require(len(found) > 0, "the run has no metrics yet; wait for its first steps")
    return found[0]


@styled
def draw_loss(metrics: Metrics) -> Figure:
    """Above, the loss on training batches; below, the gap to the floor (or the excess) on the evaluation set."""
    reference = _reference(metrics)
    true, floor = reference["true_loss"], reference["floor_excess"]
    measured = "excess" if floor is None else "gap"
    figure = Drawing(figsize=(6.4, 5.0))
    above, below = figure.subplots(2, 1, sharex=True)
    for name, lines in _by_model(metrics, "loss").items():
        above.plot(_column(lines, "step"), _column(lines, "loss"), marker=".", linewidth=1.0, label=name)
    above.axhline(true, color="0.5", linestyle=":", label="true loss")
    if floor is not None:
        above.axhline(true + floor, **FLOOR)
    for lines in _by_model(metrics, "evaluation").values():
        steps, values, errors = (_column(lines, name) for name in ("step", measured, f"{measured}_error"))
        below.errorbar(steps, values, 2 * errors, marker="o", markersize=3, linewidth=1.0)
    logarithmic(below, "y")
    below.set_xlabel("step")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    above.set_ylabel("training loss (nats)")
    below.set_ylabel("excess loss (nats)" if floor is None else "gap to the floor (nats)")
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _column(lines: Metrics, name: str) -> np.ndarray:
    return np.array([line[name] for line in lines])


@styled
def draw_positions(metrics: Metrics) -> Figure:
    """Every model at every position, with bands of two standard errors: its excess, and below it the gap to the floor.

    Gaps are differences on the same sequences, so their bands are far narrower.
    """
    reference = _reference(metrics)
    positions, floor = np.array(reference["position"]), reference["floor_excess_by_position"]
    shown = ["excess"] if floor is None else ["excess", "gap"]
    figure = Drawing(figsize=(6.4, 2.4 * len(shown) + 0.6))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    models = _by_model(metrics, "evaluation")
    for number, (name, lines) in enumerate(models.items()):
        for panel, measured in zip(panels, shown, strict=True):
            mean = np.array(lines[-1][f"{measured}_by_position"])
            error = 2 * np.array(lines[-1][f"{measured}_by_position_error"])
            marks = apart(number, len(models), len(positions))
            (line,) = panel.plot(positions, mean, linewidth=1.0, label=name, **marks)
            panel.fill_between(positions, mean - error, mean + error, color=line.get_color(), alpha=0.2, linewidth=0)
    if floor is not None:
        for panel, floors in zip(panels, (floor, np.zeros(len(positions))), strict=True):
            panel.plot(positions, floors, **FLOOR)
        panels[1].set_ylabel("gap to the floor (nats)")
    panels[0].set_ylabel("excess loss (nats)")
    panels[0].set_ylim(0, None)
    panels[-1].set_xlabel("position of the predicted token")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


@eqx.filter_jit
def _attention(
    model: Transformer, tokens: Int[Array | np.ndarray, "count length"]
) -> tuple[Float[Array, "count _ rows rows"], ...]:
    return jax.vmap(lambda one: model.trace(one).attention)(tokens)


def draw_attention(first: Maps, maps: Sequence[Maps], tokens: Int[np.ndarray, "length"], order: int) -> Figure:
    """Layer 1 averaged over sequences, later layers on one, next to the pseudo-attention of that one."""
    ideal = np.asarray(estimators.pseudo_attention(tokens, order))
    begins = maps[0].shape[1] - len(ideal)
    ideal = np.pad(ideal, ((begins, 0), (begins, 0)))
    shown = {f"layer 1, head {head} (mean)": values for head, values in enumerate(first, start=1)}
    for number, layer in enumerate(maps[1:], start=2):
        shown |= {f"layer {number}, head {head}": values for head, values in enumerate(layer, start=1)}
    # The head nearest to the ideal is compared with it.
    nearest = min((head for layer in maps for head in layer), key=lambda head: float(np.square(head - ideal).sum()))
    shown |= {"pseudo-attention": ideal, "difference, nearest head": nearest - ideal}
    panels = [AttentionMap(title, values, tokens) for title, values in shown.items()]
    return draw_maps([panels[start : start + ACROSS] for start in range(0, len(panels), ACROSS)])


def write_run(folder: Path, run: Path, member: int = 0, sequence: int | None = None) -> dict[str, Path]:
    """Write the figures of a run and its page; attention is drawn for `member` on `sequence`."""
    config, metrics = read_config(run), read_metrics(run)
    step, models = read_models(run)
    for flag, value, count in (
        ("model", member, len(models)),
        ("sequence", sequence or 0, config.measurement.evaluation_count),
    ):
        require(0 <= value < count, f"--{flag} is {value}, the run has 0 to {count - 1}")
    drawn = {"loss": draw_loss(metrics), "positions": draw_positions(metrics)}
    if attends := hasattr(models[member], "trace"):
        rows, order = np.asarray(held_out(*config.evaluation).tokens[:, :-1]), config.data.window
        chosen = rows[telling(rows[:AVERAGED], order)[0] if sequence is None else sequence]
        layers = _attention(models[member], np.stack([chosen, *rows[:AVERAGED]]))
        maps = [np.asarray(layer[0]) for layer in layers]
        drawn["attention"] = draw_attention(np.asarray(layers[0][1:]).mean(axis=0), maps, chosen, order)
    paths = {name: folder / f"{name}.png" for name in drawn}
    for name, figure in drawn.items():
        write_figure(figure, paths[name])
    sections = [_against_floor(metrics, paths)]
    if attends:
        looks = _strip(maps, chosen, order) + as_figure(paths["attention"], ATTENTION)
        sections.append(Section("attention", "Where it looks", body=looks))
    data = config.data
    lead = (
        f"{len(models)} model{'s' * (len(models) > 1)} after {step:,} steps on fresh chains of order {data.order} over "
        f"{data.alphabet_size} symbols, {data.length} tokens each. Every number is measured on "
        f"{config.measurement.evaluation_count:,} held-out sequences."
    )
    flags = plugins.flags()
    commands = {
        f"anyorder probe {run}{flags}": "which order has each head?",
        f"anyorder evaluate {run} --length {2 * data.length}{flags}": "the same models at twice the length",
    }
    page = write_page(folder, f"Against the Bayes floor: {run.name}", lead, [*sections, following(commands)])
    return {"page": page, **paths}


def _against_floor(metrics: Metrics, paths: Mapping[str, Path]) -> Section:
    reference = _reference(metrics)
    floor, rows = reference["floor_excess"], list[TableRow]()
    for name, lines in _by_model(metrics, "evaluation").items():
        row, last = {"model": name}, lines[-1]
        if floor is not None:
            row |= {"gap": _measured(last["gap"], last["gap_error"]), "Bayes floor": f"{floor:.3g}"}
        rows.append(row | {"excess loss": _measured(last["excess"], last["excess_error"])})
    caption = (
        f"Nats (natural units of information, 1.44 bits each) per token. Excess: loss minus the true loss, "
        f"{reference['true_loss']:.3f}, which is that of the true probabilities. Bayes floor: the excess of the best "
        "possible in-context predictor. Gap: excess minus this floor. ± one standard error over sequences."
    )
    body = as_table(Table(caption, rows)) + as_figure(paths["loss"], LOSS) + as_figure(paths["positions"], POSITIONS)
    return Section("floor", "How far from the best possible", body=body)


def _measured(mean: float, error: float) -> str:
    """A mean and its error, rounded to one digit of the error, in parts for one line.

    >>> _measured(0.036921, 0.00072).split(), _measured(0.1233, 0.00099).split(), _measured(0.5, 0.0).split()
    (['0.0369', '±', '0.0007'], ['0.123', '±', '0.001'], ['0.5', '±', '0'])
    """
    digits = max(0, -math.floor(math.log10(float(f"{error:.0e}")))) if error > 0 else 0
    text = f"{mean:.{digits}f} ± {error:.{digits}f}" if error > 0 else f"{mean:.3g} ± 0"
    return text.replace(" ", "\xa0")


def _strip(maps: Sequence[Maps], tokens: Int[np.ndarray, "length"], order: int) -> str:
    """A sequence, and its last position's attention in the head of the last layer with the most mass on matches."""
    _, matches = telling(tokens[None], order)
    heads = [head[-1, -len(tokens) :].astype(np.float64) for head in maps[-1]]
    best = max(range(len(heads)), key=lambda head: heads[head][matches].sum())
    mass, chance = heads[best][matches].sum(), len(matches) / len(tokens)
    where = f"attention of the last position in layer {len(maps)}, head {best + 1}"
    return (
        f"<p>The last {order} letters are framed, the letters that followed them earlier are marked. Bars are the "
        f"{where}: {mass:.0%} of it is on the marks; uniform attention would have {chance:.0%} there.</p>"
        + as_strip(tokens.tolist(), order, matches, where.capitalize(), heads[best].tolist())
    )
