"""`anyorder estimate`."""

from __future__ import annotations

import math
from typing import Annotated

import tyro

from anyorder import estimators, io
from anyorder.cli.catalogue import listed
from anyorder.cli.command import Outcome, SequenceCommand, facts, key_value_table, progress
from anyorder.errors import check_order, in_flags, require
from anyorder.io.gates import Gate

#: Largest size of the written distributions, which are held in memory.
MOST_BYTES = 1 << 33


class EstimateCommand(SequenceCommand):
    """Estimate the next-token distribution after every position of a sequence, and score it.

    Examples:
      anyorder estimate tokens.txt --order 2
      anyorder estimate examples/alice.txt --order 5 --alphabet auto --estimator bayes --json
      anyorder sample --order 2 --length 500 | anyorder estimate - --order 2 --out distributions.npy
    """

    next = "anyorder predict {input} --order {order}"
    order: int
    """Order k of the estimator; the largest order of mixture, the depth of ctw."""
    estimator: Annotated[str, tyro.conf.arg(metavar="NAME")] = "kgram"
    """One of the estimators listed above."""
    beta: float | None = None
    """Smoothing β, for estimators that smooth; by default 1, or 0.5 for ctw."""
    out: Annotated[str | None, Gate("write")] = None
    """Write the distributions: .npy (NaN rows where undefined) or JSON lines (null where undefined)."""

    @classmethod
    def description(cls) -> str:
        """The opening of `--help`, with every estimator of the registry."""
        entries = [f"  {name}: {meaning}" for name, meaning in listed("estimators").items()]
        return "\n".join([super().description(), "", "Estimators:", *entries])

    def run(self) -> Outcome:
        """Read and feed in chunks, score, and write."""
        import numpy as np

        with self.opened() as sequences:
            if self.file.endswith(".npy"):  # rows of a sample come from different kernels
                sequences.check_single()
            length, size = sequences.length, sequences.alphabet_size
            stream = estimators.StreamingEstimator(self.order, size, self.estimator, beta=self.beta)
            check_order(max(self.order, 1), length)
            needed = length * size * 8
            require(
                self.out is None or needed <= MOST_BYTES,
                f"the distributions need {needed / 2**30:.1f} GiB, the limit is {MOST_BYTES >> 30} GiB; "
                "drop `out=` to score without keeping them",
            )
            score, defined, kept, ends = estimators.Score(), 0, [], False
            with progress() as bar:
                task = bar.add_task(f"{self.estimator}, order {self.order}", total=length)
                for tokens, begins in sequences.chunks():
                    if begins:
                        stream.begin_sequence()
                        defined += ends
                    if self.out is None:
                        score.add(stream.probabilities(tokens[:-1]))
                    else:
                        assigned, rows = stream.feed(tokens[:-1])
                        score.add(assigned)
                        kept.append(rows)
                    chance, row = stream.step(int(tokens[-1]))
                    score.add(np.array([chance]))
                    kept += [row[None]] if self.out is not None else []
                    ends = not np.isnan(row).any()  # counts where the sequence ends: no token follows to be scored
                    bar.advance(task, tokens.size)
        defined += score.scored + ends
        posterior = stream.posterior
        report: dict[str, object] = {
            **facts(self, "file", "estimator", "order"),
            "alphabet_size": size,
            **({"alphabet": sequences.alphabet} if sequences.alphabet else {}),
            **({"sequences": sequences.count} if sequences.count > 1 else {}),
            "positions": score.positions,
            "defined": defined,
            "coverage": defined / score.positions,
            **facts(score, "scored", "zero_probability"),
            "log_loss_nats": score.loss,
            "bits_per_symbol": score.bits,
            "uniform_bits_per_symbol": math.log2(size),
            **({"posterior": posterior} if posterior is not None else {}),
            **({"notes": sequences.notes} if sequences.notes else {}),
        }
        if self.out is not None:
            io.atomic.write_array(self.out, np.concatenate(kept))
            report["out"] = self.out
        shown = {key: value for key, value in report.items() if key not in ("posterior", "notes")}
        if posterior is not None:
            shown["posterior"] = " ".join(f"{weight:.3g}" for weight in posterior)
        shown |= {"note": " ".join(in_flags(note) + "." for note in sequences.notes)} if sequences.notes else {}
        if score.zero_probability:
            report["finite_estimators"] = [name for name, entry in estimators.ESTIMATORS.items() if entry.finite]
            shown |= dict.fromkeys(("log_loss_nats", "bits_per_symbol"), infinite(score.zero_probability))
        return Outcome(report, key_value_table(shown))


def infinite(zeros: int) -> str:
    """The explanation of a loss that is infinite because of tokens with probability zero."""
    finite = ", ".join(name for name, entry in estimators.ESTIMATORS.items() if entry.finite)
    return f"infinite: {zeros} tokens had probability 0; finite estimators: {finite} (anyorder estimate --estimator)"
