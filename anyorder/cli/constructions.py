"""`anyorder constructions`, `parameters`, `verify`, `predict` and `build`."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from anyorder.cli.command import Command, Outcome, key_value_table, working
from anyorder.errors import require

Dtype = Literal["bfloat16", "float16", "float32", "float64"]
Name = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]

#: Attention compares every pair of positions: beyond this many tokens a run takes minutes.
LONGEST_PREDICTION = 1 << 15


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chosen(Command):
    """Flags that choose a construction and its options."""

    order: int
    """Order k."""
    dtype: Dtype = "float64"
    """Type of the weights, the activations, the scores and the softmax."""
    target_error: float | None = None
    """Additive error that the temperature is chosen for; by default 1e-5, or what the dtype can show."""
    kappa: float | None = None
    """Temperature to use instead of the one that the target error needs."""
    beta: float | None = None
    """Smoothing of `bayes` and `k-head-bayes`; 1 by default."""
    dimension: int | None = None
    """Embedding dimension of `associative`; 1024 by default."""
    force: bool = False
    """Build what the dtype cannot hold, to study how it fails."""

    def request(self) -> dict[str, Any]:
        """The keyword arguments of `construct`, without alphabet size and length."""
        own = {"beta": self.beta, "dimension": self.dimension}
        return {
            "order": self.order,
            "dtype": self.dtype,
            "target_error": self.target_error,
            "kappa": self.kappa,
            "force": self.force,
            **{name: value for name, value in own.items() if value is not None},
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verify(Chosen):
    """Build a construction and compare it with the exact estimator on hard sequences; exit 1 beyond its bound.

    Examples:
      anyorder verify dyadic --order 10 --alphabet-size 4 --dtype float32
      anyorder verify two-layer --order 8 --force --json
    """

    name: Name
    """Which construction; `anyorder constructions` lists them."""
    alphabet_size: int = 2
    """Number of symbols S."""
    length: int = 1024
    """Tokens in each sequence."""
    sequences: int = 8
    """Sequences: random, periodic with flips, sparse and de Bruijn in turn."""
    seed: int = 0
    """The same seed gives the same sequences."""

    def run(self) -> Outcome:
        """Measure the worst error and hold it against the bound."""
        from anyorder.constructions.verify import verify

        with working(f"verifying {self.name}"):
            result = verify(
                self.name,
                alphabet_size=self.alphabet_size,
                length=self.length,
                sequences=self.sequences,
                seed=self.seed,
                **self.request(),
            )
        report = dataclasses.asdict(result)
        return Outcome(report, key_value_table(report), result.passed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(Chosen):
    """Run a construction on your own sequence and compare it with the exact estimator.

    Examples:
      anyorder predict tokens.txt --construction dyadic --order 3
      anyorder predict book.txt --construction bayes --order 4 --alphabet auto --out distributions.npy
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The sequence: whitespace-separated integers, text (with --alphabet), or .npy; - is standard input."""
    construction: str = "dyadic"
    """Which construction; `anyorder constructions` lists them."""
    alphabet_size: int | None = None
    """Number of symbols; by default the largest token plus one."""
    alphabet: str | None = None
    """Characters in the order of their numbers, or auto: distinct characters by first appearance."""
    row: int | None = None
    """Which sequence of a file that holds several."""
    out: str | None = None
    """Write the model's distributions: .npy, or JSON lines."""

    def run(self) -> Outcome:
        """Build for the length of the sequence, run, compare, write."""
        from anyorder import files
        from anyorder.constructions import construct
        from anyorder.constructions.verify import expected, within

        tokens, size, characters = files.read_tokens(
            self.file, alphabet=self.alphabet, alphabet_size=self.alphabet_size, row=self.row
        )
        require(
            len(tokens) <= LONGEST_PREDICTION,
            f"the sequence has {len(tokens)} tokens, a transformer is run on at most {LONGEST_PREDICTION}; "
            "cut it, or use anyorder estimate",
        )
        with working(f"{self.construction} on {len(tokens)} tokens"):
            model = construct(self.construction, alphabet_size=size, length=len(tokens), **self.request())
            predicted = np.asarray(model(tokens), np.float64)
            exact = expected(model, tokens, self.order, 1.0 if self.beta is None else self.beta)
        defined = ~np.isnan(exact).any(axis=1)
        error = float(np.abs(predicted - exact)[defined].max(initial=0.0))
        if self.out is not None:
            files.write_array(self.out, predicted)
        promise = {} if model.certificate is None else model.certificate.as_dict()
        passed = within(error, promise.get("bound"))
        report = {
            "file": self.file,
            "construction": self.construction,
            "order": self.order,
            "alphabet_size": size,
            **({"alphabet": characters} if characters else {}),
            "dtype": self.dtype,
            "positions": len(tokens),
            "defined": int(defined.sum()),
            "coverage": float(defined.mean()),
            "estimator": promise.get("estimator", "kgram"),
            "max_error": error,
            **{key: promise.get(key) for key in ("bound", "kappa", "margin", "bits_needed")},
            "passed": passed,
            **({"out": self.out} if self.out else {}),
        }
        return Outcome(report, key_value_table(report), passed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Build(Chosen):
    """Write a construction to a file: weights, and a header with its structure, block names and certificate.

    Examples:
      anyorder build dyadic --order 3 --alphabet-size 4 --out model.safetensors
      anyorder build k-head-bayes --order 5 --dtype float32 --out model.safetensors --json
    """

    name: Name
    """Which construction; `anyorder constructions` lists them."""
    out: str
    """The file to write; `anyorder.load` reads it back bit for bit."""
    alphabet_size: int = 2
    """Number of symbols S."""
    length: int = 1024
    """Longest sequence that the certificate speaks of."""

    def run(self) -> Outcome:
        """Construct and save."""
        from anyorder.constructions import construct
        from anyorder.constructions.parameters import count_arrays
        from anyorder.transformer import save

        model = construct(self.name, alphabet_size=self.alphabet_size, length=self.length, **self.request())
        save(model, self.out)
        certificate = {} if model.certificate is None else model.certificate.as_dict()
        facts = {"out": self.out, "dimension": model.dimension, "parameters": count_arrays(model)}
        report = {"construction": self.name, **facts, "certificate": certificate or None}
        return Outcome(report, key_value_table(facts | certificate))
