"""Gradient descent on the reduced models of App. C and D: Algorithms 1 and 2, and joint training.

Settings can be read without JAX: names are loaded when they are first used.
"""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
