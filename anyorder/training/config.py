"""The config of a training run: one frozen dataclass, from which the flags of the command and its JSON derive.

Fields are grouped by the part of the run that reads them, and names are unique across groups.
The defaults are the preset `fast`. Nothing here imports JAX.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import typing
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from anyorder.chains.config import PRIORS, SourceConfig
from anyorder.errors import InputError, require, shown
from anyorder.io.gates import Gate, check_number, gated
from anyorder.io.plugins import Registry
from anyorder.training.mixers import MIXERS, mixer_names, recipe

if TYPE_CHECKING:
    from anyorder.chains import Source


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(SourceConfig):
    """The source of the training sequences."""

    length: int = 32
    """T of the paper's grid: sequences have T + 1 tokens, of which the last T + 1 - k are predicted."""

    @property
    def tokens(self) -> int:
        """Tokens in a sequence, x_0 … x_T."""
        return self.length + 1

    @property
    def source(self) -> Source:
        """The source of sequences of T + 1 tokens, each from its own kernel."""
        return self.source_of(self.tokens)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Architecture:
    """The architecture; a model given by --from replaces it."""

    layers: int = 2
    """Number of layers, each a mixer and an MLP."""
    mixer: tuple[str, ...] = ("attention",)
    """Mixer of each layer, or one for all: attention, convolution (before attention) or mamba."""
    heads: tuple[int, ...] = (1,)
    """Heads of each layer, or one number for all; each must divide the dimension."""
    dimension: int = 32
    """Width d of the residual stream."""
    mlp: Literal["none", "paper", "published", "gpt2"] = "paper"
    """paper: the stack of App. B.1. published: that of the authors' code. gpt2: one hidden layer of 4d, GELU."""
    last_mlp: bool = True
    """Put an MLP after the last layer too; a model of one layer always has it."""
    key_positions: Literal["none", "first", "all"] = "first"
    """Layers with relative key positions."""
    positions_through_key: bool = False
    """Relative key positions are embeddings of the offset that pass through W_K."""
    absolute_positions: bool = False
    """A table of absolute positions, added to the embedding."""
    rotary_positions: bool = False
    """Rotate queries and keys of every attention layer by their position, instead of relative key positions."""
    value_positions: Literal["none", "first", "all"] = "none"
    """Layers with relative value positions."""
    beginning: bool = True
    """A beginning token before every sequence."""
    pre_norm: bool = True
    """Layer norm before attention, before the MLP and before the output."""
    qk_norm: bool = True
    """Normalise queries and keys to length one, times a learnt scale."""
    tied: bool = False
    """The output matrix is the embedding."""
    taps: int = 0
    """Width of a convolution in tokens, including the current one; 0 means one more than the order."""
    state: int = 32
    """State size of a mamba head: the dimension of its keys."""
    expansion: int = 2
    """Inner width of a mamba layer, in multiples of the dimension."""
    decay: Literal["selective", "one"] = "selective"
    """Decay of the mamba state: selective depends on the token; one is no decay, which is linear attention."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Initial:
    """The weights before the first step."""

    weights: Literal["gpt2", "fan-in"] = "fan-in"
    """gpt2: normal with deviation 0.02, less for matrices that write to the stream. fan-in: variance 1/inputs."""
    zero_output: bool = True
    """Initialise the output matrix with zeros; it cannot be tied to the embedding."""
    from_model: Annotated[str | None, tyro.conf.arg(name="from"), Gate("read")] = None
    """Start from the model in this .safetensors file, such as a construction."""
    perturbation: float = 0.0
    """With --from: standard deviation of the normal noise added to every weight."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimisation:
    """Steps, targets and optimiser."""

    steps: int = 1000
    """Optimiser steps."""
    batch: int = 64
    """Sequences per step."""
    per_kernel: int = 1
    """Number of sequences in a batch that share a kernel; must divide the batch."""
    targets: Literal["sampled", "exact", "bayes"] = "exact"
    """Targets: the sampled token, the true next-token distribution (exact), or the Bayes prediction (bayes). All have
    the same expected gradient; that of exact and bayes has a smaller variance."""
    predictions: Literal["window", "all"] = "window"
    """Predictions in the loss: only those with a full window of k tokens, or all."""
    dropout: float = 0.0
    """Fraction of embeddings, attention weights and outputs of attention and MLP that is set to zero in a step."""
    optimiser: Literal["adamw", "muon"] = "muon"
    """muon: orthogonalised momentum for the matrices inside layers, AdamW for all other weights."""
    learning_rate: tuple[float, ...] = (1.2e-2,)
    """Peak rate; several rates train in parallel."""
    beta1: float = 0.9
    """Decay of the first moment."""
    beta2: float = 0.95
    """Decay of the second moment."""
    weight_decay: float = 0.05
    """Weight decay: of all weights with muon; with adamw of matrices, except embeddings and positions."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 disables clipping."""
    warmup: int = 100
    """Steps over which the rate rises from zero; at most half of all steps."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Decay of the rate after the warm-up."""
    final_rate: float = 0.0
    """Rate of the last step, as a fraction of the peak."""
    dtype: Literal["float32", "float64"] = "float32"
    """Floating-point type of weights and activations."""

    @property
    def rising(self) -> int:
        """Steps of the warm-up, shortened for short training.

        >>> Optimisation(warmup=100, steps=50).rising
        25
        """
        return min(self.warmup, self.steps // 2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """Evaluation set, and how often models are measured and saved."""

    evaluate_every: int = 500
    """Steps between two measurements."""
    evaluation_count: int = 4096
    """Sequences of the evaluation set, each from its own kernel."""
    evaluation_seed: int = 0
    """Seed of the evaluation set, which is disjoint from the training data."""
    checkpoint_every: int = 500
    """Steps between two checkpoints."""
    keep_every: int = 0
    """Steps between models kept in folders step-N of the run; 0 keeps only the last models."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Member:
    """A model of a run."""

    model: int
    seed: int
    learning_rate: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """A training run: one model for every learning rate and seed, with all other settings in common.

    The defaults are for order 2. `preset("fast", order=k)` is the config of `anyorder train --order k`, with steps
    and rate chosen for the order.

    >>> Config() == PRESETS["fast"]
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
    preset: Annotated[str | None, tyro.conf.Fixed, tyro.conf.Suppress] = dataclasses.field(default=None, compare=False)
    """The preset from which the config was derived; a record, not a setting, so equality and digests ignore it."""

    own_source: Annotated[str | None, tyro.conf.Fixed, tyro.conf.Suppress] = None
    """The source that a program passed to `train`, if `data` cannot describe it; a record, not a setting."""
    own_model: Annotated[str | None, tyro.conf.Fixed, tyro.conf.Suppress] = None
    """The model that a program passed to `train` instead of an architecture; a record, not a setting."""

    @property
    def heads(self) -> tuple[int, ...]:
        """Heads of each layer."""
        heads, layers = self.architecture.heads, self.architecture.layers
        return heads * layers if len(heads) == 1 else heads

    @property
    def mixers(self) -> tuple[str, ...]:
        """Mixer of each layer."""
        mixer, layers = self.architecture.mixer, self.architecture.layers
        return mixer * layers if len(mixer) == 1 else mixer

    @property
    def taps(self) -> int:
        """Taps of every convolution.

        >>> Config(data=Data(order=3)).taps
        4
        """
        return self.architecture.taps or self.data.window + 1

    @property
    def source(self) -> Source:
        """The source of training batches."""
        self._known()
        return self.data.source_of(self.data.tokens, per_kernel=self.optimisation.per_kernel)

    @property
    def evaluation(self) -> tuple[Data, int, int]:
        """The source of the evaluation set: the chains, the number of sequences, and the seed."""
        self._known()
        return self.data, self.measurement.evaluation_count, self.measurement.evaluation_seed

    def _known(self) -> None:
        require(
            self.own_source is None,
            f"the source {self.own_source} is known only to the program that trained on it; call "
            "anyorder.evaluate(model, source) there",
        )

    @property
    def members(self) -> tuple[Member, ...]:
        """Every model of the run.

        >>> Config(seed=5, seeds=2).members[1]
        Member(model=1, seed=6, learning_rate=0.012)
        """
        each = itertools.product(self.optimisation.learning_rate, range(self.seed, self.seed + self.seeds))
        return tuple(Member(model=place, seed=seed, learning_rate=rate) for place, (rate, seed) in enumerate(each))


def values(config: Config) -> dict[str, Any]:
    """Every setting by name, from all groups."""
    found: dict[str, Any] = {}
    for name, value in vars(config).items():
        found |= vars(value) if dataclasses.is_dataclass(value) else {name: value}
    del found["preset"]
    return found


#: Group of every field; None for fields of `Config` itself.
GROUPS: dict[str, str | None] = {
    field: name if dataclasses.is_dataclass(group) else None
    for name, group in vars(Config()).items()
    for field in (vars(group) if dataclasses.is_dataclass(group) else [name])
    if field != "preset"
}
DEFAULTS = values(Config())
_HINTS = {name: hint for group in (Config(), *vars(Config()).values()) if dataclasses.is_dataclass(group)
          for name, hint in typing.get_type_hints(type(group)).items()}  # fmt: skip
#: Fields whose allowed values plug-ins can extend.
REGISTRIES: dict[str, Registry] = {"prior": PRIORS, "mixer": MIXERS}
#: Allowed values of string fields.
CHOICES: dict[str, Collection[str]] = {
    name: typing.get_args(hint) for name, hint in _HINTS.items() if typing.get_origin(hint) is Literal
} | {"prior": PRIORS}


def known(name: str, source: str, names: Iterable[str] = GROUPS) -> str:
    """The name with underscores, or an `InputError` with the nearest known names.

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


@gated
def changed(config: Config, changes: Mapping[str, Any], source: str = "the config") -> Config:
    """The config with these fields, of any group, changed; a single number means a list of one.

    A prior or a mixer may be given by its name or itself.

    >>> changed(Config(), {"order": 3, "learning_rate": 0.01}).optimisation.learning_rate
    (0.01,)
    """
    flat: dict[str, Any] = {}
    for given, value in changes.items():
        name = known(given, source)
        flat[name] = _plain(DEFAULTS[name], _named(REGISTRIES[name], value) if name in REGISTRIES else value)
        check_value(name, flat[name], f"{source} has {name}")
    return _replaced(config, flat)


def _replaced(config: Config, flat: Mapping[str, Any]) -> Config:
    own = {name: value for name, value in flat.items() if GROUPS[name] is None}
    groups: dict[str, dict[str, Any]] = {}
    for name in flat.keys() - own.keys():
        groups.setdefault(str(GROUPS[name]), {})[name] = flat[name]
    inner = {group: dataclasses.replace(getattr(config, group), **new) for group, new in groups.items()}
    return dataclasses.replace(config, **own, **inner)


def _named(registry: Registry, value: Any) -> Any:
    """The name of a registered object, or of each in a list; other values are unchanged."""
    if isinstance(value, list | tuple):
        return tuple(_named(registry, one) for one in value)
    return value if isinstance(value, str | int | float | None) else registry.name_of(value)


def _plain(default: object, value: Any) -> Any:
    """The value in the field's type: a tuple for list fields, a float for float fields, Python scalars for NumPy's."""
    value = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    if isinstance(default, tuple):
        return tuple(_plain(default[0], entry) for entry in (value if isinstance(value, list | tuple) else [value]))
    small = type(value) is int and abs(value) < 1e300
    return float(value) if isinstance(default, float) and small else value


def check_value(name: str, value: Any, said: str) -> None:
    """Reject a value of the wrong type or outside the field's choices; `said` begins the message.

    >>> check_value("steps", 0.5, "steps is")
    Traceback (most recent call last):
    anyorder.errors.InputError: steps is 0.5, must be of type int
    """
    default = DEFAULTS[name]
    if name in CHOICES:
        known = isinstance(value, str) and value in CHOICES[name]
        require(known, f"{said} {shown(value)}, must be one of {', '.join(CHOICES[name])}")
    if isinstance(default, tuple):
        require(isinstance(value, tuple), f"{said} {shown(value)}, must be a tuple, such as {default}")
    kind = str if default is None else type(default[0] if isinstance(default, tuple) else default)
    for entry in value if isinstance(default, tuple) else (value,):
        fits = isinstance(entry, (int, float) if kind is float else kind) and isinstance(entry, bool) == (kind is bool)
        require(fits or entry is default is None, f"{said} {shown(entry)}, must be of type {kind.__name__}")
        if kind in (int, float) and entry is not None:
            check_number(name, entry, kind)


#: The architecture with pre-norm, Q/K norm, a beginning token and a second MLP; docs/training.md has its recorded gaps.
FLOOR = changed(
    Config(),
    {
        "dimension": 64,
        "targets": "sampled",
        "optimiser": "adamw",
        "steps": 2000,
        "learning_rate": 3e-3,
        "weight_decay": 1e-3,
    },
)


def _preset_name(variable: str, value: object) -> str | None:
    return variable.lower().replace("_", "-") or None if isinstance(value, Config) else None


#: `fast` is a narrower `floor` with the shortest training time to the Bayes floor; papers and plug-ins add presets.
#: docs/training.md lists the differences.
PRESETS: Registry[Config] = Registry("preset", {"floor": FLOOR, "fast": Config()}, _preset_name)
#: Orders at which `fast` differs from 1,000 steps, rate 1.2e-2 and decay 0.05; the last entry is for all higher orders.
_FAST: dict[int, dict[str, float]] = {
    1: {"steps": 400},
    2: {},
    3: {"steps": 1600, "learning_rate": 1.6e-2, "weight_decay": 0.1},
    4: {"steps": 2000, "learning_rate": 1.6e-2},
}
#: The same for Bayes targets.
_FAST_BAYES: dict[int, dict[str, object]] = {
    3: {"steps": 1000, "targets": "bayes"},
    4: {"steps": 1400, "targets": "bayes"},
}
#: Fields that determine, together with the mixer, whether `fast` uses Bayes targets.
DECIDE_TARGETS = ("prior", "start", "token_noise", "transition_noise", "targets")


def bayes_targets(config: Config) -> bool:
    """Whether the Bayes prediction of the source is cheap enough for a training step: counts plus β.

    >>> bayes_targets(Config()), bayes_targets(changed(Config(), {"token_noise": 0.1}))
    (True, False)
    """
    data = config.data
    plain = data.prior == "dirichlet" and data.start == "uniform" and not (data.token_noise or data.transition_noise)
    return plain and config.own_source is None


@gated
def preset(name: str | Config = "fast", order: int = 2, **changes: Any) -> Config:
    """The preset of that name for chains of this order; keywords change further fields.

    `fast` takes more steps at higher orders, has Bayes targets from order 3 on if the source has them in closed form,
    and has recipes for mixers other than attention. A list of mixers gives one for each layer.

    >>> [preset("fast", order=k).optimisation.steps for k in (1, 2, 3, 4)]
    [400, 1000, 1000, 1400]
    >>> preset(order=3, targets="exact").optimisation.steps
    1600
    >>> preset(order=3, steps=10).optimisation.steps
    10
    """
    fast = isinstance(name, str) and name == "fast"
    own: dict[str, object] = dict(_FAST.get(order, _FAST[max(_FAST)])) if fast else {}
    given = mixer_names(changes.get("mixer", ()))
    changes |= {"mixer": given} if given else {}
    for_mixers = recipe(given, order)
    require(
        fast or not for_mixers,
        f"the preset {shown(name)} has no recipe for the mixer {' '.join(given)}; take the preset fast",
    )
    own |= for_mixers
    base = name if isinstance(name, Config) else dataclasses.replace(PRESETS.find(name), preset=name)
    long = fast and not for_mixers and order >= min(_FAST_BAYES)
    if long and changes.get("targets", "bayes") == "bayes" and bayes_targets(changed(base, changes)):
        own |= _FAST_BAYES.get(order, _FAST_BAYES[max(_FAST_BAYES)])
    if len(given) > 1:
        own["layers"] = len(given)
    return changed(base, {"order": order, **own, **changes})


#: Fields that are inputs of the compiled step or unused by it: changing one does not recompile.
NUMBERS = (
    "seed", "seeds", "gamma", "weights", "zero_output", "perturbation", "steps", "learning_rate", "beta1", "beta2",
    "weight_decay", "clip", "warmup", "final_rate", "evaluate_every", "evaluation_seed", "checkpoint_every",
    "keep_every",
)  # fmt: skip
#: Optional features: whether one is enabled changes the compiled program, its strength does not.
SWITCHES = ("token_noise", "transition_noise", "dropout")


def structure(config: Config) -> Config:
    """The config with all `NUMBERS` at their defaults: runs of equal structure share one compiled program."""
    flat = values(config)
    on = {name: 0.5 if flat[name] else 0.0 for name in SWITCHES}
    return _replaced(config, {name: DEFAULTS[name] for name in NUMBERS} | on)
