"""Predictions of any map from tokens to rows, such as Equinox and PyTorch modules, JAX and NumPy functions."""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import log_softmax

from anyorder.chains.kernel import ROW_TOLERANCE
from anyorder.errors import InputError, in_a_line, require

Output = Literal["probabilities", "logits"]
#: Batch size of a compiled model.
BATCH = 32


def predictions(
    model: Any,
    tokens: Int[Array, "count length"],
    alphabet_size: int,
    output: Output | None = None,
    noun: str = "model",
) -> tuple[Float[np.ndarray, "count length symbols"], Output]:
    """The model's distributions on every sequence, and whether its rows were read as probabilities or logits.

    model: a callable from one sequence to rows (T, S) (a PyTorch module gets a batch of one), or the array of all rows.
    output: "probabilities" or "logits"; by default probabilities if all rows are distributions, and logits otherwise.
    noun: the name of the model in messages.

    >>> rows, taken = predictions(lambda tokens: np.zeros((len(tokens), 2)), jnp.asarray([[0, 1, 0]]), 2)
    >>> rows[0, 0].tolist(), taken
    ([0.5, 0.5], 'logits')
    """
    require(output in (None, "probabilities", "logits"), f"output is {output!r}, must be 'probabilities' or 'logits'")
    given = isinstance(model, np.ndarray)
    require(given or callable(model), f"the {noun} is a {type(model).__name__}, must map tokens to rows (T, S)")
    rows = model if given else _rows(model, tokens, alphabet_size, noun)
    defined = rows[~np.isnan(rows).any(axis=-1)]
    require(len(defined) > 0, f"the {noun} returns NaN in every row; look for the first NaN inside it")
    tolerance = max(ROW_TOLERANCE, 4 * float(jnp.finfo(rows.dtype).eps))
    sums = defined.astype(np.float64).sum(axis=-1)
    distributions = bool((defined >= 0).all() and (np.abs(sums - 1) <= tolerance).all())
    require(
        distributions or output != "probabilities",
        f"the rows of the {noun} are not distributions; divide them by their sums"
        + (", or pass `output='logits'`" if noun == "model" else ""),
    )
    rows = rows.astype(np.float64)
    if output == "logits" or not distributions:
        largest = rows.max(axis=-1)
        require(bool(np.isfinite(largest).all()), f"a row of logits has the maximum {largest.min()}, must be finite")
        return np.exp(log_softmax(rows, axis=-1)), "logits"
    return rows / rows.sum(axis=-1, keepdims=True), "probabilities"


def _rows(model: Any, tokens: Int[Array, "count length"], size: int, noun: str) -> np.ndarray:
    expected = (tokens.shape[1], size)

    def call(row: Any) -> Any:
        found = _of_result(model(row))
        found = found.detach().cpu().double().numpy() if hasattr(found, "detach") else found
        shape = np.shape(found)[1:] if is_torch(model) and np.shape(found)[:1] == (1,) else np.shape(found)
        check_shape(shape, expected, noun)
        return found

    if is_torch(model):
        return _of_torch(model, call, np.asarray(tokens, np.int64)).reshape(-1, *expected)
    try:
        jax.eval_shape(call, tokens[0])
    except InputError:
        raise
    except Exception:  # JAX cannot trace it; a genuine error is raised again below, on concrete arrays
        return np.stack([np.asarray(call(row)) for row in np.asarray(tokens, np.int64)])
    return np.asarray(_mapped(model, tokens))


@eqx.filter_jit
def _mapped(model: Any, tokens: Int[Array, "count length"]) -> Float[Array, "count length symbols"]:
    return jax.lax.map(lambda row: _of_result(model(row)), tokens, batch_size=BATCH)


def _of_result(found: Any) -> Any:
    """The rows of a model's result: an estimate, an output of `transformers`, or an array."""
    return getattr(found, "probabilities", getattr(found, "logits", found))


def check_shape(shape: tuple[int, ...], expected: tuple[int, int], noun: str = "model") -> None:
    """Reject rows of another shape."""
    require(
        tuple(shape) == expected,
        f"the {noun} returns shape {tuple(shape)} for {expected[0]} tokens, must be {expected}: a row for every token, "
        "a column for every symbol",
    )


def is_torch(model: object) -> bool:
    """Whether a model is a PyTorch module; PyTorch is not imported."""
    return any(f"{base.__module__}.{base.__name__}" == "torch.nn.modules.module.Module" for base in type(model).__mro__)


def _of_torch(model: Any, call: Any, tokens: Int[np.ndarray, "count length"]) -> np.ndarray:
    import torch

    from anyorder.torch.measure import measured

    with measured(model) as device:
        return np.stack([call(torch.as_tensor(row[None], device=device)) for row in tokens])


def logits_of(model: Any, tokens: Int[Array, "length"], alphabet_size: int) -> Float[Array, "length symbols"]:
    """The logits of an Equinox module for one sequence; rejected unless there is one row for every token."""
    try:
        found = model(tokens)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the model cannot read {len(tokens)} tokens: {in_a_line(error)}") from error
    check_shape(jnp.shape(found), (len(tokens), alphabet_size))
    return found
