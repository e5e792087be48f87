"""One model on one sequence: run it, keep its trace, and compare it with its estimator."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import threading
from collections import OrderedDict
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import entr, rel_entr

from anyorder import estimators
from anyorder.constructions.certificate import unit_roundoff
from anyorder.constructions.parameters import count_arrays
from anyorder.constructions.verify import deviations, expected, within
from anyorder.errors import InputError, require
from anyorder.web import limits, schema
from anyorder.web.jobs import CheckCancelled
from anyorder.web.library import Library, Opened, build
from anyorder.web.schema import Matrix
from anyorder.web.traced import Distributions, NamedTokens, Traced, draw, source

#: An error up to this many units of rounding is called exact: two sums and a division.
ROUNDING_UNITS = 4.0


def resident() -> int:
    """Resident bytes of this process; 0 if the system does not report them."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
    return 0


class Explorer:
    """Runs models and keeps the last traces; safe to call from several threads."""

    def __init__(self, library: Library, tour: schema.Tour | None = None) -> None:
        self.library = library
        self.tour = tour
        self._kept: OrderedDict[str, Traced] = OrderedDict()
        self._programs: set[tuple[object, ...]] = set()
        self._most = limits.MOST_MEMORY
        self._lock = threading.Lock()

    def traced(self, asked: schema.ViewRequest, check: CheckCancelled) -> Traced:
        """The model's trace on the sequence, run now or kept."""
        stamp = "" if isinstance(asked.model, schema.Constructed) else str(self.library.stamp(asked.model.path))
        key = f"{asked.model.model_dump_json()}{asked.sequence.model_dump_json()}{stamp}"
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        traced = self._run(asked, check)
        with self._lock:
            self._kept[key] = traced
            while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > limits.KEPT_BYTES:
                self._kept.popitem(last=False)
        return traced

    def _run(self, asked: schema.ViewRequest, check: CheckCancelled) -> Traced:
        drawn = draw(asked.sequence)
        check()
        opened = open_model(asked, drawn, self.library)
        check()
        length, places = len(drawn.tokens), opened.model.positions
        most = limits.padded(length) if places is None else min(limits.padded(length), len(places))
        tokens = np.pad(drawn.tokens, (0, max(most - length, 0)))
        try:
            trace = jax.device_get(opened.model.trace(tokens))  # JAX would compile every slice of it
        except Exception as error:
            if isinstance(error, InputError) or isinstance(asked.model, schema.Constructed):
                raise
            said = f"{opened.source} cannot be run on this sequence ({type(error).__name__}); is the model complete?"
            raise InputError(said) from error
        check()
        shape = opened.model.embedding.shape
        self._programs.add((opened.source, opened.construction, opened.order, opened.model.dtype, *shape, most))
        return Traced(opened, drawn, trace)

    def tidy(self) -> None:
        """Drop traces and compiled programs if the process is too large; called after every computation."""
        with self._lock:
            size = resident()
            large = size > self._most if size else len(self._programs) > limits.MOST_PROGRAMS
            if not large:
                return
            self._programs.clear()
            self._kept.clear()
            jax.clear_caches()
            gc.collect()
            # The C library of Linux returns freed memory to the system only on request.
            with contextlib.suppress(AttributeError, OSError, TypeError):
                ctypes.CDLL(None).malloc_trim(0)
            self._most = max(limits.MOST_MEMORY, resident() + limits.MOST_GROWTH)

    def view(self, asked: schema.ViewRequest, check: CheckCancelled) -> schema.View:
        """The data of the page except the story, with the maps on request."""
        traced = self.traced(asked, check)
        kgram = traced.estimate("kgram")
        bayes, bayes_name = _bayes(traced, asked)
        check()
        wrong, exactness = _exactness(traced, bayes, bayes_name)
        return schema.View(
            symbols=traced.symbols,
            tokens=traced.sequence.tokens.tolist(),
            outcome=traced.sequence.outcome,
            begins=traced.begins,
            model=model_info(traced.opened),
            nearest=list(traced.nearest),
            maps=[
                schema.Map(layer=layer, head=head, weights=Matrix.of(traced.weights(layer, head)))
                for layer, head in (traced.heads if asked.maps else [])
            ],
            pseudo_attention=Matrix.of(traced.pseudo_attention) if asked.maps else None,
            difference=Matrix.of(traced.difference) if asked.maps else None,
            predicted=Matrix.of(traced.predicted),
            kgram=Matrix.of(kgram),
            bayes=Matrix.of(bayes),
            bayes_name=bayes_name,
            estimated=None if asked.estimator is None else Matrix.of(traced.estimate(asked.estimator)),
            truth=None if traced.truth is None else Matrix.of(traced.truth),
            errors=wrong.tolist(),
            exactness=exactness,
            losses=_losses(traced, bayes, kgram),
        )

    def map(self, asked: schema.MapRequest, check: CheckCancelled) -> Matrix:
        """One attention map of a view."""
        traced = self.traced(asked, check)
        if asked.map != "head":
            return Matrix.of(traced.pseudo_attention if asked.map == "pseudo" else traced.difference)
        require(
            (asked.layer, asked.head) in traced.heads,
            f"there is no head {asked.head} in layer {asked.layer}; the model has {len(traced.heads)} heads",
        )
        return Matrix.of(traced.weights(asked.layer, asked.head))


def open_model(asked: schema.ViewRequest, drawn: NamedTokens, library: Library) -> Opened:
    """The model of a request, if the sequence fits it."""
    wanted = asked.model
    if isinstance(wanted, schema.Constructed):
        size = wanted.alphabet_size or max(2, len(drawn.symbols))
        _check_fit(drawn, size, wanted.order, "lower it, or lengthen the sequence")
        return build(wanted, size, limits.padded(len(drawn.tokens)))
    opened = library.open(wanted)
    _check_fit(drawn, opened.model.alphabet_size, opened.order, "lengthen the sequence")
    return opened


def _check_fit(drawn: NamedTokens, size: int, order: int, ways: str) -> None:
    """Reject a sequence with more symbols than the model has, or without a full window."""
    length, symbols = len(drawn.tokens), len(drawn.symbols)
    require(
        symbols <= size,
        f"the sequence has {symbols} symbols, the model has {size}; choose a larger alphabet or another sequence",
    )
    most = f"the model has {size} symbols, at most {limits.MOST_SYMBOLS} are shown"
    limits.at_most(limits.MOST_SYMBOLS, size, "symbols", most)
    require(length > order, f"order is {order}, must be smaller than the length {length}; {ways}")


def _bayes(traced: Traced, asked: schema.ViewRequest) -> tuple[Distributions, str]:
    """The Bayes predictor if one is known, otherwise add-β."""
    sequence, tokens, beta = asked.sequence, traced.padded, traced.opened.beta
    shape = traced.opened.order, traced.alphabet_size
    if isinstance(sequence, schema.Chain) and shape == (sequence.order, sequence.alphabet_size):
        beta, noise = sequence.concentration, sequence.transition_noise
        floor = estimators.floor(source(sequence, len(tokens)))
        if floor.reason is None:
            name = f"Bayes under noise {noise:g}" if noise else f"Bayes: add-{beta:g}"
            return np.asarray(floor(tokens).probabilities)[: traced.length], name
    return traced.estimate("bayes", beta), f"add-{beta:g}"


def _exactness(
    traced: Traced, bayes: Distributions, bayes_name: str
) -> tuple[Float[np.ndarray, "length"], schema.Exactness]:
    """The largest error of a probability at every position, against the certified estimator, or else against Bayes."""
    opened, promise = traced.opened, traced.opened.model.certificate
    constructed = opened.construction is not None
    exact = expected(opened.model, traced.sequence.tokens, opened.order, opened.beta) if constructed else bayes
    wrong = deviations(traced.predicted, exact)
    defined = ~np.isnan(wrong)
    at = int(np.nanargmax(wrong)) if defined.any() else None
    bound = promise.bound if constructed and promise is not None and traced.length <= promise.length else None
    worst = float(wrong[at]) if at is not None else 0.0
    names = {
        "kgram": "the conditional k-gram",
        "biased": "the biased k-gram",
        "bayes": f"add-{opened.beta:g} smoothing",
    }
    return wrong, schema.Exactness(
        compared_with=names[promise.estimator if promise is not None else "kgram"] if constructed else bayes_name,
        max_error=worst if defined.any() else None,
        at=at,
        bound=bound,
        positions_checked=int(defined.sum()),
        passed=None if bound is None else within(worst, bound),
        level=how_exact(worst, bound, opened.model.dtype.name),
    )


def how_exact(error: float, bound: float | None, dtype: str) -> schema.HowExact:
    """The class of an error: `exact` at the level of rounding, `within` or `beyond` its bound, `open` without one.

    >>> [how_exact(error, bound, "float64") for error, bound in ((1e-16, 1e-7), (1e-9, 1e-7), (0.1, 1.0))]
    ['exact', 'within', 'beyond']
    """
    if bound is None:
        return "open"
    if not within(error, bound):
        return "beyond"
    return "exact" if error <= ROUNDING_UNITS * unit_roundoff(dtype) else "within"


def _losses(traced: Traced, bayes: Distributions, kgram: Distributions) -> schema.Losses | None:
    """Mean exact loss wherever there is a full window: the entropy of the truth, and the excess of predictions."""
    if traced.truth is None:
        return None
    truth, full = traced.truth, slice(traced.opened.order - 1, None)

    def excess(rows: Distributions) -> float:
        return float(rel_entr(truth, rows)[full].sum(axis=1).mean())

    return schema.Losses(
        true_loss=float(entr(truth)[full].sum(axis=1).mean()),
        model_excess=excess(traced.predicted),
        bayes_excess=excess(bayes),
        kgram_excess=excess(kgram),
    )


def model_info(opened: Opened) -> schema.ModelInfo:
    """The kind of the model."""
    model = opened.model
    return schema.ModelInfo(
        title=opened.title,
        source=opened.source,
        construction=opened.construction,
        order=opened.order,
        alphabet_size=model.alphabet_size,
        dtype=model.dtype.name,
        heads=[len(layer.heads) for layer in model.layers],
        mlp=[len(layer.mlp) for layer in model.layers],
        dimension=model.dimension,
        parameters=count_arrays(model),
        # The sufficient kappa for the target error, or the default of a construction without a certificate.
        certified_kappa=None if opened.plan is None else opened.plan.kappa,
        refusal=opened.refusal,
        certificate=model.certificate,
    )
