"""`anyorder constructions`, `parameters`, `verify`, `predict`, `build` and `export`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Group

import anyorder
from anyorder.cli.catalogue import listed
from anyorder.cli.command import Command, Outcome, SequenceCommand, facts, key_value_table, table, working
from anyorder.errors import require
from anyorder.io.gates import Dtype, Gate

if TYPE_CHECKING:
    from anyorder.constructions.construction import OptionValue
    from anyorder.constructions.parameters import Breakdown, Entry

Name = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]

#: Attention compares every pair of positions: beyond this many tokens a run takes minutes.
LONGEST_PREDICTION = 1 << 15


class Chosen(Command):
    """Flags that choose a construction and its options."""

    order: int
    """Order k."""
    dtype: Dtype = "float64"
    """Type of the weights, the activations, the scores and the softmax."""
    target_error: float | None = None
    """Target error of the probabilities, which determines kappa; by default 1e-5, or more in 16-bit dtypes."""
    kappa: float | None = None
    """Inverse temperature of layer two; by default derived from the target error."""
    force: bool = False
    """Build even if the order exceeds the precision of the dtype, to study the failure."""

    @classmethod
    def complete(cls) -> type[Command]:
        """The class with a flag for every option of a construction in the registry."""
        kinds: dict[str, Any] = {}
        for name, meanings in listed("options").items():
            abouts = []
            for meaning in meanings:
                about, value, owners = meaning["help"], meaning["default"], meaning["constructions"]
                usual = ("on" if value else "off") if isinstance(value, bool) else value
                abouts.append(f"{about[0].upper()}{about[1:]} ({', '.join(owners)}; {usual} by default).")
            kinds[name] = Annotated[type(meanings[0]["default"]) | None, tyro.conf.arg(help=" ".join(abouts))]
        return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__annotations__": kinds, **dict.fromkeys(kinds)})

    def options(self) -> dict[str, OptionValue]:
        """The given keyword arguments of `plan`, except order, alphabet size, length and dtype."""
        given = {name: getattr(self, name, None) for name in ("target_error", "kappa", *listed("options"))}
        return {name: value for name, value in given.items() if value is not None}

    def planned(self, name: str, size: int, length: int) -> anyorder.constructions.Plan:
        """The construction's options given by flags, for an alphabet of this size."""
        return anyorder.plan(
            name, order=self.order, alphabet_size=size, length=length, dtype=self.dtype, **self.options()
        )


class Verify(Chosen):
    """Build a construction and compare it with the exact estimator on hard sequences; exit 1 if it exceeds its bound.

    Examples:
      anyorder verify dyadic --order 10 --alphabet-size 4 --dtype float32
      anyorder verify unrolled --order 22 --dtype float32
      anyorder verify k-head --order 2 --exhaustive 12
      anyorder verify two-layer --order 8 --force --json
    """

    next = (
        "anyorder build {name} --order {order} --alphabet-size {alphabet_size} --length {length} --dtype {dtype}"
        "{options} --out {name}.safetensors"
    )
    name: Name
    """The construction; `anyorder constructions` lists them."""
    alphabet_size: int = 2
    """Number of symbols S."""
    length: int = 1024
    """Tokens per sequence."""
    sequences: int = 8
    """Number of sequences, by turns random, periodic with flips, sparse and de Bruijn."""
    seed: int = 0
    """Random seed; equal seeds give equal sequences."""
    exhaustive: int | None = None
    """Check all sequences of this length, in place of --length and --sequences."""

    @classmethod
    def check_words(cls, words: Sequence[str]) -> None:
        """Reject a model file before the parser reports a missing --order."""
        for name in words:
            require(
                not name.endswith(".safetensors"),
                f"{name} is a file, verify needs the name of a construction; for the heads of the file run anyorder "
                f"probe {name}, for its certificate read anyorder.load({name!r}).certificate",
            )

    def words(self) -> dict[str, str]:
        """The verified options."""
        given = {**self.options(), **({"force": True} if self.force else {})}
        flags = ""
        for name, value in given.items():
            flag = name.replace("_", "-")
            flags += f" --{'' if value else 'no-'}{flag}" if isinstance(value, bool) else f" --{flag} {value}"
        return {"options": flags}

    def run(self) -> Outcome:
        """Measure the worst error and compare it with the bound."""
        exhaustive = self.exhaustive is not None
        length = self.length if self.exhaustive is None else self.exhaustive
        with working(f"verifying {self.name}"):
            made = self.planned(self.name, self.alphabet_size, length)
            result = anyorder.verify(
                made, sequences=self.sequences, seed=self.seed, exhaustive=exhaustive, force=self.force
            )
        report = {**vars(result), "reason": result.reason}
        return Outcome(report, key_value_table(report), result.passed)


class Predict(Chosen, SequenceCommand):
    """Run a construction on your own sequence and compare it with the exact estimator.

    Examples:
      anyorder predict tokens.txt --order 3
      anyorder predict examples/alice.txt --alphabet auto --construction unrolled-bayes --order 4 --limit 4096
    """

    next = "anyorder explore"
    construction: str = "unrolled"
    """The construction; `anyorder constructions` lists them."""
    limit: int | None = None
    """Read only the first N tokens."""
    out: Annotated[str | None, Gate("write")] = None
    """Write the model's distributions: .npy, or JSON lines."""

    def run(self) -> Outcome:
        """Build for the length of the sequence, run, compare, write."""
        import numpy as np

        from anyorder.cli.estimate import infinite
        from anyorder.constructions.verify import deviations, expected, within
        from anyorder.io import atomic

        with self.opened() as sequences:
            tokens, size = sequences.one(self.limit), sequences.alphabet_size
        require(
            len(tokens) <= LONGEST_PREDICTION,
            f"the sequence has {len(tokens)} tokens, predict runs a transformer on at most {LONGEST_PREDICTION}; "
            f"pass `limit={LONGEST_PREDICTION}`, or use anyorder estimate",
        )
        with working(f"{self.construction} on {len(tokens)} tokens"):
            made = self.planned(self.construction, size, len(tokens))
            model = made.build(self.force)
            predicted = np.asarray(model(tokens), np.float64)
            exact = expected(model, tokens, self.order, made.beta)
        wrong = deviations(predicted, exact)
        defined = ~np.isnan(wrong)
        error = float(wrong[defined].max(initial=0.0))
        scores = {"": anyorder.estimators.Score(), "exact_": anyorder.estimators.Score()}
        for rows, score in zip((predicted, exact), scores.values(), strict=True):
            score.add(np.take_along_axis(rows[:-1], tokens[1:, None], axis=1)[:, 0][defined[:-1]])
        if self.out is not None:
            atomic.write_array(self.out, predicted)
        promise = {} if model.certificate is None else model.certificate.as_dict()
        passed = within(error, promise.get("bound"))
        report = {
            **facts(self, "file", "construction", "order"),
            "alphabet_size": size,
            **({"alphabet": sequences.alphabet} if sequences.alphabet else {}),
            "dtype": self.dtype,
            "positions": len(tokens),
            "defined": int(defined.sum()),
            "coverage": float(defined.mean()),
            "estimator": promise.get("estimator", "kgram"),
            **{f"{whose}log_loss_nats": score.loss for whose, score in scores.items()},
            **{f"{whose}bits_per_symbol": score.bits for whose, score in scores.items()},
            "max_error": error,
            **{key: promise.get(key) for key in ("bound", "kappa", "margin", "bits_needed")},
            "passed": passed,
            **({"out": self.out} if self.out else {}),
        }
        shown = dict(report)
        for whose, score in scores.items():
            if score.zero_probability:
                shown[f"{whose}log_loss_nats"] = shown[f"{whose}bits_per_symbol"] = infinite(score.zero_probability)
        return Outcome(report, key_value_table(shown), passed)


class Build(Chosen):
    """Write a construction to a file: weights, and a header with its structure, block names and certificate.

    Examples:
      anyorder build dyadic --order 3 --alphabet-size 4 --out model.safetensors
      anyorder build k-head-bayes --order 5 --dtype float32 --out model.safetensors --json
    """

    next = "anyorder probe {out}"
    name: Name
    """The construction; `anyorder constructions` lists them."""
    out: Annotated[str, Gate("write")]
    """The file to write; `anyorder.load` reads it back bit for bit."""
    alphabet_size: int = 2
    """Number of symbols S."""
    length: int = 1024
    """Longest sequence that the certificate covers."""

    def run(self) -> Outcome:
        """Construct and save."""
        from anyorder.constructions.parameters import count_arrays

        model = self.planned(self.name, self.alphabet_size, self.length).build(self.force)
        anyorder.save(model, self.out)
        certificate = {} if model.certificate is None else model.certificate.as_dict()
        about = {"out": self.out, "dimension": model.dimension, "parameters": count_arrays(model)}
        report = {"construction": self.name, **about, "certificate": certificate or None}
        return Outcome(report, key_value_table(about | certificate))


class Export(Command):
    """Write a construction as a stock GPT-2 that `transformers` loads, with its ground truth and a model card.

    Examples:
      anyorder export k-head --order 3 --alphabet-size 4 --length 128 --to gpt2 --out induction
      anyorder export k-head-bayes --order 2 --beta 0.5 --out smoothing
    """

    next = "anyorder probe {out}"
    name: Name
    """The construction: k-head, k-head-bayes or bigram; GPT-2 cannot represent the others."""
    order: int
    """Order k."""
    out: Annotated[str, Gate("fill")]
    """Folder for config.json, model.safetensors, ground_truth.json and README.md, new or empty."""
    to: Literal["gpt2"] = "gpt2"
    """The architecture."""
    alphabet_size: int = 4
    """Number of symbols S: token ids 0 to S - 1; the beginning token is id S."""
    length: int = 128
    """Longest sequence, without the beginning token."""
    beta: float | None = None
    """Smoothing of k-head-bayes: added to every count; 1 by default."""
    sequences: int = 8
    """Hard sequences on which the errors in the model card are measured."""
    seed: int = 0
    """Seed of these sequences."""

    def run(self) -> Outcome:
        """Write the weights, measure their errors, and write these too."""
        asked = facts(self, "order", "alphabet_size", "length", "beta", "sequences", "seed")
        with working(f"exporting {self.name}"):
            made = anyorder.export(self.name, self.out, **asked)  # type: ignore[arg-type]
        size = {name: made.config[name] for name in ("n_layer", "n_head", "n_embd", "n_inner")}
        count = sum(array.size for array in made.weights.values())
        report = {"out": self.out, "construction": self.name, **size, "parameters": count, **made.truth["measured"]}
        return Outcome(
            report, Group(key_value_table(report), f"AutoModelForCausalLM.from_pretrained({self.out!r}) loads it")
        )


class Constructions(Command):
    """List all constructions: shapes, the largest exact order in each dtype, and advice.

    Examples:
      anyorder constructions
      anyorder constructions --json
    """

    next = "anyorder verify unrolled --order 20 --dtype float32"

    def run(self) -> Outcome:
        """Read the registry and the measured orders."""
        found = listed("constructions")
        shown = [table(dict.fromkeys(one["headings"], "<"), one["rows"]) for one in found["tables"]]
        return Outcome(
            {"tolerance": found["tolerance"], "constructions": found["entries"]},
            Group(found["start"], *shown, found["legend"]),
        )


class Parameters(Command):
    """Count parameters: Table 1 and both breakdowns of App. I, next to the arrays of our models.

    Examples:
      anyorder parameters --order 3 --alphabet-size 2 --length 32
      anyorder parameters --order 8 --alphabet-size 26 --length 1024 --json
    """

    next = "anyorder price --order {order} --alphabet-size {alphabet_size} --length {length}"
    order: int
    """Order k."""
    alphabet_size: int
    """Number of symbols S."""
    length: int
    """Sequence length T."""
    dimension: int = 256
    """The free dimension d of Bietti et al."""

    def run(self) -> Outcome:
        """Evaluate the formulas and count the arrays."""
        from anyorder.constructions.parameters import PRINTED, breakdown, table_one

        entries = table_one(
            order=self.order, alphabet_size=self.alphabet_size, length=self.length, dimension=self.dimension
        )
        tables = [breakdown(name, alphabet_size=self.alphabet_size, length=self.length) for name in PRINTED]
        report = {**facts(self, "order", "alphabet_size", "length"), "table_1": entries, "breakdowns": tables}
        return Outcome(report, Group(_table_one(entries), *map(_breakdown, tables)))


def _table_one(entries: Sequence[Entry]) -> Group:
    columns = {"work": "<", "formula": "<", "printed": ",", "corrected": ",", "our arrays": ","}
    rows = ((one.work, one.formula, one.paper, one.alternative, one.stored) for one in entries)
    return Group("Table 1", table(columns, rows), *(f"{one.work}: {one.note}" for one in entries))


def _breakdown(breakdown: Breakdown) -> Group:
    title = f"\nApp. I: {breakdown.construction}, printed total {breakdown.formula}"
    columns = {"component": "<", "formula": "<", "printed": ",", "our model": ","}
    shown = table(columns, ((row.component, row.formula, row.paper, row.counted) for row in breakdown.components))
    shown.add_section()
    shown.add_row("sum of the rows", "", f"{breakdown.sum_of_rows:,}", f"{breakdown.counted:,}")
    shown.add_row("printed total", "", f"{breakdown.printed_total:,}")
    left_out = ", ".join(f"{what} {number:,}" for what, number in breakdown.uncounted.items())
    return Group(title, shown, f"{breakdown.note}; not counted: {left_out}")
