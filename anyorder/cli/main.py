"""Parse, run, print, exit: 0 on success, 1 when a check fails, 2 on bad input with one line that says why."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyorder import __version__
from anyorder.cli.signals import exit_code, interruptible
from anyorder.errors import InputError, in_flags, nearest
from anyorder.io import plugins

if TYPE_CHECKING:  # `--help` and `--version` need none of the parser's and the terminal's libraries
    from anyorder.cli.command import Command, Outcome

#: Sub-command → module, class, and what it does. Modules are imported only for the command that is called.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "Demo", "the main job at a small size: chains, constructions, training, one page"),
    "sample": ("sample", "Sample", "draw sequences of random Markov chains"),
    "estimate": ("estimate", "EstimateCommand", "next-token distributions of a sequence, by an exact estimator"),
    "order": ("order", "OrderCommand", "how likely each order of a sequence is"),
    "constructions": ("constructions", "Constructions", "list the constructions"),
    "parameters": ("constructions", "Parameters", "count the parameters of a construction"),
    "price": ("price", "PriceCommand", "what every construction costs, and what any model of its kind must pay"),
    "verify": ("constructions", "Verify", "compare a construction with the exact estimator"),
    "predict": ("constructions", "Predict", "run a construction on your own sequence"),
    "build": ("constructions", "Build", "write a construction to a file"),
    "export": ("constructions", "Export", "write a construction as a stock GPT-2, with its ground truth"),
    "train": ("training", "Train", "train transformers and measure them against the Bayes floor"),
    "evaluate": ("training", "Evaluate", "measure the models of a run again"),
    "show": ("training", "Show", "draw a run or a sweep"),
    "sweep": ("sweep", "SweepCommand", "train a grid of runs into one table"),
    "papers": ("papers", "Papers", "list papers with what each offers"),
    "reproduce": ("reproduce", "Reproduce", "every table and figure, next to what the paper prints"),
    "dynamics": ("dynamics", "Dynamics", "the paper's training algorithms on its reduced model"),
    "claims": ("claims", "Claims", "measure what papers claim"),
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
        with interruptible(), warnings.catch_warnings(), plugins.within(_plugins(words)):
            warnings.showwarning = _say  # type: ignore[assignment]
            command = parse(words)
            outcome = command.run()
            return _print(outcome, command)
    except InputError as error:
        print(f"anyorder: {in_flags(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"anyorder: {str(interrupt) or 'interrupted; nothing was written half-way'}", file=sys.stderr)
        return exit_code()
    except BrokenPipeError:  # the reader of our output has gone: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _plugins(words: list[str]) -> list[str]:
    """The plug-ins that are named, before anything else is read: names and flags may be theirs."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--plugin", action="append", nargs="?", default=[])
    return [file for file in parser.parse_known_args(words)[0].plugin if file is not None]


def _say(message: Warning | str, category: object, file: str, line: int, *_: object) -> None:
    """A warning as one line, like an error."""
    print(f"anyorder: {in_flags(str(message))}", file=sys.stderr)


def overview() -> str:
    """The text of `anyorder --help`, without importing the commands."""
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {summary}" for name, (_, _, summary) in COMMANDS.items()]
    usage = "usage: anyorder COMMAND [OPTIONS]; anyorder COMMAND --help says more; anyorder --version"
    return "\n".join([DESCRIPTION, "", EXAMPLES, "", "Commands:", *listed, "", usage])


def parse(words: list[str]) -> Command:
    """The command that the words ask for."""
    name, *rest = words
    if name not in COMMANDS:
        what = "an option of anyorder" if name.startswith("-") else "a command"
        raise InputError(f"{name!r} is not {what}; {nearest(name, [*COMMANDS, '--help', '--version'])}")
    from anyorder.cli.parsing import parsed

    module, attribute, _ = COMMANDS[name]
    return parsed(name, getattr(importlib.import_module(f"anyorder.cli.{module}"), attribute), rest)


def _print(outcome: Outcome, command: Command) -> int:
    if command.json:
        from anyorder.io.trees import as_json

        print(json.dumps(as_json(outcome.report), allow_nan=False))
    elif outcome.shown is not None:
        from rich.console import Console

        console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
        console.print(outcome.shown)
        if outcome.passed and (step := command.next_step(outcome.report)):
            console.print(f"\nnext: {step}")
    sys.stdout.flush()
    if outcome.then is not None:
        outcome.then()
    return 0 if outcome.passed else 1
