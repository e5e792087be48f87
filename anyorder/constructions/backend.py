"""Assumptions of certificates about the backend's arithmetic, and their checks at the start of a verification.

An exact certificate depends on the arithmetic of the backend, not only on the weights. Every construction with
bit-identical keys assumes `equal scores`; others have further assumptions.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anyorder.constructions.certificate import EQUAL_SCORES, WHOLE_SUMS, Request
from anyorder.constructions.hard_sequences import hard_sequences
from anyorder.models import Head, Transformer
from anyorder.models.model import embedded

_run = eqx.filter_jit(Head.__call__)


def equal_scores(model: Transformer, request: Request) -> bool:
    """Whether equal keys at all positions get bit-identical attention: products are summed in the same order.

    >>> from anyorder.constructions import plan
    >>> made = plan("bigram", order=1, alphabet_size=2, length=32)
    >>> equal_scores(made.build(), made.request)
    True
    """
    width, rng = model.layers[-1].heads[0].query.shape[0], np.random.default_rng(0)
    kind = rng.integers(0, 4, request.length)
    x = jnp.asarray(rng.normal(size=(4, width))[kind], model.dtype)
    identity = jnp.asarray(np.eye(width), model.dtype)
    seen = np.asarray(_run(Head(identity, identity, identity), x, keep_weights=True)[1], np.float64)
    causal = np.tri(request.length, dtype=bool)
    for one in range(4):
        chosen = causal & (kind == one)
        least = np.min(seen, axis=1, initial=np.inf, where=chosen)
        most = np.max(seen, axis=1, initial=-np.inf, where=chosen)
        if (least < most).any():
            return False
    return True


def whole_sums(model: Transformer, request: Request) -> bool:
    """Whether the sums of the heads of layer one, before the anchor rounds them, are well within 1/2 of integers.

    This depends on the accuracy of exp and of the sum over keys; one hard sequence of each kind is run.

    >>> from anyorder.constructions import plan
    >>> made = plan("unrolled", order=22, alphabet_size=2, length=64, dtype="float32")
    >>> whole_sums(made.build(), made.request)
    True
    """
    batch = hard_sequences(
        count=4, length=request.length, alphabet_size=request.alphabet_size, order=request.order, seed=0
    )
    first = request.order + (model.beginning is not None)
    for stream in jax.vmap(lambda tokens: embedded(model, tokens))(jnp.asarray(batch, jnp.int32)):
        for head in model.layers[0].heads:
            full = np.asarray(_run(head, stream, keep_weights=False)[0].astype(jnp.float64))[first:]
            if (np.abs(full - np.round(full)) >= 0.45).any():
                return False
    return True


#: Possible assumptions of certificates, and their checks.
ASSUMPTIONS: dict[str, Callable[[Transformer, Request], bool]] = {
    EQUAL_SCORES: equal_scores,
    WHOLE_SUMS: whole_sums,
}
