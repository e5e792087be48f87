"""Estimators: exact in-context predictors, the ground truth for all comparisons.

Names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
