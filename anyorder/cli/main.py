"""Parse, run, print, exit: 0 on success, 1 when a check fails, 2 on bad input with one line that says why."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import tyro
from rich.console import Console

from anyorder.cli.command import Command, Outcome
from anyorder.cli.signals import exit_code, interruptible
from anyorder.errors import InputError, in_flags

#: Sub-command → module and class. Modules are imported only for the command that is called.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("anyorder.cli.demo", "Demo"),
    "sample": ("anyorder.cli.sample", "Sample"),
    "estimate": ("anyorder.cli.estimate", "Estimate"),
    "order": ("anyorder.cli.order", "Order"),
    "constructions": ("anyorder.cli.constructions", "Constructions"),
    "parameters": ("anyorder.cli.constructions", "Parameters"),
    "verify": ("anyorder.cli.constructions", "Verify"),
    "predict": ("anyorder.cli.constructions", "Predict"),
    "build": ("anyorder.cli.constructions", "Build"),
    "train": ("anyorder.cli.training", "Train"),
    "evaluate": ("anyorder.cli.training", "Evaluate"),
    "show": ("anyorder.cli.training", "Show"),
    "sweep": ("anyorder.cli.sweep", "SweepCommand"),
    "reproduce": ("anyorder.cli.reproduce", "Reproduce"),
    "dynamics": ("anyorder.cli.dynamics", "Dynamics"),
    "claims": ("anyorder.cli.claims", "Claims"),
    "probe": ("anyorder.cli.probe", "Probe"),
    "explore": ("anyorder.cli.explore", "Explore"),
}

DESCRIPTION = "A laboratory for in-context learning of Markov chains of any order."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with interruptible(), warnings.catch_warnings():
            warnings.showwarning = _say  # type: ignore[assignment]
            command = parse(words)
            outcome = command.run()
            return _print(outcome, command.json)
    except InputError as error:
        print(f"anyorder: {in_flags(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"anyorder: {str(interrupt) or 'interrupted; nothing was written half-way'}", file=sys.stderr)
        return exit_code()
    except BrokenPipeError:  # the reader of our output has gone: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _say(message: Warning | str, category: object, file: str, line: int, *_: object) -> None:
    """A warning as one line, like an error."""
    print(f"anyorder: {in_flags(str(message))}", file=sys.stderr)


def parse(words: list[str]) -> Command:
    """The command that the words ask for; tyro's boxes become one line."""
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise InputError(f"{words[0]!r} is not a command; choose from {', '.join(COMMANDS)}")
    if not words:
        words = ["--help"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            if words[0] not in COMMANDS:
                everything = {name: _load(name) for name in COMMANDS}
                return tyro.extras.subcommand_cli_from_dict(
                    everything, prog="anyorder", description=DESCRIPTION, args=words
                )
            command = _load(words[0]).complete()
            default = command.default(words[1:])
            given = {} if default is None else {"default": default}
            described = command.description()
            return tyro.cli(command, prog=f"anyorder {words[0]}", description=described, args=words[1:], **given)
    except SystemExit as exit:
        if exit.code in (0, None):
            raise
        called = f"anyorder {words[0]}" if words[0] in COMMANDS else "anyorder"
        raise InputError(f"{_one_line(said.getvalue())}; see {called} --help") from None


def _load(name: str) -> Any:
    module, attribute = COMMANDS[name]
    return getattr(importlib.import_module(module), attribute)


def _one_line(boxed: str) -> str:
    """The message inside one of tyro's boxes: the text up to the first rule, without the frame."""
    message = []
    for line in boxed.splitlines()[1:]:
        content = line.strip("│╭╮╰╯\n").rstrip()
        if not content.strip(" ─"):
            break
        if not content.startswith(" " * 8):  # deeper lines repeat the help of a flag
            message.append(content.strip())
    return re.sub(r"\s+", " ", " ".join(message)).rstrip(".") or "the command line could not be read"


def _print(outcome: Outcome, wanted: bool) -> int:
    if wanted:
        from anyorder.records import as_json

        print(json.dumps(as_json(outcome.report), allow_nan=False))
    elif outcome.shown is not None:
        Console(soft_wrap=True).print(outcome.shown)
    sys.stdout.flush()
    if outcome.then is not None:
        outcome.then()
    return 0 if outcome.passed else 1
