"""`anyorder sample` and `anyorder estimate`."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Literal

import numpy as np
import tyro

from anyorder.cli.command import Command, Outcome, key_value_table, progress
from anyorder.errors import InputError, check_order, require
from anyorder.source_config import SourceConfig

#: Tokens fed at a time: large enough to be fast, small enough for a moving progress bar.
CHUNK = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample(SourceConfig, Command):
    """Sample sequences, each from a kernel of its own, or all from one that you give.

    Examples:
      anyorder sample --order 2 --alphabet-size 3 --length 100 --seed 7
      anyorder sample --order 3 --length 64 --count 1000 --out chains.npy --kernels kernels.npy
      anyorder sample --prior order-mixture --min-order 1 --max-order 3 --length 200
      anyorder sample --kernel mine.npy --length 500 --start stationary
    """

    order: int = 1
    """Order k: how many past tokens the next one depends on."""
    length: int = 64
    """Tokens in each sequence."""
    count: int = 1
    """Sequences, each from an independent kernel."""
    per_kernel: int = 1
    """Sequences in a row that share a kernel; it divides the count."""
    seed: int = 0
    """The same seed gives the same sequences."""
    out: str = "-"
    """Where to: .npy (count × length), any other name for text with one sequence a line, - for standard output."""
    kernel: str | None = None
    """Use this kernel for all: .npy of shape (S,)*k + (S,), oldest token first. Sets order and alphabet."""
    kernels: str | None = None
    """Also write the kernels, as .npy of shape (count,) + (S,)*k + (S,)."""

    def run(self) -> Outcome:
        """Sample, write, and say what was written."""
        from anyorder import chains, files, reading

        given = None if self.kernel is None else chains.PointMass(chains.Kernel(reading.read_array(self.kernel)))
        source = self.source_of(self.length, per_kernel=self.per_kernel, prior=given)
        drawn = source.sample(self.seed, self.count)
        tokens = np.asarray(drawn.tokens)
        report = {
            "order": source.order,
            "alphabet_size": source.alphabet_size,
            "length": self.length,
            "count": self.count,
            "seed": self.seed,
            "prior": source.prior.name,
            "start": self.start,
            "token_noise": self.token_noise,
            "transition_noise": self.transition_noise,
            "per_kernel": self.per_kernel,
            "out": self.out,
        }
        if self.kernels is not None:
            require(
                self.kernels.endswith(".npy"),
                f"--kernels {self.kernels} must end in .npy; kernels are arrays",
            )
            files.write_array(self.kernels, np.asarray(drawn.kernels))
            report["kernels"] = self.kernels
        if self.out == reading.STANDARD_STREAM:
            report["tokens"] = tokens.tolist()
            return Outcome(report, "\n".join(files.format_row(row) for row in tokens))
        files.write_array(self.out, tokens)
        return Outcome(report, f"{self.count} × {self.length} tokens of order {source.order} in {self.out}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate(Command):
    """Estimate the next-token distribution after every position of one sequence, and score it.

    Examples:
      anyorder estimate tokens.txt --order 2
      anyorder estimate book.txt --order 5 --alphabet auto --estimator bayes --json
      anyorder sample --order 2 --length 500 | anyorder estimate - --order 2 --out distributions.npy
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The sequence: whitespace-separated integers, text (with --alphabet), or .npy; - is standard input."""
    order: int
    """Order k of the estimator."""
    alphabet_size: int | None = None
    """Number of symbols; by default the largest token plus one."""
    alphabet: str | None = None
    """Characters in the order of their numbers, or auto: distinct characters by first appearance."""
    estimator: Literal["kgram", "bayes", "bag", "biased", "backoff"] = "kgram"
    """kgram: Definition 2. bayes: add-β. bag: the last k tokens in any order. biased: also counts aligned
    opening windows. backoff: the longest suffix seen before."""
    beta: float = 1.0
    """Smoothing of the bayes estimator; 1 is optimal for Dirichlet(1) rows."""
    row: int | None = None
    """Which sequence of a file that holds several: row of the .npy, or line of the text."""
    out: str | None = None
    """Write the distributions: .npy (NaN rows where undefined) or JSON lines (null where undefined)."""

    def run(self) -> Outcome:
        """Read, feed in chunks, score, and write."""
        from anyorder import files, reading
        from anyorder.estimators import StreamingEstimator

        tokens, size, characters = reading.read_tokens(
            self.file, alphabet=self.alphabet, alphabet_size=self.alphabet_size, row=self.row
        )
        check_order(self.order, len(tokens))
        stream = StreamingEstimator(self.order, size, self.estimator, beta=self.beta)
        length = len(tokens)
        if self.out is not None:
            _check_memory(length * size * 8)
        distributions = np.empty((length, size)) if self.out is not None else None
        assigned = np.full(length, np.nan)
        with progress() as bar:
            task = bar.add_task(f"{self.estimator}, order {self.order}", total=length)
            for begin in range(0, length - 1, CHUNK):
                chunk = slice(begin, min(begin + CHUNK, length - 1))
                if distributions is None:
                    assigned[chunk] = stream.probabilities(tokens[chunk])
                else:
                    distributions[chunk] = stream.distributions(tokens[chunk])
                bar.advance(task, chunk.stop - chunk.start)
        assigned[-1], last = stream.step(int(tokens[-1]))
        if distributions is not None:
            distributions[-1] = last
            assigned[1:] = np.take_along_axis(distributions[:-1], tokens[1:, None], axis=1)[:, 0]
        report = {
            "file": self.file,
            "estimator": self.estimator,
            "order": self.order,
            "alphabet_size": size,
            **({"alphabet": characters} if characters else {}),
            **score(assigned, last_defined=not np.isnan(last).any()),
            "uniform_bits_per_symbol": math.log2(size),
        }
        if distributions is not None:
            assert self.out is not None
            files.write_array(self.out, distributions)
            report["out"] = self.out
        shown = dict(report)
        if report["zero_probability"]:
            shown |= dict.fromkeys(("log_loss_nats", "bits_per_symbol"), "infinite: a token had probability 0")
        return Outcome(report, key_value_table(shown))


def score(assigned: np.ndarray, *, last_defined: bool) -> dict[str, float | int | None]:
    """Loss and coverage from the probability given to each token before it was seen (NaN: undefined)."""
    scored = assigned[~np.isnan(assigned)]
    defined = len(scored) + last_defined
    zeros = int((scored == 0).sum())
    loss = None if zeros or not len(scored) else float(-np.log(scored).mean())
    return {
        "positions": len(assigned),
        "defined": defined,
        "coverage": defined / len(assigned),
        "scored": len(scored),
        "zero_probability": zeros,
        "log_loss_nats": loss,
        "bits_per_symbol": None if loss is None else loss / math.log(2),
    }


def _check_memory(needed: int, limit: int = 1 << 33) -> None:
    if needed > limit:
        raise InputError(
            f"the distributions need {needed / 2**30:.1f} GiB, the limit is {limit >> 30} GiB; "
            "drop --out to score without keeping them"
        )
