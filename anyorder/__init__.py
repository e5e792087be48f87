"""A laboratory for in-context learning of Markov chains of any order.

Importing the package is light: everything is loaded when it is first named.

>>> import anyorder
>>> tokens = anyorder.sample(order=2, length=64, seed=0).tokens[0]
>>> model = anyorder.construct("dyadic", order=2, alphabet_size=2, length=64)
>>> exact = anyorder.kgram(tokens, order=2, alphabet_size=2)
>>> bool(abs(model(tokens) - exact.probabilities)[exact.defined].max() <= model.certificate.bound)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyorder.lazy import when_named

if TYPE_CHECKING:
    from anyorder import chains as chains
    from anyorder import claims as claims
    from anyorder import cli as cli
    from anyorder import constructions as constructions
    from anyorder import dynamics as dynamics
    from anyorder import estimators as estimators
    from anyorder import experiments as experiments
    from anyorder import plot as plot
    from anyorder import probe as probe
    from anyorder import report as report
    from anyorder import sweeps as sweeps
    from anyorder import torch as torch
    from anyorder import training as training
    from anyorder import transformer as transformer
    from anyorder import web as web
    from anyorder.chains import sample as sample
    from anyorder.constructions.registry import construct as construct
    from anyorder.constructions.verify import verify as verify
    from anyorder.errors import InputError as InputError
    from anyorder.estimators import bayes as bayes
    from anyorder.estimators import kgram as kgram
    from anyorder.training.config import Config as Config
    from anyorder.training.run import train as train
    from anyorder.transformer.model import Transformer as Transformer
    from anyorder.transformer.storage import load as load
    from anyorder.transformer.storage import save as save

__version__ = "0.2.0"

_MODULES = (
    "chains",
    "claims",
    "cli",
    "constructions",
    "dynamics",
    "estimators",
    "experiments",
    "plot",
    "probe",
    "report",
    "sweeps",
    "torch",
    "training",
    "transformer",
    "web",
)
#: Name → the module that it lives in.
_NAMES = {
    "Config": "training.config",
    "InputError": "errors",
    "Transformer": "transformer.model",
    "bayes": "estimators",
    "construct": "constructions.registry",
    "kgram": "estimators",
    "load": "transformer.storage",
    "sample": "chains",
    "save": "transformer.storage",
    "train": "training.run",
    "verify": "constructions.verify",
}

__all__ = ["__version__", *_MODULES, *_NAMES]

if not TYPE_CHECKING:  # so that a type checker sees a misspelt name
    __getattr__, __dir__ = when_named(__name__, _NAMES, modules=_MODULES, extras=("torch",))
