"""One model on one sequence: run it, keep its trace, hold it against the exact estimators."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder import chains, estimators
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.sequences import hard_sequences
from anyorder.constructions.verify import errors, expected, within
from anyorder.errors import InputError, require
from anyorder.estimators.noisy import MOST_NODES
from anyorder.transformer import Trace
from anyorder.web import limits
from anyorder.web.models import Library, Opened, build
from anyorder.web.schema import (
    Chain,
    Constructed,
    Exactness,
    Losses,
    Map,
    Matrix,
    ModelInfo,
    Promise,
    Text,
    Verified,
    VerifyRequest,
    View,
    ViewRequest,
)
from anyorder.web.work import Check


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A sequence with the names of its symbols; `truth[t]` is the distribution of token t, the outcome included."""

    tokens: Int[np.ndarray, "length"]
    symbols: list[str]
    outcome: int | None = None
    truth: Float[np.ndarray, "length_and_one symbols"] | None = None


@dataclasses.dataclass(frozen=True)
class Seen:
    """A model on a sequence: everything that a view and its stories are read from."""

    opened: Opened
    drawn: Drawn
    trace: Trace
    alphabet_size: int

    @property
    def length(self) -> int:
        """Tokens of the sequence; the trace goes on to the padded length."""
        return len(self.drawn.tokens)

    @property
    def begins(self) -> int:
        """1 if there is a row for a beginning token."""
        return int(self.opened.model.beginning is not None)

    @property
    def symbols(self) -> list[str]:
        """The names of all symbols, also of those that the model has and the sequence has not."""
        named = self.drawn.symbols
        return named + [f"({number})" for number in range(len(named), self.alphabet_size)]


def draw(asked: Text | Chain) -> Drawn:
    """The sequence that was typed, or the one that a random chain gives.

    >>> draw(Text(kind="text", text="abba")).tokens.tolist()
    [0, 1, 1, 0]
    """
    if isinstance(asked, Text):
        symbols = list(dict.fromkeys(asked.text))
        limits.at_most(
            limits.MOST_SYMBOLS,
            len(symbols),
            "symbols",
            f"the text has {len(symbols)} different characters, at most {limits.MOST_SYMBOLS} are taken; shorten it",
        )
        numbers = {symbol: number for number, symbol in enumerate(symbols)}
        return Drawn(np.array([numbers[symbol] for symbol in asked.text], np.int64), symbols)
    limits.at_most(
        limits.MOST_KERNEL,
        asked.alphabet_size ** (asked.order + 1),
        "transitions",
        f"a chain of order {asked.order} over {asked.alphabet_size} symbols has more than {limits.MOST_KERNEL} "
        "transitions; lower the order or the alphabet size",
    )
    require(
        asked.length > asked.order,
        f"length is {asked.length}, must be above the order {asked.order} of the chain; lengthen the sequence",
    )
    require(
        not (asked.token_noise and asked.transition_noise),
        f"token noise {asked.token_noise} and transition noise {asked.transition_noise} together; set one to 0",
    )
    noise: Any = chains.TokenNoise(asked.token_noise) if asked.token_noise else None
    noise = chains.TransitionNoise(asked.transition_noise) if asked.transition_noise else noise
    drawn = chains.sample(
        jax.random.key(asked.seed),
        chains.Dirichlet(asked.order, asked.alphabet_size, asked.concentration),
        length=asked.length + 1,
        count=1,
        noise=noise,
    )
    tokens = np.asarray(drawn.tokens[0], np.int64)
    digits = "0123456789" if asked.alphabet_size <= 10 else None
    symbols = [digits[s] if digits else str(s) for s in range(asked.alphabet_size)]
    return Drawn(tokens[:-1], symbols, int(tokens[-1]), np.asarray(drawn.truth[0], np.float64))


class Explorer:
    """Runs models and keeps the last views; safe to call from several threads."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: OrderedDict[str, Seen] = OrderedDict()
        self._views: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, asked: ViewRequest) -> str:
        """What names a view: the request, and the time stamp of a stored model."""
        model = asked.model
        stamp = "" if isinstance(model, Constructed) else str(self.library.stamp(model.path))
        return f"{model.model_dump_json()}{asked.sequence.model_dump_json()}{stamp}"

    def see(self, asked: ViewRequest, check: Check) -> Seen:
        """The model's trace on the sequence, run now or kept."""
        key = self.key(asked)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        seen = self._run(asked, check)
        with self._lock:
            self._kept[key] = seen
            while len(self._kept) > limits.KEPT_VIEWS:
                self._kept.popitem(last=False)
        return seen

    def _run(self, asked: ViewRequest, check: Check) -> Seen:
        drawn = draw(asked.sequence)
        check()
        length, model = len(drawn.tokens), asked.model
        if isinstance(model, Constructed):
            size = model.alphabet_size or max(2, len(drawn.symbols))
            _fits(size, drawn)
            require(
                length > model.order,
                f"order is {model.order}, must be smaller than the length {length}; lower it, or lengthen the sequence",
            )
            opened = build(model, size, limits.padded(length))
        else:
            opened = self.library.open(model)
            size = opened.model.alphabet_size
            _fits(size, drawn)
            limits.at_most(
                limits.MOST_SYMBOLS,
                size,
                "symbols",
                f"the model has {size} symbols, at most {limits.MOST_SYMBOLS} are shown",
            )
            require(
                length > opened.order,
                f"order is {opened.order}, must be smaller than the length {length}; lengthen the sequence",
            )
        check()
        places = opened.model.positions
        most = limits.padded(length) if places is None else min(limits.padded(length), len(places))
        tokens = np.pad(drawn.tokens, (0, max(most - length, 0)))
        try:
            trace = opened.model.trace(tokens)
            trace = jax.tree.map(lambda leaf: np.asarray(leaf.astype(jnp.float64)), jax.block_until_ready(trace))
        except InputError:
            raise
        except Exception as error:
            require(
                isinstance(model, Constructed),
                f"{opened.source} cannot be run on this sequence ({type(error).__name__}); is it a whole model?",
            )
            raise
        check()
        return Seen(opened, drawn, trace, size)

    def view(self, asked: ViewRequest, check: Check) -> View:
        """All that the page shows except the story."""
        seen = self.see(asked, check)
        order, size, begins = seen.opened.order, seen.alphabet_size, seen.begins
        length, rows = seen.length, seen.length + begins
        tokens = jnp.asarray(np.pad(seen.drawn.tokens, (0, limits.padded(length) - length)), jnp.int32)
        kgram = estimators.kgram(tokens, order=order, alphabet_size=size)
        bayes, bayes_name = _bayes(seen, asked.sequence, tokens)
        ideal = np.asarray(estimators.pseudo_attention(tokens, order))[:length, :length]
        ideal = np.pad(ideal, ((begins, 0), (begins, 0)))
        check()
        maps = [(layer, head, weights[:rows, :rows]) for layer, head, weights in _maps(seen.trace)]
        nearest = min(range(len(maps)), key=lambda m: float(np.square(maps[m][2] - ideal)[begins:].sum()))
        predicted = seen.trace.probabilities[:length]
        wrong, exactness = _exactness(seen, predicted, bayes)
        check()
        return View(
            symbols=seen.symbols,
            tokens=seen.drawn.tokens.tolist(),
            outcome=seen.drawn.outcome,
            begins=begins,
            model=_info(seen.opened),
            maps=[Map(layer=layer, head=head, weights=Matrix.of(weights)) for layer, head, weights in maps],
            pseudo_attention=Matrix.of(ideal),
            nearest=nearest,
            difference=Matrix.of(maps[nearest][2] - ideal),
            predicted=Matrix.of(predicted),
            kgram=Matrix.of(np.asarray(kgram.probabilities)[:length]),
            bayes=Matrix.of(bayes),
            bayes_name=bayes_name,
            truth=None if seen.drawn.truth is None else Matrix.of(_wide(seen.drawn.truth[1:], size)),
            errors=[finite(value) for value in wrong.tolist()],
            exactness=exactness,
            losses=_losses(seen, bayes, np.asarray(kgram.probabilities)),
        )

    def answer(self, asked: ViewRequest, check: Check) -> bytes:
        """The view as JSON, kept for the next who asks."""
        key = self.key(asked)
        with self._lock:
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        answer = self.view(asked, check).model_dump_json().encode()
        with self._lock:
            self._views[key] = answer
            while len(self._views) > limits.KEPT_VIEWS:
                self._views.popitem(last=False)
        return answer


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


def finite(value: float) -> float | None:
    """The number, or None where JSON has none.

    >>> finite(0.5), finite(math.inf)
    (0.5, None)
    """
    return value if math.isfinite(value) else None


def _fits(size: int, drawn: Drawn) -> None:
    require(
        len(drawn.symbols) <= size,
        f"the sequence has {len(drawn.symbols)} symbols, the model has {size}; choose a larger alphabet or another "
        "sequence",
    )


def _wide(rows: Float[np.ndarray, "length few"], size: int) -> Float[np.ndarray, "length symbols"]:
    """Distributions over a larger alphabet, zero where the chain has no symbol."""
    return np.pad(rows, ((0, 0), (0, size - rows.shape[1])))


def _maps(trace: Trace) -> list[tuple[int, int, Float[np.ndarray, "rows rows"]]]:
    return [
        (layer, head, np.asarray(weights))
        for layer, heads in enumerate(trace.attention, start=1)
        for head, weights in enumerate(heads, start=1)
    ]


def _bayes(
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


def _exactness(
    seen: Seen, predicted: Float[np.ndarray, "length symbols"], bayes: Float[np.ndarray, "length symbols"]
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
    compared = names[promise.estimator if promise is not None else "kgram"] if constructed else "add-β smoothing"
    return wrong, Exactness(
        compared_with=compared,
        max_error=finite(worst) if defined.any() else None,
        at=at,
        bound=bound,
        positions_checked=int(defined.sum()),
        passed=None if bound is None else within(worst, bound),
    )


def _info(opened: Opened) -> ModelInfo:
    model, promise = opened.model, opened.model.certificate
    shown = None
    if promise is not None:
        shown = Promise(**{name: value for name, value in promise.as_dict().items() if name in Promise.model_fields})
    return ModelInfo(
        title=opened.title,
        source=opened.source,
        construction=opened.construction,
        order=opened.order,
        alphabet_size=model.alphabet_size,
        dtype=model.dtype.name,
        heads=[len(layer.heads) for layer in model.layers],
        dimension=model.dimension,
        parameters=count_arrays(model),
        certified_kappa=opened.certified_kappa,
        refusal=opened.refusal,
        certificate=shown,
    )


_loss = jax.jit(estimators.exact_loss)


def _losses(
    seen: Seen, bayes: Float[np.ndarray, "length symbols"], kgram: Float[np.ndarray, "length symbols"]
) -> Losses | None:
    """Mean exact loss wherever there is a full window, at the padded length so that lengths share one program."""
    if seen.drawn.truth is None:
        return None
    length, size, total = seen.length, seen.alphabet_size, limits.padded(seen.length) + 1
    truth = _wide(seen.drawn.truth, size)
    truth = np.concatenate([truth, np.full((total - len(truth), size), 1 / size)])

    def mean(rows: Float[np.ndarray, "some symbols"]) -> float:
        filled = np.full((total, size), 1 / size)
        filled[:length] = rows[:length]
        return float(np.asarray(_loss(filled, truth))[seen.opened.order - 1 : length].mean())

    least = mean(truth[1:])
    return Losses(
        true_loss=least,
        model_excess=finite(mean(seen.trace.probabilities) - least),
        bayes_excess=mean(bayes) - least,
        kgram_excess=finite(mean(kgram) - least),
    )
