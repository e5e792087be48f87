"""Constructions: transformers whose weights are written down, each with a certificate of how exact it is."""

from anyorder.constructions.registry import CONSTRUCTIONS, Construction, construct

__all__ = ["CONSTRUCTIONS", "Construction", "construct"]
