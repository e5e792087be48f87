"""Sources and models defined by user code: their fingerprints in a run, and the storage of their weights."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anyorder.chains import PRIORS, Source, TokenNoise, TransitionNoise
from anyorder.chains.config import OF_A_PRIOR, SourceConfig
from anyorder.errors import InputError, in_a_line, require
from anyorder.io.numerics import dtype_of
from anyorder.training.config import Config
from anyorder.training.initial import perturbed
from anyorder.training.predictions import logits_of
from anyorder.training.step import keys

#: A module, or a function from a key to a module.
GivenModel = eqx.Module | Callable[..., eqx.Module]


def source_fields(source: Source) -> dict[str, Any]:
    """The config fields that describe this source; if none can, `own_source` is its fingerprint.

    >>> from anyorder.chains import Floored
    >>> found = source_fields(Source(Floored(order=1, alphabet_size=3, gamma=0.1), length=17))
    >>> found["prior"], found["gamma"], found["length"], found["own_source"]
    ('floored', 0.1, 16, None)
    """
    prior, noise = source.prior, source.noise
    about: dict[str, Any] = {"order": source.order, "alphabet_size": source.alphabet_size}
    plain = about | {"prior": prior.name, "start": source.start}
    plain |= {name: getattr(prior, name) for name in OF_A_PRIOR if hasattr(prior, name)}
    plain["token_noise"] = float(noise.probability) if isinstance(noise, TokenNoise) else 0.0
    plain["transition_noise"] = float(noise.strength) if isinstance(noise, TransitionNoise) else 0.0
    more = {"length": source.length - 1, "per_kernel": source.per_kernel}
    if prior.name in PRIORS:
        again = SourceConfig(**plain).source_of(source.length, per_kernel=source.per_kernel)
        if bool(eqx.tree_equal(again, source)):
            return plain | more | {"own_source": None}
    unused = {"prior": "dirichlet", "start": "uniform", "token_noise": 0.0, "transition_noise": 0.0}
    return about | unused | more | {"own_source": fingerprint(source, prior, values=True)}


def fingerprint(tree: eqx.Module, main: eqx.Module | None = None, *, values: bool = False) -> str:
    """A text that identifies the class, array shapes, tree and code of a module.

    main: the part whose class is named, by default the whole module.
    values: whether to include the values of arrays.
    """
    arrays = [leaf for leaf in jax.tree.leaves(tree) if eqx.is_array_like(leaf)]
    kinds = sorted({str(jnp.result_type(leaf)) for leaf in arrays})
    leaves = [
        (np.asarray(leaf).tobytes() if values else b"", jnp.shape(leaf), jnp.result_type(leaf)) for leaf in arrays
    ]
    shape = re.sub(r" at 0x[0-9a-f]+", "", str(jax.tree.structure(tree)))
    code = "".join(sorted({_code(kind) for kind in _classes(tree)}))
    name, size = type(tree if main is None else main).__qualname__, sum(int(np.size(leaf)) for leaf in arrays)
    return (
        f"{name} of {len(arrays)} arrays with {size} numbers in {'/'.join(kinds) or 'none'}, "
        f"tree {_digest(shape + repr(leaves))}, code {_digest(code)}"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _classes(tree: object) -> Iterator[type]:
    """The classes of a module and its parts, except those of installed libraries."""
    if isinstance(tree, eqx.Module):
        if type(tree).__module__.split(".")[0] not in ("equinox", "anyorder"):
            yield type(tree)
        tree = vars(tree)
    parts = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list | tuple) else ()
    for part in parts:
        yield from _classes(part)


def _code(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # typed into a console
        return kind.__qualname__


def check_same(stored: str | None, given: str | None, what: str) -> None:
    """Reject to resume a run with a different source or model."""
    if stored is not None:
        require(
            given is not None,
            f"the run has a {what} defined in a program, {stored}; pass it again in Python, anyorder.train({what}=…)",
        )
    require(stored == given, f"the run has the {what} {stored}, this is {given}; start again with a new `out=`")


class OwnModules(NamedTuple):
    """The modules of every member of a run before the first step, and their fingerprint."""

    fresh: list[eqx.Module]
    words: str


def own_modules(config: Config, model: GivenModel) -> OwnModules:
    """The modules of a run, made and checked, in the dtype of its config."""
    make = (lambda key: model) if isinstance(model, eqx.Module) else model
    wanted = "must be an Architecture, an Equinox module from tokens to logits, or a function from a key to one"
    require(callable(make), f"the model is a {type(model).__name__}, {wanted}")
    try:
        made = [make(keys(member.seed).weights) for member in config.members]
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the model fails on a key: {in_a_line(error)}; it {wanted}") from error
    for one in made:
        require(isinstance(one, eqx.Module) and callable(one), f"the model is a {type(one).__name__}, {wanted}")
    prints = {fingerprint(one) for one in made}
    require(len(prints) == 1, f"the seeds have models of {len(prints)} kinds; all must have the same tree and code")
    require(
        config.optimisation.dropout == 0,
        "dropout is for anyorder's architecture; use it inside the module, and pass `dropout=0`",
    )
    size, read = config.data.alphabet_size, jax.ShapeDtypeStruct((config.data.length,), jnp.int32)
    dtype = dtype_of(config.optimisation.dtype)
    cast = [perturbed(one, keys(0).weights, config.initial.perturbation, dtype) for one in made]
    eqx.filter_eval_shape(lambda one, tokens: logits_of(one, tokens, size), cast[0], read)
    return OwnModules(cast, prints.pop())
