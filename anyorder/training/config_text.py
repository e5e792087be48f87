"""Other forms of a config: JSON, command-line flags, text. Nothing here imports JAX."""

from __future__ import annotations

import shlex

from anyorder.errors import InputError, require
from anyorder.io.plugins import PROGRAM
from anyorder.training.config import DECIDE_TARGETS, GROUPS, PRESETS, REGISTRIES, Config, changed, known, preset, values
from anyorder.training.mixers import recipe


def words(entries: object) -> str:
    """A config value as words of a command line."""
    return " ".join(map(str, entries)) if isinstance(entries, tuple) else str(entries)


def from_document(document: dict[str, object], source: str) -> Config:
    """The config in the JSON of a file: `config.json` of a run, or a config by itself."""
    check_plugins(document.get("plugins"), source)
    return from_json(document.get("config", document), source)


def from_json(plain: object, source: str = "the config") -> Config:
    """The config of a JSON object, such as `trees.as_json` returns; missing fields have their defaults."""
    flat: dict[str, object] = {}
    if not isinstance(plain, dict):
        raise InputError(f"{source} has {plain!r} where an object is expected")
    label = plain.get("preset")
    require(isinstance(label, str | None), f"{source} has the preset {label!r}, must be a name")
    for name, value in plain.items():
        if name == "preset":
            continue
        if name not in GROUPS.values():
            top = ", ".join(vars(Config()))
            require(GROUPS.get(name, name) is None, f"{source} has the unknown field {name!r}; known are {top}")
            flat[name] = value
            continue
        require(isinstance(value, dict), f"{source} has {value!r} where an object is expected")
        for inner in value:
            known(inner, source, [field for field, group in GROUPS.items() if group == name])
        flat |= value
    return changed(Config(preset=label), flat, source)


def plugins(config: Config) -> list[list[str]]:
    """Field, name and origin of every plug-in value in the config: a record, from which nothing is imported."""
    flat, found = values(config), []
    for field, registry in REGISTRIES.items():
        for name in flat[field] if isinstance(flat[field], tuple) else [flat[field]]:
            if (home := registry.home(name)) != "anyorder":
                found.append([field, name, home])
    return found


def check_plugins(recorded: object, source: str) -> None:
    """Reject a config whose plug-ins are not loaded, naming them."""
    for entry in recorded if isinstance(recorded, list) else []:
        match entry:
            case [str(field), str(name), str(home)] if field in REGISTRIES and name not in REGISTRIES[field]:
                home = "the Python program that wrote it" if home == PROGRAM else home
                way_out = "load that with --plugin or ANYORDER_PLUGINS"
                raise InputError(f"{source} has the {field} {name!r} of {home}; {way_out}")


def config_difference(one: Config, other: Config) -> str:
    """The first field in which two configs differ, as "name value, not value"; empty if they are equal."""
    wanted = values(other)
    for name, value in values(one).items():
        if value != wanted[name]:
            return f"{name.replace('_', '-')} {words(value)}, not {words(wanted[name])}"
    return ""


def flags(config: Config, base: Config) -> str:
    """The flags that turn `anyorder train` with the base into this config.

    >>> flags(changed(Config(), {"order": 3, "beginning": False}), Config())
    '--order 3 --no-beginning'
    """
    words: list[str] = []
    defaults = values(base)
    for name, value in values(config).items():
        flag = "from" if name == "from_model" else name.replace("_", "-")
        if value == defaults[name] or name in ("own_source", "own_model"):
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]
    return shlex.join(words)


def command(config: Config) -> str:
    """The `anyorder train` command of the config, as its preset plus flags.

    >>> command(preset("floor", seeds=1))
    'anyorder train --preset floor --seeds 1'
    >>> command(preset(order=3)), command(preset(order=3, targets="exact"))
    ('anyorder train --preset fast --order 3', 'anyorder train --preset fast --order 3 --targets exact')
    >>> command(preset(mixer="mamba", layers=1, order=3))
    'anyorder train --preset fast --order 3 --layers 1 --mixer mamba'
    """
    name = config.preset if config.preset is not None and config.preset in PRESETS else "fast"
    mixer = config.architecture.mixer
    if recipe(mixer, config.data.order):
        name = "fast"
    plain = PRESETS[name]
    now, before = values(config), values(plain)
    given = {field: now[field] for field in DECIDE_TARGETS if field != "targets" and now[field] != before[field]}
    base = preset(name, config.data.order, mixer=mixer, **given)
    usual = base.optimisation.targets
    if now["targets"] != usual:  # the flag brings the recipe of these targets
        base = changed(
            preset(name, config.data.order, mixer=mixer, **given, targets=now["targets"]), {"targets": usual}
        )
    base = changed(base, {field: before[field] for field in ("order", "mixer", *given)})
    return f"anyorder train --preset {name} {flags(config, base)}".strip()
