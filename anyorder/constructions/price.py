"""The price of an order: the cost of every construction, next to the lower bound for models of its kind."""

from __future__ import annotations

import dataclasses
import math

from anyorder.constructions import bounds
from anyorder.constructions.construction import Construction, evaluated
from anyorder.constructions.registry import CONSTRUCTIONS, Plan, plan
from anyorder.io.gates import gated
from anyorder.io.numerics import DTYPES

#: `Construction.bounded` → the unit of the lower bound.
UNITS = {
    "code": "mantissa bits",
    "heads": "bits through the heads",
    "taps": "taps",
    "state": "bits of state",
}


@dataclasses.dataclass(frozen=True)
class Price:
    """The cost of a construction, computed without building it.

    parameters: by the paper's rules, with T key positions in every attention head.
    state_bits: numbers stored while T tokens are streamed, times the bits of each.
    bits_needed: mantissa bits for the target error; None without a certificate.
    pays, least: the amount of `unit` that this model has, and its lower bound; None without a bound.
    """

    construction: str
    layers: int
    heads: tuple[int, ...]
    dimension: int
    parameters: int
    state_bits: int
    bits_needed: int | None
    unit: str | None
    pays: int | None
    least: int | None


@gated
def price(name: str | Construction, *, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> Price:
    """The price of one construction, with its default options.

    >>> found = price("recurrent", order=3, alphabet_size=2, length=1024)
    >>> found.parameters, found.pays, found.unit, found.least  # 16 counts and 3 rows of 10 numbers, 64 bits each
    (288, 2944, 'bits of state', 43)
    """
    made = plan(name, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype)
    entry, word = made.construction, 8 * DTYPES[made.request.dtype].itemsize
    sizes = {"k": made.request.order, "S": made.request.alphabet_size, "T": made.request.length}
    dimension = int(made.options["dimension"]) if entry.dimension == "any" else evaluated(entry.dimension, **sizes)
    parameters, numbers = (evaluated(formula, d=dimension, **sizes) for formula in (entry.parameters, entry.state))
    needed = None if made.certificate is None else made.certificate.bits_needed
    heads = tuple(evaluated(count, **sizes) for count in entry.heads.split(", "))
    pays, least = _bounded(made, heads, numbers * word, word)
    unit = UNITS.get(entry.bounded)
    return Price(entry.name, entry.layers, heads, dimension, parameters, numbers * word, needed, unit, pays, least)


@gated
def prices(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> list[Price]:
    """The price of every construction of this order; plug-ins are included if they state their size.

    >>> [one.construction for one in prices(order=1, alphabet_size=2, length=16) if one.layers == 1]
    ['one-layer', 'convolution', 'recurrent', 'recurrent-bayes']
    """

    def has_order(entry: Construction) -> bool:
        return bool(entry.state) and order <= (entry.largest_order or order)

    asked = {"order": order, "alphabet_size": alphabet_size, "length": length}
    return [price(entry.name, dtype=dtype, **asked) for entry in CONSTRUCTIONS.values() if has_order(entry)]


def _bounded(made: Plan, heads: tuple[int, ...], state: int, word: int) -> tuple[int | None, int | None]:
    """The bounded quantity of this model, and its lower bound over all models of the kind."""
    k, s, t = made.request.order, made.request.alphabet_size, made.request.length
    match made.construction.bounded:
        case "code":
            return None if made.certificate is None else made.certificate.bits_needed, bounds.code_bits(k, heads[0])
        case "heads":
            return heads[0] * (s + 2) * word, math.ceil(bounds.attention_bits(k, s, t))
        case "taps":
            return k + 1, bounds.taps(k)
        case "state":
            return state, math.ceil(bounds.state_bits(k, s, t))
    return None, None
