"""What a training run is: one frozen dataclass, which is at once the flags of the command and the JSON of the run.

Fields are grouped by what reads them, and no two have the same name. The defaults are the preset `floor`. Nothing here
imports JAX.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import shlex
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from anyorder.errors import InputError, check_seed, nearest, require
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
    last_mlp: bool = True
    """Also an MLP after the last layer; a model of one layer always has it."""
    key_positions: Literal["none", "first", "all"] = "first"
    """Layers with relative key positions."""
    positions_through_key: bool = False
    """Relative key positions are embeddings of the offset that pass through W_K."""
    absolute_positions: bool = False
    """A table of absolute positions, added to the embedding."""
    value_positions: Literal["none", "first", "all"] = "none"
    """Layers with relative value positions."""
    beginning: bool = True
    """A beginning token before every sequence."""
    pre_norm: bool = True
    """Layer norm before attention, before the MLP and before the head."""
    qk_norm: bool = True
    """Queries and keys of length one, times a learnt scale."""
    tied: bool = False
    """The output matrix is the embedding."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Initial:
    """The weights before the first step."""

    weights: Literal["gpt2", "fan-in"] = "fan-in"
    """gpt2: normal, 0.02, smaller where the stream is written. fan-in: variance one over the inputs."""
    zero_output: bool = True
    """Start from an output matrix of zeros; needs --no-tied."""
    from_model: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the model in this .safetensors file, such as a construction."""
    perturbation: float = 0.0
    """With --from: normal noise of this standard deviation on every weight."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimisation:
    """Steps, and how they are taken."""

    steps: int = 2000
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
    learning_rate: tuple[float, ...] = (3e-3,)
    """Peak rate; several are run side by side."""
    beta1: float = 0.9
    """Decay of the first moment."""
    beta2: float = 0.95
    """Decay of the second moment."""
    weight_decay: float = 1e-3
    """Decay of matrices; embeddings, positions, gains and biases have none."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 clips nothing."""
    warmup: int = 100
    """Steps in which the rate rises from zero; at most half of all steps."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the rate falls after that."""
    final_rate: float = 0.0
    """Rate of the last step, as a fraction of the peak."""
    dtype: Literal["float32", "float64"] = "float32"
    """Number type of weights and activations."""

    @property
    def rising(self) -> int:
        """Steps of the rise: the warm-up, shortened where the training is short.

        >>> Optimisation(warmup=100, steps=50).rising
        25
        """
        return min(self.warmup, self.steps // 2)


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
    """A training run: one model for every learning rate and seed, all else in common.

    >>> Config() == PRESETS["floor"]
    True
    """

    seed: int = 0
    """Seed of the first model: its weights and its data."""
    seeds: int = 3
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
        ((5, 0.003), (6, 0.003))
        """
        seeds = range(self.seed, self.seed + self.seeds)
        return tuple((seed, rate) for rate in self.optimisation.learning_rate for seed in seeds)


def values(config: Config) -> dict[str, Any]:
    """Every field that is not a group, by its name.

    >>> values(Config())["beta1"]
    0.9
    """
    found: dict[str, Any] = {}
    for name, value in vars(config).items():
        found |= vars(value) if dataclasses.is_dataclass(value) else {name: value}
    return found


#: Group of every field; those of the run itself have none.
GROUPS: dict[str, str | None] = {
    field: name if dataclasses.is_dataclass(group) else None
    for name, group in vars(Config()).items()
    for field in (vars(group) if dataclasses.is_dataclass(group) else [name])
}
DEFAULTS = values(Config())
_HINTS = {name: hint for group in (Config(), *vars(Config()).values()) if dataclasses.is_dataclass(group)
          for name, hint in typing.get_type_hints(type(group)).items()}  # fmt: skip
#: The words that a field may be, for those that are words.
_CHOICES = {name: typing.get_args(hint) for name, hint in _HINTS.items() if typing.get_origin(hint) is Literal}


def known(name: str, source: str, names: Iterable[str] = GROUPS) -> str:
    """The name with underscores, or an `InputError` with the nearest names that exist.

    >>> known("learning-rat", "grid.toml")
    Traceback (most recent call last):
    anyorder.errors.InputError: grid.toml has the unknown field 'learning-rat'; did you mean learning_rate?
    """
    names, spelt = list(names), name.replace("-", "_")
    if spelt in names:
        return spelt
    near = difflib.get_close_matches(spelt, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
    raise InputError(f"{source} has the unknown field {name!r}; {hint}")


def changed(config: Config, changes: Mapping[str, Any], source: str = "the config") -> Config:
    """The config with these fields, whatever group they stand in; a single number stands for a list of one.

    >>> changed(Config(), {"order": 3, "learning_rate": 0.01}).optimisation.learning_rate
    (0.01,)
    """
    spelt = {known(name, source): value for name, value in changes.items()}
    return _replaced(config, {name: _typed(name, value, source) for name, value in spelt.items()})


def _replaced(config: Config, flat: Mapping[str, Any]) -> Config:
    own = {name: value for name, value in flat.items() if GROUPS[name] is None}
    groups: dict[str, dict[str, Any]] = {}
    for name in flat.keys() - own.keys():
        groups.setdefault(str(GROUPS[name]), {})[name] = flat[name]
    inner = {group: dataclasses.replace(getattr(config, group), **new) for group, new in groups.items()}
    return dataclasses.replace(config, **own, **inner)


def _typed(name: str, value: Any, source: str) -> Any:
    default = DEFAULTS[name]
    if isinstance(default, tuple):
        entries = value if isinstance(value, list | tuple) else [value]
        return tuple(_of_kind(type(default[0]), name, entry, source) for entry in entries)
    if default is None:
        return None if value is None else _of_kind(str, name, value, source)
    choices = _CHOICES.get(name)
    require(
        choices is None or value in choices,
        f"{source} has {name} {value!r}, must be one of {', '.join(choices or ())}",
    )
    return _of_kind(type(default), name, value, source)


def _of_kind(kind: type, name: str, value: Any, source: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    require(type(value) is kind, f"{source} has {name} {value!r}, must be of type {kind.__name__}")
    return value


#: `paper` is the model that the text describes, with settings from the grid of App. H.5. `published` is the model of
#: the authors' code, `gpt2` that of the words "based on the GPT-2 architecture" in H.5. `floor` is the best known
#: here: pre-norm, the start and Q/K norm together make every seed arrive; the beginning token and the second MLP decide
#: how near. docs/training.md says in what each differs.
_PAPER = Config(
    seeds=1,
    architecture=Architecture(last_mlp=False, beginning=False, pre_norm=False, qk_norm=False, tied=True),
    initial=Initial(weights="gpt2", zero_output=False),
    optimisation=Optimisation(steps=30_000, learning_rate=(1e-3,), warmup=600, final_rate=0.2),
)
_CODE = {"mlp": "published", "positions_through_key": True, "batch": 32, "per_kernel": 16, "predictions": "all"}
_GPT2 = {"mlp": "gpt2", "last_mlp": True, "key_positions": "none", "absolute_positions": True, "pre_norm": True}
PRESETS: dict[str, Config] = {
    "paper": _PAPER,
    "published": changed(_PAPER, {**_CODE, "learning_rate": 2e-3}),
    "gpt2": changed(_PAPER, {**_GPT2, "predictions": "all"}),
    "floor": Config(),
}


def preset(name: str) -> Config:
    """The preset of that name.

    >>> preset("best")
    Traceback (most recent call last):
    anyorder.errors.InputError: no preset 'best'; choose from paper, published, gpt2, floor
    """
    require(name in PRESETS, f"no preset {name!r}; {nearest(name, PRESETS)}")
    return PRESETS[name]


#: Least values of fields, and the ends between which fields lie.
_LEAST = {
    "seeds": 1, "order": 1, "alphabet_size": 2, "max_order": 1, "depth": 1, "dimension": 1, "steps": 1,
    "batch": 1, "per_kernel": 1, "weight_decay": 0, "clip": 0, "warmup": 0, "perturbation": 0, "evaluate_every": 1,
    "evaluation_count": 2, "checkpoint_every": 1,
}  # fmt: skip
_WITHIN = {"layers": (1, 3), "token_noise": (0, 1), "transition_noise": (0, 1), "final_rate": (0, 1)}
_BELOW_ONE = ("beta1", "beta2", "dropout")


def check(config: Config) -> None:
    """Refuse what cannot be run, in one line.

    >>> check(Config(data=Data(order=8, length=8)))
    Traceback (most recent call last):
    anyorder.errors.InputError: length is 8, must be above the order 8; pass `length=9` or more
    """
    for name, value in values(config).items():
        words = name.replace("_", " ")
        if name in _CHOICES:
            require(value in _CHOICES[name], f"{words} is {value!r}, must be one of {', '.join(_CHOICES[name])}")
        if name in _LEAST:
            least = _LEAST[name]
            require(value >= least, f"{words} is {value}, must be at least {least}; pass `{name}={least}` or more")
        if name in _WITHIN:
            low, high = _WITHIN[name]
            require(low <= value <= high, f"{words} is {value}, must be between {low} and {high}")
        if name in _BELOW_ONE:
            require(0 <= value < 1, f"{words} is {value}, must be at least 0 and below 1")
    _check_data(config)
    _check_architecture(config)
    _check_optimisation(config.optimisation)


def _check_data(config: Config) -> None:
    data, window = config.data, config.data.window
    check_seed(config.seed)
    require(
        config.seeds <= 2**63 - config.seed,
        f"{config.seeds} seeds from {config.seed} on go beyond {2**63 - 1}; pass a smaller `seed=`",
    )
    check_seed(config.measurement.evaluation_seed, "evaluation_seed")
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
    kernel = data.alphabet_size ** (window + 1)
    counts = {"evaluation_count": config.measurement.evaluation_count, "batch": config.optimisation.batch}
    for name, count in counts.items():
        require(
            count * kernel <= MOST_NUMBERS,
            f"{count} kernels of {kernel} numbers are drawn at once, the limit is {MOST_NUMBERS} numbers; "
            f"pass a smaller `{name}=` or `order=`",
        )


def _check_architecture(config: Config) -> None:
    architecture, initial = config.architecture, config.initial
    require(
        len(architecture.heads) in (1, architecture.layers),
        f"heads are {_words(architecture.heads) or 'none'} for {architecture.layers} layers; "
        "give one number, or one for each layer",
    )
    for heads in architecture.heads:
        require(
            heads >= 1 and architecture.dimension % heads == 0,
            f"{heads} heads do not divide the dimension {architecture.dimension}; "
            "pass `heads=` or `dimension=` so that they do",
        )
    require(
        architecture.value_positions == "none" or not config.optimisation.dropout,
        f"dropout {config.optimisation.dropout} with value positions is not there; drop one of the two",
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
    require(len(set(rates)) == len(rates), f"learning rates {_words(rates)} repeat one; give each once")
    for rate in rates:
        require(0 < rate < float("inf"), f"learning rate is {rate}, must be above 0; the paper tries 1e-4 to 1e-2")
    require(
        optimisation.batch % optimisation.per_kernel == 0,
        f"{optimisation.per_kernel} sequences of each kernel do not divide the batch of {optimisation.batch}; "
        "pass `per_kernel=` or `batch=` so that they do",
    )


#: Fields that are inputs of the compiled step or do not reach it: changing one of them compiles nothing.
NUMBERS = (
    "seed", "seeds", "gamma", "weights", "zero_output", "perturbation", "steps", "learning_rate", "beta1", "beta2",
    "weight_decay", "clip", "warmup", "final_rate", "evaluate_every", "evaluation_seed", "checkpoint_every",
)  # fmt: skip
#: Fields that are there or not; how much of them is a number too.
SWITCHES = ("token_noise", "transition_noise", "dropout")


def structure(config: Config) -> Config:
    """The config without its numbers: runs of equal structure share one compiled program.

    >>> quiet, noisy, noisier = (Config(data=Data(token_noise=amount)) for amount in (0.0, 0.1, 0.2))
    >>> structure(noisy) == structure(noisier), structure(noisy) == structure(quiet)
    (True, False)
    """
    flat = values(config)
    on = {name: 0.5 if flat[name] else 0.0 for name in SWITCHES}
    return _replaced(config, {name: DEFAULTS[name] for name in NUMBERS} | on)


def _words(entries: Any) -> str:
    return " ".join(map(str, entries)) if isinstance(entries, tuple) else str(entries)


def to_json(config: Config) -> dict[str, Any]:
    """The config as plain values.

    >>> from_json(to_json(PRESETS["paper"])) == PRESETS["paper"]
    True
    """
    return json.loads(json.dumps(dataclasses.asdict(config)))


def from_json(plain: Any, source: str = "the config", default: Config | None = None) -> Config:
    """The config of a JSON object; fields that are not named keep those of the default, names must be known.

    >>> from_json({"data": {"order": "two"}})
    Traceback (most recent call last):
    anyorder.errors.InputError: the config has order 'two', must be of type int
    """
    flat: dict[str, Any] = {}
    require(isinstance(plain, dict), f"{source} has {plain!r} where an object is expected")
    for name, value in plain.items():
        if name not in GROUPS.values():
            top = ", ".join(vars(Config()))
            require(GROUPS.get(name, name) is None, f"{source} has the unknown field {name!r}; known are {top}")
            flat[name] = value
            continue
        require(isinstance(value, dict), f"{source} has {value!r} where an object is expected")
        for inner in value:
            known(inner, source, [field for field, group in GROUPS.items() if group == name])
        flat |= value
    return changed(Config() if default is None else default, flat, source)


def difference(one: Config, other: Config) -> str:
    """The first field in which two configs differ, as "name value, not value"; empty if they are equal.

    >>> difference(Config(), Config(data=Data(order=3)))
    'order 2, not 3'
    """
    wanted = values(other)
    for name, value in values(one).items():
        if value != wanted[name]:
            return f"{name.replace('_', '-')} {_words(value)}, not {_words(wanted[name])}"
    return ""


def flags(config: Config, base: Config) -> str:
    """What must be added to `anyorder train` with the base to get the config.

    >>> flags(changed(Config(), {"order": 3, "beginning": False}), Config())
    '--order 3 --no-beginning'
    """
    words: list[str] = []
    defaults = values(base)
    for name, value in values(config).items():
        flag = "from" if name == "from_model" else name.replace("_", "-")
        if value == defaults[name]:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]
    return shlex.join(words)


def command(config: Config) -> str:
    """The shortest `anyorder train` that gives the config, from the preset that is nearest to it.

    >>> command(changed(PRESETS["floor"], {"seeds": 1}))
    'anyorder train --preset floor --seeds 1'
    """
    return min((f"anyorder train --preset {name} {flags(config, base)}".strip() for name, base in PRESETS.items()),
               key=len)  # fmt: skip
