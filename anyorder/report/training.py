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

from anyorder import estimators
from anyorder.errors import require
from anyorder.io import plugins
from anyorder.io.atomic import Row
from anyorder.models import Transformer
from anyorder.papers.experiment import Table, TableRow
from anyorder.papers.figure_data import AttentionMap, Chart, Plot, Series, level, series
from anyorder.papers.two_can.story import telling
from anyorder.report.figures import ACROSS, draw, draw_maps
from anyorder.report.page import Section, as_figure, as_strip, following, write_page
from anyorder.report.style import write_figure
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


def draw_loss(metrics: Metrics) -> Figure:
    """Above, the loss on training batches; below, the gap to the floor (or the excess) on the evaluation set."""
    reference = _reference(metrics)
    true, floor = reference["true_loss"], reference["floor_excess"]
    measured, label = ("excess", "excess loss (nats)") if floor is None else ("gap", "gap to the floor (nats)")
    ends = [0, max(line["step"] for line in metrics)]
    losses = [
        series(name, lines, "step", "loss", ".-", number)
        for number, (name, lines) in enumerate(_by_model(metrics, "loss").items())
    ]
    losses.append(level("true loss", ends, true))
    if floor is not None:
        losses.append(level("Bayes floor", ends, true + floor, "--", "black"))
    found = []
    for number, lines in enumerate(_by_model(metrics, "evaluation").values()):
        steps, values, errors = ([line[name] for line in lines] for name in ("step", measured, f"{measured}_error"))
        found.append(Series("", steps, values, [2 * error for error in errors], "o-", number))
    charts = [Chart("step", "training loss (nats)", losses), Chart("step", label, found, log="y")]
    return draw(Plot(LOSS, charts, width=6.4, height=2.5, across=1))


def draw_positions(metrics: Metrics) -> Figure:
    """Every model at every position, with bands of two standard errors: its excess, and below it the gap to the floor.

    Gaps are differences on the same sequences, so their bands are far narrower.
    """
    reference, models = _reference(metrics), _by_model(metrics, "evaluation")
    positions, floor = reference["position"], reference["floor_excess_by_position"]
    shown = {"excess": ("excess loss (nats)", floor), "gap": ("gap to the floor (nats)", [0.0] * len(positions))}
    charts = []
    for measured, (label, floors) in shown.items():
        lines = []
        for number, (name, own) in enumerate(models.items()):
            mean, error = (own[-1][f"{measured}_by_position{end}"] for end in ("", "_error"))
            if mean is not None:
                lines.append(Series(name, positions, mean, [2 * one for one in error], "-", number))
        if floor is not None:
            lines.append(Series("Bayes floor", positions, floors, style="--", colour="black"))
        if lines:
            charts.append(Chart("position of the predicted token", label, lines, from_zero=measured == "excess"))
    return draw(Plot(POSITIONS, charts, width=6.4, height=2.4, across=1))


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
        f"anyorder explore --models {run}": "the attention of every head, on a sequence that you type",
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
