"""The transformer of Definition 3: embedding, relative attention, MLP stacks, trace, and files of models."""

from anyorder.models.attention import Head
from anyorder.models.certificate import Certificate
from anyorder.models.hooks import Hook
from anyorder.models.mamba import Mamba
from anyorder.models.mlp import LayerNorm, MLPLayer, UnitNorm
from anyorder.models.model import Layer, Trace, Transformer
from anyorder.models.recurrence import Recurrence
from anyorder.models.storage import load, save, weights_digest

__all__ = [
    "Certificate",
    "Head",
    "Hook",
    "Layer",
    "LayerNorm",
    "MLPLayer",
    "Mamba",
    "Recurrence",
    "Trace",
    "Transformer",
    "UnitNorm",
    "load",
    "save",
    "weights_digest",
]
