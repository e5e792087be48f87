"""The explorer: a typed API over the package, and one page that uses only this API."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
