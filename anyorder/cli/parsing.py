"""From words to a command: tyro reads the flags, its help is kept free of clutter, and its boxes become one line."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import types
from typing import Annotated, Any, Union, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

from anyorder.cli.command import Command
from anyorder.errors import InputError, check_seed, nearest


def parsed(name: str, command: type[Command], words: list[str]) -> Command:
    """The command that the words after its name ask for; `--help` prints and leaves."""
    command = command.complete()
    default = command.default(words)
    options: dict[str, Any] = {"config": (tyro.conf.DisallowNone,), "registry": _plain_help()}
    options |= {} if default is None else {"default": default}
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            about = command.description()
            found = tyro.cli(command, prog=f"anyorder {name}", description=about, args=words, **options)
    except SystemExit as exit:
        if exit.code in (0, None):
            raise
        helped = io.StringIO()
        with contextlib.redirect_stdout(helped), contextlib.suppress(SystemExit):
            tyro.cli(command, args=["--help"], **options)
        _refuse_unknown(name, words, helped.getvalue())
        wrong = _plainly(_one_line(said.getvalue()), helped.getvalue())
        raise InputError(wrong if wrong.endswith("?") else f"{wrong}; see anyorder {name} --help") from None
    if (seed := getattr(found, "seed", None)) is not None:
        check_seed(seed)
    for flag in (*command.writes, *command.fills):
        if (path := getattr(found, flag)) is not None:
            from anyorder.io.atomic import check_writable

            check_writable(path, folder=flag in command.fills)
    return found


def _plain_help() -> ConstructorRegistry:
    """Fields as tyro finds them, each with help that says no more than a reader needs."""
    registry = ConstructorRegistry()
    asked: list[StructTypeInfo] = []

    @registry.struct_rule
    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        if asked or not dataclasses.is_dataclass(info.type):
            return None
        asked.append(info)  # so that this time tyro's own rule answers
        try:
            found = ConstructorRegistry.get_struct_spec(info)
        finally:
            asked.pop()
        assert isinstance(found, StructConstructorSpec)
        alone = isinstance(info.type, type) and issubclass(info.type, Command)
        return dataclasses.replace(found, fields=tuple(_field(field, alone) for field in found.fields))

    return registry


def _field(field: StructFieldSpec, alone: bool) -> StructFieldSpec:
    """A flag whose help names a default that says something; a switch that is off has, `alone`, no second flag."""
    off = alone and field.default is False
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
    """What stands after the help of a flag.

    >>> _default("8"), _default("True"), _default("None")
    ('(default: 8)', '(default: on)', '')
    """
    return "" if label in ("None", "") else f"(default: {({'True': 'on', 'False': 'off'}).get(label, label)})"


def _refuse_unknown(name: str, words: list[str], help: str) -> None:
    """Name the first word that looks like an option and is none, with the option that was meant."""
    # Lines that begin with an option; lines further in only speak of some.
    flags = re.findall(r"^(?:│ |  )(-[^│\n]*)", help, re.MULTILINE)
    options = [option for line in flags for option in re.findall(r"--[a-z][\w-]*", line.partition("  ")[0])]
    for word in words[: words.index("--") if "--" in words else None]:
        option = word.partition("=")[0].replace("_", "-")
        if re.match("--[a-z]", option) and option not in options:
            raise InputError(f"{option} is not an option of anyorder {name}; {nearest(option, options)}") from None


def _plainly(message: str, help: str) -> str:
    """What tyro found wrong, in words for people; the help says what kind of value a flag takes.

    >>> _plainly("Error parsing --order: invalid literal for int() with base 10: 'x'", "│ --order INT")
    "--order is 'x', must be a whole number"
    >>> _plainly("invalid choice 'quik' for argument '--budget'. Expected one of ('tiny', 'quick')", "")
    "--budget is 'quik'; did you mean quick?"
    """
    if found := re.match(r"invalid choice '(.*)' for argument '(.*)'. Expected one of \((.*?),?\)", message):
        word, flag, listed = found.groups()
        choices = re.findall(r"'(.*?)'", listed)
        return f"{flag} is {word!r}; {nearest(word, choices)}"
    if found := re.match(r"Error parsing (\S+): .*'(.*?)'", message):
        flag, word = found.groups()
        kind = re.search(rf"{flag} \[?(INT|FLOAT)", help)
        wanted = {"INT": "a whole number", "FLOAT": "a number"}[kind[1]] if kind else "something else"
        return f"{flag} is {word!r}, must be {wanted}"
    for pattern, plain in (
        (r"Missing from (.*?): ", r"\1 needs "),
        (r"Missing value for argument '(.*)'.*", r"\1 needs a value"),
        (r"Unrecognized options: (.*)", r"\1 is not expected here"),
    ):
        message = re.sub(pattern, plain, message)
    return message


def _one_line(boxed: str) -> str:
    """The message inside one of tyro's boxes: the text up to the first rule, without the frame."""
    message: list[str] = []
    for line in boxed.splitlines()[1:]:
        content = line.strip("│╭╮╰╯\n").rstrip()
        if not content.strip(" ─-"):  # a rule; without UTF-8 one stands above the text too
            if message:
                break
        elif not content.startswith(" " * 8):  # deeper lines repeat the help of a flag
            message.append(content.strip())
    return re.sub(r"\s+", " ", " ".join(message)).rstrip(".") or "the command line could not be read"
