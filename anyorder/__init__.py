"""A laboratory for in-context learning of Markov chains of any order.

Importing the package is light: everything is loaded when it is first named.

>>> import anyorder
>>> tokens = anyorder.sample(order=2, length=64, seed=0).tokens[0]
>>> model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=64)
>>> exact = anyorder.kgram(tokens, order=2, alphabet_size=2)
>>> bool(abs(model(tokens) - exact.probabilities)[exact.defined].max() <= model.certificate.bound)
True
"""

from anyorder.lazy import when_named

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = when_named(__name__, extras=("torch",))
__all__ += ["__version__"]
