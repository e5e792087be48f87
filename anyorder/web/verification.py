"""A construction on hard sequences, one after the other, so that a client that leaves stops it."""

from __future__ import annotations

import numpy as np

from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import errors, within
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
    worst, checked = 0.0, 0
    for sequence in batch:
        check()
        measured = errors(opened.model, sequence[None], order, opened.beta)
        worst = max(worst, float(np.max(measured, initial=0.0, where=~np.isnan(measured))))
        checked += int((~np.isnan(measured)).sum())
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
