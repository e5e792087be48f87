"""Checks of a config before anything runs, each with a one-line message. Nothing here imports JAX."""

from __future__ import annotations

import dataclasses
import math

from anyorder.errors import require, shown
from anyorder.io.gates import check_memory
from anyorder.training.config import Config, Optimisation, bayes_targets, check_value, values
from anyorder.training.config_text import words
from anyorder.training.mixers import recipe

#: Largest number of entries in the kernels of one batch: 2 GiB in float64.
MOST_NUMBERS = 1 << 28
#: Lower bounds of fields, and closed ranges of others.
_LEAST = {
    "seeds": 1, "order": 1, "alphabet_size": 2, "max_order": 1, "depth": 1, "chains": 1, "layers": 1, "dimension": 1,
    "taps": 0, "state": 1, "expansion": 1, "steps": 1,
    "batch": 1, "per_kernel": 1, "weight_decay": 0, "clip": 0, "warmup": 0, "perturbation": 0, "evaluate_every": 1,
    "evaluation_count": 2, "checkpoint_every": 1, "keep_every": 0,
}  # fmt: skip
_WITHIN = {"token_noise": (0, 1), "transition_noise": (0, 1), "final_rate": (0, 1)}
_BELOW_ONE = ("beta1", "beta2", "dropout")


def check_config(config: Config) -> None:
    """Raise a one-line `InputError` if the config cannot be run.

    >>> from anyorder.training.config import Data
    >>> check_config(Config(data=Data(order=8, length=8)))
    Traceback (most recent call last):
    anyorder.errors.InputError: length is 8, must be above the order 8; pass `length=9` or more
    """
    require(
        isinstance(config, Config), f"the config is {config!r}, must be a Config; `anyorder.training.preset` makes one"
    )
    for name, group in vars(Config()).items():
        given = getattr(config, name)
        require(
            not dataclasses.is_dataclass(group) or isinstance(given, type(group)),
            f"{name} is {given!r}, must be of type {type(group).__name__}",
        )
    for name, value in values(config).items():
        spelt = name.replace("_", " ")
        check_value(name, value, f"{spelt} is")
        if name in _LEAST:
            least = _LEAST[name]
            require(value >= least, f"{spelt} is {value}, must be at least {least}; pass `{name}={least}` or more")
        if name in _WITHIN:
            low, high = _WITHIN[name]
            require(low <= value <= high, f"{spelt} is {value}, must be between {low} and {high}")
        if name in _BELOW_ONE:
            require(0 <= value < 1, f"{spelt} is {value}, must be at least 0 and below 1")
    _check_data(config)
    _check_architecture(config)
    _check_optimisation(config.optimisation)
    require(
        config.optimisation.targets != "bayes" or bayes_targets(config),
        "the targets bayes need Dirichlet rows, a uniform start and no noise; pass `targets=exact`",
    )
    _check_memory(config)


def _check_memory(config: Config) -> None:
    """Reject a run whose arrays cannot fit, by rough sizes: weights with their moments, activations, evaluation set."""
    length, size, d = config.data.tokens, config.data.alphabet_size, config.architecture.dimension
    layers, models = config.architecture.layers, config.seeds * len(config.optimisation.learning_rate)
    weights = layers * d * (8 * d + length) + 2 * size * d
    activations = config.optimisation.batch * length * layers * d + length**2
    evaluation = config.measurement.evaluation_count * length * size
    about = f"{models} models of {weights:,} weights on {length:,} tokens"
    way_out = "pass a smaller `seeds=`, `dimension=`, `length=`, `batch=` or `evaluation_count=`"
    check_memory(20 * models * weights + 8 * activations + 32 * evaluation, about, way_out)


def _check_data(config: Config) -> None:
    data, window = config.data, config.data.window
    require(
        config.seeds <= 2**63 - config.seed,
        f"{config.seeds} seeds from {config.seed} on go beyond {2**63 - 1}; pass a smaller `seed=`",
    )
    require(
        0 <= data.min_order <= data.max_order,
        f"min order is {data.min_order}, must be between 0 and the max order {data.max_order}",
    )
    require(
        data.length > window,
        f"length is {data.length}, must be above the order {window}; pass `length={window + 1}` or more",
    )
    require(data.concentration > 0, f"concentration is {data.concentration}, must be above 0; the paper uses 1")
    require(0 < data.gamma < 1, f"gamma is {data.gamma}, must be between 0 and 1; the default is 0.2")
    require(
        not (data.token_noise and data.transition_noise),
        f"token noise {data.token_noise} and transition noise {data.transition_noise} together; choose one kind",
    )
    dense = (window + 1) * math.log2(data.alphabet_size)
    kernel = data.alphabet_size ** min(window + 1, 64)
    counts = {"evaluation_count": config.measurement.evaluation_count, "batch": config.optimisation.batch}
    for name, count in counts.items():
        require(
            dense <= 64 and count * kernel <= MOST_NUMBERS,
            f"{count} kernels of {shown(kernel)} numbers are drawn at once, the limit is {MOST_NUMBERS} numbers; "
            f"pass a smaller `{name}=` or `order=`",
        )


def _check_architecture(config: Config) -> None:
    architecture, initial = config.architecture, config.initial
    for name, one, given in (("heads", "number", architecture.heads), ("mixers", "name", architecture.mixer)):
        have = f"{name} are {words(given) or 'none'} for {architecture.layers} layers"
        require(len(given) in (1, architecture.layers), f"{have}; give one {one}, or one for each layer")
    recipe(architecture.mixer, config.data.order)  # rejects unknown names
    for heads in architecture.heads:
        require(
            heads >= 1 and architecture.dimension % heads == 0,
            f"{heads} heads do not divide the dimension {architecture.dimension}; "
            "pass `heads=` or `dimension=` so that they do",
        )
        width = architecture.dimension // heads
        require(
            not architecture.rotary_positions or width % 2 == 0,
            f"rotary positions turn pairs of coordinates, a head has {width}; pass `heads=` or `dimension=`",
        )
    require(
        initial.from_model is not None or not (initial.zero_output and architecture.tied),
        "a tied output of zeros is an embedding of zeros; pass `tied=False`, or drop `zero_output=True`",
    )
    require(
        initial.perturbation == 0 or initial.from_model is not None,
        f"perturbation is {initial.perturbation} without a model to perturb; start from a model, or drop it",
    )


def _check_optimisation(optimisation: Optimisation) -> None:
    rates = optimisation.learning_rate
    require(len(rates) > 0, "learning rate is empty; give at least one")
    require(len(set(rates)) == len(rates), f"learning rates {words(rates)} repeat one; give each once")
    for rate in rates:
        require(0 < rate < float("inf"), f"learning rate is {rate}, must be above 0; the paper tries 1e-4 to 1e-2")
    require(
        optimisation.batch % optimisation.per_kernel == 0,
        f"{optimisation.per_kernel} sequences of each kernel do not divide the batch of {optimisation.batch}; "
        "pass `per_kernel=` or `batch=` so that they do",
    )
