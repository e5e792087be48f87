"""Gradient descent on the reduced models of App. C and D: Algorithms 1 and 2, and joint training.

Settings can be read without JAX: names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
