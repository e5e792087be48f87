"""Adapters from other frameworks to the probe; a framework is imported only when its adapter is used."""

from anyorder.probing.adapters.callables import CallableModel
from anyorder.probing.adapters.huggingface import HuggingFaceModel
from anyorder.probing.adapters.transformer_lens import TransformerLensModel

__all__ = ["CallableModel", "HuggingFaceModel", "TransformerLensModel"]
