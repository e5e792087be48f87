"""All constructions by name, and `construct`, which builds one and certifies it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from anyorder.constructions import associative as bietti
from anyorder.constructions import (
    attention_only,
    bayes,
    bigram,
    disentangled,
    dyadic,
    k_head,
    three_layer,
    two_head,
    two_layer,
)
from anyorder.constructions.certificate import Analysis, Request, certify, default_target, shortcoming
from anyorder.errors import InputError, check_alphabet, check_order, require
from anyorder.numerics import DTYPES, dtype_of
from anyorder.transformer import Transformer

#: Beyond these the numbers of a code leave the range of float64, and the weights leave the memory.
LARGEST_ORDER, LARGEST_ALPHABET = 128, 512


@dataclasses.dataclass(frozen=True)
class Construction:
    """What is known of a construction before it is built; heads, dimension and parameters are for people.

    `parameters` is the count of App. I and Table 1 where the paper has one, in its own accounting.
    """

    name: str
    title: str
    source: str
    exactness: str
    heads: str
    dimension: str
    parameters: str
    build: Callable[..., Transformer]
    analyse: Callable[..., Analysis] | None
    largest_order: int | None = None

    @property
    def layers(self) -> int:
        """The number of attention layers."""
        return self.heads.count(",") + 1

    @property
    def options(self) -> list[str]:
        """Names of the options that only this construction has."""
        return list(inspect.signature(self.build).parameters)[2:]


_PAPER = "9d² + d(2T + 2S + 9)"
# fmt: off
_TABLE = (
    Construction("two-layer", "one head, three MLP layers, base 3", "Theorem 3, App. B.1", "exact",
                 "1, 1", "6S + 3", _PAPER, two_layer.two_layer, two_layer.analyse),
    Construction("two-layer-qk", "one head, two MLP layers, normalised Q and K", "App. B.2", "biased",
                 "1, 1", "6S + 3", "8d² + d(2T + 2S + 8)", two_layer.two_layer_qk, two_layer.analyse_qk),
    Construction("two-head", "two heads in layer one, two MLP layers", "Theorem 2, App. A.2.1", "exact",
                 "2, 1", "6S + 3", "11d² + d(3T + 2S + 6)", two_head.two_head, two_layer.analyse),
    Construction("two-head-qk", "two heads in layer one, normalised Q and K, no MLP", "App. A.2.2", "biased",
                 "2, 1", "6S + 3", "9d² + d(3T + 2S + 4)", two_head.two_head_qk, two_layer.analyse_qk),
    Construction("three-layer", "one head, two MLP layers each", "Rajaraman et al., Theorem 1", "exact",
                 "1, 1, 1", "6S + 3", "15d² + d(3T + 2S + 12)", three_layer.three_layer, two_layer.analyse),
    Construction("k-head", "head j copies the token at offset j", "after Nichani et al.", "exact",
                 "k, 1", "(k + 2)S + 1", "d(4(k + 1)(S + 1) - 2) + T(kS + k + 1)",
                 k_head.k_head, k_head.analyse),
    Construction("disentangled", "one-hot positions, concatenated streams", "Nichani et al.", "exact",
                 "k, 1", "2(k + 1)(S + T)", "(k + (k + 1)²)(S + T)² + T(S + T)",
                 disentangled.disentangled, k_head.analyse),
    Construction("bigram", "attention only, gated at position 0", "Edelman et al.", "exact",
                 "1, 1", "3S", "21S² + 3TS", bigram.bigram, bigram.analyse, 1),
    Construction("associative", "random embeddings, error falls with d", "Bietti et al.", "approximate",
                 "1, 1", "any", "9d² + dS + Td", bietti.associative, None, 1),
    Construction("dyadic", "two-layer with base 2, exact codes, gated in the MLP", "ours", "exact",
                 "1, 1", "6S + 3", _PAPER, dyadic.dyadic, dyadic.analyse),
    Construction("attention-only", "no MLP, the most recent token weighs most", "ours", "exact",
                 "1, 1", "3S + 1", "2d² + d(4S + 6) + T(S + 1)",
                 attention_only.attention_only, attention_only.analyse),
    Construction("bayes", "dyadic with a beginning token as sink: add-β smoothing", "ours", "exact",
                 "1, 1", "6S + 3", "7d² + d(T + 4S + 12) + T(S + 1)", bayes.bayes, bayes.analyse),
    Construction("k-head-bayes", "k-head with the same sink: add-β in every dtype", "ours", "exact",
                 "k, 1", "(k + 2)S + 1", "d(4(k + 1)(S + 1) - 1) + T(kS + k + 1)",
                 k_head.k_head_bayes, k_head.analyse_bayes),
)
# fmt: on

#: Every construction, by name.
CONSTRUCTIONS: dict[str, Construction] = {entry.name: entry for entry in _TABLE}


def construct(
    name: str,
    *,
    order: int,
    alphabet_size: int,
    length: int,
    dtype: str = "float64",
    target_error: float | None = None,
    kappa: float | None = None,
    force: bool = False,
    **options: Any,
) -> Transformer:
    """Build a construction: a `Transformer` with a certificate.

    `length` is the longest sequence that the certificate speaks of; what the dtype cannot hold is refused
    unless `force`. Further options belong to single constructions: `beta` to the Bayes ones, `gated` to
    `bigram`, `dimension` and `seed` to `associative`.

    >>> model = construct("dyadic", order=2, alphabet_size=2, length=16)
    >>> model([0, 0, 1, 1, 0, 0])[-1].round(9).tolist()  # 00 was followed by 1, once
    [0.0, 1.0]
    """
    entry = find(name)
    request = _request(entry, order, alphabet_size, length, dtype, target_error)
    unknown = sorted(set(options) - set(entry.options))
    require(
        not unknown,
        f"`{name}` has no option {', '.join(unknown)}; its own are {', '.join(entry.options) or 'none'}",
    )
    require(
        kappa is None or kappa > 0,
        f"kappa is {kappa}, must be above 0; leave it out to take what suffices",
    )
    certificate = None
    if entry.analyse is None:
        kappa = bietti.default_kappa(request) if kappa is None else kappa
    else:
        analysis = entry.analyse(request, **options)
        certificate = certify(name, request, analysis, kappa)
        reason = None if force else shortcoming(certificate, analysis)
        if reason is not None:
            raise InputError(f"order {order} with `{name}` {reason}; use {_ways_out(entry, request, options)}")
        kappa = certificate.kappa
    model = entry.build(request, kappa, **options)
    model = jax.tree.map(lambda leaf: leaf.astype(request.dtype) if eqx.is_array(leaf) else leaf, model)
    return dataclasses.replace(model, certificate=certificate)


def find(name: str) -> Construction:
    """The construction of that name, or an `InputError` that lists them.

    >>> find("dyadic").dimension
    '6S + 3'
    """
    require(name in CONSTRUCTIONS, f"no construction {name!r}; there are {', '.join(CONSTRUCTIONS)}")
    return CONSTRUCTIONS[name]


def held(entry: Construction, request: Request, options: dict[str, Any] | None = None) -> bool:
    """Whether the request would be built without force."""
    if entry.analyse is None or (entry.largest_order or request.order) < request.order:
        return entry.analyse is None
    analysis = entry.analyse(request, **(options or {}))
    return shortcoming(certify(entry.name, request, analysis), analysis) is None


def _request(
    entry: Construction, order: int, alphabet_size: int, length: int, dtype: str, target_error: float | None
) -> Request:
    dtype = dtype_of(dtype).name
    check_order(order, length)
    require(order <= LARGEST_ORDER, f"order is {order}, constructions go to {LARGEST_ORDER}; lower the order")
    require(
        alphabet_size <= LARGEST_ALPHABET,
        f"alphabet size is {alphabet_size}, constructions take {LARGEST_ALPHABET} symbols; join the rare ones",
    )
    check_alphabet(alphabet_size)
    require(
        entry.largest_order is None or order <= entry.largest_order,
        f"order is {order}, `{entry.name}` is for order {entry.largest_order}; use `k-head` or `dyadic`",
    )
    target = default_target(dtype) if target_error is None else target_error
    require(0 < target < 1, f"target error is {target}, must be between 0 and 1; 1e-5 is usual")
    return Request(order, alphabet_size, length, dtype, target)


def _ways_out(entry: Construction, request: Request, options: dict[str, Any]) -> str:
    """Wider dtype, smaller order, other construction: those of them that work, as a list for a sentence."""
    ways = []
    wider = list(DTYPES)[list(DTYPES).index(request.dtype) + 1 :]
    for dtype in wider[::-1]:
        retyped = dataclasses.replace(request, dtype=dtype, target_error=default_target(dtype))
        if dtype != "float16" and held(entry, retyped, options):
            ways = [dtype]
    for order in range(request.order - 1, 0, -1):
        if held(entry, dataclasses.replace(request, order=order), options):
            ways.append(f"order ≤ {order}")
            break
    other = "k-head-bayes" if entry.name.endswith("bayes") else "k-head"
    if other != entry.name and held(CONSTRUCTIONS[other], request):
        ways.append(f"`{other}`")
    return ", ".join(ways[:-1]) + (", or " if len(ways) > 1 else "") + ways[-1] if ways else "force to build it anyway"
