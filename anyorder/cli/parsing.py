"""Parse words into a command: tyro reads the flags once, its help is shortened, and its errors become one line.

Flags are read without defaults, so that a command knows which flags were given and can derive the others from them
(`Command.default`). Errors come from the events of `tyro._errors`, an experimental hook: where a version of tyro has
none, the line only points to --help.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from anyorder.cli.command import Command
from anyorder.cli.unused import check_used
from anyorder.errors import InputError, nearest
from anyorder.io.gates import Gate, check_number, check_paths
from anyorder.io.plugins import Registry


class _Refused(Exception):
    """A word that cannot be read; not a `ValueError`, which tyro would catch."""


class _Optional(TypedDict, total=False):
    field: int


_HELP = ("-h", "--help")
#: tyro's default of optional TypedDict fields, which leaves flags out of the result unless they are given.
_LEFT_OUT = ConstructorRegistry.get_struct_spec(StructTypeInfo.make(_Optional, tyro.MISSING, False)).fields[0].default  # type: ignore[union-attr]
_UNREADABLE = "the command line could not be read"
_NUMBERS: dict[type, str] = {int: "a whole number", float: "a number"}


def parsed(name: str, command: type[Command], words: list[str]) -> Command:
    """The command with the flags in these words; `--help` prints and exits."""
    command = command.complete()
    if any(word in _HELP for word in words):
        _print_help(name, command, [word for word in words if word not in _HELP])
    given = _given(name, command, words)
    default = command.default(given)
    found = command(**given) if default is None else _changed(default, given)
    paths = []
    for field, kind, value in _values(found):
        marks = getattr(kind, "__metadata__", ())
        flag = "the input" if tyro.conf.Positional in marks else f"--{field.replace('_', '-')}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            check_number(field, value, type(value))
        paths += [(flag, gate, value) for gate in marks if isinstance(gate, Gate) and value is not None]
    check_paths(paths)
    check_used(found, given)
    return found


def _values(found: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, annotation and value of every flag, including nested dataclasses and each of several values."""
    for name, kind in get_type_hints(type(found), include_extras=True).items():
        value = getattr(found, name)
        if dataclasses.is_dataclass(value):
            yield from _values(value)
        for one in value if isinstance(value, tuple) else (value,):
            yield name, kind, one


def _print_help(name: str, command: type[Command], words: list[str]) -> None:
    """Print the help, with defaults that depend on the other flags, and exit."""
    default = None
    with contextlib.suppress(InputError):
        default = command.default(_given(name, command, words))
    options: dict[str, Any] = {} if default is None else {"default": default}
    options |= {"config": (tyro.conf.DisallowNone,), "registry": _registry(_helped)}
    tyro.cli(command, prog=f"anyorder {name}", description=command.description(), args=["--help"], **options)


def _changed(default: Any, given: Mapping[str, Any]) -> Any:
    """A copy of a dataclass with the given values."""
    values = {
        name: _changed(getattr(default, name), one) if isinstance(one, dict) else one for name, one in given.items()
    }
    return dataclasses.replace(default, **values)


def _given(name: str, command: type[Command], words: list[str]) -> dict[str, Any]:
    """The flags in the words, by field name; those of nested dataclasses as a dictionary."""
    options: list[str] = []
    registry = _registry(lambda found, info: _without_defaults(found, info, options))
    events = getattr(tyro, "_errors", None)

    def refuse(event: object) -> None:
        known = list(dict.fromkeys(options))
        for word in itertools.takewhile("--".__ne__, words):
            option = word.partition("=")[0].replace("_", "-")
            if option.startswith("--") and option not in known:
                raise _Refused(f"{option} is not an option of anyorder {name}; {nearest(option, known)}")
        raise _Refused(_wrong(event, name))

    try:
        with events.on_parse_error(refuse) if events else contextlib.redirect_stderr(io.StringIO()):
            kind: Any = command  # read as a dictionary
            return tyro.cli(kind, args=words, registry=registry, add_help=False)
    except (_Refused, SystemExit) as error:
        wrong = str(error) if isinstance(error, _Refused) else _UNREADABLE
        raise InputError(wrong if wrong.endswith("?") else f"{wrong}; see anyorder {name} --help") from None


def _wrong(event: Any, name: str) -> str:
    """A parse error of tyro as one line."""
    match type(event).__name__:
        case "InvalidChoice":
            return f"{event.argument.display_name()} is {event.value!r}; {nearest(event.value, event.choices)}"
        case "BadValue" if not event.argument.is_positional():
            return f"{event.argument.display_name()} needs a value"
        case "BadValue":
            return f"anyorder {name} needs {_invocation(event.argument)}"
        case "MissingArgs":
            return f"anyorder {name} needs {', '.join(_invocation(one.arg) for one in event.missing_arguments)}"
        case "UnrecognizedArgs":
            return f"{event.tokens[0]} is not expected here"
    return _UNREADABLE


def _invocation(argument: Any) -> str:
    metavar = argument.lowered.metavar
    return metavar if argument.is_positional() else f"{argument.display_name()} {metavar}"


def _checked(kind: Any, option: str) -> Any:
    """The type of a flag, or of its entries, with our own message for words that are not numbers."""
    if get_origin(kind) is tuple:
        entry: Any = _checked(get_args(kind)[0], option)
        return tuple[entry, ...]
    if kind not in _NUMBERS:
        return kind

    def read(words: list[str]) -> object:
        try:
            return kind(words[0])
        except ValueError:
            raise _Refused(f"{option} is {words[0]!r}, must be {_NUMBERS[kind]}") from None

    name = kind.__name__.upper()
    return Annotated[
        kind, PrimitiveConstructorSpec(1, name, read, lambda one: isinstance(one, kind), lambda one: [str(one)])
    ]


def _registry(change: Callable[[StructConstructorSpec, StructTypeInfo], StructConstructorSpec]) -> ConstructorRegistry:
    """A registry that passes tyro's specification of every dataclass through `change`."""
    registry = ConstructorRegistry()
    asked: list[StructTypeInfo] = []

    @registry.struct_rule
    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        if asked or not dataclasses.is_dataclass(info.type):
            return None
        asked.append(info)  # so that tyro's own rule applies this time
        try:
            found = ConstructorRegistry.get_struct_spec(info)
        finally:
            asked.pop()
        assert isinstance(found, StructConstructorSpec)
        return change(dataclasses.replace(found, fields=tuple(map(_of_registry, found.fields))), info)

    return registry


def _of_registry(field: StructFieldSpec) -> StructFieldSpec:
    """A flag with the names of its registry as choices, where its type has one."""
    names = next((entry for entry in get_args(field.type)[1:] if isinstance(entry, Registry)), None)
    kind: Any = None if names is None else Literal[tuple(names)]
    return field if kind is None else dataclasses.replace(field, type=kind)


def _without_defaults(found: StructConstructorSpec, info: StructTypeInfo, options: list[str]) -> StructConstructorSpec:
    """A specification whose result is a dictionary of the given fields; their flags are added to the options."""
    fields = []
    for field in found.fields:
        kind, *marks = get_args(field.type) if get_origin(field.type) is Annotated else (field.type,)
        if get_origin(kind) in (Union, types.UnionType):  # None means that the flag is not given
            (kind,) = (one for one in get_args(kind) if one is not types.NoneType)
        default = field.default
        if not dataclasses.is_dataclass(default) and tyro.conf.Positional not in marks:
            option = f"--{field.name.replace('_', '-')}"
            options.append(option)
            kind = _checked(kind, option)
            if _is_switch(field, info):
                marks.append(tyro.conf.FlagCreatePairsOff)
            elif tyro.conf.UseAppendAction not in marks:
                options += [f"--no-{option[2:]}"] if kind is bool else []
                default = default if default in (tyro.MISSING, tyro.MISSING_NONPROP) else _LEFT_OUT
        marked: Any = Annotated[(kind, *marks)] if marks else kind
        fields.append(dataclasses.replace(field, type=marked, default=default))
    return StructConstructorSpec(dict, tuple(fields))


def _is_switch(field: StructFieldSpec, info: StructTypeInfo) -> bool:
    """Whether a flag of a command is off by default; it then has no form `--no-…`."""
    return field.default is False and isinstance(info.type, type) and issubclass(info.type, Command)


def _helped(found: StructConstructorSpec, info: StructTypeInfo) -> StructConstructorSpec:
    """The specification with shortened help."""
    return dataclasses.replace(found, fields=tuple(_field(field, _is_switch(field, info)) for field in found.fields))


def _field(field: StructFieldSpec, off: bool) -> StructFieldSpec:
    """A flag whose help names the default only if it is informative."""
    marks: list[Any] = [tyro.conf.arg(help_behavior_hint="" if off else _default)]
    marks += [tyro.conf.FlagCreatePairsOff] if off else []
    kind: Any = field.type
    if isinstance(kind, types.UnionType):  # a form that tyro reads without loading another library
        kind = Union[get_args(kind)]  # noqa: UP007
    if entries := _entries(kind):
        marks.append(tyro.conf.arg(metavar=f"{entries.__name__.upper()} …"))
    written = field.helptext

    def text() -> str | None:
        help = written() if callable(written) else written
        return None if help is None else " ".join(help.split())

    marked: Any = Annotated[(kind, *marks)]
    return dataclasses.replace(field, type=marked, helptext=text)


def _entries(kind: Any) -> type | None:
    """The type of the entries of a flag that takes several.

    >>> _entries(tuple[int, ...]), _entries(Union[tuple[str, ...], None]), _entries(int)
    (<class 'int'>, <class 'str'>, None)
    """
    if get_origin(kind) is tuple:
        return get_args(kind)[0]
    return next(filter(None, map(_entries, get_args(kind))), None) if get_origin(kind) is Union else None


def _default(label: str) -> str:
    """The text after the help of a flag.

    >>> _default("8"), _default("True"), _default("None")
    ('(default: 8)', '(default: on)', '')
    """
    return "" if label in ("None", "") else f"(default: {({'True': 'on', 'False': 'off'}).get(label, label)})"
