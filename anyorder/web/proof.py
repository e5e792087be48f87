"""Proofs evaluated on a running model: the steps of a construction at one position of a trace.

A step names blocks of the residual stream and points of the model; all values are the model's own. A value that the
trace does not keep (a score, the input of a ReLU) is computed from the stream with the model's weights. A sentence
describes the state at the position.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from anyorder.constructions import steps
from anyorder.constructions.stream import Stream
from anyorder.estimators import matching
from anyorder.models import Head, Recurrence, Transformer
from anyorder.models.arithmetic import linear
from anyorder.models.mlp import run_stack
from anyorder.web import schema
from anyorder.web.traced import Traced

Numbers = Float[np.ndarray, "values"]
#: Compiled once for every shape.
_sides = eqx.filter_jit(lambda head, x: head.sides(x))
_linear = eqx.filter_jit(linear)
_points = eqx.filter_jit(run_stack)


@dataclasses.dataclass(frozen=True)
class TracedPosition:
    """A trace at one position n, with the positions that match it; `row` is one later with a beginning token."""

    traced: Traced
    model: Transformer
    order: int
    position: int
    row: int
    matches: list[int]

    def name(self, position: int) -> str:
        """The token at a position, as the page writes it."""
        return self.traced.symbols[self.traced.sequence.tokens[position]] if position >= 0 else "⊢"

    def word(self, first: int, last: int) -> str:
        """The tokens from one position to another."""
        return " ".join(self.name(position) for position in range(max(first, 0), last + 1))

    def block(self, name: str, point: str) -> Float[np.ndarray, "width"]:
        """One named block of the stream at n."""
        return np.asarray(self.traced.trace.block(name, point), np.float64)[self.row]


def tell(traced: Traced, position: int) -> schema.Story:
    """The story at one position, next to the window, the matches and the counts of the exact estimator."""
    model, order = traced.opened.model, traced.opened.order
    matrix = matching.window_matches(traced.padded, order)
    matches = np.flatnonzero(np.asarray(matrix)[position]).tolist()
    counts = np.asarray(matching.counts(matrix, traced.padded, model.alphabet_size))[position].tolist()
    look = TracedPosition(traced, model, order, position, position + traced.begins, matches)
    made = [
        schema.StoryStep(
            title=step.title,
            text=step.text,
            here=here(look, step.here),
            about=about(look, step.here),
            equation=step.equation,
            source=step.source,
            weights=[weight(model, name, does) for name, does in step.weights.items()],
            parts=[show(one, look) for one in step.shows],
        )
        for step in traced.opened.steps
    ]
    return schema.Story(
        position=position,
        order=order,
        window=about(look, "recent"),
        matches=matches,
        counts=counts,
        looks=traced.weights(*traced.nearest)[look.row, : look.row + 1].tolist(),
        steps=made,
    )


def here(look: TracedPosition, kind: steps.Here) -> str:
    """The state at this position, in one sentence."""
    n, k, found = look.position, look.order, look.matches
    match kind:
        case "window" if n == 0:
            return "There is no token before position 0, so it can only attend to itself."
        case "window":
            short = f" Only {n} of {k} tokens are there: this key has no full window and must not match."
            return f"Before position {n}: {look.word(n - k, n - 1)}.{short * (n < k)}"
        case "recent" if n < k - 1:
            return f"Up to position {n} there are {n + 1} of {k} tokens: no full window yet, so nothing is guaranteed."
        case "recent":
            return f"The last {k} tokens up to position {n}: {look.word(n - k + 1, n)}."
        case "oldest" if n < k:
            return f"Position {n} has no token at offset {k}."
        case "oldest":
            return f"The token at offset {k} is x_{n - k} = {look.name(n - k)}: the one bar above the line."
        case "matches" if n < k - 1:
            return f"With fewer than {k} tokens there is nothing to look for."
        case "matches" if not found:
            context = look.word(n - k + 1, n)
            return f"{context} has not been seen before: nothing matches, and attention goes to the largest score left."
        case "matches":
            places = ", ".join(map(str, found[:12])) + (" and later ones" if len(found) > 12 else "")
            many = f"{len(found)} position{'s' * (len(found) > 1)}"
            return f"{look.word(n - k + 1, n)} stands right before {many}: {places}."
        case "counts" if not found:
            return "No count: 0/0 in the k-gram (Definition 2 leaves it open)."
        case "counts":
            names = [look.name(match) for match in found]
            counted = ", ".join(f"{name} {names.count(name)}×" for name in dict.fromkeys(names))
            return f"The tokens there: {counted}, {len(names)} in all."
        case "smoothed":
            beta, size = look.traced.opened.beta, look.traced.alphabet_size
            return f"{here(look, 'counts')} The sink adds β = {beta:g} to each of {size} symbols."
    return ""


def about(look: TracedPosition, kind: steps.Here) -> list[int]:
    """The positions of a step's subject."""
    n, k = look.position, look.order
    match kind:
        case "window":
            return list(range(max(n - k, 0), n))
        case "oldest":
            return [n - k] if n >= k else []
        case "counts" | "smoothed":
            return look.matches
    return list(range(n - k + 1, n + 1)) if n >= k - 1 else []


def weight(model: Transformer, name: str, does: str) -> schema.Weight:
    """An array of the model by its path, such as `layers.0.mlp.1.weight`."""
    value: Any = model
    for part in name.split("."):
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return schema.Weight(name=name, shape=list(np.shape(value)), does=does)


def show(what: steps.Show, look: TracedPosition) -> schema.Part:
    """The values that a step shows at one position."""
    model, trace = look.model, look.traced.trace
    match what:
        case steps.Block():
            read = f"block `{what.of}`: after {what.point}"
            return bars(look, what.name, read, look.block(what.of, what.point), what.of)
        case steps.Combined():
            values = np.sum([factor * look.block(block, what.point) for block, factor in what.of], axis=0)
            terms = " ".join(f"{'-' if factor < 0 else '+'} {abs(factor):g}·`{block}`" for block, factor in what.of[:4])
            more = " …" if len(what.of) > 4 else ""
            return bars(look, what.name, f"{terms.removeprefix('+ ')}{more}: after {what.point}", values)
        case steps.Inside():
            read = f"W x + b of layers.{what.layer}.mlp.{what.place} in block `{what.of}`"
            return bars(look, what.name, read, _inside(look, what), line=0.0)
        case steps.Threshold():
            part, left = show(what.shown, look), _inside(look, what.inside)
            part.line = float(np.mean(np.array(part.values, float) - left))
            # Rounding may leave a small difference between equal numbers: do not mark it.
            part.marks = np.flatnonzero(left > 1e-6 * np.abs(left).max()).tolist()
            return part
        case steps.Attention():
            weights = np.asarray(trace.attention[what.layer], np.float64)[what.head, look.row, : look.row + 1]
            read = f"attention of layer {what.layer + 1}, head {what.head + 1}, row {look.position}"
            if what.offsets is None:
                return keys(look, what.name, read, weights, look.matches)
            near = range(max(look.position - what.offsets[1], 0), look.position - what.offsets[0] + 1)
            return keys(look, what.name, read, weights, near)
        case steps.Scores():
            queries, found = jax.device_get(_sides(model.layers[what.layer].heads[what.head], trace.stream(what.point)))
            scores = np.asarray(_linear(found, queries[look.row][None]), np.float64)[: look.row + 1, 0]
            kappa, unit = _scale(model)
            read = f"score of layer {what.layer + 1}, head {what.head + 1}" + (f" / {unit}" if unit else "")
            return keys(look, what.name, read, scores / kappa, look.matches, unit=unit)
        case steps.Overlay():
            return overlay(what, look)
        case steps.Hidden():
            values, read = _hidden(look, what), f"layers.{what.layer}.mlp.{what.place}"
            if not what.keys:
                return bars(look, what.name, read, values)
            by_position = values.reshape(-1, look.traced.alphabet_size).sum(axis=1)
            values = np.concatenate([np.zeros(look.order + look.traced.begins), by_position])[: look.row + 1]
            return keys(look, what.name, f"{read}, the sum over symbols", values, look.matches)
        case steps.Prediction():
            return bars(look, what.name, "output of the model", look.traced.predicted[look.position])


def overlay(what: steps.Overlay, look: TracedPosition) -> schema.Part:
    """The direction of the query over that of its latest match and of the miss with the largest score."""
    head, begins, k = look.model.layers[what.layer].heads[what.head], look.traced.begins, look.order
    queries, found = (np.asarray(side, np.float64) for side in _sides(head, look.traced.trace.stream(what.point)))
    product = found @ queries[look.row]
    coordinates, symbols = symbol_coordinates(look.model, head)
    kappa, unit = _scale(look.model)
    misses = [i for i in range(k, look.position + 1) if i not in look.matches]
    nearest = sorted(misses, key=lambda i: (product[i + begins], i))[-1:]
    drawn = [("match", at) for at in look.matches[-1:]] + [("near miss", at) for at in nearest]
    return schema.Part(
        kind="overlay",
        name=what.name,
        read="directions of the query at n and of two keys",
        labels=[look.traced.symbols[symbol] for symbol in symbols],
        values=_direction(queries[look.row, coordinates]),
        over=[
            schema.Over(
                kind=kind,
                position=at,
                word=[look.name(position) for position in range(at - k, at)],
                values=_direction(found[at + begins, coordinates]),
                score=float(product[at + begins] / kappa),
            )
            for kind, at in drawn
        ],
        unit=unit,
    )


def symbol_coordinates(model: Transformer, head: Head | Recurrence) -> tuple[list[int], list[int]]:
    """The coordinates of a head's keys that represent symbols, and their symbols, without gates, sinks and positions.

    A coordinate represents the symbol that its row of W_K reads more than the other rows do, in a block with one
    coordinate for each symbol.
    """
    weight, size = np.asarray(head.key, np.float64), model.alphabet_size
    if model.blocks is None:
        return list(range(min(len(weight), size))), list(range(min(len(weight), size)))
    stream = Stream(**dict(model.blocks))
    whole = [stream.place(name) for name, width in model.blocks if width == size]
    places = {at: at - block.start for block in whole for at in range(block.start, block.stop)}
    own = weight - np.median(weight, axis=0)
    read = [(row, int(np.argmax(values))) for row, values in enumerate(own) if values.max() > 0]
    found = [(row, places[at]) for row, at in read if at in places]
    return [row for row, _ in found], [symbol for _, symbol in found]


def _direction(values: Numbers) -> list[float]:
    length = np.linalg.norm(values)
    return (values / length if length > 0 else values).tolist()


def _scale(model: Transformer) -> tuple[float, str]:
    """The divisor of scores and its name: kappa if there is one."""
    return (1.0, "") if model.certificate is None else (model.certificate.kappa, "kappa")


def bars(look: TracedPosition, name: str, read: str, values: Numbers, label: str = "", **more: Any) -> schema.Part:
    """A part with one bar for every symbol, or with one label for all."""
    labels = look.traced.symbols if len(values) == look.traced.alphabet_size else [label] * len(values)
    return schema.Part(kind="bars", name=name, read=read, labels=labels, values=values.tolist(), **more)


def keys(look: TracedPosition, name: str, read: str, values: Numbers, at: Iterable[int], **more: Any) -> schema.Part:
    """A part with one number for every key, with marks at some positions."""
    first = -look.traced.begins
    labels = [look.name(position) for position in range(first, look.position + 1)]
    marks = [position - first for position in at]
    return schema.Part(
        kind="keys", name=name, read=read, labels=labels, values=values.tolist(), marks=marks, first=first, **more
    )


def _inside(look: TracedPosition, what: steps.Inside) -> Numbers:
    mlp = look.model.layers[what.layer].mlp[what.place]
    inputs = np.asarray(_linear(look.traced.trace.stream(what.point), mlp.weight, mlp.bias), np.float64)
    return inputs[look.row, Stream(**dict(look.model.blocks or ())).place(what.of)]


def _hidden(look: TracedPosition, what: steps.Hidden) -> Numbers:
    layer = look.model.layers[what.layer]
    stream = look.traced.trace.stream(f"attention {what.layer + 1}")
    points = _points(layer.mlp[: what.place + 1], layer.mlp_norm, stream[look.row][None])
    return np.asarray(points[-1], np.float64)[0]
