"""The estimators by name: what `anyorder estimate`, `StreamingEstimator` and the explorer offer.

To add one, write its file and add its entry here.
"""

from __future__ import annotations

import dataclasses
import math
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anyorder.errors import nearest, require

if TYPE_CHECKING:
    from anyorder.estimators.counters import Counter
    from anyorder.estimators.result import Estimate, WeightedEstimate
    from anyorder.io.tokens import Tokens


@dataclasses.dataclass(frozen=True)
class Estimator:
    """An entry: the function for all positions at once and the class for streams, as `module:name`."""

    meaning: str
    """What it predicts, in a line."""
    function: str
    """For all positions at once: of the tokens, with `alphabet_size`, the order, and `beta` where it smooths."""
    streaming: str
    """A `Counter` of order, alphabet size and beta."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """More arguments of the class for streams."""
    order: str = "order"
    """What the function calls the order."""
    beta: float | None = None
    """Smoothing unless another is given; None where there is none."""
    finite: bool = True
    """Whether every token gets a probability above zero, so that the loss is finite."""

    def predict(
        self, tokens: Tokens, *, order: int, alphabet_size: int, beta: float | None = None
    ) -> Estimate | WeightedEstimate:
        """The distributions after all positions of one sequence."""
        smoothing = {} if self.beta is None else {"beta": self.beta if beta is None else beta}
        return pkgutil.resolve_name(self.function)(
            tokens, alphabet_size=alphabet_size, **{self.order: order}, **smoothing
        )

    def counter(self, order: int, alphabet_size: int, beta: float | None = None) -> Counter:
        """What a stream is counted in."""
        require(beta is None or 0 < beta < math.inf, f"beta is {beta}, must be positive and finite; 1 is usual")
        smoothing = self.beta if self.beta is None or beta is None else beta
        return pkgutil.resolve_name(self.streaming)(order, alphabet_size, smoothing, **self.options)


_COUNTING, _UNKNOWN = "anyorder.estimators.counting", "anyorder.estimators.unknown_order"
_WINDOWS, _SUFFIXES, _PATHS = (f"anyorder.estimators.counters:{name}" for name in ("Windows", "Suffixes", "Paths"))

ESTIMATORS: dict[str, Estimator] = {
    "kgram": Estimator("what followed the last k tokens (Definition 2)", f"{_COUNTING}:kgram", _WINDOWS, finite=False),
    "bayes": Estimator(
        "add-β smoothing of the k-gram: optimal for order k and Dirichlet(β) rows",
        f"{_COUNTING}:add_beta",
        _WINDOWS,
        beta=1.0,
    ),
    "bag": Estimator(
        "what followed the last k tokens in any order", f"{_COUNTING}:bag", _WINDOWS, {"bag": True}, finite=False
    ),
    "biased": Estimator(
        "the k-gram that also counts aligned opening windows",
        f"{_COUNTING}:biased",
        _WINDOWS,
        {"early": True},
        finite=False,
    ),
    "backoff": Estimator(
        "what followed the longest suffix of the last k tokens seen before",
        f"{_COUNTING}:backoff",
        _SUFFIXES,
        finite=False,
    ),
    "mixture": Estimator(
        "the Bayes mixture over orders 0 to k, each with Dirichlet(β) rows",
        f"{_UNKNOWN}:mixture",
        _PATHS,
        order="max_order",
        beta=1.0,
    ),
    "ctw": Estimator(
        "context-tree weighting: the Bayes mixture over context trees of depth k with Dirichlet(β) leaves",
        f"{_UNKNOWN}:ctw",
        _PATHS,
        {"kind": "trees"},
        order="depth",
        beta=0.5,
    ),
}


def find_estimator(name: str) -> Estimator:
    """The entry of this name.

    >>> find_estimator("kgram").meaning
    'what followed the last k tokens (Definition 2)'
    """
    require(name in ESTIMATORS, f"no estimator {name!r}; {nearest(name, ESTIMATORS)}")
    return ESTIMATORS[name]
