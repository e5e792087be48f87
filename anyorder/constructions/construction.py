"""The registry entry of a construction, its options, and the evaluation of its formulas."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from anyorder.constructions.certificate import Analysis, Request
from anyorder.constructions.steps import Step
from anyorder.errors import InputError, require
from anyorder.models import Transformer

OptionValue = bool | int | float


@dataclasses.dataclass(frozen=True)
class Option:
    """An option that only some constructions have; its type is that of its default.

    `above` is an exclusive lower limit, `least` and `most` are inclusive limits. With `relieves` a larger value, up to
    the order or to the length, needs fewer bits, so that an error message can propose one.

    >>> Option("beta", 1.0, "smoothing", above=0, usual="1 is usual").checked(2)
    2.0
    """

    name: str
    default: OptionValue
    help: str
    least: int | float | None = None
    most: int | float | None = None
    above: int | float | None = None
    usual: str = ""
    relieves: Literal["", "order", "length"] = ""

    def checked(self, value: object) -> OptionValue:
        """The value in the option's type, or an `InputError` that names value, limit and remedy."""
        value = value.item() if isinstance(value, np.generic) else value
        kind = type(self.default)
        end = f"; {self.usual}" if self.usual else ""
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool) != (kind is bool)
            or not math.isfinite(value)
            or (kind is int and value != int(value))
        ):
            words = {bool: "True or False", int: "a whole number", float: "a number"}[kind]
            raise InputError(f"{self.name} is {value!r}, must be {words}{end}")
        above = self.above is None or value > self.above
        require(above, f"{self.name} is {value}, must be above {self.above}{end}")
        inside = (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        limits = f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"
        require(inside, f"{self.name} is {value}, must be {limits}{end}")
        return kind(value)


#: Smoothing of the constructions with a sink.
BETA = Option(
    "beta", 1.0, "smoothing: the number added to every count", above=0, usual="1 is Bayes-optimal for Dirichlet(1) rows"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Construction:
    """The registry entry of a construction, with all its properties; no other code tests its name.

    `title`, `advice`: a description, and when to use it.
    `heads` (by layer), `dimension`, `mlp` (depth, width), `parameters`: its size, counted as in App. I and Table 1.
    `state`: how many numbers it stores while it reads T tokens: keys and values of every head, or tables and the rows
    of a convolution.
    `bounded`: the quantity with a lower bound for models of its kind in `anyorder.constructions.bounds`: mantissa bits
    of the codes of layer one, bits through all heads, taps of the convolution, or bits of the state.
    `analyse`: None without a certificate; then `default_kappa` is needed.
    `width`: the side of its largest matrix, if that grows with the length of sequences.
    `check_size`: rejects a request whose model does not fit into memory; called before anything is built.
    `kappa_power`: p, if every weight is a + b · kappa^p with constants a and b; 1 or 1/2.
    `opening`: positions after the first full window that the certificate does not cover.
    `last_order` and `measured_length` limit the search for the largest exact order; `variants` are option settings
    that are measured too. `instead` names constructions to propose if this one is rejected, best first.
    """

    name: str
    title: str
    source: str = "ours"
    advice: str
    exactness: str = "exact"
    heads: str = "1, 1"
    dimension: str
    mlp: tuple[str, str] | None = None
    parameters: str
    state: str = ""
    bounded: Literal["", "code", "heads", "taps", "state"] = "code"
    margin: str = ""
    build: Callable[..., Transformer]
    analyse: Callable[..., Analysis] | None = None
    steps: Callable[..., tuple[Step, ...]]
    options: tuple[Option, ...] = ()
    default_kappa: Callable[[Request], float] | None = None
    kappa_power: float = 1.0
    largest_order: int | None = None
    width: Callable[[Request], int] | None = None
    check_size: Callable[..., None] | None = None
    opening: int = 0
    last_order: int = 32
    measured_length: int = 1024
    variants: tuple[Mapping[str, OptionValue], ...] = ()
    instead: tuple[str, ...] = ("unrolled", "k-head")
    norm_vectors: int = 2

    @property
    def layers(self) -> int:
        """The number of attention layers."""
        return self.heads.count(",") + 1

    def settings(self, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """All options with their values; given ones are checked, and options of other constructions rejected."""
        own = {option.name: option for option in self.options}
        unknown = sorted(set(given) - set(own))
        if unknown:
            others = f"its options are {', '.join(own)}" if own else "it has none"
            raise InputError(f"`{self.name}` has no option {', '.join(unknown)}; {others}")
        return {name: option.checked(given.get(name, option.default)) for name, option in own.items()}


def evaluated(formula: str, **symbols: int) -> int:
    """The value of a formula of the registry: sums, products without a sign, powers, and rounded quotients.

    >>> evaluated("S^k(2d + 1) + ⌈k/2⌉T", S=2, k=3, d=4, T=10)
    92
    """
    plain = formula.replace("²", "^2").replace("^", "**")
    plain = re.sub(r"⌊(.*?)/(.*?)⌋", r"((\1)//(\2))", plain)
    plain = re.sub(r"⌈(.*?)/(.*?)⌉", r"(-(-(\1)//(\2)))", plain)
    plain = re.sub(r"(?<=[0-9a-zA-Z)])(?=[a-zA-Z(])", "*", plain)
    return eval(plain, {"__builtins__": {}}, dict(symbols))
