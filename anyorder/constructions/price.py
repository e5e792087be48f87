"""The price of an order: the cost of every construction, next to the lower bound for models of its kind."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from anyorder.constructions import bounds
from anyorder.constructions.construction import Construction, evaluated
from anyorder.constructions.registry import CONSTRUCTIONS, LARGEST_ORDER, Plan, plan
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


#: One construction for each kind of model whose price is counted in bits.
SHOWN = ("one-layer", "recurrent", "unrolled")
#: The panels go at least to this order and to this power of two of the length.
ORDERS, DOUBLINGS = 8, 14


@dataclasses.dataclass(frozen=True)
class PriceLine:
    """The price of one construction, and the lower bound for models of its kind."""

    name: str
    unit: str
    pays: list[float]
    least: list[float]


@dataclasses.dataclass(frozen=True)
class PricePanel:
    """The price of an order over the order or over the length."""

    title: str
    x: str
    places: list[float]
    lines: list[PriceLine]


@gated
def panels(*, order: int, alphabet_size: int, length: int, dtype: str = "float64") -> list[PricePanel]:
    """Bits over the order at one length, and over the length at one order.

    >>> [panel.x for panel in panels(order=2, alphabet_size=2, length=64)]
    ['order k', 'length T']
    """
    asked = {"order": order, "alphabet_size": alphabet_size, "length": length}

    def panel(axis: str, places: Sequence[int], x: str, title: str) -> PricePanel:
        lines = []
        for name in SHOWN:
            found = [price(name, dtype=dtype, **asked | {axis: place}) for place in places]
            paid, least = [_as_float(one.pays) for one in found], [_as_float(one.least) for one in found]
            lines.append(PriceLine(name, str(found[0].unit), paid, least))
        return PricePanel(title, x, list(map(float, places)), lines)

    orders = range(1, min(max(order, ORDERS), length - 1, LARGEST_ORDER) + 1)
    first, last = (2 * order + 2).bit_length(), max(DOUBLINGS, (length - 1).bit_length() if length < 1 << 59 else 59)
    lengths = [1 << power for power in range(first, last + 1)]
    return [panel("order", orders, "order k", f"T = {length}"), panel("length", lengths, "length T", f"k = {order}")]


def _as_float(bits: int | None) -> float:
    """A number of bits, NaN where a logarithmic axis of Matplotlib would overflow.

    >>> _as_float(43), _as_float(10**400)
    (43.0, nan)
    """
    return float(bits or 0) if (bits or 0) < 10**200 else math.nan
