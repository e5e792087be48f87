"""Estimators: exact in-context predictors, the ground truth that everything is judged by."""

from anyorder import numerics as numerics
from anyorder.estimators.floor import floor as floor  # not late: its module, once loaded, has the same name
from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
