"""Constructions: transformers with explicit weights, each with a certificate that bounds its error."""

from anyorder.constructions.construction import Construction, Option
from anyorder.constructions.registry import CONSTRUCTIONS, Plan, construct, plan

__all__ = ["CONSTRUCTIONS", "Construction", "Option", "Plan", "construct", "plan"]
