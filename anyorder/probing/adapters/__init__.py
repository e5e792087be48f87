"""Models of other frameworks as the probe reads them; each imports its framework only when it is used."""

from anyorder.probing.adapters.callables import CallableModel
from anyorder.probing.adapters.huggingface import HuggingFaceModel
from anyorder.probing.adapters.transformer_lens import TransformerLensModel

__all__ = ["CallableModel", "HuggingFaceModel", "TransformerLensModel"]
