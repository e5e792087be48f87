"""A model held against the exact estimators: Bayes, the error next to the bound, losses, verification."""

from __future__ import annotations

import math

import jax
import numpy as np
from jaxtyping import Float, Int

from anyorder import estimators
from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import errors, expected, within
from anyorder.errors import require
from anyorder.estimators.noisy import MOST_NODES
from anyorder.web import limits
from anyorder.web.models import build
from anyorder.web.schema import (
    Chain,
    Exactness,
    Losses,
    Text,
    Verified,
    VerifyRequest,
)
from anyorder.web.seen import Seen, finite, wide
from anyorder.web.work import Check


def bayes_predictor(
    seen: Seen, sequence: Text | Chain, tokens: Int[jax.Array, "padded"]
) -> tuple[Float[np.ndarray, "length symbols"], str]:
    """The Bayes predictor where one is known: add-β, or quadrature under transition noise."""
    order, size, length = seen.opened.order, seen.alphabet_size, seen.length
    if isinstance(sequence, Chain) and order == sequence.order and size == sequence.alphabet_size:
        nodes = math.ceil((len(tokens) + 2) / 2) ** (size - 1)
        if sequence.transition_noise and nodes <= MOST_NODES:
            exact = estimators.bayes_under_transition_noise(
                tokens,
                order=order,
                alphabet_size=size,
                strength=sequence.transition_noise,
                concentration=sequence.concentration,
            )
            return np.asarray(exact.probabilities)[:length], f"Bayes under noise {sequence.transition_noise:g}"
        noisy = sequence.transition_noise or sequence.token_noise
        beta = sequence.concentration
        smoothed = estimators.add_beta(tokens, order=order, alphabet_size=size, beta=beta)
        return np.asarray(smoothed.probabilities)[:length], f"{'add' if noisy else 'Bayes: add'}-{beta:g}"
    smoothed = estimators.add_beta(tokens, order=order, alphabet_size=size, beta=seen.opened.beta)
    return np.asarray(smoothed.probabilities)[:length], f"add-{seen.opened.beta:g}"


def exactness_of(
    seen: Seen,
    predicted: Float[np.ndarray, "length symbols"],
    bayes: Float[np.ndarray, "length symbols"],
    bayes_name: str,
) -> tuple[Float[np.ndarray, "length"], Exactness]:
    """The largest error of a probability at every position: against the promise, or against Bayes without one."""
    opened, promise = seen.opened, seen.opened.model.certificate
    constructed = opened.construction is not None
    exact = expected(opened.model, seen.drawn.tokens, opened.order, opened.beta) if constructed else bayes
    wrong = np.nan_to_num(np.abs(predicted - exact), nan=np.inf).max(axis=1)
    wrong = np.where(np.isnan(exact[:, 0]), np.nan, wrong)
    defined = ~np.isnan(wrong)
    at = int(np.nanargmax(wrong)) if defined.any() else None
    bound = promise.bound if constructed and promise is not None and seen.length <= promise.length else None
    worst = float(wrong[at]) if at is not None else 0.0
    names = {
        "kgram": "the conditional k-gram",
        "biased": "the biased k-gram",
        "bayes": f"add-{opened.beta:g} smoothing",
    }
    compared = names[promise.estimator if promise is not None else "kgram"] if constructed else bayes_name
    return wrong, Exactness(
        compared_with=compared,
        max_error=finite(worst) if defined.any() else None,
        at=at,
        bound=bound,
        positions_checked=int(defined.sum()),
        passed=None if bound is None else within(worst, bound),
    )


_loss = jax.jit(estimators.exact_loss)


def losses_of(
    seen: Seen, bayes: Float[np.ndarray, "length symbols"], kgram: Float[np.ndarray, "length symbols"]
) -> Losses | None:
    """Mean exact loss wherever there is a full window, at the padded length so that lengths share one program."""
    if seen.drawn.truth is None:
        return None
    length, size, total = seen.length, seen.alphabet_size, limits.padded(seen.length) + 1
    truth = wide(seen.drawn.truth, size)
    truth = np.concatenate([truth, np.full((total - len(truth), size), 1 / size)])

    def mean(rows: Float[np.ndarray, "some symbols"]) -> float:
        filled = np.full((total, size), 1 / size)
        filled[:length] = rows[:length]
        return float(np.asarray(_loss(filled, truth))[seen.opened.order - 1 : length].mean())

    least = mean(truth[1:])
    return Losses(
        true_loss=least,
        model_excess=finite(mean(np.asarray(seen.trace.probabilities, np.float64)) - least),
        bayes_excess=mean(bayes) - least,
        kgram_excess=finite(mean(kgram) - least),
    )


def verify(asked: VerifyRequest, check: Check) -> Verified:
    """The worst error of a construction on hard sequences, one sequence after the other."""
    size = asked.model.alphabet_size or asked.alphabet_size
    order = asked.model.order
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
