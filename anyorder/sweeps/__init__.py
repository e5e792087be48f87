"""Sweeps: grids of training runs, on the cores of one machine or on a Ray cluster, into one table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
