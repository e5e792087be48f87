"""Figures and pages: the same style everywhere, labelled, colour-blind safe."""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
