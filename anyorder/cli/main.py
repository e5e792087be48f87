"""Parse, run, print, exit: 0 on success, 1 when a check fails, 2 on bad input, with a one-line message."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyorder import __version__
from anyorder.cli.environment import check_environment, unusable
from anyorder.cli.signals import exit_code, interrupted, interruptible
from anyorder.errors import InputError, in_a_line, in_flags, in_one_line, nearest
from anyorder.io import plugins

if TYPE_CHECKING:  # `--help` and `--version` need none of the parser's and the terminal's libraries
    from anyorder.cli.command import Command, Outcome

#: Sub-command → module, class, and a description. Modules are imported only for the called command.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "Demo", "write a tour of the package on one page: estimators, constructions, training"),
    "sample": ("sample", "Sample", "draw sequences of random Markov chains"),
    "estimate": ("estimate", "EstimateCommand", "estimate next-token distributions of a sequence"),
    "order": ("order", "OrderCommand", "find the Markov order that describes a sequence best"),
    "constructions": ("constructions", "Constructions", "list the constructions"),
    "parameters": ("constructions", "Parameters", "count the parameters of a construction"),
    "price": ("price", "PriceCommand", "compare the cost of all constructions with lower bounds"),
    "verify": ("constructions", "Verify", "compare a construction with the exact estimator"),
    "predict": ("constructions", "Predict", "run a construction on your own sequence"),
    "build": ("constructions", "Build", "write a construction to a file"),
    "export": ("constructions", "Export", "write a construction as a stock GPT-2, with its ground truth"),
    "train": ("training", "Train", "train models and measure their gap to the Bayes floor"),
    "evaluate": ("training", "Evaluate", "measure the models of a run again"),
    "show": ("training", "Show", "draw the figures of a run or a sweep"),
    "sweep": ("sweep", "SweepCommand", "train a grid of runs into one table"),
    "papers": ("papers", "Papers", "list papers with their experiments and claims"),
    "reproduce": ("reproduce", "Reproduce", "compute every table and figure of a paper, next to the printed values"),
    "dynamics": ("dynamics", "Dynamics", "run the paper's training algorithms on its reduced model"),
    "claims": ("papers", "Claims", "measure the claims of papers"),
    "probe": ("probe", "Probe", "measure the induction order of every head of a model"),
    "zoo": ("zoo", "Zoo", "list the trained models of the package"),
    "explore": ("explore", "Explore", "open a local web page that shows how a model computes"),
}

DESCRIPTION = "A laboratory for in-context learning of Markov chains of any order."
EXAMPLES = """Examples:
  anyorder demo --out demo
  anyorder verify dyadic --order 10 --alphabet-size 4 --length 512
  anyorder train --order 2 --length 32 --out run
  anyorder explore"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    try:
        return _run(words)
    except InputError as error:
        return _refused(str(error))
    except KeyboardInterrupt as interrupt:
        return _stopped(str(interrupt))
    except BrokenPipeError:  # the reader closed the pipe: not an error
        _leave_stdout()
        return 0
    except OSError as error:
        full = error.filename is None and error.errno == errno.ENOSPC  # files are written by `whole_file`
        if full:
            _leave_stdout()
        what = "standard output" if full else error.filename or "a file"
        return _refused(f"cannot use {what}: {error.strerror or error}; choose another")
    except (MemoryError, RecursionError) as error:
        return _refused(f"out of memory ({str(error) or type(error).__name__}); use shorter sequences or fewer at once")
    except Exception as error:
        if interrupted():  # numba turns an interrupted compilation into an error of its own
            return _stopped()
        if "RESOURCE_EXHAUSTED" in str(error):  # of XLA
            return _refused(f"out of memory ({in_a_line(error)}); use shorter sequences or fewer at once")
        if (reason := unusable()) is None:
            raise
        return _refused(reason)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(overview(), flush=True)
        return 0
    if words[0] == "--version":
        print(f"anyorder {__version__}", flush=True)
        return 0
    check_environment()
    os.environ.pop("MPLBACKEND", None)  # figures are drawn into files, without a backend
    with interruptible(), warnings.catch_warnings(), plugins.within(_plugins(words)):
        warnings.showwarning = lambda message, *_: _say(str(message))
        command = parse(words)
        outcome = command.run()
        return _print(outcome, command)


def _open_streams() -> None:
    """Replace closed standard streams by the null device, and escape characters that a stream cannot encode."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while os.open(os.devnull, os.O_RDWR) <= 2:
            pass  # a file opened later must not take the descriptor of a standard stream
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_stdout() -> None:
    """Discard unprinted output, so that Python does not try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stopped(message: str = "") -> int:
    _say(message or "interrupted; no file is incomplete")
    return exit_code()


def _refused(message: str) -> int:
    _say(message)
    return 2


def _say(message: str) -> None:
    """Print an error or a warning as one line, even if file names in it contain line breaks."""
    line = re.sub(r"(\S{60})\S{140,}(\S{20})", r"\1…\2", in_one_line(in_flags(message)))
    with contextlib.suppress(OSError):  # standard error is closed
        print(f"anyorder: {line}", file=sys.stderr, flush=True)


def _plugins(words: list[str]) -> list[str]:
    """Load the plug-ins named in the words first, because they may define the other names and flags."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--plugin", action="append", nargs="?", default=[])
    return [file for file in parser.parse_known_args(words)[0].plugin if file is not None]


def overview() -> str:
    """The text of `anyorder --help`, without importing the commands."""
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {summary}" for name, (_, _, summary) in COMMANDS.items()]
    usage = "usage: anyorder COMMAND [OPTIONS]; anyorder COMMAND --help lists the options; anyorder --version"
    return "\n".join([DESCRIPTION, "", EXAMPLES, "", "Commands:", *listed, "", usage])


def parse(words: list[str]) -> Command:
    """The command of these words."""
    name, *rest = words
    if name == "list":
        lists = "constructions, papers, 'reproduce list' and 'claims list' print the lists"
        raise InputError(f"'list' is not a command; {lists}, anyorder --help the commands")
    if name not in COMMANDS:
        what = "an option of anyorder" if name.startswith("-") else "a command"
        raise InputError(f"{name!r} is not {what}; {nearest(name, [*COMMANDS, '--help', '--version'])}")
    from anyorder.cli.parsing import parsed

    module, attribute, _ = COMMANDS[name]
    command = getattr(importlib.import_module(f"anyorder.cli.{module}"), attribute)
    command.check_words(rest)
    return parsed(name, command, rest)


def _print(outcome: Outcome, command: Command) -> int:
    if command.json:
        from anyorder.io.trees import as_json

        print(json.dumps(as_json(outcome.report), allow_nan=False))
    elif outcome.shown is not None:
        from rich.console import Console

        console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
        console.on_broken_pipe = _leave_stdout  # type: ignore[method-assign]
        console.print(outcome.shown)
        if outcome.passed and (step := command.next_step(outcome.report)):
            console.print(f"\nnext: {step}")
    sys.stdout.flush()
    if outcome.then is not None:
        outcome.then()
    return 0 if outcome.passed else 1
