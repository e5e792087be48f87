"""Input and output: sequence files, atomic writes, trees of arrays, number types and the cache."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
