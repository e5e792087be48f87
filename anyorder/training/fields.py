"""Fields of a config by the names that they have on the command line, whatever group they stand in."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from typing import Any

from anyorder.errors import InputError
from anyorder.training import config as configs
from anyorder.training.config import Config


def values(config: Config) -> dict[str, Any]:
    """Every field that is not a group.

    >>> values(Config())["beta1"]
    0.9
    """
    return {field.name: value for _, field, value in configs.leaves(config)}


#: Group of every field; those of the run itself have none.
GROUPS: dict[str, str | None] = {
    field.name: next((name for name, value in vars(Config()).items() if value is group), None)
    for group, field, _ in configs.leaves(Config())
}


def known(name: str, source: str, names: Any = None) -> str:
    """The name with underscores, or an `InputError` with the nearest names that exist.

    >>> known("learning-rat", "grid.toml")
    Traceback (most recent call last):
    anyorder.errors.InputError: grid.toml has the unknown field 'learning-rat'; did you mean learning_rate?
    """
    names = list(GROUPS if names is None else names)
    spelt = name.replace("-", "_")
    if spelt in names:
        return spelt
    near = difflib.get_close_matches(spelt, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
    raise InputError(f"{source} has the unknown field {name!r}; {hint}")


def changed(config: Config, changes: Mapping[str, Any], source: str = "the config") -> Config:
    """The config with these fields; a single number stands for a list of one.

    >>> changed(Config(), {"order": 3, "learning_rate": 0.01}).optimisation.learning_rate
    (0.01,)
    """
    nested: dict[str, Any] = {}
    defaults = values(config)
    for name, value in changes.items():
        name = known(name, source)
        listed = isinstance(defaults[name], tuple) and not isinstance(value, list)
        group = GROUPS[name]
        place = nested if group is None else nested.setdefault(group, {})
        place[name] = [value] if listed else value
    return configs.from_json(nested, source, config)


def flags(config: Config, base: Config) -> str:
    """What must be added to `anyorder train` with the base to get the config.

    >>> flags(changed(Config(), {"order": 3, "beginning": True}), Config())
    '--order 3 --beginning'
    """
    words: list[str] = []
    for (_, field, value), (_, _, default) in zip(configs.leaves(config), configs.leaves(base), strict=True):
        flag = "from" if field.name == "from_model" else field.name.replace("_", "-")
        if value == default:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]
    return shlex.join(words)


def command(config: Config) -> str:
    """The shortest `anyorder train` that gives the config, from the preset that is nearest to it.

    >>> command(changed(configs.PRESETS["floor"], {"seeds": 1}))
    'anyorder train --preset floor --seeds 1'
    """
    options = [
        f"anyorder train --preset {name} {flags(config, base)}".strip() for name, base in configs.PRESETS.items()
    ]
    return min(options, key=len)
