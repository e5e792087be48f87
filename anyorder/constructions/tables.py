"""Tables of all constructions: shapes, precision and advice, the same in the command, the docs and the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anyorder.constructions.construction import Construction
from anyorder.constructions.exact_orders import precision_table
from anyorder.constructions.registry import CONSTRUCTIONS, plan
from anyorder.io.numerics import DTYPES


class Listing(NamedTuple):
    """Headings, and rows with one cell for each."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


_COMPUTES = {"kgram": "k-gram", "biased": "biased k-gram", "bayes": "add-β smoothing"}


def computes(entry: Construction) -> str:
    """The estimator that a construction computes, in words.

    >>> computes(CONSTRUCTIONS["bayes"])
    'add-β smoothing'
    """
    promise = plan(entry.name, order=1, alphabet_size=2, length=4).certificate
    return "approximate k-gram" if promise is None else _COMPUTES.get(promise.estimator, promise.estimator)


def shapes() -> Listing:
    """The size of each construction, and the estimator that it computes.

    >>> [row for row in shapes().rows if row[0] == "unrolled"][0][1:4]
    ('1, 1', '2⌈k/2⌉ of width 3S + 1', '(⌊3k/2⌋ + 3)S + 2')
    """
    rows: list[tuple[str, ...]] = []
    for entry in CONSTRUCTIONS.values():
        mlp = "none" if entry.mlp is None else "{} of width {}".format(*entry.mlp)
        rows.append((entry.name, entry.heads, mlp, entry.dimension, computes(entry), entry.margin or "–"))
    return Listing(("name", "heads", "MLP layers", "d", "computes", "margin"), rows)


def sources() -> Listing:
    """The source of each construction, and its parameters by the paper's rules."""
    rows: list[tuple[str, ...]] = [(entry.name, entry.source, entry.parameters) for entry in CONSTRUCTIONS.values()]
    return Listing(("name", "source", "parameters"), rows)


def precision() -> Listing:
    """The largest exact orders, measured and certified."""
    return Listing(("construction", *DTYPES), [(row.label, *row.cells()) for row in precision_table()])


#: The short answer to "which construction?".
START = (
    "Start with unrolled, or with unrolled-bayes for the Bayes predictor. Take k-head or k-head-bayes for orders and "
    "number types that those cannot hold."
)


def advice() -> Listing:
    """Advice on each construction."""
    return Listing(("construction", "advice"), [(entry.name, entry.advice) for entry in CONSTRUCTIONS.values()])


TABLES: dict[str, Callable[[], Listing]] = {made.__name__: made for made in (advice, sources, shapes, precision)}
