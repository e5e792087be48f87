"""Evaluation of any PyTorch module against the Bayes floor: excess, gap, divergence from references, and the probe."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from anyorder.errors import InputError, in_a_line, require
from anyorder.torch.model import Transformer

if TYPE_CHECKING:
    from anyorder.chains import Kernel, Prior, Source
    from anyorder.probing import Model, Probed, Settings
    from anyorder.training.evaluation import Evaluation
    from anyorder.training.reference import GivenFloor

#: Sequences per forward pass.
BATCH = 64


class Measurement(NamedTuple):
    """Losses of a model in nats, and the orders of its heads.

    excess, gap: loss above the true loss and above the Bayes floor, with standard errors; None without a floor.
    divergence: D(reference ‖ model) for every reference predictor of the source; `follows` names the nearest.
    probe: orders of induction of the heads; None with the reason in `no_probe`.
    evaluation: all measurements, such as losses by position.
    """

    excess: float
    excess_error: float
    gap: float | None
    gap_error: float | None
    divergence: dict[str, float]
    follows: str
    probe: Probed | None
    no_probe: str | None
    evaluation: Evaluation

    def __repr__(self) -> str:
        orders = "" if self.probe is None else f", orders {[head.found.order for head in self.probe.heads]}"
        return f"{repr(self.evaluation)[:-1]}, follows {self.follows}{orders})"


def evaluate(
    model: Any,
    source: Source | Prior | Kernel,
    *,
    count: int = 1024,
    seed: int = 0,
    floor: GivenFloor | None = None,
    beginning: int | None = None,
    attention: Callable[..., Any] | None = None,
    probe: bool | Settings | None = None,
) -> Measurement:
    """Measure a module, or a function, from ids (batch, T) to logits (batch, T, S) or to an output of `transformers`.

    count, seed: number and seed of the sequences, which are not those of any dataset.
    floor: replaces the source's own Bayes predictor.
    beginning: token id to put before every sequence; by default that of an exported model.
    attention: a function from one sequence of ids to attention by layer, (heads, rows, rows) each, for the probe;
        models of `transformers` and of this package need none.
    probe: False: none; True or settings: required; by default only if attention can be read.
    """
    from anyorder.chains import as_source
    from anyorder.training.evaluation import evaluate as evaluate_rows
    from anyorder.training.reference import evaluation_set

    require(callable(model), f"the model is a {type(model).__name__}, must map token ids (batch, T) to logits")
    found = as_source(source)
    drawn = evaluation_set(found, count, seed, floor=floor)
    begin = _beginning(model, found.alphabet_size) if beginning is None else beginning
    with measured(model) as device:
        read = np.asarray(drawn.tokens[:, :-1], np.int64)
        rows = _log_probabilities(model, read, found.alphabet_size, begin, device)
        evaluation = evaluate_rows(rows, drawn, output="logits")
        probed, reason = None, "no probe was requested"
        if probe is not False:
            try:
                probed, reason = _probed(model, found, begin, attention, probe), ""
            except InputError as error:
                if probe:
                    raise
                reason = str(error)
    return Measurement(
        evaluation.excess,
        evaluation.excess_error,
        evaluation.gap,
        evaluation.gap_error,
        {name: one.mean for name, one in evaluation.divergence.items()},
        evaluation.follows,
        probed,
        reason or None,
        evaluation,
    )


@contextlib.contextmanager
def measured(model: Any) -> Iterator[torch.device]:
    """Run a module in evaluation mode and without gradients on its device, and restore its mode."""
    training = getattr(model, "training", False)
    if training:
        model.eval()
    try:
        with torch.no_grad():
            yield next((one.device for one in getattr(model, "parameters", list)()), torch.device("cpu"))
    finally:
        if training:
            model.train()


def _beginning(model: Any, size: int) -> int | None:
    """The beginning token of a model whose config says that it is the token after the symbols."""
    start = getattr(getattr(model, "config", None), "bos_token_id", None)
    return size if start == size else None


def _log_probabilities(
    model: Any, tokens: np.ndarray, size: int, beginning: int | None, device: torch.device
) -> np.ndarray:
    """Log-probabilities of the next token on all sequences, (count, T, S)."""
    begun = tokens if beginning is None else np.pad(tokens, ((0, 0), (1, 0)), constant_values=beginning)
    skipped, found = begun.shape[1] - tokens.shape[1], []
    for batch in torch.as_tensor(begun, device=device).split(BATCH):
        logits = _logits(model, batch, size, beginning)
        found.append(torch.log_softmax(logits[:, skipped:, :size].double(), -1).cpu().numpy())
    rows = np.concatenate(found)
    require(bool(np.isfinite(rows).any(axis=-1).all()), "the model returns NaN; look for the first NaN inside it")
    return rows


def _logits(model: Any, batch: Tensor, size: int, beginning: int | None) -> Tensor:
    own = isinstance(model, Transformer)
    try:
        given = model(batch)
    except Exception as error:  # a foreign model may raise anything
        shape = tuple(batch.shape)
        raise InputError(f"the model cannot read ids of shape {shape}: {in_a_line(error)}") from error
    given = given.clamp(min=0).log() if own else getattr(given, "logits", given)  # our own return probabilities
    kind = "dictionary" if isinstance(given, dict) else type(given).__name__
    pick = "['logits']" if isinstance(given, dict) else "[0]"
    require(
        isinstance(given, Tensor),
        f"the model returns a {kind}, not logits; pass a function: evaluate(lambda ids: model(ids){pick}, source)",
    )
    rows, columns = tuple(batch.shape), given.shape[-1] if given.ndim else 0
    require(
        given.ndim == 3 and tuple(given.shape[:2]) == rows,
        f"the model returns shape {tuple(given.shape)} for ids of shape {rows}, must be {(*rows, size)}",
    )
    require(
        columns == size or (columns > size and beginning is not None),
        f"the model has {columns} tokens, the source {size} symbols; make a source with `alphabet_size={columns}`, or "
        "pass `beginning=` if the others are special tokens",
    )
    return given


def _probed(
    model: Any,
    source: Source,
    beginning: int | None,
    attention: Callable[..., Any] | None,
    probe: bool | Settings | None,
) -> Probed:
    from anyorder.probing import Settings
    from anyorder.probing import probe as read

    known = _readable(model, source.alphabet_size, beginning, attention)
    known.context = min(source.length - 1, getattr(known, "context", None) or source.length)  # type: ignore[attr-defined]
    return read(known, probe if isinstance(probe, Settings) else None)


def _readable(model: Any, size: int, beginning: int | None, attention: Callable[..., Any] | None) -> Model:
    """The model in the form that the probe reads, with its own attention or that of the given function."""
    from anyorder.probing.adapters import CallableModel, HuggingFaceModel
    from anyorder.probing.protocol import NO_TOKEN

    if attention is not None:
        return CallableModel(attention, ids=np.arange(size), start=beginning, name=type(model).__name__)
    if isinstance(model, Transformer):
        begins = int(model.beginning is not None)

        def own(tokens: np.ndarray) -> tuple[list[Tensor], Tensor]:
            rows = functional.pad(model(tokens[begins:]).clamp(min=0).log(), (0, 0, begins, 0), value=math.nan)
            return model.attention(tokens[begins:]), rows

        return CallableModel(own, ids=np.arange(size), start=NO_TOKEN if begins else None, name="model")
    require(
        hasattr(model, "named_modules") and hasattr(model, "config"),
        f"the attention of a {type(model).__name__} is unknown; pass `attention=`, a function from ids to attention "
        "by layer",
    )
    found = HuggingFaceModel(model=model)
    found.ids, found.start = np.arange(size), beginning
    return found
