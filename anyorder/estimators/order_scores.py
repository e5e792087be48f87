"""The Markov order that describes a sequence: the code length of every order, and the posterior over them.

The code of order k spends -log p on each token, where p is its add-β prediction, so that an order pays for its rows as
it learns them: the total is minus the log marginal likelihood under Dirichlet(β) rows. With orders up to K, every order
codes the same tokens, those after at least K tokens, and counts only these as successors.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from anyorder.errors import require
from anyorder.estimators.counters import Paths
from anyorder.estimators.streaming import CountedStream
from anyorder.io.gates import gated
from anyorder.io.tokens import size_of, spelled


@dataclasses.dataclass(frozen=True)
class OrderScore:
    """The scores of one order on the data."""

    order: int
    bits_per_symbol: float
    """Code length of the sequential add-β predictor."""
    log_marginal: float
    """Natural logarithm of the probability of the data."""
    posterior: float
    """Under a uniform prior over the orders."""
    contexts: int
    """Distinct contexts that occurred."""
    bic: float
    """-2 log L + S^k (S - 1) log(positions), with the largest likelihood L; the smallest is best."""


@dataclasses.dataclass(frozen=True)
class OrderReport:
    """Every order up to the largest, their mixture, and context-tree weighting, on the same tokens."""

    beta: float
    max_order: int
    alphabet_size: int
    positions: int
    """Number of coded tokens."""
    orders: tuple[OrderScore, ...]
    mixture_bits_per_symbol: float
    ctw_bits_per_symbol: float

    @property
    def ranked(self) -> list[OrderScore]:
        """The orders, the most probable first."""
        return sorted(self.orders, key=lambda score: -score.log_marginal)

    @property
    def selected(self) -> int:
        """The order with the highest posterior."""
        return self.ranked[0].order

    @property
    def bic_selected(self) -> int:
        """The order with the smallest BIC."""
        return min(self.orders, key=lambda score: score.bic).order

    @property
    def lead(self) -> float:
        """The lead over the next-best order in bits, over all tokens; the odds are two to this power."""
        best, *others = self.ranked
        return (best.log_marginal - others[0].log_marginal) / math.log(2) if others else 0.0


class OrderStream(CountedStream):
    """Count a stream once for all orders up to `max_order`; the result does not depend on the chunks.

    >>> stream = OrderStream(max_order=2, alphabet_size=2)
    >>> stream.feed([0, 1] * 50)
    >>> report = stream.report(beta=1.0)
    >>> report.selected, report.positions, [score.contexts for score in report.orders]
    (1, 98, [1, 2, 2])
    """

    @gated
    def __init__(self, max_order: int, alphabet_size: int) -> None:
        require(max_order >= 0, f"max_order is {max_order}, must be at least 0; pass `max_order=0` or more")
        self._paths = Paths(max_order, alphabet_size, None, kind="counts")
        super().__init__(self._paths, alphabet_size)

    def feed(self, tokens: Sequence[int] | np.ndarray) -> None:
        """Count a chunk."""
        self._feed(tokens)

    @property
    def positions(self) -> int:
        """Number of coded tokens: those after at least `max_order` tokens of their sequence."""
        return self._paths.positions

    @gated
    def report(self, beta: float = 0.5) -> OrderReport:
        """The scores of all orders for Dirichlet(β) rows; any β, from the same counts."""
        size, positions = self.alphabet_size, self.positions
        require(
            positions > 0,
            f"max_order is {self.order}, must be below the length of some sequence; lower it with `max_order=`",
        )
        evidence, likelihood, weighted = self._paths.marginals(beta)
        total = np.logaddexp.reduce(evidence)
        bits = 1 / (positions * math.log(2))
        scores = [
            OrderScore(
                order=order,
                bits_per_symbol=float(-evidence[order] * bits),
                log_marginal=float(evidence[order]),
                posterior=float(np.exp(evidence[order] - total)),
                contexts=int(self._paths.nodes[order]),
                bic=float(-2 * likelihood[order] + _parameters(order, size) * math.log(positions)),
            )
            for order in range(self.order + 1)
        ]
        mixture = float(-(total - math.log(self.order + 1)) * bits)
        return OrderReport(beta, self.order, size, positions, tuple(scores), mixture, float(-weighted * bits))


@gated
def orders(
    *sequences: Sequence[int] | np.ndarray | str,
    max_order: int,
    alphabet_size: int | None = None,
    beta: float = 0.5,
    alphabet: str | None = None,
) -> OrderReport:
    """Score every order 0 … max_order on one sequence, or on several that share their counts.

    Strings need `alphabet=`, their characters in order, in place of `alphabet_size=`.

    >>> report = orders([0, 0, 1] * 40, max_order=2, alphabet_size=2)
    >>> report.selected, round(report.lead, 2)
    (2, 75.51)
    >>> [round(score.bits_per_symbol, 3) for score in report.orders]
    [0.956, 0.728, 0.088]
    """
    stream = OrderStream(max_order, size_of(alphabet_size, alphabet))
    for sequence in sequences:
        stream.begin_sequence()
        stream.feed(spelled(sequence, alphabet) if isinstance(sequence, str) else sequence)
    return stream.report(beta)


def growing(stream: OrderStream, chunk: np.ndarray, beta: float, ratio: float = 1.5) -> Iterator[OrderReport]:
    """Feed a chunk, and report whenever the positions have grown by about this ratio."""
    while chunk.size:
        wanted = max(1, math.ceil(stream.positions * (ratio - 1)))
        now, chunk = chunk[:wanted], chunk[wanted:]
        stream.feed(now)
        if now.size == wanted and stream.positions:
            yield stream.report(beta)


def _parameters(order: int, size: int) -> float:
    """Free parameters of a chain: S^k rows of S - 1; infinite if too many for a float."""
    return (size - 1) * math.exp(order * math.log(size)) if order * math.log(size) < 700 else math.inf
