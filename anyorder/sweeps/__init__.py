"""Sweeps: grids of training runs, on the cores of one machine or on a Ray cluster, into one table."""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
