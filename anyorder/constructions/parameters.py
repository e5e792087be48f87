"""Counting parameters: Table 1 and the two breakdowns of App. I, next to the arrays of our models.

The paper's accounting: every head has a table of T key positions of its own width, whether or not it is zero;
value positions and b_o are not counted; a layer norm counts parameters although v/‖v‖ has none (two vectors
per norm in the first breakdown, one in the second). `account` applies these rules to a model's arrays.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import equinox as eqx
import jax

from anyorder.constructions.construction import OptionValue, evaluated
from anyorder.constructions.registry import construct, find, plan
from anyorder.models import Layer, Recurrence, Transformer

#: Largest matrix of a model that is built to be counted: larger ones would fill the memory.
LARGEST_WIDTH = 1024


@dataclasses.dataclass(frozen=True)
class Component:
    """One row of a breakdown: the paper's formula, its value, and the count of our arrays by the paper's rules."""

    component: str
    formula: str
    paper: int
    counted: int


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """A table of App. I; `uncounted` are parameters that the construction needs but the table omits."""

    construction: str
    components: tuple[Component, ...]
    formula: str
    printed_total: int
    sum_of_rows: int
    counted: int
    uncounted: dict[str, int]
    note: str


@dataclasses.dataclass(frozen=True)
class Entry:
    """A row of Table 1; `alternative` is a second defensible count, `stored` the number of entries of our arrays."""

    work: str
    construction: str
    order: str
    architecture: str
    formula: str
    paper: int
    alternative_formula: str | None
    alternative: int | None
    stored: int | None
    note: str


def count_arrays(model: Transformer) -> int:
    """The number of entries of all weight arrays, as they are stored.

    >>> count_arrays(construct("bigram", order=1, alphabet_size=2, length=8))
    356
    """
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))


def account(model: Transformer, length: int, norm_vectors: int = 2) -> dict[str, int]:
    """The count of a model by the paper's rules, component by component."""
    d, counted = model.dimension, {"token embedding": model.embedding.size}
    for number, layer in enumerate(model.layers, start=1):
        if layer.convolution is not None:
            counted[f"layer {number}: convolution"] = layer.convolution.size
        tables = [head for head in layer.heads if isinstance(head, Recurrence)]
        if tables:
            counted[f"layer {number}: features and tables"] = sum(
                head.bias.size + (0 if head.initial is None else head.initial.size) for head in tables
            )
        else:
            counted[f"layer {number}: positional encoding"] = sum(head.query.shape[0] for head in layer.heads) * length
        counted[f"layer {number}: query, key, value"] = sum(
            head.query.size + head.key.size + head.value.size for head in layer.heads
        )
        projections = sum(head.projection.size for head in layer.heads if head.projection is not None)
        if projections:  # the paper's heads write to the stream directly
            counted[f"layer {number}: output of the heads"] = projections
        if layer.mlp:
            counted[f"layer {number}: MLP weights"] = sum(mlp.weight.size for mlp in layer.mlp)
            counted[f"layer {number}: MLP biases"] = sum(mlp.bias.size for mlp in layer.mlp if mlp.bias is not None)
        if _norms(layer):
            counted[f"layer {number}: layer norms"] = _norms(layer) * norm_vectors * d
    if model.beginning is not None:
        counted["beginning token"] = d
    if model.positions is not None:
        counted["absolute positions"] = model.positions.size
    counted["output projection"] = model.embedding.size if model.output is None else model.output.size
    return counted


def _norms(layer: Layer) -> int:
    return sum(mlp.norm is not None for mlp in layer.mlp) + 2 * sum(
        getattr(head, "normalise", False) for head in layer.heads
    )


def breakdown(construction: str, *, alphabet_size: int, length: int) -> Breakdown:
    """One of the two tables of App. I, for `two-layer` or `three-layer`.

    >>> table = breakdown("three-layer", alphabet_size=2, length=32)
    >>> table.sum_of_rows == table.counted, table.printed_total == table.sum_of_rows
    (True, False)
    """
    s, t, d = alphabet_size, length, 6 * alphabet_size + 3
    model = construct(construction, order=1, alphabet_size=s, length=t)
    counted = account(model, t, norm_vectors=find(construction).norm_vectors)
    components = tuple(
        Component(name, formula, evaluated(formula, d=d, S=s, T=t), counted[name])
        for name, formula in zip(counted, PRINTED[construction], strict=True)
    )
    rows = table_one(order=1, alphabet_size=s, length=t, stored=False)
    total = next(row for row in rows if row.construction == construction)
    notes = {
        "two-layer": "its rows add up to its total",
        "three-layer": f"E6: its rows add up to {total.alternative_formula}",
    }
    return Breakdown(
        construction=construction,
        components=components,
        formula=total.formula,
        printed_total=total.paper,
        sum_of_rows=sum(row.paper for row in components),
        counted=sum(counted.values()),
        uncounted={"value positions of the gate (dT)": d * t, "output bias (S)": s},
        note=notes[construction],
    )


_ATTENTION = ("dT", "3d²")
#: The constructions with a table in App. I, and the formulas printed there.
PRINTED = {
    "two-layer": ("dS", *_ATTENTION, "3d²", "3d", "6d", *_ATTENTION, "dS"),
    "three-layer": ("dS", *3 * (*_ATTENTION, "2d²", "2d", "2d"), "dS"),
}


def table_one(
    *, order: int, alphabet_size: int, length: int, dimension: int = 256, stored: bool = True
) -> tuple[Entry, ...]:
    """Table 1 in numbers; `dimension` is the d of Bietti et al., which is free. Models are built only if `stored`.

    >>> [entry.paper for entry in table_one(order=2, alphabet_size=2, length=32, dimension=64)][-1]
    3180
    """
    k, s, t = order, alphabet_size, length

    def entries(name: str, order: int, **options: OptionValue) -> int | None:
        made = plan(name, order=order, alphabet_size=s, length=t, dtype="float64", **options)
        side = made.construction.width
        too_large = side is not None and side(made.request) > LARGEST_WIDTH
        return None if too_large else count_arrays(made.build(force=True))

    def entry(work: str, name: str, order: str, shape: str, formula: str, note: str, second: str = "") -> Entry:
        free: dict[str, OptionValue] = {"dimension": dimension} if name == "associative" else {}
        value = partial(evaluated, k=k, S=s, T=t, d=dimension if free else 6 * s + 3)
        own = entries(name, 1 if order == "1" else k, **free) if stored else None
        other = value(second) if second else None
        return Entry(work, name, order, shape, formula, value(formula), second or None, other, own, note)

    head = "2 layers, 1 head"
    return (
        entry("Bietti et al.", "associative", "1", head, "9d² + dS + Td", f"d is free, here {dimension}"),
        entry("Edelman et al.", "bigram", "1", head, "21S² + 3TS", "d = 3S"),
        entry("Nichani et al.", "disentangled", "k", "2 layers, k heads", "(k + (k + 1)²)(S + T)² + T(S + T)",
              "E12: the tail T(S + T) looks like a position table; the published model has an output matrix of "
              "2(k + 1)(S + T)·S", "(k + (k + 1)²)(S + T)² + 2(k + 1)(S + T)S"),
        entry("Rajaraman et al.", "three-layer", "k", "3 layers, 1 head", "15d² + d(3T + 2S + 10)",
              "E6: the rows of App. I add up to the second formula; d = 6S + 3", "15d² + d(3T + 2S + 12)"),
        entry("the paper", "two-layer", "k", head, "9d² + d(2T + 2S + 9)", "d = 6S + 3"),
    )  # fmt: skip
