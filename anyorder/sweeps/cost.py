"""The estimated cost of a run in seconds of one core, from the multiplications and exponentials of its steps.

The constants were fitted to four shapes on one free core of a server; other machines differ by a factor, for which a
running sweep corrects as soon as its first run has ended.
"""

from __future__ import annotations

from anyorder.training.config import Config

#: Seconds to trace and compile the programs of one shape: a step, the floor, a measurement.
COMPILATION = 12.0
#: Seconds for a multiplication of a matrix, for an entry of an attention map, and for the constant cost of a step.
_PRODUCT, _ENTRY, _STEP = 5e-11, 1.2e-8, 2e-4
#: Slowdown by the norms of queries, keys and the stream.
_NORMS = 1.65
#: Slowdown by dropout, with which a step has no fast form.
_DROPOUT = 4.5
#: Products of d × d in the MLP after a layer.
_STACKS = {"none": 0, "paper": 3, "published": 4, "gpt2": 8}


def sequence(config: Config) -> float:
    """Seconds for one sequence of a step, forward and backward.

    >>> from anyorder.training.config import Architecture
    >>> narrow, wide = (Config(architecture=Architecture(dimension=d)) for d in (64, 128))
    >>> 2 < sequence(wide) / sequence(narrow) < 4
    True
    """
    architecture, layers = config.architecture, config.architecture.layers
    rows, d = config.data.length + architecture.beginning, architecture.dimension
    stacks = layers if architecture.last_mlp or layers == 1 else layers - 1
    # The first layer is a table lookup, and consecutive matrices are multiplied first: see training/fast.py.
    products = rows * d * d * (2 * (layers - 1) + _STACKS[architecture.mlp] * stacks)
    entries = rows * rows * sum(config.heads)
    norms = _NORMS if architecture.qk_norm or architecture.pre_norm else 1.0
    slower = (2.0 if config.optimisation.dtype == "float64" else 1.0) * (_DROPOUT if config.optimisation.dropout else 1)
    return slower * norms * (_PRODUCT * products + _ENTRY * entries)


def seconds(config: Config) -> float:
    """Seconds of one core for one run, without compilation: its steps, and one measurement at its end.

    >>> from anyorder.training.config import PRESETS
    >>> 5 < seconds(PRESETS["floor"]) < 60
    True
    """
    settings = config.optimisation
    steps = settings.steps * (settings.batch * sequence(config) + _STEP)
    return steps + config.measurement.evaluation_count * sequence(config)
