"""The protocol of a model that can be probed, and its implementation for models of this package."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

if TYPE_CHECKING:
    from anyorder.models import Transformer
    from anyorder.models.model import Trace

#: A head, as (layer, number in the layer).
Place: TypeAlias = tuple[int, int]
#: Start token of models whose beginning token is not in the vocabulary.
NO_TOKEN = -1


@dataclasses.dataclass(frozen=True)
class Look:
    """Result of a forward pass: next-token log-probabilities after every row (None: unknown), attention by layer."""

    log_probabilities: Float[np.ndarray, "rows vocabulary"] | None
    attention: Mapping[int, Float[np.ndarray, "heads rows rows"]]


@runtime_checkable
class Model(Protocol):
    """Anything that can be probed.

    heads: number of heads of each layer.
    ids: tokens to draw test sequences from.
    start: id of the token that precedes every sequence, or None.
    about: facts to store with the result.

    Optional members: `context`, the longest sequence that the model was trained on or has positions for, limits test
    sequences. `attend(tokens, layers)` is `run` without predictions, for models with expensive predictions. Path
    patching requires `written(tokens)`, the outputs of all heads by (layer, head), and an argument `write` of `run`
    with outputs to substitute.
    """

    name: str
    heads: tuple[int, ...]
    ids: Int[np.ndarray, "count"]
    start: int | None
    about: dict[str, object]

    def run(self, tokens: Int[np.ndarray, "rows"], *, layers: Sequence[int] = (), off: Sequence[Place] = ()) -> Look:
        """Run on token ids; return the attention of `layers`; the outputs of heads in `off` are set to zero."""
        ...


def begun(model: Model, tokens: Int[np.ndarray, "length"]) -> Int[np.ndarray, "rows"]:
    """The tokens, preceded by the model's start token if it has one."""
    return tokens if model.start is None else np.concatenate([[model.start], tokens])


def shares(weights: Float[np.ndarray, "heads rows rows"]) -> Float[np.ndarray, "heads rows rows"]:
    """The weights of a recurrence, normalised by row; a row of zeros becomes uniform over the earlier rows.

    >>> shares(np.array([[[0.0, 0.0], [0.0, 0.5]]])).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    sums = weights.sum(axis=-1, keepdims=True)
    even = np.tril(np.ones(weights.shape[1:])) / np.arange(1, weights.shape[1] + 1)[:, None]
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), even)


class OwnModel:
    """A model of this package: constructed, trained or loaded.

    >>> from anyorder.constructions import construct
    >>> OwnModel(construct("k-head", order=2, alphabet_size=3, length=8), "k-head").heads
    (2, 1)
    """

    def __init__(
        self, model: Transformer, name: str, about: Mapping[str, object] | None = None, *, context: int | None = None
    ) -> None:
        self.model, self.name = model, name
        if context is None and model.certificate is not None:
            context = model.certificate.length
        elif context is None and model.positions is not None:
            context = len(model.positions)
        self.context = context
        self.about: dict[str, object] = dict(about or {})
        self.heads = tuple(len(layer.heads) for layer in model.layers)
        self.ids = np.arange(model.alphabet_size)
        self.start = None if model.beginning is None else NO_TOKEN

    def run(
        self,
        tokens: Int[np.ndarray, "rows"],
        *,
        layers: Sequence[int] = (),
        off: Sequence[Place] = (),
        write: Mapping[Place, Any] | None = None,
    ) -> Look:
        """Run on symbols; a start token becomes the model's beginning token, after which predictions are NaN."""
        from anyorder.models import Recurrence

        begins = int(self.start is not None)
        instead = dict.fromkeys(off, 0.0) | dict(write or {})
        trace = self._replaced(tokens[begins:], instead)[0] if instead else self.model.trace(tokens[begins:])
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(np.asarray(trace.probabilities, np.float64), 0.0))
        logs = np.concatenate([np.full((begins, logs.shape[1]), np.nan), logs])
        attention = {layer: np.asarray(trace.attention[layer], np.float64) for layer in layers}
        summed = {layer for layer in layers if any(isinstance(h, Recurrence) for h in self.model.layers[layer].heads)}
        return Look(logs, {layer: shares(each) if layer in summed else each for layer, each in attention.items()})

    def written(self, tokens: Int[np.ndarray, "rows"]) -> dict[Place, Any]:
        """The output of every head on symbols, for `run(…, write=…)`."""
        return self._replaced(tokens[int(self.start is not None) :], {})[1]

    def _replaced(
        self, tokens: Int[np.ndarray, "length"], instead: Mapping[Place, Any]
    ) -> tuple[Trace, dict[Place, Any]]:
        """The trace with substituted outputs of some heads, and the outputs of all; compiled once for all choices."""
        import jax.numpy as jnp

        # In the order of the forward pass; -1 is the MLP of a layer.
        owners = [
            (number, head)
            for number, layer in enumerate(self.model.layers)
            for head in [*range(len(layer.heads)), *[-1] * bool(layer.mlp)]
        ]
        rows = len(tokens) + (self.start is not None)
        shape, dtype = (rows, self.model.dimension), self.model.dtype
        values = [jnp.broadcast_to(jnp.asarray(instead.get(owner, 0.0), dtype), shape) for owner in owners]
        chosen = jnp.asarray([owner in instead for owner in owners])
        program = dataclasses.replace(self.model, certificate=None, blocks=None)
        trace, written = _replacing()(program, jnp.asarray(tokens), values, chosen)
        return trace, dict(zip(owners, written, strict=True))


@functools.cache
def _replacing() -> Callable[..., tuple[Trace, list[Any]]]:
    """Forward pass with substituted outputs of chosen heads, compiled on first use."""
    import equinox as eqx
    import jax.numpy as jnp

    from anyorder.models.model import forward

    def run(model: Transformer, tokens: Any, values: list[Any], chosen: Any) -> tuple[Trace, list[Any]]:
        written: list[Any] = []

        def replace(place: str, own: Any, /) -> Any:
            if place == "written":
                own = jnp.where(chosen[len(written)], values[len(written)], own)
                written.append(own)
            return own

        return forward(model, tokens, True, replace), written

    return eqx.filter_jit(run)
