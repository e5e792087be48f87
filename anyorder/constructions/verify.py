"""Verification: run a construction on hard sequences and compare it with the exact estimator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder.constructions.backend import ASSUMPTIONS
from anyorder.constructions.construction import Construction, OptionValue
from anyorder.constructions.hard_sequences import all_sequences, check_count, hard_sequences
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.registry import Plan, find, plan, planned
from anyorder.errors import InputError, require
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.io.gates import check_memory, gated
from anyorder.io.notebook import as_html
from anyorder.models import Transformer


@dataclasses.dataclass(frozen=True)
class Verification:
    """The worst error over all defined positions of all sequences, next to the bound."""

    construction: str
    order: int
    alphabet_size: int
    length: int
    dtype: str
    layers: int
    heads: tuple[int, ...]
    dimension: int
    parameters: int
    kappa: float | None
    margin: float | None
    bits_needed: int | None
    mantissa_bits: int | None
    bound: float | None
    max_error: float
    positions_checked: int
    passed: bool
    sequences: int
    exhaustive: bool
    assumptions: dict[str, bool]

    def _repr_html_(self) -> str:
        return as_html(f"{self.construction}: {'passed' if self.passed else 'failed'}", dataclasses.asdict(self))

    @property
    def reason(self) -> str | None:
        """The reason for a failure, in words."""
        if self.passed or self.bound is None:
            return None
        broken = [assumed for assumed, kept in self.assumptions.items() if not kept]
        if broken:
            return f"this backend violates the certificate's assumptions: {', '.join(broken)}"
        if self.bound >= 1:
            return "the bound is 1, which is no guarantee"
        return f"the largest error {self.max_error:.3g} is above the bound {self.bound:.3g}"


#: Numbers in one attention map: 2 GiB in float64.
MOST_SCORES = 1 << 28


def within(error: float, bound: float | None) -> bool:
    """Whether an error is within the bound; none is within a bound of 1, and without a bound every error passes.

    >>> within(1e-7, 1e-6), within(0.4, 1.0), within(0.4, None)
    (True, False, True)
    """
    return bound is None or error <= bound < 1


def expected(
    model: Transformer, tokens: Int[np.ndarray, "length"], order: int, beta: float = 1.0
) -> Float[np.ndarray, "length symbols"]:
    """The distribution that a construction must compute after every position, NaN where it has no guarantee.

    >>> from anyorder.constructions import construct
    >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
    >>> expected(model, np.array([0, 1, 0]), order=1).tolist()
    [[nan, nan], [nan, nan], [0.0, 1.0]]
    """
    estimator, opening = "kgram", 0
    if model.certificate is not None:
        estimator, opening = model.certificate.estimator, find(model.certificate.construction).opening
    rows = StreamingEstimator(order, model.alphabet_size, estimator, beta=beta).distributions(tokens)
    rows[order - 1 : order - 1 + opening] = np.nan  # full windows that the certificate does not cover
    return rows


def errors(
    model: Transformer, batch: Int[np.ndarray, "count length"], order: int, beta: float = 1.0
) -> Float[np.ndarray, "count length"]:
    """The deviations of a model from its expected distributions, NaN where it has no guarantee."""
    predicted = np.asarray(jax.vmap(model)(jnp.asarray(batch, jnp.int32)).astype(jnp.float64))
    exact = np.stack([expected(model, tokens, order, beta) for tokens in batch])
    return deviations(predicted, exact)


def deviations(
    predicted: Float[np.ndarray, "*batch length symbols"], exact: Float[np.ndarray, "*batch length symbols"]
) -> Float[np.ndarray, "*batch length"]:
    """The largest error of a probability at every position, NaN where the exact estimator is not defined.

    An output of NaN is an infinite error.

    >>> deviations(np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, 1.0]]), np.array([[np.nan] * 2, [0.0, 1.0], [0.0, 1.0]]))
    array([nan, 0.2, inf])
    """
    wrong = np.nan_to_num(np.abs(predicted - exact), nan=np.inf, posinf=np.inf).max(axis=-1)
    return np.where(np.isnan(exact[..., 0]), np.nan, wrong)


def worst_over(
    model: Transformer,
    batches: Iterable[Int[np.ndarray, "count length"]],
    order: int,
    beta: float = 1.0,
    *,
    check: Callable[[], None] | None = None,
) -> tuple[float, int]:
    """The largest error over batches of sequences, and the number of positions with a guarantee.

    `check` is called before each batch and may raise an exception to stop.
    """
    worst, checked = 0.0, 0
    for batch in batches:
        if check is not None:
            check()
        measured = errors(model, batch, order, beta)
        defined = ~np.isnan(measured)
        worst = max(worst, float(np.max(measured, initial=0.0, where=defined)))
        checked += int(defined.sum())
    return worst, checked


@gated
def verify(
    subject: str | Construction | Plan | Transformer,
    *,
    order: int | None = None,
    alphabet_size: int | None = None,
    length: int | None = None,
    dtype: str | None = None,
    sequences: int = 8,
    seed: int = 0,
    exhaustive: bool = False,
    force: bool = False,
    check: Callable[[], None] | None = None,
    **options: OptionValue,
) -> Verification:
    """Build a construction and measure its worst error on random, periodic, sparse and de Bruijn sequences.

    The subject is a construction or its name, with `order`, `alphabet_size`, `length` and the `options` of `plan`
    (`target_error`, `kappa`, and the construction's own); or a plan; or a model with a certificate, which is measured
    unchanged. With `exhaustive` the sequences are all S^T of length T, compared with exact counts. The certificate's
    assumptions about the backend are checked first. With `check` the hard sequences are run one by one, and it is
    called before each of them, as in `worst_over`.

    >>> verify("k-head", order=2, alphabet_size=2, length=64, sequences=4).passed
    True
    >>> found = verify(plan("unrolled", order=2, alphabet_size=2, length=6), exhaustive=True)
    >>> found.sequences, found.passed
    (64, True)
    """
    made = _plan_of(subject, order=order, alphabet_size=alphabet_size, length=length, dtype=dtype, **options)
    order, alphabet_size, length = made.request.order, made.request.alphabet_size, made.request.length
    require(sequences >= 1, f"sequences is {sequences}, must be at least 1; 8 shows every kind twice")
    if exhaustive:
        check_count(alphabet_size, length)
    made.check_size()
    require(
        length**2 <= MOST_SCORES,
        f"length is {length}, an attention map of {length}² numbers is above the limit of {MOST_SCORES}; "
        f"pass `length={int(MOST_SCORES**0.5)}` or less",
    )
    at_once = 1 if check is not None or exhaustive else sequences
    maps = f"{at_once} attention maps of {length}² numbers"
    check_memory(8 * at_once * length**2, maps, "pass a smaller `length=` or `sequences=`")
    model = subject if isinstance(subject, Transformer) else made.build(force)
    assumes: tuple[str, ...] = getattr(made.analysis, "assumes", ())
    assumptions = {assumed: ASSUMPTIONS[assumed](model, made.request) for assumed in assumes}
    batches: Iterable[Int[np.ndarray, "count length"]]
    if exhaustive:
        batches = all_sequences(alphabet_size, length)
    else:
        hard = hard_sequences(count=sequences, length=length, alphabet_size=alphabet_size, order=order, seed=seed)
        batches = [hard] if check is None else hard[:, None]
    worst, checked = worst_over(model, batches, order, made.beta, check=check)
    promised = ("kappa", "margin", "bits_needed", "mantissa_bits", "bound")
    promise = {name: getattr(made.certificate, name, None) for name in promised}
    return Verification(
        construction=made.construction.name,
        order=order,
        alphabet_size=alphabet_size,
        length=length,
        dtype=model.dtype.name,
        layers=len(model.layers),
        heads=tuple(len(layer.heads) for layer in model.layers),
        dimension=model.dimension,
        parameters=count_arrays(model),
        **promise,
        max_error=worst,
        positions_checked=checked,
        passed=within(worst, promise["bound"]) and all(assumptions.values()),
        sequences=alphabet_size**length if exhaustive else sequences,
        exhaustive=exhaustive,
        assumptions=assumptions,
    )


def _plan_of(subject: str | Construction | Plan | Transformer, dtype: str | None, **asked: Any) -> Plan:
    """The plan of a construction with these options, a plan itself, or the plan of a model's certificate."""
    if not isinstance(subject, Plan | Transformer):
        return plan(subject, dtype=dtype or "float64", **asked)
    again = ", ".join(f"`{name}=`" for name, value in {**asked, "dtype": dtype}.items() if value is not None)
    require(not again, f"a {type(subject).__name__} fixes order, alphabet and options; drop {again}")
    if isinstance(subject, Plan):
        return subject
    if subject.certificate is None:
        raise InputError("the model has no certificate to verify; measure it with `anyorder.training.evaluate`")
    return planned(subject.certificate)
