"""`anyorder constructions`, `parameters`, `verify`, `predict` and `build`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from anyorder.cli.command import Command, Outcome, key_value_table, working
from anyorder.errors import check_alphabet, check_order, require

if TYPE_CHECKING:
    from anyorder.constructions.exact_orders import ExactOrder
    from anyorder.constructions.parameters import Breakdown, Entry

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
        from anyorder import files, reading
        from anyorder.constructions import construct
        from anyorder.constructions.verify import expected, within

        tokens, size, characters = reading.read_tokens(
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Constructions(Command):
    """List every construction: its shape, its parameters, and the largest order that measured exact.

    Examples:
      anyorder constructions
      anyorder constructions --json
    """

    def run(self) -> Outcome:
        """Read the registry and the measured orders."""
        from anyorder.constructions import CONSTRUCTIONS
        from anyorder.constructions.exact_orders import TOLERANCE, measured
        from anyorder.numerics import DTYPES

        rows = []
        shapes = _columns("construction", "source", "layers", "heads", "d", "parameters")
        table = _columns("construction", "exact?", right=DTYPES)
        for name, entry in CONSTRUCTIONS.items():
            orders = measured()[name]
            rows.append(
                {
                    "construction": name,
                    "title": entry.title,
                    "source": entry.source,
                    "exactness": entry.exactness,
                    "layers": entry.layers,
                    "heads": entry.heads,
                    "dimension": entry.dimension,
                    "parameters": entry.parameters,
                    "largest_exact_order": {dtype: dataclasses.asdict(orders[dtype]) for dtype in DTYPES},
                }
            )
            shapes.add_row(name, entry.source, str(entry.layers), entry.heads, entry.dimension, entry.parameters)
            table.add_row(name, entry.exactness, *map(_orders, orders.values()))
        explained = (
            f"largest order measured exact to {TOLERANCE:g} at 1,024 tokens (64 for disentangled);\n"
            "in brackets, exact to what the dtype can show (4 units of rounding); ≥ where no end was found.\n"
        )
        return Outcome({"tolerance": TOLERANCE, "constructions": rows}, Group(shapes, table, explained))


def _columns(*left: str, right: Iterable[str] = ()) -> Table:
    """A plain table with these headings; the first column is never cut."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=heading == left[0])
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def _orders(one: ExactOrder) -> str:
    """`10`, `≥16` where nothing higher was tried, `0 (3)` where the dtype is too coarse for the tolerance."""
    exact, resolved = (f"≥{order}" if order == one.tried > 1 else str(order) for order in (one.exact, one.resolved))
    return exact if one.exact == one.resolved else f"{exact} ({resolved})"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameters(Command):
    """Count parameters: Table 1 and both breakdowns of App. I, next to the arrays of our models.

    Examples:
      anyorder parameters --order 3 --alphabet-size 2 --length 32
      anyorder parameters --order 8 --alphabet-size 26 --length 1024 --json
    """

    order: int
    """Order k."""
    alphabet_size: int
    """Number of symbols S."""
    length: int
    """Sequence length T."""
    dimension: int = 256
    """The d of Bietti et al., which they leave free."""

    def run(self) -> Outcome:
        """Evaluate the formulas and count the arrays."""
        from anyorder.constructions.parameters import breakdown, table_one

        check_order(self.order, self.length)
        check_alphabet(self.alphabet_size)
        require(self.dimension >= 1, f"dimension is {self.dimension}, must be at least 1")
        entries = table_one(
            order=self.order, alphabet_size=self.alphabet_size, length=self.length, dimension=self.dimension
        )
        tables = [
            breakdown(name, alphabet_size=self.alphabet_size, length=self.length)
            for name in ("two-layer", "three-layer")
        ]
        report = {
            "order": self.order,
            "alphabet_size": self.alphabet_size,
            "length": self.length,
            "table_1": [dataclasses.asdict(entry) for entry in entries],
            "breakdowns": [dataclasses.asdict(table) for table in tables],
        }
        return Outcome(report, Group(_table_one(entries), *map(_breakdown, tables)))


def _table_one(entries: Sequence[Entry]) -> Group:
    table = _columns("work", "formula", right=("printed", "mended", "our arrays"))
    for entry in entries:
        table.add_row(entry.work, entry.formula, *map(_count, (entry.paper, entry.alternative, entry.stored)))
    return Group("Table 1", table, *(f"{entry.work}: {entry.note}" for entry in entries))


def _breakdown(breakdown: Breakdown) -> Group:
    title = f"\nApp. I: {breakdown.construction}, printed total {breakdown.formula}"
    table = _columns("component", "formula", right=("printed", "our model, counted so"))
    for row in breakdown.components:
        table.add_row(row.component, row.formula, _count(row.paper), _count(row.counted))
    table.add_section()
    table.add_row("sum of the rows", "", _count(breakdown.sum_of_rows), _count(breakdown.counted))
    table.add_row("printed total", "", _count(breakdown.printed_total), "")
    left_out = ", ".join(f"{what} {number:,}" for what, number in breakdown.uncounted.items())
    return Group(title, table, f"{breakdown.note}; not counted there: {left_out}")


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"
