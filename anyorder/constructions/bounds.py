"""Lower bounds on the resources of a model that computes the k-gram of every sequence. Proofs: docs/price.md.

Orders are k, alphabets have S symbols, sequences T tokens. A `word` is the number of bits of a stored number, `value`
the numbers in the value of a head.
"""

from __future__ import annotations

import bisect
import math

from anyorder.errors import check_order, require
from anyorder.io.gates import check_number, gated


@gated
def attention_bits(order: int, alphabet_size: int, length: int, wrong: float = 0.0) -> float:
    """Theorem A: bits that the heads of a single attention layer must carry, if their sums merge.

    wrong: the allowed fraction of wrong answers.

    >>> attention_bits(1, 3, 4201)
    2100.0
    """
    _check(order, alphabet_size, length)
    most = 1 - 1 / max(2, alphabet_size - 1)
    require(0 <= wrong < most, f"wrong is {wrong}, must be at least 0 and below {most:.3g}, the error rate of guessing")
    return max(0, _values(order, alphabet_size, length)) * _bits_each(alphabet_size, wrong)


@gated
def attention_heads(order: int, alphabet_size: int, length: int, *, value: int, word: int) -> int:
    """Theorem A: the least h with h(m + 2)W ≥ N log₂(S - 1): largest score, Z and A of a head are stored numbers.

    >>> attention_heads(1, 3, 4300, value=64, word=32)
    2
    """
    _positive(value=value, word=word)
    return max(1, math.ceil(attention_bits(order, alphabet_size, length) / ((value + 2) * word)))


@gated
def attention_heads_exact_sums(order: int, alphabet_size: int, length: int, *, value: int, word: int) -> int:
    """Theorem B: the least h if sums are exact and the outputs of heads are rounded to 2^W values; S ≥ 3.

    >>> attention_heads_exact_sums(1, 3, 1 << 13, value=64, word=32)
    3
    """
    _positive(value=value, word=word)
    values, each = _overwritten(order, alphabet_size, length)
    message = word + math.log2(math.e * values) + order * each
    return max(1, math.ceil(values * each / ((value + 1) * message)))


@gated
def attention_heads_real(order: int, alphabet_size: int, length: int, *, value: int, depth: int, width: int) -> int:
    """Theorem C: the least h over the reals, before a ReLU network of `depth` hidden layers of at most `width`; S ≥ 3.

    >>> attention_heads_real(1, 3, 1 << 13, value=3, depth=2, width=256)
    27
    """
    _positive(value=value, depth=depth)
    require(width >= alphabet_size, f"width is {width}, must be at least the {alphabet_size} symbols")
    values, each = _overwritten(order, alphabet_size, length)
    message = math.log2(4 * math.e * width * values) + order * each
    return max(1, math.ceil(values * each / ((value + 1) * (depth + 1) * message)))


@gated
def state_bits(order: int, alphabet_size: int, length: int) -> float:
    """Theorems D and E: bits of the state of a recurrence that is correct on every sequence of this many tokens.

    D: one of S symbols for each of the (S - 1)^k contexts without the separator, or for as many as fit.
    E: counts of S^k(S - 1) independent cycles. The length includes the question of at most 2k + 1 tokens.

    >>> state_bits(1, 2, 1003)  # two cycles of three tokens, 333 in all
    15.77...
    """
    _check(order, alphabet_size, length)
    separated = min((alphabet_size - 1) ** order, (length - order - 1) // (order + 2))
    walks, cycles = (length - order) // (2 * order + 1) - 1, alphabet_size**order * (alphabet_size - 1)
    return max(separated * math.log2(alphabet_size), _log2_choose(*sorted((max(walks, 0), cycles))))


@gated
def taps(order: int) -> int:
    """Theorem F: the least number of taps, if the layers after the convolution have no positions.

    >>> taps(3)
    4
    """
    check_order(order)
    return order + 1


@gated
def short_convolution_bits(order: int, alphabet_size: int, length: int, taps: int, *, gated: bool = False) -> float:
    """Theorem G: bits that heads with positions, or states of fixed decay, must carry after 1 … k taps; S ≥ 3.

    gated: Theorem G′, for a recurrence whose decays depend on the window, as in Mamba.

    >>> short_convolution_bits(3, 3, 1028, 2), short_convolution_bits(3, 3, 1028, 2, gated=True)
    (205.0, 197.3...)
    """
    _check(order, alphabet_size, length, least=3)
    require(1 <= taps <= order, f"taps is {taps}, must be 1 … {order}: with {order + 1} there is no bound")
    values = (length - order) // (order + taps)
    known = (alphabet_size - 2) * math.log2(values + 1) if gated else 0.0
    return max(0.0, values * math.log2(alphabet_size - 1) - known)


@gated
def largest_order(heads: int, mantissa_bits: int) -> int:
    """Theorem 2: the largest order whose contexts H heads of layer one can distinguish in floating point.

    >>> [largest_order(1, bits) for bits in (8, 11, 24, 53)]
    [11, 14, 28, 57]
    """
    _positive(heads=heads)
    require(2 <= mantissa_bits <= 1 << 20, f"mantissa_bits is {mantissa_bits}, must be between 2 and 2^20")

    def too_many(free: int) -> bool:
        """Whether there are more windows of `free` tokens than values of the pairs of numbers that heads output."""
        return free > heads * (mantissa_bits + math.log2(math.log2(free + 1) + 0.0861 + 3 * 2.0**-mantissa_bits))

    return 2 * heads + bisect.bisect_left(range(1, heads * (mantissa_bits + 64)), True, key=too_many)


@gated
def code_bits(order: int, heads: int) -> int:
    """Theorem 2, inverted: the least number of mantissa bits, at least 2, with which H heads can encode an order.

    >>> code_bits(28, 1), code_bits(29, 1), code_bits(4, 4)
    (24, 25, 2)
    """
    check_order(order)
    return 2 + bisect.bisect_left(range(2, order + 2), order, key=lambda bits: largest_order(heads, bits))


def _values(order: int, alphabet_size: int, length: int) -> int:
    """N, the number of values in a sequence, of two tokens each; over two symbols of four, or three at order 1."""
    if alphabet_size > 2:
        return (length + 1) // 2 - order
    return (length - 1) // 3 if order == 1 else (length - 2 * order + 2) // 4


def _bits_each(alphabet_size: int, wrong: float) -> float:
    """Fano's inequality for one value."""
    choices = max(2, alphabet_size - 1)
    unsure = 0.0 if wrong == 0 else -wrong * math.log2(wrong) - (1 - wrong) * math.log2(1 - wrong)
    return math.log2(choices) - unsure - wrong * math.log2(choices - 1)


def _overwritten(order: int, alphabet_size: int, length: int) -> tuple[int, float]:
    """N for sequences with one token per value, and the bits per value."""
    _check(order, alphabet_size, length, least=3)
    least = 2 * order + 1
    require(
        length >= least, f"length is {length}, this bound begins at {least}; lengthen the sequence or lower the order"
    )
    return length - 2 * order, math.log2(alphabet_size - 1)


def _log2_choose(few: int, many: int) -> float:
    """log₂ of (few + many choose few); if few is above 100, Stirling's lower bound, which is within 1e-5.

    Differences of `math.lgamma` are off by tens of bits where `many` is near 2^52.
    """
    if few <= 100:
        return math.log2(math.comb(few + many, few))
    both, ratio = few + many, few / many
    each = math.log(both) - math.log(few) + (math.log1p(ratio) / ratio if ratio else 1.0)
    root = (math.log1p(ratio) - math.log(2 * math.pi * few)) / 2
    return (few * each + root + 1 / (12 * both + 1) - 1 / (12 * few) - 1 / (12 * many)) / math.log(2)


def _check(order: int, alphabet_size: int, length: int, least: int = 2) -> None:
    check_order(order, length)
    check_number("alphabet_size", alphabet_size)
    require(alphabet_size >= least, f"alphabet size is {alphabet_size}, this bound is for {least} symbols or more")


def _positive(**numbers: int) -> None:
    for name, number in numbers.items():
        require(number >= 1, f"{name} is {number}, must be at least 1")
