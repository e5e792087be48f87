"""Experiments: each measures one thing and returns numbers; drawing and printing happen elsewhere."""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
