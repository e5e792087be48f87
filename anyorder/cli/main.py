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
from typing import TYPE_CHECKING, Any

from anyorder import __version__
from anyorder.cli.signals import exit_code, interruptible
from anyorder.errors import InputError, in_flags, nearest, require

if TYPE_CHECKING:  # `--help` and `--version` need none of the parser's and the terminal's libraries
    from anyorder.cli.command import Command, Outcome

#: Sub-command → module, class, and what it does. Modules are imported only for the command that is called.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "Demo", "the main job at a small size: chains, constructions, training, one page"),
    "sample": ("sample", "Sample", "draw sequences of random Markov chains"),
    "estimate": ("estimate", "Estimate", "next-token distributions of a sequence, by an exact estimator"),
    "order": ("order", "Order", "how likely each order of a sequence is"),
    "constructions": ("constructions", "Constructions", "list the constructions"),
    "parameters": ("constructions", "Parameters", "count the parameters of a construction"),
    "verify": ("constructions", "Verify", "hold a construction against the exact estimator"),
    "predict": ("constructions", "Predict", "run a construction on your own sequence"),
    "build": ("constructions", "Build", "write a construction to a file"),
    "train": ("training", "Train", "train transformers and measure them against the Bayes floor"),
    "evaluate": ("training", "Evaluate", "measure the models of a run again"),
    "show": ("training", "Show", "draw a run or a sweep"),
    "sweep": ("sweep", "SweepCommand", "train a grid of runs into one table"),
    "reproduce": ("reproduce", "Reproduce", "every table and figure, next to what the paper prints"),
    "dynamics": ("dynamics", "Dynamics", "the paper's training algorithms on its reduced model"),
    "claims": ("claims", "Claims", "measure what the paper claims"),
    "probe": ("probe", "Probe", "the order of induction of every head of a model"),
    "explore": ("explore", "Explore", "a local web page that shows how a model computes"),
}

DESCRIPTION = "A laboratory for in-context learning of Markov chains of any order."
EXAMPLES = """Examples:
  anyorder demo --out demo
  anyorder verify dyadic --order 10 --alphabet-size 4 --length 512
  anyorder train --order 2 --length 32 --out run
  anyorder explore"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not words or words[0] in ("-h", "--help"):
            print(overview())
            return 0
        if words[0] == "--version":
            print(f"anyorder {__version__}")
            return 0
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


def overview() -> str:
    """What `anyorder --help` says, without importing the commands."""
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {summary}" for name, (_, _, summary) in COMMANDS.items()]
    usage = "usage: anyorder COMMAND [OPTIONS]; anyorder COMMAND --help says more; anyorder --version"
    return "\n".join([DESCRIPTION, "", EXAMPLES, "", "Commands:", *listed, "", usage])


def parse(words: list[str]) -> Command:
    """The command that the words ask for; tyro's boxes become one line."""
    name, *rest = words
    if name not in COMMANDS:
        what = "an option of anyorder" if name.startswith("-") else "a command"
        raise InputError(f"{name!r} is not {what}; {nearest(name, [*COMMANDS, '--help', '--version'])}")
    import tyro

    command = _load(name).complete()
    default = command.default(rest)
    given = {} if default is None else {"default": default}
    described, config = command.description(), _markers(command)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parsed = tyro.cli(
                command, prog=f"anyorder {name}", description=described, args=rest, config=config, **given
            )
    except SystemExit as exit:
        if exit.code in (0, None):
            raise
        helped = io.StringIO()
        with contextlib.redirect_stdout(helped), contextlib.suppress(SystemExit):
            tyro.cli(command, args=["--help"], config=config, **given)
        # Lines that begin with an option; lines further in only speak of some.
        flags = re.findall(r"^(?:│ |  )(-[^│\n]*)", helped.getvalue(), re.MULTILINE)
        options = [option for line in flags for option in re.findall(r"--[a-z][\w-]*", line.partition("  ")[0])]
        for word in rest[: rest.index("--") if "--" in rest else None]:
            option = word.partition("=")[0].replace("_", "-")
            if re.match("--[a-z]", option) and option not in options:
                raise InputError(f"{option} is not an option of anyorder {name}; {nearest(option, options)}") from None
        raise InputError(f"{_one_line(said.getvalue())}; see anyorder {name} --help") from None
    seed = getattr(parsed, "seed", None)
    require(seed is None or 0 <= seed < 2**63, f"seed is {seed}, must be 0 to {2**63 - 1}; pass `seed=0` or more")
    if isinstance(out := getattr(parsed, "out", None), str):
        from anyorder.files import check_writable

        check_writable(out)  # before minutes of work
    return parsed


def _markers(command: type[Command]) -> tuple[Any, ...]:
    """Help without `{None}|` and without a second flag for every switch that nobody turns back."""
    import tyro

    return (
        (tyro.conf.DisallowNone,) if command.switches_back else (tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff)
    )


def _load(name: str) -> Any:
    module, attribute, _ = COMMANDS[name]
    return getattr(importlib.import_module(f"anyorder.cli.{module}"), attribute)


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
        from rich.console import Console

        Console(soft_wrap=True).print(outcome.shown)
    sys.stdout.flush()
    if outcome.then is not None:
        outcome.then()
    return 0 if outcome.passed else 1
