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

__version__: str
