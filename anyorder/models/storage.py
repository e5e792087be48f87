"""Files of models: the weights as tensors, and in the header the structure, the names and the certificate."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from anyorder.errors import InputError, require
from anyorder.io.gates import gated
from anyorder.io.plugins import Registry
from anyorder.io.trees import arrays_digest, check_finite, described, read_header, read_record, write_record
from anyorder.models.attention import Head
from anyorder.models.certificate import Certificate
from anyorder.models.mamba import Mamba
from anyorder.models.mlp import LayerNorm, MLPLayer, UnitNorm
from anyorder.models.model import Layer, Transformer
from anyorder.models.recurrence import Recurrence
from anyorder.zoo import located

FORMAT = "anyorder model 2"
_SHIPPED = (Transformer, Layer, Head, Mamba, Recurrence, MLPLayer, UnitNorm, LayerNorm, Certificate)
#: The classes that a file may contain: ours, and the modules of plug-ins.
_KINDS: Registry[type] = Registry(
    "part of a model",
    {kind.__name__: kind for kind in _SHIPPED},
    lambda _, value: value.__name__ if isinstance(value, type) and issubclass(value, eqx.Module) else None,
)


class Summary(NamedTuple):
    """Facts about a model from the header of its file; the last three are from the certificate."""

    alphabet_size: int
    length: int | None
    construction: str | None = None
    order: int | None = None
    dtype: str | None = None


@gated
def save(model: Transformer, path: str | Path) -> None:
    """Write a model, constructed or trained; `load` restores it bit for bit.

    >>> import tempfile
    >>> from anyorder.constructions import construct
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(construct("bigram", order=1, alphabet_size=2, length=8), path)
    >>> load(path).certificate.construction
    'bigram'
    """
    require(
        isinstance(model, Transformer),
        f"the object to save is a {type(model).__name__}; pass the model, then the path",
    )
    require(
        model.certificate is None or model.certificate.weights == weights_digest(model),
        "the certificate is not that of these weights, which changed since; save the model without it: "
        "dataclasses.replace(model, certificate=None)",
    )
    write_record(path, model, FORMAT, summary=_summary(model)._asdict())


def _summary(model: Transformer) -> Summary:
    length = None if model.positions is None else len(model.positions)
    promise = model.certificate
    promised = () if promise is None else (promise.construction, promise.order, promise.dtype)
    return Summary(len(model.embedding), length, *promised)


def read_summary(path: str | Path) -> Summary:
    """The summary in the header of a model file; for files of version 0.2 it is derived from the structure."""
    header, shapes = read_header(path)
    found = header.get("format")
    require(found == FORMAT, f"{path} contains {found!r}, must be {FORMAT!r}; it is not a model")
    if "summary" in header:
        return Summary(**header["summary"])
    promise = header["value"]["fields"]["certificate"]
    promised = () if promise is None else (promise["fields"][name] for name in ("construction", "order", "dtype"))
    return Summary(shapes["embedding"][0], shapes.get("positions", [None])[0], *promised)


@gated
def load(path: str | Path) -> Transformer:
    """Read a model written by `save`, or `zoo:NAME`; a file that is no model raises `InputError`.

    >>> load("zoo:fast")
    Transformer(...)
    """
    path = located(path)
    model = read_record(path, FORMAT, _KINDS, jnp.asarray)
    require(isinstance(model, Transformer), f"{path} does not contain a complete model; write it again")
    _, arrays = described(model)
    require(
        model.certificate is None or model.certificate.weights == arrays_digest(arrays),
        f"{path} has a certificate that does not belong to its weights; build the model again",
    )
    try:
        check_finite(arrays, path)
    except InputError as error:
        warnings.warn(str(error), stacklevel=2)  # a forced construction may overflow
    return model


@gated
def weights_digest(model: Transformer) -> str:
    """A digest of all arrays of a model, as stored in its certificate.

    >>> from anyorder.constructions import construct
    >>> model = construct("bigram", order=1, alphabet_size=2, length=8)
    >>> model.certificate.weights == weights_digest(model)
    True
    """
    return arrays_digest(described(model)[1])
