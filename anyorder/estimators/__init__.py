"""Estimators: exact in-context predictors, the ground truth that everything is judged by."""

import lazy_loader

from anyorder.estimators.floor import floor as floor  # not late: its module, once loaded, has the same name
from anyorder.io import numerics as numerics

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
