"""A laboratory for in-context learning of Markov chains of any order.

Importing the package is light: every name is loaded when it is first used.

>>> import anyorder
>>> tokens = anyorder.sample(order=2, length=64, seed=0).tokens[0]
>>> model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=64)
>>> exact = anyorder.kgram(tokens, order=2, alphabet_size=2)
>>> bool(abs(model(tokens) - exact.probabilities)[exact.defined].max() <= model.certificate.bound)
True
"""

import importlib

import lazy_loader

__version__ = "0.2.0"

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("torch")  # it needs an extra; all other names can be imported without
__all__ += ["__version__"]
#: Modules under their names of version 0.2.
_RENAMED = {"experiments": "papers", "reading": "io.sequence_files", "transformer": "models"}


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        return importlib.import_module(f"{__name__}.{_RENAMED[name]}")
    try:
        return _attribute(name)
    except ModuleNotFoundError as error:
        if name != "torch":
            raise
        # an AttributeError, so that `hasattr` is False
        raise AttributeError(str(error)) from None
