"""Feed hostile values to every flag of every command, and to every number, text and path of public functions.

`python -m tests.hostile commands` and `python -m tests.hostile functions` print a line for every input without a proper
response: a result or a one-line error, in little time and memory. Long computations are stubbed out, so only the checks
before them are tested.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import os
import resource
import signal
import sys
import tempfile
import traceback
import typing
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import tyro

import anyorder
from anyorder.cli.main import COMMANDS, main
from anyorder.errors import InputError, shown
from anyorder.io.gates import Gate
from anyorder.io.plugins import Registry

#: Most seconds of CPU time for one response, and bytes of address space for all.
SECONDS, MEMORY = 20, 8 << 30
HUGE = [str(10**9), str(2**63), str(10**30), "9" * 5000]
WORDS: dict[object, list[str]] = {
    int: ["-1", "0", "1e3", "nan", "", "x", "\udcff", "1\n2", *HUGE],
    float: ["-1", "0", "nan", "inf", "-inf", "1e308", "1e-320", "-1e-320", "", "x", "1j", *HUGE],
    str: ["", "\udcff", "a\nb", "x" * 10_000, "\x1b[31m", "-", "é" * 300],
    Gate: [
        "", "/dev/null", "/dev/stdout", "/proc/self/mem", "/proc/x", "pipe", ".", "x" * 300, "a/" * 1900, "a\0b",
        "\udcff\n/x", "tokens.txt/x", "empty.npy", "-", "/dev/zero",
    ],
}  # fmt: skip
#: Options with words that are neither paths nor choices.
NAMES = {"alphabet", "preset", "host", "address", "construction", "estimator", "name", "names", "ids", "mixer"}
#: Valid words of each command: positional ones, and options.
BASE: dict[str, tuple[list[str], list[str]]] = {
    "demo": ([], ["--out", "demo", "--steps", "2", "--count", "2", "--length", "8"]),
    "sample": ([], ["--order", "1", "--length", "8"]),
    "estimate": (["tokens.txt"], ["--order", "1"]),
    "order": (["tokens.txt"], ["--max-order", "1"]),
    "constructions": ([], []),
    "parameters": ([], []),
    "price": ([], ["--order", "2"]),
    "verify": (["bigram"], ["--order", "1", "--length", "8", "--sequences", "1"]),
    "predict": (["tokens.txt"], ["--order", "1", "--construction", "bigram"]),
    "build": (["bigram"], ["--order", "1", "--length", "8", "--out", "model.safetensors"]),
    "export": (["bigram"], ["--order", "1", "--length", "8", "--out", "gpt2"]),
    "train": ([], ["--order", "1", "--length", "4"]),
    "evaluate": (["absent"], []),
    "show": (["absent"], []),
    "sweep": (["phase"], ["--dry-run"]),
    "papers": ([], []),
    "reproduce": (["depth"], []),
    "dynamics": (["two-stage"], []),
    "claims": (["E9"], []),
    "probe": (["construction:bigram"], ["--order", "1", "--length", "32", "--sequences", "4"]),
    "explore": ([], ["--port", "0"]),
    "zoo": (["fast"], []),
}
#: Functions at which long computations begin.
HEAVY = [
    "anyorder.training.run:_initial_models", "anyorder.papers.own.floor:compare", "anyorder.papers.runner:_run",
    "anyorder.papers.check:check", "anyorder.papers.two_can.dynamics.algorithms:_chunk", "anyorder.web.server:listen",
    "anyorder.web.export:export", "anyorder.probing.stimuli:complete", "anyorder.constructions.gpt2:measure",
]  # fmt: skip


class Reached(Exception):
    """The input passed all checks."""


class TooLong(BaseException):
    """No response in time."""


def _reached(*_: object, **__: object) -> None:
    raise Reached


def cut_off() -> None:
    """Make heavy functions raise `Reached`, under every name that a loaded module has for them."""
    for place in HEAVY:
        module, _, name = place.partition(":")
        original = getattr(importlib.import_module(module), name)
        for loaded in [one for key, one in sys.modules.items() if key.startswith("anyorder")]:
            if vars(loaded).get(name) is original:
                setattr(loaded, name, _reached)


def answered(call: typing.Callable[[], object]) -> tuple[object, str | None]:
    """The value of a call, and the text of an unexpected exception."""

    def late(*_: object) -> None:
        raise TooLong("no answer in time")

    for number, timer, seconds in (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, 120),
    ):
        signal.signal(number, late)
        signal.setitimer(timer, seconds)
    try:
        return call(), None
    except Reached:
        return 0, None
    except InputError as error:
        return error, None
    except (Exception, TooLong, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, f"{type(error).__name__}: {str(error)[:100]!r} at {where.filename}:{where.lineno}"
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)


def flags(command: typing.Any) -> typing.Iterator[tuple[str, object, bool]]:
    """Every option that takes words, with the kind of its hostile words, and whether it is positional."""
    hints = typing.get_type_hints(command, include_extras=True)
    for name in (field.name for field in dataclasses.fields(command)):
        marks = getattr(hints[name], "__metadata__", ())
        kind = typing.get_args(hints[name])[0] if marks else hints[name]
        if dataclasses.is_dataclass(kind):
            yield from flags(kind)
        if tyro.conf.Fixed in marks or dataclasses.is_dataclass(kind):
            continue
        while typing.get_origin(kind) not in (None, typing.Literal):  # of None or several
            kind = typing.get_args(kind)[0]
        gate = any(isinstance(mark, Gate) for mark in marks)
        chosen = typing.get_origin(kind) is typing.Literal or any(isinstance(mark, Registry) for mark in marks)
        known = kind is not str or gate or chosen or name in NAMES
        assert known, f"{command.__name__}.{name} is a text: mark it as a path with a Gate, or name it here"
        if kind is not bool:
            yield name, Gate if gate else str if chosen else kind, tyro.conf.Positional in marks


def commands() -> typing.Iterator[str]:
    """Try every flag of every command with every hostile word."""
    assert {*BASE} == {*COMMANDS}, {*BASE} ^ {*COMMANDS}
    cut_off()
    for name, (module, attribute, _) in COMMANDS.items():
        command = getattr(importlib.import_module(f"anyorder.cli.{module}"), attribute).complete()
        places, options = BASE[name]
        for flag, kind, at_a_place in flags(command):
            if flag == "plugin" and name != "papers":  # read before the command is known
                continue
            option = "--from" if flag == "from_model" else f"--{flag.replace('_', '-')}"
            for word in WORDS[kind]:
                words = [name, word, *options] if at_a_place else [name, *places, *options, option, word]
                said = io.StringIO()
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                    code, wrong = answered(lambda words=words: main(words))
                line = said.getvalue()
                if wrong is None and (code not in (0, 1, 2) or (code == 2 and not is_one_line(line))):
                    wrong = f"exit {code}, {line[:200]!r}"
                if wrong is not None:
                    yield f"{[one[:40] for one in words]}: {wrong}"


def is_one_line(said: str) -> bool:
    return said.startswith("anyorder: ") and said.count("\n") == 1 and said.endswith("\n") and len(said) < 1000


VALUES: list[typing.Any] = [
    None, True, -1, 0, 10**9, 2**63, 10**30, 10**5000, 1.5, float("nan"), float("inf"), 1e308, 1e-320, 1j, "1", "",
    b"x", "/dev/null", "x" * 300, [1], (), {}, np.array(1), np.array([1, 2]), np.ma.array([0, 1]), jnp.int32(1),
    np.ma.masked_all((2, 2, 2)), object(),
]  # fmt: skip


#: Public functions that are not called here: every valid call computes for seconds, takes results of others, or writes.
ELSEWHERE = {
    "ablation", "agreement", "as_json", "carry_out", "cells", "conditions", "evaluate", "export", "floor",
    "lag_scores_of", "limit", "order", "panels", "paths", "plan_sweep", "preconditioned", "prices", "probe", "ranking",
    "references", "serve", "stage_one_gradient", "summarised", "sweep_lengths", "train_jointly", "two_stage",
    "unigram_retrieval", "write_page", "write_report", "write_story", "write_trajectory", "draw_orders", "draw_probe",
}  # fmt: skip


def functions() -> typing.Iterator[str]:
    """Try every argument of public functions and every field of public settings with every hostile value."""
    for name, (function, arguments) in calls().items():
        for argument in arguments:
            for value in VALUES:
                given = {**arguments, argument: value}
                found, wrong = answered(lambda function=function, given=given: function(**given))
                if isinstance(found, InputError) and ("\n" in str(found) or len(str(found)) > 1000):
                    wrong = f"says {str(found)[:200]!r}"
                if wrong is not None:
                    yield f"{name}({argument}={shown(value)}): {wrong}"


def calls() -> dict[str, tuple[typing.Callable[..., object], dict[str, object]]]:
    """Public functions and classes by name, with valid arguments."""
    from anyorder import chains, constructions, dynamics, estimators, models, probing, sweeps, training
    from anyorder.web import read_tour

    tokens, prior = [0, 1, 0, 1, 1, 0, 1, 0], chains.Floored(1, 2)
    one, model = {"order": 1, "alphabet_size": 2}, anyorder.construct("bigram", order=1, alphabet_size=2, length=8)
    estimate = {"tokens": tokens, **one, "alphabet": None}
    tiny = {"length": 4, "steps": 1, "batch": 2}
    kernels = np.full((2, 2, 2), 0.5)
    found: dict[str, tuple[typing.Callable[..., object], dict[str, object]]] = {
        **{name: (getattr(estimators, name), estimate) for name in ("kgram", "bag", "biased", "backoff")},
        **{
            name: (getattr(estimators, name), {**estimate, "beta": 1.0})
            for name in ("bayes", "add_beta", "add_beta_bag")
        },
        "add_beta_difference": (estimators.add_beta_difference, {"tokens": tokens, **one, "beta": 1.0}),
        "mixture": (
            estimators.mixture,
            {"tokens": tokens, "alphabet_size": 2, "min_order": 0, "max_order": 1, "beta": 1.0},
        ),
        "ctw": (estimators.ctw, {"tokens": tokens, "alphabet_size": 2, "depth": 1, "beta": 0.5}),
        "orders": (
            lambda tokens, **rest: estimators.orders(tokens, **rest),
            {"tokens": tokens, "max_order": 1, "alphabet_size": 2, "beta": 0.5, "alphabet": None},
        ),
        "pseudo_attention": (estimators.pseudo_attention, {"tokens": tokens, "order": 1, "alphabet": None}),
        "retrieval": (estimators.retrieval, {"tokens": tokens, "kernels": kernels, "first": 1}),
        "bayes_under_transition_noise": (
            estimators.bayes_under_transition_noise,
            {"tokens": tokens[:4], **one, "strength": 0.1, "concentration": 1.0, "nodes": 4},
        ),
        "StreamingEstimator": (
            lambda tokens, **rest: estimators.StreamingEstimator(**rest).feed(tokens),
            {"tokens": tokens, **one, "estimator": "bayes", "beta": 1.0},
        ),
        "OrderStream": (estimators.OrderStream, {"max_order": 1, "alphabet_size": 2}),
        "sample": (
            anyorder.sample,
            {"prior": "dirichlet", **one, "length": 8, "count": 1, "seed": 0, "start": "uniform", "noise": None},
        ),
        "named_prior": (
            chains.named_prior,
            {"name": "pool", **one, "gamma": 0.2, "concentration": 1.0, "chains": 2, "pool_seed": 0},
        ),
        **{name: (getattr(chains, name), {**one, "concentration": 1.0}) for name in ("Dirichlet", "BagSymmetric")},
        "DoublyStochastic": (chains.DoublyStochastic, {**one, "concentration": 1.0}),
        "Floored": (chains.Floored, {**one, "gamma": 0.2, "mixing": True}),
        "OrderMixture": (
            chains.OrderMixture,
            {"alphabet_size": 2, "min_order": 1, "max_order": 2, "concentration": 1.0},
        ),
        "Tree": (chains.Tree, {"alphabet_size": 2, "depth": 2, "concentration": 1.0}),
        "Pool": (chains.Pool, {**one, "chains": 2, "concentration": 1.0, "pool_seed": 0}),
        "Recall": (chains.Recall, {"order": 1, "alphabet_size": 4}),
        "Reversible": (chains.Reversible, {**one, "roughness": 0.5, "coupling": 1.5, "iterations": 4}),
        "ReversibleBinary": (chains.ReversibleBinary, {"order": 2, "alphabet_size": 2, "newest_first": False}),
        "Kernel": (chains.Kernel, {"probabilities": [[0.5, 0.5], [0.5, 0.5]]}),
        "TokenNoise": (chains.TokenNoise, {"probability": 0.1}),
        "TransitionNoise": (chains.TransitionNoise, {"strength": 0.1}),
        "Source": (
            lambda **rest: chains.Source(**rest).sample(0, 2),
            {"prior": prior, "length": 8, "noise": None, "start": "uniform", "per_kernel": 1},
        ),
        "plan": (
            constructions.plan,
            {"name": "dyadic", **one, "length": 8, "dtype": "float64", "target_error": 1e-5, "kappa": None},
        ),
        "construct": (anyorder.construct, {"name": "bigram", **one, "length": 8, "dtype": "float64", "force": False}),
        "verify": (
            anyorder.verify,
            {
                "subject": "bigram",
                **one,
                "length": 8,
                "dtype": "float64",
                "sequences": 1,
                "seed": 0,
                "exhaustive": False,
                "force": False,
            },
        ),
        "load": (models.load, {"path": "model.safetensors"}),
        "save": (models.save, {"model": model, "path": "again.safetensors"}),
        "evaluation_set": (training.evaluation_set, {"data": prior, "count": 4, "seed": 0}),
        "preset": (
            training.preset,
            {"name": "fast", "order": 2, "steps": 5, "learning_rate": 0.1, "mixer": "attention"},
        ),
        "read_config": (training.read_config, {"path": Path("absent")}),
        "read_toml": (sweeps.read_toml, {"path": "absent"}),
        "read_tour": (read_tour, {"path": "absent"}),
        "read_trajectory": (dynamics.read_trajectory, {"path": "absent"}),
        "open_model": (
            probing.open_model,
            {"word": "construction:bigram", "order": 1, "alphabet_size": 2, "member": 0},
        ),
        "Settings": (
            lambda **rest: probing.Settings(**rest).decided(probing.OwnModel(model, "a model")),
            {"sequences": 4, "length": 32, "symbols": 2, "max_length": 2, "layers": (0,), "seed": 0},
        ),
        "sequences": (probing.sequences, {"count": 2, "length": 96, "symbols": 2, "max_length": 2, "seed": 0}),
        "TwoStage": (
            lambda **rest: dynamics.TwoStage(**rest).check(prior),
            {**tiny, "rate": 1.0, "a_2": 0.1, "epsilon": 1e-3, "seed": 0, "rate_2": 1.0, "steps_2": 1},
        ),
        "train": (
            lambda **rest: training.checks.check_config(training.preset(**rest)),
            training.config.DEFAULTS | {"mixer": "attention"},
        ),
    }
    for key in ("own_source", "own_model"):
        del found["train"][1][key]
    return found | _of_objects(model, prior) | _of_files()


def _of_objects(model: anyorder.Transformer, prior: anyorder.chains.Prior) -> dict[str, typing.Any]:
    """Functions of models, kernels, arrays and results."""
    from anyorder import chains, dynamics, estimators, models, plot, probing
    from anyorder.constructions import bounds
    from anyorder.constructions.price import price

    tokens, half = np.array([0, 1, 0, 1, 1, 0, 1, 0]), np.full((8, 2), 0.5)
    one, at = {"order": 1, "alphabet_size": 2}, {"order": 2, "alphabet_size": 2, "length": 32}
    first, second = (chains.Kernel(np.full((2,) * axes, 0.5)) for axes in (2, 3))
    noise, start = chains.TokenNoise(0.1), dynamics.initial(length=8, a_2=0.1)
    words = {"value": 8, "word": 8}
    return {
        "as_source": (chains.as_source, {"given": prior, "length": 8}),
        "check_any_order": (chains.check_any_order, {"kernel": first}),
        "check_first_order": (
            chains.check_first_order,
            {"prior": prior, "gamma": 0.2, "key": 0, "count": 4, "confidence": 0.9},
        ),
        "check_second_order": (chains.check_second_order, {"kernel": second, "newest_first": False}),
        "PointMass": (chains.PointMass, {"kernel": first}),
        "as_transformer": (dynamics.as_transformer, {"model": start, "alphabet_size": 2}),
        "coded": (dynamics.coded, {"model": start, "base": 2.0}),
        "initial": (
            dynamics.initial,
            {"length": 8, "a_2": 0.1, "order": 1, "exclude_own": False, "normalise": False},
        ),
        "lag_scores": (dynamics.lag_scores, {"kernel": first.probabilities, "lags": 2}),
        "pair_distribution": (dynamics.pair_distribution, {"kernel": first.probabilities, "lags": 2}),
        "power_law": (dynamics.power_law, {"x": [1, 2, 4], "y": [1.0, 2.0, 3.0]}),
        "bayes_under_token_noise": (
            estimators.bayes_under_token_noise,
            {"tokens": tokens, "noise": noise, "nodes": estimators.uniform_nodes(1, 2)},
        ),
        "filtered": (estimators.filtered, {"tokens": tokens, "kernel": first.probabilities, "noise": noise}),
        "exact_loss": (estimators.exact_loss, {"probabilities": half, "truth": half}),
        "true_loss": (estimators.true_loss, {"truth": half}),
        "sampled_loss": (estimators.sampled_loss, {"probabilities": half, "tokens": tokens, "alphabet": None}),
        "missed_probability": (
            estimators.missed_probability,
            {"estimate": anyorder.kgram(tokens, **one), "truth": half},
        ),
        "summarise": (estimators.summarise, {"losses": np.ones((3, 4))}),
        "mean_and_error": (estimators.mean_and_error, {"samples": np.ones((3, 4))}),
        "uniform_nodes": (estimators.uniform_nodes, {"order": 1, "points": 2}),
        "weights_digest": (models.weights_digest, {"model": model}),
        "behaviour": (probing.behaviour, {"probabilities": half, "tokens": tokens, "max_length": 2}),
        "match_lengths": (probing.match_lengths, {"tokens": tokens, "max_length": 2}),
        "matched": (probing.matched, {"tokens": tokens, "order": 1, "bag": False}),
        "spectrum": (
            probing.spectrum,
            {
                "attention": np.tri(8) / np.arange(1, 9)[:, None],
                "tokens": tokens,
                "max_length": 2,
                "queries": None,
                "chance": "uniform",
            },
        ),
        "attention": (plot.attention, {"model": model, "tokens": tokens, "alphabet": None, "seed": 0}),
        "kernel": (plot.kernel, {"kernel": first, "seed": 0}),
        "predictions": (plot.predictions, {"tokens": tokens, "alphabet": None, "seed": 0, "half": half}),
        "plot.dynamics": (plot.dynamics, {"run": None}),
        "plot.probe": (plot.probe, {"found": None}),
        "plot.training": (plot.training, {"run": "absent"}),
        "attention_bits": (bounds.attention_bits, {**at, "wrong": 0.0}),
        "attention_heads": (bounds.attention_heads, {**at, **words}),
        "attention_heads_exact_sums": (bounds.attention_heads_exact_sums, {**at, **words}),
        "attention_heads_real": (bounds.attention_heads_real, {**at, "value": 8, "depth": 2, "width": 8}),
        "code_bits": (bounds.code_bits, {"order": 2, "heads": 1}),
        "largest_order": (bounds.largest_order, {"heads": 1, "mantissa_bits": 24}),
        "short_convolution_bits": (bounds.short_convolution_bits, {**at, "taps": 2, "gated": False}),
        "state_bits": (bounds.state_bits, at),
        "taps": (bounds.taps, {"order": 2}),
        "price": (price, {"name": "dyadic", **at, "dtype": "float64"}),
    }


def _of_files() -> dict[str, typing.Any]:
    """Functions of paths and settings."""
    from anyorder import plot, sweeps, training, web, zoo

    return {
        "sweep": (
            sweeps.sweep,
            {"name": "x", "base": training.preset("fast"), "axes": {"steps": [1]}, "seeds": 1, "metric": "gap"},
        ),
        "plot.sweep": (plot.sweep, {"folder": "absent"}),
        "read_sweep": (sweeps.read_sweep, {"folder": "absent"}),
        "read_metrics": (training.read_metrics, {"path": "absent"}),
        "read_models": (training.read_models, {"path": "absent"}),
        "changed": (training.changed, {"config": training.preset("fast"), "changes": {"steps": 1}, "source": "x"}),
        "create_app": (web.create_app, {"folders": (), "host": "127.0.0.1", "warm": False}),
        "listen": (lambda **given: web.listen(**given).close(), {"host": "127.0.0.1", "port": 0}),
        "card": (zoo.card, {"name": "fast"}),
        "located": (zoo.located, {"path": "zoo:fast"}),
    }


def run(what: str) -> int:
    """Run in a new folder, and print failures, time and memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.mkfifo("pipe")
        Path("tokens.txt").write_text("0 1 0 1 1 0 1 0\n")
        Path("empty.npy").touch()
        anyorder.save(anyorder.construct("bigram", order=1, alphabet_size=2, length=8), "model.safetensors")
        wrong = 0
        for line in {"commands": commands, "functions": functions}[what]():
            wrong += 1
            print(line, flush=True)
    # ru_maxrss would begin at the size of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    used = int(status.partition("VmHWM:")[2].split()[0]) >> 10
    print(f"{wrong} wrong, {used} MB")
    return int(wrong > 0 or used > 3000)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
