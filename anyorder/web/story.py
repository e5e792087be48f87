"""Reading a proof off a running model: what a step shows, evaluated at one position of a trace.

A step names blocks of the residual stream and points of the model; nothing is computed here that the model did
not compute. Where a number is not kept in the trace (a score, the input of a ReLU) it is what the model's own
weights make of the stream that is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.constructions.stream import Stream
from anyorder.estimators import matching
from anyorder.transformer import Head, MLPLayer
from anyorder.transformer.arithmetic import linear, stored, unit
from anyorder.web import schema
from anyorder.web.limits import padded
from anyorder.web.seen import Seen, finite


@dataclasses.dataclass(frozen=True)
class Look:
    """A trace at one position n; `row` is its row, one later with a beginning token."""

    seen: Seen
    position: int
    matches: list[int]

    @property
    def row(self) -> int:
        """The row of position n."""
        return self.position + self.seen.begins

    @property
    def order(self) -> int:
        """k."""
        return self.seen.opened.order

    def name(self, position: int) -> str:
        """The token at a position, as the page writes it."""
        return self.seen.symbols[self.seen.drawn.tokens[position]] if position >= 0 else "⊢"

    def word(self, first: int, last: int) -> str:
        """The tokens from one position to another."""
        return " ".join(self.name(position) for position in range(max(first, 0), last + 1))

    def block(self, name: str, point: str) -> Float[np.ndarray, "width"]:
        """One named block of the stream at n."""
        return np.asarray(self.seen.trace.stream(point), np.float64)[self.row, self.place(name)]

    def place(self, name: str) -> slice:
        """Where a block lies in the stream."""
        return Stream(**dict(self.seen.opened.model.blocks or ())).place(name)


Show = Callable[[Look], schema.Part]
Sentence = Callable[[Look], str]


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a proof: what happens, by which equation, by which weights, and what can be seen of it."""

    title: str
    text: str
    equation: str
    source: str
    weights: dict[str, str]
    shows: tuple[Show, ...]
    here: Sentence = lambda look: ""


def tell(steps: tuple[Step, ...], seen: Seen, position: int) -> schema.Story:
    """The story at one position, next to the window, the matches and the counts of the exact estimator."""
    order, size = seen.opened.order, seen.alphabet_size
    tokens = jnp.asarray(np.pad(seen.drawn.tokens, (0, padded(seen.length) - seen.length)), jnp.int32)
    matrix = matching.window_matches(tokens, order)
    matches = np.flatnonzero(np.asarray(matrix)[position]).tolist()
    counts = np.asarray(matching.counts(matrix, tokens, size))[position].tolist()
    look = Look(seen, position, matches)
    window = list(range(position - order + 1, position + 1)) if position >= order - 1 else []
    told = [
        schema.Step(
            title=step.title,
            text=step.text,
            here=step.here(look),
            equation=step.equation,
            source=step.source,
            weights=[weight(seen, name, does) for name, does in step.weights.items()],
            parts=[show(look) for show in step.shows],
        )
        for step in steps
    ]
    return schema.Story(position=position, order=order, window=window, matches=matches, counts=counts, steps=told)


def weight(seen: Seen, name: str, does: str) -> schema.Weight:
    """An array of the model by its path, such as `layers.0.mlp.1.weight`."""
    value: Any = seen.opened.model
    for part in name.split("."):
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return schema.Weight(name=name, shape=list(np.shape(value)), does=does)


def block(name: str, of: str, point: str, *, since: str | None = None) -> Show:
    """A block of the stream at a point, or what was added to it since an earlier one."""

    def show(look: Look) -> schema.Part:
        values = look.block(of, point) - (0.0 if since is None else look.block(of, since))
        labels = look.seen.symbols if len(values) == look.seen.alphabet_size else [of] * len(values)
        read = f"block `{of}`: after {point}" + ("" if since is None else f", minus after {since}")
        return bars(name, read, labels, values)

    return show


def inside(name: str, layer: int, place: int, of: str, point: str) -> Show:
    """What a ReLU of the MLP is given: W x + b in a block, x the stream at a point."""

    def show(look: Look) -> schema.Part:
        values = _inside(look, layer, place, of, point)
        return bars(name, f"W x + b of layers.{layer}.mlp.{place} in block `{of}`", look.seen.symbols, values, line=0.0)

    return show


def thresholded(name: str, of: str, point: str, *, since: str, layer: int, place: int, into: str) -> Show:
    """A block with the threshold that the next ReLU subtracts from it, marked where something is left."""
    plain = block(name, of, point, since=since)

    def show(look: Look) -> schema.Part:
        part = plain(look)
        left = _inside(look, layer, place, into, point)
        line = finite(float(np.mean(np.array(part.values, float) - left)))
        # Of equal numbers a rounded difference can be left; the norm that follows makes nothing of it.
        marks = np.flatnonzero(left > 1e-6 * np.abs(left).max()).tolist()
        return part.model_copy(update={"line": line, "marks": marks})

    return show


def attention(name: str, layer: int, head: int = 0, *, offsets: tuple[int, int] | None = None) -> Show:
    """The attention weights of a head from n to every key; marked are the matches, or the tokens at some offsets."""

    def show(look: Look) -> schema.Part:
        weights = np.asarray(look.seen.trace.attention[layer], np.float64)[head, look.row, : look.row + 1]
        part = keys(look, name, f"attention of layer {layer + 1}, head {head + 1}, row {look.position}", weights)
        if offsets is None:
            return part
        near = range(max(look.position - offsets[1], 0), look.position - offsets[0] + 1)
        return part.model_copy(update={"marks": [position - part.first for position in near]})

    return show


def scores(name: str, layer: int, point: str, head: int = 0) -> Show:
    """The scores of a head from n to every key, in units of kappa where there is one."""

    def show(look: Look) -> schema.Part:
        model = look.seen.opened.model
        x, chosen = look.seen.trace.stream(point), model.layers[layer].heads[head]
        product = np.asarray(_scores(chosen, x, jnp.int32(look.row)))[: look.row + 1]
        promise = model.certificate
        unit_of = "" if promise is None else " / kappa"
        product = product if promise is None else product / promise.kappa
        return keys(look, name, f"score of layer {layer + 1}, head {head + 1}{unit_of}", product)

    return show


def prediction(name: str = "prediction") -> Show:
    """The next-token distribution of the model at n."""

    def show(look: Look) -> schema.Part:
        row = np.asarray(look.seen.trace.probabilities, np.float64)[look.position]
        return bars(name, "output of the model", look.seen.symbols, row)

    return show


def bars(
    name: str, read: str, labels: list[str], values: Float[np.ndarray, "bars"], line: float | None = None
) -> schema.Part:
    """A part with one bar for every label."""
    numbers = [finite(value) for value in np.asarray(values, float).tolist()]
    return schema.Part(kind="bars", name=name, read=read, labels=labels, values=numbers, line=line)


def keys(look: Look, name: str, read: str, values: Float[np.ndarray, "keys"]) -> schema.Part:
    """A part with one number for every key; the exact matches are marked."""
    first = -look.seen.begins
    labels = [look.name(position) for position in range(first, look.position + 1)]
    marks = [match - first for match in look.matches]
    numbers = [finite(value) for value in np.asarray(values, float).tolist()]
    return schema.Part(kind="keys", name=name, read=read, labels=labels, values=numbers, marks=marks, first=first)


def _inside(look: Look, layer: int, place: int, of: str, point: str) -> Float[np.ndarray, "width"]:
    model = look.seen.opened.model
    mlp = model.layers[layer].mlp[place]
    given = np.asarray(_given(mlp, look.seen.trace.stream(point)))
    return given[look.row, look.place(of)]


@eqx.filter_jit
def _given(mlp: MLPLayer, x: Float[Array, "rows d"]) -> Float[Array, "rows outputs"]:
    return linear(x, mlp.weight, mlp.bias).astype(jnp.float64)


@eqx.filter_jit
def _scores(head: Head, x: Float[Array, "rows d"], row: Int[Array, ""]) -> Float[Array, "rows"]:
    """All rows at once, so that every position is one compiled program."""
    queries, found = linear(x, head.query), linear(x, head.key)
    if head.normalise:
        queries, found = unit(queries), unit(found)
    return stored(found @ stored(queries * head.scale)[row]).astype(jnp.float64)
