"""Papers, one folder each, and shared machinery: experiments, their runner, recorded results, ledgers of claims."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
