"""All constructions by name; `plan` analyses a request, and `construct` builds it."""

from __future__ import annotations

import bisect
import dataclasses
import operator
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.constructions.associative import ASSOCIATIVE
from anyorder.constructions.attention_only import ATTENTION_ONLY
from anyorder.constructions.bigram import BIGRAM
from anyorder.constructions.certificate import Analysis, Request, certify, default_target
from anyorder.constructions.construction import Construction, OptionValue
from anyorder.constructions.convolution import CONVOLUTION
from anyorder.constructions.disentangled import DISENTANGLED
from anyorder.constructions.dyadic import BAYES, DYADIC
from anyorder.constructions.one_layer import ONE_LAYER
from anyorder.constructions.recurrent import RECURRENT, RECURRENT_BAYES
from anyorder.constructions.steps import Step
from anyorder.constructions.three_layer import THREE_LAYER
from anyorder.constructions.two_head import TWO_HEAD, TWO_HEAD_QK
from anyorder.constructions.two_layer import TWO_LAYER, TWO_LAYER_QK
from anyorder.constructions.unrolled import K_HEAD, K_HEAD_BAYES, UNROLLED, UNROLLED_BAYES
from anyorder.errors import InputError, as_number, check_order, require
from anyorder.io.gates import gated
from anyorder.io.numerics import DTYPES, dtype_of
from anyorder.io.plugins import Registry
from anyorder.models import Certificate, Transformer, weights_digest

#: Larger values exceed the range of float64, or the memory.
LARGEST_ORDER, LARGEST_ALPHABET = 128, 512

_SHIPPED = (
    TWO_LAYER, TWO_LAYER_QK, TWO_HEAD, TWO_HEAD_QK, THREE_LAYER, K_HEAD, DISENTANGLED, BIGRAM, ASSOCIATIVE, DYADIC,
    ATTENTION_ONLY, BAYES, K_HEAD_BAYES, UNROLLED, UNROLLED_BAYES, ONE_LAYER, CONVOLUTION, RECURRENT, RECURRENT_BAYES,
)  # fmt: skip


#: Every construction, by name.
CONSTRUCTIONS: Registry[Construction] = Registry("construction", {one.name: one for one in _SHIPPED}, Construction)


@dataclasses.dataclass(frozen=True)
class Plan:
    """One request to one construction, before anything is built.

    `certificate` is that of the model, None for a construction without one. `shortcoming` is the reason why the dtype
    does not support it, None if it does.
    """

    construction: Construction
    request: Request
    options: dict[str, OptionValue]
    kappa: float
    analysis: Analysis | None = None
    certificate: Certificate | None = None

    def __repr__(self) -> str:
        asked, options = self.request, "".join(f", {name} {value}" for name, value in self.options.items())
        chains = f"order {asked.order} over {asked.alphabet_size} symbols, {asked.length} tokens, {asked.dtype}"
        return f"Plan({self.construction.name}, {chains}{options}, kappa {self.kappa:.4g})"

    @property
    def shortcoming(self) -> str | None:
        """The reason why the dtype does not support the certificate, as the end of a sentence; None if it does."""
        if self.analysis is None or self.certificate is None:
            return None
        promise, dtype = self.certificate, self.request.dtype
        if promise.bits_needed > promise.mantissa_bits:
            return f"needs {promise.bits_needed} bits, {dtype} has {promise.mantissa_bits}"
        largest, limit = promise.kappa * self.analysis.size, float(jnp.finfo(DTYPES[dtype]).max)
        return f"has scores up to {largest:.3g}, {dtype} ends at {limit:.3g}" if largest > limit else None

    @property
    def refusal(self) -> str | None:
        """The error message, with remedies; None if the request can be built."""
        shortcoming, order, name = self.shortcoming, self.request.order, self.construction.name
        return None if shortcoming is None else f"order {order} with `{name}` {shortcoming}; use {_ways_out(self)}"

    @property
    def beta(self) -> float:
        """The smoothing β of the estimator; 1 if it has none."""
        return float(self.options.get("beta", 1.0))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The proof, as data."""
        return self.construction.steps(self.request, **self.options)

    def at(self, kappa: float) -> Plan:
        """The plan of the same request with another kappa."""
        return _plan(self.construction, self.request, self.options, kappa, self.analysis)

    def check_size(self) -> None:
        """Reject a model that does not fit into memory."""
        if self.construction.check_size is not None:
            self.construction.check_size(self.request, **self.options)

    def build(self, force: bool = False) -> Transformer:
        """The model with its certificate; an order beyond the precision of the dtype is rejected unless `force`."""
        self.check_size()
        if not force and (refusal := self.refusal) is not None:
            raise InputError(refusal)
        model = self.construction.build(self.request, self.kappa, **self.options)
        dtype = DTYPES[self.request.dtype]
        arrays = np.ndarray | jax.Array
        with np.errstate(over="ignore"):  # in NumPy: JAX would compile a program for every shape
            model = jax.tree.map(lambda leaf: np.asarray(leaf, dtype) if isinstance(leaf, arrays) else leaf, model)
        if self.certificate is not None:
            promise = dataclasses.replace(self.certificate, weights=weights_digest(model))
            model = dataclasses.replace(model, certificate=promise)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if isinstance(leaf, np.ndarray) else leaf, model)


@gated
def plan(
    name: str | Construction,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    dtype: str = "float64",
    target_error: float | None = None,
    kappa: float | None = None,
    **options: OptionValue,
) -> Plan:
    """The plan of a construction, by name or object: its analysis, certificate and possible shortcoming.

    >>> found = plan("unrolled", order=30, alphabet_size=2, length=1024, dtype="float32")
    >>> found.certificate.bits_needed, found.certificate.bound, found.shortcoming
    (32, 1.0, 'needs 32 bits, float32 has 24')
    >>> found.refusal.partition("; ")[2]
    'use float64, 2 heads (`heads=2`), order ≤ 22, or `k-head`'
    """
    entry, dtype = find(name), dtype_of(dtype).name
    check_order(order, length)
    require(order <= LARGEST_ORDER, f"order is {order}, constructions go to {LARGEST_ORDER}; lower the order")
    require(
        alphabet_size <= LARGEST_ALPHABET,
        f"alphabet size is {alphabet_size}, constructions take {LARGEST_ALPHABET} symbols; join the rare ones",
    )
    others = " or ".join(f"`{name}`" for name in entry.instead)
    require(
        entry.largest_order is None or order <= entry.largest_order,
        f"order is {order}, `{entry.name}` is for order {entry.largest_order}; use {others}",
    )
    target = default_target(dtype) if target_error is None else as_number("target error", target_error)
    require(0 < target < 1, f"target error is {target}, must be between 0 and 1; 1e-5 is usual")
    order, alphabet_size, length = map(operator.index, (order, alphabet_size, length))  # NumPy integers become Python's
    made = _plan(entry, Request(order, alphabet_size, length, dtype, target), entry.settings(options), kappa)
    require(
        kappa is None or made.kappa == kappa,
        f"kappa is {kappa}, `{entry.name}` has no softmax to sharpen; drop it",
    )
    return made


@gated
def construct(
    name: str | Construction,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    dtype: str = "float64",
    force: bool = False,
    **options: OptionValue,
) -> Transformer:
    """Build a construction: a `Transformer` with a certificate; the short form of `plan(...).build()`.

    `length` is the longest sequence that the certificate covers; requests beyond the precision of the dtype are
    rejected unless `force`. `options` are those of `plan`: `target_error`, `kappa`, and the construction's own, which
    `CONSTRUCTIONS[name].options` lists.

    >>> model = construct("dyadic", order=2, alphabet_size=2, length=16)
    >>> model([0, 0, 1, 1, 0, 0])[-1].round(9).tolist()  # 00 was followed by 1, once
    [0.0, 1.0]
    """
    made = plan(name, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype, **options)
    return made.build(force)


def planned(certificate: Certificate) -> Plan:
    """The plan described by a certificate, from which a stored model was built.

    >>> planned(construct("bigram", order=1, alphabet_size=2, length=8).certificate).construction.title
    'attention only, gated at position 0'
    """
    asked: dict[str, Any] = {field.name: getattr(certificate, field.name) for field in dataclasses.fields(Request)}
    return plan(certificate.construction, kappa=certificate.kappa, **asked | dict(certificate.options))


def find(name: str | Construction) -> Construction:
    """The construction of that name, or an `InputError` that lists all; a construction is returned unchanged.

    >>> find("dyadic").dimension
    '6S + 3'
    """
    return CONSTRUCTIONS.find(name)


def _plan(
    entry: Construction,
    request: Request,
    options: dict[str, OptionValue],
    kappa: float | None = None,
    analysis: Analysis | None = None,
) -> Plan:
    """The plan of a request with this kappa; None takes the smallest sufficient one."""
    if analysis is None and entry.analyse is not None:
        analysis = entry.analyse(request, **options)
    if kappa is not None:
        kappa = as_number("kappa", kappa)
        require(kappa > 0, f"kappa is {kappa}, must be above 0; drop it for the smallest sufficient value")
    if analysis is None:
        assert entry.default_kappa is not None, f"{entry.name} has neither a certificate nor a default kappa"
        return Plan(entry, request, options, kappa or entry.default_kappa(request))
    certificate = certify(entry.name, request, analysis, kappa, options)
    return Plan(entry, request, options, certificate.kappa, analysis, certificate)


def held(entry: Construction, request: Request, options: dict[str, OptionValue]) -> bool:
    """Whether the request can be built without force."""
    if (entry.largest_order or request.order) < request.order:
        return False
    try:
        return _plan(entry, request, options).shortcoming is None
    except InputError:  # options that are invalid at this order
        return False


def _relieved(entry: Construction, request: Request, options: dict[str, OptionValue]) -> Iterator[str]:
    """Options whose increase would suffice, each with the least sufficient value."""
    for option in entry.options:
        if not option.relieves:
            continue
        name = option.name
        higher = range(int(options[option.name]) + 1, getattr(request, option.relieves) + 1)
        enough = bisect.bisect_left(higher, True, key=lambda value: held(entry, request, options | {name: value}))
        if enough < len(higher):
            yield f"{higher[enough]} {name} (`{name}={higher[enough]}`)"


def _other(entry: Construction, request: Request) -> Iterator[str]:
    """Another construction that supports the request, unchanged or with larger options."""
    options = entry.settings({})
    if held(entry, request, options):
        yield f"`{entry.name}`"
    else:
        yield from (f"`{entry.name}` with {way}" for way in _relieved(entry, request, options))


def _ways_out(refused: Plan) -> str:
    """Remedies that work, best first: wider dtype, larger options, smaller order or length, another construction."""
    entry, request, options = refused.construction, refused.request, refused.options

    def holds(**other: Any) -> bool:
        return held(entry, dataclasses.replace(request, **other), options)

    wider = (dtype for dtype in list(DTYPES)[list(DTYPES).index(request.dtype) + 1 :] if dtype != "float16")
    types = (dtype for dtype in wider if holds(dtype=dtype, target_error=default_target(dtype)))
    orders = (f"order ≤ {order}" for order in range(request.order - 1, 0, -1) if holds(order=order))
    lengths = range(request.order + 1, request.length)
    fitting = lengths[: bisect.bisect_left(lengths, True, key=lambda length: not holds(length=length))]
    smaller = chain(orders, (f"length ≤ {length}" for length in fitting[-1:]))
    others = (way for name in entry.instead for way in _other(CONSTRUCTIONS[name], request))
    relieved = _relieved(entry, request, options)
    ways = [*islice(types, 1), *relieved, *islice(smaller, 1), *islice(others, 1)]
    return ", ".join(ways[:-1]) + (", or " if len(ways) > 1 else "") + ways[-1] if ways else "force to build it anyway"
