"""Files of models: the weights as tensors, and in the header the structure, the names and the certificate."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp

from anyorder.records import read_record, write_record
from anyorder.transformer.attention import Head
from anyorder.transformer.certificate import Certificate
from anyorder.transformer.mlp import LayerNorm, MLPLayer, UnitNorm
from anyorder.transformer.model import Layer, Transformer

FORMAT = "anyorder model 2"
_KINDS = (Transformer, Layer, Head, MLPLayer, UnitNorm, LayerNorm, Certificate)


def save(model: Transformer, path: str | Path) -> None:
    """Write a model, constructed or trained; `load` gives it back bit for bit.

    >>> import tempfile
    >>> from anyorder.constructions import construct
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(construct("bigram", order=1, alphabet_size=2, length=8), path)
    >>> load(path).certificate.construction
    'bigram'
    """
    write_record(path, model, FORMAT)


def load(path: str | Path) -> Transformer:
    """Read a model that `save` wrote, or raise `InputError` with one line."""
    return read_record(path, FORMAT, _KINDS, jnp.asarray)
