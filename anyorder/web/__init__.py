"""The explorer: a typed API over the package, and one page that uses nothing else."""

from anyorder.lazy import when_named

__getattr__, __dir__, __all__ = when_named(__name__)
