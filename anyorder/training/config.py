"""What a training run is: one frozen dataclass, which is at once the flags of the command and the JSON of the run.

Fields are grouped by what reads them. Nothing here imports JAX.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from anyorder.errors import require
from anyorder.source_config import SourceConfig

if TYPE_CHECKING:
    from anyorder.chains import Source

#: Numbers in all the kernels that are drawn at once: 2 GiB in float64.
MOST_NUMBERS = 1 << 28


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(SourceConfig):
    """The chains that sequences are drawn from."""

    length: int = 32
    """T of the paper's grid: sequences have T + 1 tokens, and the last T + 1 - k of them count as predictions."""

    @property
    def tokens(self) -> int:
        """Tokens in a sequence, x_0 … x_T."""
        return self.length + 1

    @property
    def source(self) -> Source:
        """The source of sequences of T + 1 tokens, each from a kernel of its own."""
        return self.source_of(self.tokens)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Architecture:
    """The transformer; --from replaces all of it by the model in a file."""

    layers: int = 2
    """Attention layers: 1, 2 or 3."""
    heads: tuple[int, ...] = (1,)
    """Heads of each layer, or one number for all; each must divide the dimension."""
    dimension: int = 64
    """Width d of the residual stream."""
    mlp: Literal["none", "paper", "published", "gpt2"] = "paper"
    """paper: the stack of App. B.1. published: that of the authors' code. gpt2: one hidden layer of 4d, GELU."""
    last_mlp: bool = False
    """Also an MLP after the last layer; a model of one layer always has it."""
    key_positions: Literal["none", "first", "all"] = "first"
    """Layers with relative key positions."""
    positions_through_key: bool = False
    """Relative key positions are embeddings of the offset that pass through W_K."""
    absolute_positions: bool = False
    """A table of absolute positions, added to the embedding."""
    value_positions: Literal["none", "first", "all"] = "none"
    """Layers with relative value positions."""
    beginning: bool = False
    """A beginning token before every sequence."""
    pre_norm: bool = False
    """Layer norm before attention, before the MLP and before the head."""
    qk_norm: bool = False
    """Queries and keys of length one, times a learnt scale."""
    tied: bool = True
    """The output matrix is the embedding."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Initial:
    """The weights before the first step."""

    weights: Literal["gpt2", "fan-in"] = "gpt2"
    """gpt2: normal, 0.02, smaller where the stream is written. fan-in: variance one over the inputs."""
    zero_output: bool = False
    """Start from an output matrix of zeros; needs --no-tied."""
    from_model: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the model in this .safetensors file, such as a construction."""
    perturbation: float = 0.0
    """With --from: normal noise of this standard deviation on every weight."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimisation:
    """Steps, and how they are taken."""

    steps: int = 30_000
    """Optimiser steps."""
    batch: int = 64
    """Sequences in a step."""
    per_kernel: int = 1
    """Sequences of a step that share a kernel; it divides the batch."""
    targets: Literal["sampled", "exact"] = "sampled"
    """Learn from the token that came, or from the distribution that it came from."""
    predictions: Literal["window", "all"] = "window"
    """The predictions that count in the loss: those from a full window of k tokens, or all."""
    dropout: float = 0.0
    """Fraction of embeddings, attention weights and outputs of attention and MLP that is set to zero in a step."""
    optimiser: Literal["adamw", "muon"] = "adamw"
    """muon: orthogonalised momentum for the square part of the network, AdamW for the rest."""
    learning_rate: tuple[float, ...] = (1e-3,)
    """Peak rate; several are run side by side."""
    beta1: float = 0.9
    """Decay of the first moment."""
    beta2: float = 0.95
    """Decay of the second moment."""
    weight_decay: float = 1e-3
    """Decay of matrices; embeddings, positions, gains and biases have none."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 clips nothing."""
    warmup: int = 600
    """Steps in which the rate rises from zero."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the rate falls after that."""
    final_rate: float = 0.2
    """Rate of the last step, as a fraction of the peak."""
    dtype: Literal["float32", "float64"] = "float32"
    """Number type of weights and activations."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is measured, and when."""

    evaluate_every: int = 500
    """Steps between two measurements."""
    evaluation_count: int = 4096
    """Sequences of the evaluation set, each from a kernel of its own."""
    evaluation_seed: int = 0
    """Seed of the evaluation set; its sequences are never those of training."""
    checkpoint_every: int = 500
    """Steps between two checkpoints."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """A training run: one model for every learning rate and seed, all else in common."""

    seed: int = 0
    """Seed of the first model: its weights and its data."""
    seeds: int = 1
    """Number of seeds: seed, seed + 1, …"""
    data: Data = Data()
    architecture: Architecture = Architecture()
    initial: Initial = Initial()
    optimisation: Optimisation = Optimisation()
    measurement: Measurement = Measurement()

    @property
    def heads(self) -> tuple[int, ...]:
        """Heads of each layer."""
        heads, layers = self.architecture.heads, self.architecture.layers
        return heads * layers if len(heads) == 1 else heads

    @property
    def source(self) -> Source:
        """What training draws its batches from."""
        return self.data.source_of(self.data.tokens, per_kernel=self.optimisation.per_kernel)

    @property
    def members(self) -> tuple[tuple[int, float], ...]:
        """Seed and learning rate of every model of the run.

        >>> Config(seed=5, seeds=2).members
        ((5, 0.001), (6, 0.001))
        """
        seeds = range(self.seed, self.seed + self.seeds)
        return tuple((seed, rate) for rate in self.optimisation.learning_rate for seed in seeds)


#: `paper` is the model that the text describes, with settings from the grid of App. H.5. `published` is the model of
#: the authors' code, `gpt2` that of the words "based on the GPT-2 architecture" in H.5. `floor` is the best known
#: here: pre-norm, the start and Q/K norm together make every seed arrive; the beginning token and the second MLP decide
#: how near. docs/training.md says in what each differs.
PRESETS: dict[str, Config] = {
    "paper": Config(),
    "published": Config(
        architecture=Architecture(mlp="published", positions_through_key=True),
        optimisation=Optimisation(batch=32, per_kernel=16, learning_rate=(2e-3,), predictions="all"),
    ),
    "gpt2": Config(
        architecture=Architecture(
            mlp="gpt2", last_mlp=True, key_positions="none", absolute_positions=True, pre_norm=True
        ),
        optimisation=Optimisation(predictions="all"),
    ),
    "floor": Config(
        seeds=3,
        architecture=Architecture(beginning=True, qk_norm=True, pre_norm=True, last_mlp=True, tied=False),
        initial=Initial(weights="fan-in", zero_output=True),
        optimisation=Optimisation(steps=2000, learning_rate=(3e-3,), warmup=100, final_rate=0.0),
    ),
}


def preset(name: str) -> Config:
    """The preset of that name.

    >>> preset("best")
    Traceback (most recent call last):
    anyorder.errors.InputError: preset is 'best', must be one of paper, published, gpt2, floor
    """
    require(name in PRESETS, f"preset is {name!r}, must be one of {', '.join(PRESETS)}")
    return PRESETS[name]


def check(config: Config) -> None:
    """Refuse what cannot be run, in one line.

    >>> check(Config(data=Data(order=8, length=8)))
    Traceback (most recent call last):
    anyorder.errors.InputError: length is 8, must be above the order 8; pass --length 9 or more
    """
    _check_choices(config)
    _check_data(config.data)
    _check_architecture(config)
    _check_optimisation(config.optimisation)
    initial, measurement = config.initial, config.measurement
    _at_least("seed", config.seed, 0)
    _at_least("seeds", config.seeds, 1)
    _at_least("evaluate-every", measurement.evaluate_every, 1)
    _at_least("evaluation-count", measurement.evaluation_count, 2)
    _at_least("evaluation-seed", measurement.evaluation_seed, 0)
    _at_least("checkpoint-every", measurement.checkpoint_every, 1)
    kernel = config.data.alphabet_size ** (config.data.window + 1)
    for flag, count in (("evaluation-count", measurement.evaluation_count), ("batch", config.optimisation.batch)):
        require(
            count * kernel <= MOST_NUMBERS,
            f"{count} kernels of {kernel} numbers are drawn at once, the limit is {MOST_NUMBERS} numbers; "
            f"pass a smaller --{flag} or --order",
        )
    _at_least("perturbation", initial.perturbation, 0)
    require(
        initial.perturbation == 0 or initial.from_model is not None,
        f"perturbation is {initial.perturbation} without a model to perturb; pass --from MODEL, or drop it",
    )


def _at_least(flag: str, value: float | int, least: float | int) -> None:
    require(value >= least, f"{flag} is {value}, must be at least {least}; pass --{flag} {least} or more")


def _within(flag: str, value: float | int, low: int, high: int) -> None:
    require(low <= value <= high, f"{flag} is {value}, must be between {low} and {high}")


@functools.cache
def _choices(group: type) -> dict[str, tuple[str, ...]]:
    """The words that each field of a group may be, for those that are words."""
    words = {name: typing.get_args(hint) for name, hint in typing.get_type_hints(group).items()}
    return {name: choices for name, choices in words.items() if choices and all(isinstance(c, str) for c in choices)}


def _check_choices(config: Config) -> None:
    for group, field, value in leaves(config):
        kind: Any = type(group)
        choices = _choices(kind).get(field.name)
        if choices is not None:
            flag = field.name.replace("_", "-")
            require(value in choices, f"{flag} is {value!r}, must be one of {', '.join(choices)}")


def _check_data(data: Data) -> None:
    _at_least("order", data.order, 1)
    _at_least("alphabet-size", data.alphabet_size, 2)
    _at_least("depth", data.depth, 1)
    _at_least("max-order", data.max_order, 1)
    _within("min-order", data.min_order, 0, data.max_order)
    require(
        data.length > data.window,
        f"length is {data.length}, must be above the order {data.window}; pass --length {data.window + 1} or more",
    )
    require(data.concentration > 0, f"concentration is {data.concentration}, must be above 0; the paper uses 1")
    require(0 < data.gamma < 1, f"gamma is {data.gamma}, must be between 0 and 1; the default is 0.2")
    _within("token-noise", data.token_noise, 0, 1)
    _within("transition-noise", data.transition_noise, 0, 1)
    require(
        not (data.token_noise and data.transition_noise),
        f"token noise {data.token_noise} and transition noise {data.transition_noise} together; choose one kind",
    )


def _check_architecture(config: Config) -> None:
    architecture = config.architecture
    _at_least("dimension", architecture.dimension, 1)
    _within("layers", architecture.layers, 1, 3)
    require(
        len(architecture.heads) in (1, architecture.layers),
        f"heads are {_words(architecture.heads)} for {architecture.layers} layers; "
        "give one number, or one for each layer",
    )
    for heads in architecture.heads:
        require(
            heads >= 1 and architecture.dimension % heads == 0,
            f"{heads} heads do not divide the dimension {architecture.dimension}; "
            "pass --heads or --dimension so that they do",
        )
    require(
        architecture.value_positions == "none" or not config.optimisation.dropout,
        f"dropout {config.optimisation.dropout} with value positions is not there; drop one of the two",
    )
    require(
        not (config.initial.zero_output and architecture.tied),
        "a tied output of zeros is an embedding of zeros; pass --no-tied, or drop --zero-output",
    )


def _check_optimisation(optimisation: Optimisation) -> None:
    _at_least("steps", optimisation.steps, 1)
    _at_least("batch", optimisation.batch, 1)
    rates = optimisation.learning_rate
    require(len(rates) > 0, "learning-rate is empty; give at least one")
    require(len(set(rates)) == len(rates), f"learning rates {_words(rates)} repeat one; give each once")
    for rate in rates:
        require(0 < rate < float("inf"), f"learning-rate is {rate}, must be above 0; the paper tries 1e-4 to 1e-2")
    for flag, value in (("beta1", optimisation.beta1), ("beta2", optimisation.beta2)):
        require(0 <= value < 1, f"{flag} is {value}, must be at least 0 and below 1")
    _at_least("weight-decay", optimisation.weight_decay, 0)
    _at_least("clip", optimisation.clip, 0)
    _within("final-rate", optimisation.final_rate, 0, 1)
    require(
        optimisation.per_kernel >= 1 and optimisation.batch % optimisation.per_kernel == 0,
        f"{optimisation.per_kernel} sequences of each kernel do not divide the batch of {optimisation.batch}; "
        "pass --per-kernel or --batch so that they do",
    )
    require(0 <= optimisation.dropout < 1, f"dropout is {optimisation.dropout}, must be at least 0 and below 1")
    require(
        0 <= optimisation.warmup < optimisation.steps,
        f"warmup is {optimisation.warmup}, must be below the {optimisation.steps} steps; pass a smaller --warmup",
    )


#: Fields that are inputs of the compiled step or do not reach it: changing one of them compiles nothing.
NUMBERS = (
    "seed", "seeds", "gamma", "token_noise", "transition_noise", "weights", "zero_output", "perturbation", "steps",
    "dropout", "learning_rate", "beta1", "beta2", "weight_decay", "clip", "warmup", "final_rate", "evaluate_every",
    "evaluation_seed", "checkpoint_every",
)  # fmt: skip


def structure(config: Config) -> Config:
    """The config without its numbers: runs of equal structure share one compiled program.

    Noise and dropout are there or not; how much of them is a number.

    >>> quiet, noisy, noisier = (Config(data=Data(token_noise=level)) for level in (0.0, 0.1, 0.2))
    >>> structure(noisy) == structure(noisier), structure(noisy) == structure(quiet)
    (True, False)
    """
    return _without_numbers(config)


def _without_numbers(group: Any) -> Any:
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(group):
        value = getattr(group, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = _without_numbers(value)
        elif field.name in ("token_noise", "transition_noise", "dropout"):
            changes[field.name] = 0.5 if value else 0.0
        elif field.name in NUMBERS:
            changes[field.name] = field.default
    return dataclasses.replace(group, **changes)


def _words(values: tuple[Any, ...]) -> str:
    return " ".join(map(str, values))


def leaves(config: Any) -> Iterator[tuple[Any, dataclasses.Field, Any]]:
    """Every field that is not a group, with the group that it stands in."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value)
        else:
            yield config, field, value


def to_json(config: Config) -> dict[str, Any]:
    """The config as plain values.

    >>> from_json(to_json(PRESETS["floor"])) == PRESETS["floor"]
    True
    """
    return {
        key: {name: list(entry) if isinstance(entry, tuple) else entry for name, entry in value.items()}
        if isinstance(value, dict)
        else value
        for key, value in dataclasses.asdict(config).items()
    }


def from_json(values: Any, source: str = "the config", default: Config | None = None) -> Config:
    """The config of a JSON object; fields that are not named keep those of the default, names must be known.

    >>> from_json({"data": {"order": "two"}})
    Traceback (most recent call last):
    anyorder.errors.InputError: the config has order 'two', must be of type int
    """
    return _read(Config() if default is None else default, values, source)


def _read(default: Any, values: Any, source: str) -> Any:
    require(isinstance(values, dict), f"{source} has {values!r} where an object is expected")
    known = {field.name: getattr(default, field.name) for field in dataclasses.fields(default)}
    changes = {}
    for name, value in values.items():
        require(name in known, f"{source} has the unknown field {name!r}; known are {', '.join(known)}")
        old = known[name]
        if dataclasses.is_dataclass(old):
            changes[name] = _read(old, value, source)
        elif isinstance(old, tuple):
            require(isinstance(value, list), f"{source} has {name} {value!r}, must be a list")
            changes[name] = tuple(_typed(type(old[0]), name, entry, source) for entry in value)
        elif old is None:
            changes[name] = None if value is None else _typed(str, name, value, source)
        else:
            changes[name] = _typed(type(old), name, value, source)
    return dataclasses.replace(default, **changes)


def _typed(kind: type, name: str, value: Any, source: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    require(type(value) is kind, f"{source} has {name} {value!r}, must be of type {kind.__name__}")
    return value


def difference(one: Config, other: Config) -> str:
    """The first field in which two configs differ, as "name value, not value"; empty if they are equal.

    >>> difference(Config(), Config(data=Data(order=3)))
    'order 2, not 3'
    """
    for (_, field, value), (_, _, wanted) in zip(leaves(one), leaves(other), strict=True):
        if value != wanted:
            shown = [_words(entry) if isinstance(entry, tuple) else str(entry) for entry in (value, wanted)]
            return f"{field.name.replace('_', '-')} {shown[0]}, not {shown[1]}"
    return ""
