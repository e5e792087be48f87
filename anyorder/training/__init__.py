"""Training: configs, initial weights, the compiled step, runs with checkpoints, and what is measured on them.

A config can be read and checked without JAX: names are loaded when they are first used.
"""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
