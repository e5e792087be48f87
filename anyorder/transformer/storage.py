"""Files of models: the weights as tensors, and in the header the structure, the names and the certificate."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from anyorder.errors import InputError
from anyorder.tensors import read_tensors, write_tensors
from anyorder.transformer.attention import Head
from anyorder.transformer.certificate import Certificate
from anyorder.transformer.mlp import LayerNorm, MLPLayer, UnitNorm
from anyorder.transformer.model import Layer, Transformer

_FORMAT = "anyorder model 1"
_KINDS = {kind.__name__: kind for kind in (Transformer, Layer, Head, MLPLayer, UnitNorm, LayerNorm, Certificate)}


def save(model: Transformer, path: str | Path) -> None:
    """Write a model, constructed or trained; `load` gives it back bit for bit.

    >>> import tempfile
    >>> from anyorder.constructions import construct
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(construct("bigram", order=1, alphabet_size=2, length=8), path)
    >>> load(path).certificate.construction
    'bigram'
    """
    tensors: dict[str, Any] = {}
    structure = _describe(model, "model", tensors)
    write_tensors(path, tensors, {"format": _FORMAT, "model": structure})


def load(path: str | Path) -> Transformer:
    """Read a model that `save` wrote, or raise `InputError` with one line."""
    tensors, header = read_tensors(path)
    try:
        if header["format"] != _FORMAT:
            raise ValueError(header["format"])
        model = _rebuild(header["model"], tensors)
    except Exception:
        raise InputError(f"{path} does not describe a model of this version; write it again with anyorder") from None
    return model


def _describe(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """A JSON value that says how to put `value` together again; its arrays go to `tensors` by their path."""
    if eqx.is_array(value):
        tensors[name] = value
        return {"array": name}
    if dataclasses.is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        described = {part: _describe(inner, f"{name}.{part}", tensors) for part, inner in parts.items()}
        return {"kind": type(value).__name__, "fields": described}
    if isinstance(value, tuple):
        return [_describe(inner, f"{name}.{place}", tensors) for place, inner in enumerate(value)]
    return value


def _rebuild(value: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return tuple(_rebuild(inner, tensors) for inner in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return jnp.asarray(tensors[value["array"]])
    fields = {name: _rebuild(inner, tensors) for name, inner in value["fields"].items()}
    return _KINDS[value["kind"]](**fields)
