"""The transformer of Definition 3: embedding, relative attention, MLP stacks, trace, and files of models."""

from anyorder.transformer.attention import Head
from anyorder.transformer.certificate import Certificate
from anyorder.transformer.mlp import LayerNorm, MLPLayer, UnitNorm
from anyorder.transformer.model import Layer, Trace, Transformer
from anyorder.transformer.storage import load, save, weights_digest

__all__ = [
    "Certificate",
    "Head",
    "Layer",
    "LayerNorm",
    "MLPLayer",
    "Trace",
    "Transformer",
    "UnitNorm",
    "load",
    "save",
    "weights_digest",
]
