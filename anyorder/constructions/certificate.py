"""Certificates: margin → kappa → bound on the error → bits. docs/certificates.md has the derivations.

Attention weights are exp(kappa · s) with s the score of a key. A miss is at least `margin` below a match, so
all misses together weigh at most T · exp(-kappa · margin) relative to one match. Rounding changes a score by some
multiple of u = 2^-p, with p the mantissa bits of the dtype; the rest of the margin must still separate them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from anyorder.io.numerics import DTYPES, mantissa_bits
from anyorder.models import Certificate

#: Fraction of the target error that leakage may use, the rest being for rounding: kappa grows only logarithmically.
LEAKAGE_SHARE = 0.01
#: The margin that must remain after rounding, in units of u, for an order to count as supported.
SPARE_UNITS = 2.0
#: Origins of the units of rounding; see docs/certificates.md, Rounding.
DERIVED = "derived"
EXTRAPOLATED = "extrapolated from all windows in float16 and bfloat16"
#: Assumptions of certificates about the backend.
EQUAL_SCORES = "equal keys get bit-equal scores"
WHOLE_SUMS = "the weights of a window add up to its number within 1/2"


@dataclasses.dataclass(frozen=True)
class Request:
    """A request, from which every construction is built together with its own options."""

    order: int
    alphabet_size: int
    length: int
    dtype: str
    target_error: float


@dataclasses.dataclass(frozen=True)
class Analysis:
    """The analysis of a construction's scores, in units of kappa; u is the unit roundoff.

    `miss_units`: a derived bound, in u, on the rounding of the difference between a match and a miss.
    `match_units`: the same between two scores that should be equal; zero where equal windows have
    bit-identical keys. `measured`: smaller units for both, satisfied by all windows of small orders in float16 and
    bfloat16; the certificate uses them where the derived ones do not meet the target.
    `sensitivity`: error of a probability per relative error of a weight.
    `size`: the largest score. `code_bits`: bits for the numbers of the code.
    `output_units`: rounding of the output; a quotient of counts has two stored sums and a division.
    `whole`: kappa is rounded to a power of two. `tempered`: False if no softmax has to be sharp; then kappa is 1.
    `estimator`: the estimator that is computed, as in `anyorder estimate`.
    `assumes`: assumptions about the backend, which `backend` checks.
    """

    margin: float
    miss_units: float
    match_units: float = 0.0
    measured: tuple[float, float] | None = None
    sensitivity: float = 0.5
    size: float = 1.0
    code_bits: int = 0
    output_units: float = 4.0
    whole: bool = False
    tempered: bool = True
    estimator: str = "kgram"
    assumes: tuple[str, ...] = (EQUAL_SCORES,)

    @property
    def least_units(self) -> tuple[float, float]:
        """The units of a miss and of matches: the measured ones if given, otherwise the derived ones."""
        return self.measured or (self.miss_units, self.match_units)


def nearest_miss(total: int) -> float:
    """The least 1 - cos between different codes whose integer coordinates add up to `total`.

    For distinct vectors v, u of non-negative integers with one sum C the angle satisfies tan θ ≥ 1 / (C - 1),
    with equality at (C, 0) and (C - 1, 1): the sharp form of the paper's 3^-k (note N1).

    >>> nearest_miss(1), round(nearest_miss(7), 6)
    (1.0, 0.013606)
    """
    sine, rest = 1.0, float(total - 1)
    length = math.hypot(rest, sine)
    return sine**2 / (length * (length + rest))  # = 1 - rest / length, without cancellation


def default_target(dtype: str) -> float:
    """1e-5, or the resolution of the dtype if that is coarser.

    >>> default_target("float64"), default_target("bfloat16")
    (1e-05, 0.03125)
    """
    return max(1e-5, 8.0 * unit_roundoff(dtype))


def unit_roundoff(dtype: str) -> float:
    """u = 2^-p, the largest relative error of one rounding.

    >>> unit_roundoff("bfloat16")
    0.00390625
    """
    return 2.0 ** -mantissa_bits(DTYPES[dtype])


def certify(
    name: str,
    request: Request,
    analysis: Analysis,
    kappa: float | None = None,
    options: Mapping[str, bool | int | float] | None = None,
) -> Certificate:
    """The certificate of one construction at one dtype; `kappa` None takes the least that meets the target error.

    If the code does not fit into the mantissa, different windows are confused at any margin, and the bound is 1.
    """
    if not analysis.tempered:
        kappa = 1.0
    elif kappa is None:
        usable = analysis.margin - analysis.least_units[0] * unit_roundoff(request.dtype)
        wanted = math.log(request.length / (LEAKAGE_SHARE * request.target_error))
        kappa = wanted / (usable if usable > 0 else analysis.margin)
        kappa = 2.0 ** math.ceil(math.log2(kappa)) if analysis.whole else kappa
    bound = error_bound(request, analysis, kappa, analysis.miss_units, analysis.match_units)
    derived = analysis.measured is None or bound <= request.target_error
    return Certificate(
        construction=name,
        **dataclasses.asdict(request),
        estimator=analysis.estimator,
        margin=analysis.margin,
        kappa=kappa,
        bound=bound if derived else error_bound(request, analysis, kappa, *analysis.least_units),
        rounding=DERIVED if derived else EXTRAPOLATED,
        bits_needed=bits_needed(request, analysis),
        mantissa_bits=mantissa_bits(DTYPES[request.dtype]),
        options=tuple((options or {}).items()),
        assumes=tuple(analysis.assumes),
    )


def error_bound(request: Request, analysis: Analysis, kappa: float, miss_units: float, match_units: float) -> float:
    """The largest error of a probability if rounding stays within these units of u; see docs/certificates.md."""
    u = unit_roundoff(request.dtype)
    usable = max(analysis.margin - miss_units * u, 0.0)
    leakage = request.length * math.exp(-kappa * usable) if analysis.tempered else 0.0
    uneven = analysis.sensitivity * math.expm1(min(kappa * match_units * u, 700.0))
    lost = float(analysis.code_bits > mantissa_bits(DTYPES[request.dtype]))
    return min(1.0, leakage + uneven + analysis.output_units * u + lost)


def cosine_units(shared: int, margin: float, query_units: float = 3.0) -> float:
    """Rounding, in u, of the difference of two cosines of exact integer codes with `shared` symbols in common.

    Rounding affects two keys (length and quotients), two dot products of `shared` terms, and the query, whose error is
    multiplied by the difference of two directions.

    >>> round(cosine_units(2, nearest_miss(2**10 - 1)), 3)
    8.003
    """
    return 4.0 + 2.0 * shared + query_units * math.sqrt(2 * margin)


def bits_needed(request: Request, analysis: Analysis) -> int:
    """The smallest number of mantissa bits that supports the order at the target error.

    >>> request = Request(order=12, alphabet_size=2, length=1024, dtype="float32", target_error=1e-5)
    >>> bits_needed(request, Analysis(margin=nearest_miss(2**12 - 1), miss_units=6.0))
    28
    """
    if not analysis.tempered:
        return analysis.code_bits
    miss_units, match_units = analysis.least_units
    separation = math.log2((miss_units + SPARE_UNITS) / analysis.margin)
    wanted = math.log(request.length / (LEAKAGE_SHARE * request.target_error)) / analysis.margin
    evenness = analysis.sensitivity * wanted * match_units / request.target_error
    return max(math.ceil(separation), math.ceil(math.log2(max(evenness, 1.0))), analysis.code_bits)
