"""What a run costs, before it is run: seconds of one core, from a count of multiplications.

The constants were measured on one core of a server of 2.x GHz with the shapes of `benchmarks/sweeps.py`; other
machines differ by a factor, which a running sweep corrects for as soon as its first run has ended.
"""

from __future__ import annotations

from anyorder.training.config import Config

#: Seconds to trace and compile one program, the measurement included.
COMPILATION = 6.0
#: Multiplications and additions of a core in a second; of the same with a fixed cost for every sequence position.
_RATE, _POSITION, _STEP = 2.0e10, 1.2e-7, 1.5e-4
#: A measurement goes once through the plain network, in pieces of float64: dearer than a step's forward pass.
_MEASURED = 2.0


def forward(config: Config) -> float:
    """Multiplications of one sequence through the network.

    >>> from anyorder.training.config import Architecture
    >>> narrow, wide = (Config(architecture=Architecture(dimension=d)) for d in (32, 64))
    >>> 2 < forward(wide) / forward(narrow) < 4
    True
    """
    d, rows = config.architecture.dimension, config.data.length + config.architecture.beginning
    layers = config.architecture.layers
    stacks = layers if config.architecture.last_mlp or layers == 1 else layers - 1
    per_stack = {"none": 0, "paper": 3, "gpt2": 8}[config.architecture.mlp]
    # The first layer is looked up, not multiplied, and matrices that meet are folded: see training/fast.py.
    linear = rows * d * d * (2 * (layers - 1) + per_stack * stacks)
    attention = 2 * layers * rows * rows * d
    return 2.0 * (linear + attention)


def seconds(config: Config) -> float:
    """Seconds of one core for one run, without compilation.

    >>> from anyorder.training.config import PRESETS
    >>> 5 < seconds(PRESETS["floor"]) < 60
    True
    """
    settings, rows = config.optimisation, config.data.length
    sequence = 3 * forward(config) / _RATE + rows * _POSITION * config.architecture.layers
    steps = settings.steps * (settings.batch * sequence + _STEP)
    double = 2.0 if settings.dtype == "float64" else 1.0
    return double * steps + _MEASURED * config.measurement.evaluation_count * sequence
