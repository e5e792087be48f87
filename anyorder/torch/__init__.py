"""For PyTorch users: our models as modules, our sources as datasets, and floors for any module.

Importing it imports PyTorch but not JAX, which datasets and evaluations import on first use.
"""

import importlib.util

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError("anyorder.torch needs torch; pip install '.[torch]' in a clone", name="torch")

from anyorder.torch.data import Dataset, dataset
from anyorder.torch.measure import Measurement, evaluate
from anyorder.torch.model import Transformer, load

__all__ = ["Dataset", "Measurement", "Transformer", "dataset", "evaluate", "load"]
