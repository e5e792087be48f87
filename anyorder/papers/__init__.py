"""Papers as folders, and what they share: experiments, their runner and recorded results, and ledgers of claims."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
