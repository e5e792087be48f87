"""One model on one sequence: run it, keep its trace, show it next to what it should be."""

from __future__ import annotations

import threading
from collections import OrderedDict

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from anyorder import estimators
from anyorder.constructions.parameters import count_arrays
from anyorder.errors import InputError, require
from anyorder.transformer import Trace
from anyorder.web import limits
from anyorder.web.compare import bayes_predictor, exactness_of, losses_of
from anyorder.web.models import Library, Opened, build
from anyorder.web.schema import (
    Constructed,
    Map,
    Matrix,
    ModelInfo,
    Promise,
    View,
    ViewRequest,
)
from anyorder.web.seen import Drawn, Seen, draw, finite, wide
from anyorder.web.work import Check


class Explorer:
    """Runs models and keeps the last views; safe to call from several threads."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: OrderedDict[str, Seen] = OrderedDict()
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
            while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > limits.KEPT_BYTES:
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
            trace = jax.block_until_ready(opened.model.trace(tokens))
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
        kgram = np.asarray(estimators.kgram(tokens, order=order, alphabet_size=size).probabilities)[:length]
        bayes, bayes_name = bayes_predictor(seen, asked.sequence, tokens)
        ideal = np.asarray(estimators.pseudo_attention(tokens, order))[:length, :length]
        ideal = np.pad(ideal, ((begins, 0), (begins, 0)))
        check()
        maps = [(layer, head, weights[:rows, :rows]) for layer, head, weights in _maps(seen.trace)]
        distances = [float(np.square(weights - ideal).sum()) for _, _, weights in maps]
        nearest = int(np.argmin(distances)) if seen.opened.construction is None else len(maps) - 1
        predicted = np.asarray(seen.trace.probabilities, np.float64)[:length]
        wrong, exactness = exactness_of(seen, predicted, bayes, bayes_name)
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
            kgram=Matrix.of(kgram),
            bayes=Matrix.of(bayes),
            bayes_name=bayes_name,
            truth=None if seen.drawn.truth is None else Matrix.of(wide(seen.drawn.truth[1:], size)),
            errors=[finite(value) for value in wrong.tolist()],
            exactness=exactness,
            losses=losses_of(seen, bayes, kgram),
        )


def _fits(size: int, drawn: Drawn) -> None:
    require(
        len(drawn.symbols) <= size,
        f"the sequence has {len(drawn.symbols)} symbols, the model has {size}; choose a larger alphabet or another "
        "sequence",
    )


def _maps(trace: Trace) -> list[tuple[int, int, Float[np.ndarray, "rows rows"]]]:
    return [
        (layer, head, np.asarray(weights, np.float64))
        for layer, heads in enumerate(trace.attention, start=1)
        for head, weights in enumerate(heads, start=1)
    ]


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
