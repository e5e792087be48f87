"""A construction on hard sequences, one after the other, so that a client that leaves stops it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import within, worst_over
from anyorder.errors import require
from anyorder.web.models import build
from anyorder.web.schema import Verified, VerifyRequest, finite
from anyorder.web.work import CheckCancelled


def verify(asked: VerifyRequest, check: CheckCancelled) -> Verified:
    """The worst error of a construction over all sequences, next to its bound."""
    size, order = asked.model.alphabet_size or asked.alphabet_size, asked.model.order
    require(
        asked.length > order,
        f"order is {order}, must be smaller than the length {asked.length}; lower it, or lengthen the sequence",
    )
    opened = build(asked.model, size, asked.length)
    batch = hard_sequences(count=asked.sequences, length=asked.length, alphabet_size=size, order=order, seed=asked.seed)

    def one_by_one() -> Iterator[Int[np.ndarray, "1 length"]]:
        for sequence in batch:
            check()
            yield sequence[None]

    worst, checked = worst_over(opened.model, one_by_one(), order, opened.beta)
    promise = opened.model.certificate
    bound = None if promise is None else promise.bound
    return Verified(
        construction=asked.model.name,
        order=order,
        alphabet_size=size,
        length=asked.length,
        dtype=opened.model.dtype.name,
        kappa=None if promise is None else promise.kappa,
        bound=bound,
        max_error=finite(worst),
        positions_checked=checked,
        passed=within(worst, bound),
    )
