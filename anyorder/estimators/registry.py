"""The estimators by name, for `anyorder estimate`, `StreamingEstimator` and the explorer."""

from __future__ import annotations

import dataclasses
import functools
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from anyorder.errors import require
from anyorder.io.plugins import Registry

if TYPE_CHECKING:
    from anyorder.estimators.counters import Counter
    from anyorder.estimators.result import Estimate, WeightedEstimate
    from anyorder.io.tokens import Tokens


@dataclasses.dataclass(frozen=True)
class Estimator:
    """An entry: the function for all positions at once and the class for streams, or `module:name` of each."""

    name: str
    meaning: str
    """Its prediction, in one line."""
    function: str | Callable[..., Any]
    """The function for all positions at once: takes the tokens, `alphabet_size`, the order, and `beta` if it smooths;
    returns an `Estimate`, or an array of distributions, NaN where undefined."""
    streaming: str | Callable[..., Counter] | None = None
    """A `Counter` of order, alphabet size and beta; None calls the function again for every chunk."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Further arguments of the class for streams."""
    order: str = "order"
    """The function's name for the order."""
    beta: float | None = None
    """The default of `beta`; None without smoothing."""
    finite: bool = True
    """Whether every token has positive probability, so that the loss is finite."""

    def predict(
        self, tokens: Tokens, *, order: int, alphabet_size: int, beta: float | None = None
    ) -> Estimate | WeightedEstimate:
        """The distributions after all positions of one sequence."""
        from anyorder.estimators.result import Estimate

        smoothing = {} if self.beta is None else {"beta": self._smoothing(beta)}
        found = _resolved(self.function)(tokens, alphabet_size=alphabet_size, **{self.order: order}, **smoothing)
        if hasattr(found, "defined"):
            return found
        rows = jnp.asarray(found, jnp.float64)
        expected = (len(tokens), alphabet_size)
        require(rows.shape == expected, f"`{self.name}` returns an array of shape {rows.shape}, must be {expected}")
        return Estimate(rows, ~jnp.isnan(rows).any(axis=1))

    def counter(self, order: int, alphabet_size: int, beta: float | None = None) -> Counter:
        """The counter of a stream."""
        if self.streaming is None:
            from anyorder.estimators.counters import Recounted

            predict = functools.partial(self.predict, order=order, alphabet_size=alphabet_size, beta=beta)
            return Recounted(order, lambda tokens: np.asarray(predict(tokens).probabilities))
        return _resolved(self.streaming)(order, alphabet_size, self._smoothing(beta), **self.options)

    def _smoothing(self, beta: float | None) -> float | None:
        return self.beta if self.beta is None or beta is None else beta


def _resolved(given: str | Callable[..., Any]) -> Callable[..., Any]:
    return pkgutil.resolve_name(given) if isinstance(given, str) else given


_COUNTING, _UNKNOWN = "anyorder.estimators.counting", "anyorder.estimators.unknown_order"
_WINDOWS, _SUFFIXES, _PATHS = (f"anyorder.estimators.counters:{name}" for name in ("Windows", "Suffixes", "Paths"))

_SHIPPED = (
    Estimator(
        "kgram", "frequencies after the last k tokens (Definition 2)", f"{_COUNTING}:kgram", _WINDOWS, finite=False
    ),
    Estimator(
        "bayes",
        "add-β smoothing of the k-gram: optimal for order k and Dirichlet(β) rows",
        f"{_COUNTING}:add_beta",
        _WINDOWS,
        beta=1.0,
    ),
    Estimator(
        "bag",
        "frequencies after the last k tokens in any order",
        f"{_COUNTING}:bag",
        _WINDOWS,
        {"bag": True},
        finite=False,
    ),
    Estimator(
        "biased",
        "the k-gram that also counts aligned opening windows",
        f"{_COUNTING}:biased",
        _WINDOWS,
        {"early": True},
        finite=False,
    ),
    Estimator(
        "backoff",
        "frequencies after the longest suffix of the last k tokens seen before",
        f"{_COUNTING}:backoff",
        _SUFFIXES,
        finite=False,
    ),
    Estimator(
        "mixture",
        "the Bayes mixture over orders 0 to k, each with Dirichlet(β) rows",
        f"{_UNKNOWN}:mixture",
        _PATHS,
        order="max_order",
        beta=1.0,
    ),
    Estimator(
        "ctw",
        "context-tree weighting: the Bayes mixture over context trees of depth k with Dirichlet(β) leaves",
        f"{_UNKNOWN}:ctw",
        _PATHS,
        {"kind": "trees"},
        order="depth",
        beta=0.5,
    ),
)


#: Every estimator, by name.
ESTIMATORS: Registry[Estimator] = Registry("estimator", {one.name: one for one in _SHIPPED}, Estimator)


def find_estimator(name: str | Estimator) -> Estimator:
    """The entry of this name; an entry is returned unchanged.

    >>> find_estimator("kgram").meaning
    'frequencies after the last k tokens (Definition 2)'
    """
    return ESTIMATORS.find(name)
