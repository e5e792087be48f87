"""`anyorder sample`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from anyorder import chains
from anyorder.chains.config import SourceConfig
from anyorder.cli.command import Command, Outcome, check_kernel_alone, facts
from anyorder.errors import require
from anyorder.io.gates import Gate


class Sample(SourceConfig, Command):
    """Sample sequences, each from its own random kernel, or all from a given kernel.

    Examples:
      anyorder sample --order 2 --alphabet-size 3 --length 100 --seed 7
      anyorder sample --order 3 --length 64 --count 1000 --out chains.npy --kernels kernels.npy
      anyorder sample --prior order-mixture --min-order 1 --max-order 3 --length 200
      anyorder sample --kernel mine.npy --length 500 --start stationary
    """

    next = "anyorder order {out} --alphabet-size {alphabet_size}"
    length: int = 64
    """Tokens per sequence."""
    count: int = 1
    """Number of sequences."""
    per_kernel: int = 1
    """Number of consecutive sequences that share a kernel; must divide the count."""
    seed: int = 0
    """Random seed; equal seeds give equal sequences."""
    out: Annotated[str, Gate("write", stream=True)] = "-"
    """Output: .npy (count × length), any other name for text with one sequence per line, - for standard output."""
    kernel: Annotated[str | None, Gate("read")] = None
    """One kernel for all sequences: .npy of shape (S,)*k + (S,), oldest token first. Sets order and alphabet."""
    kernels: Annotated[str | None, Gate("write", (".npy",))] = None
    """Also write the kernels, as .npy of shape (count,) + (S,)*k + (S,)."""

    @classmethod
    def default(cls, given: Mapping[str, Any]) -> Sample:
        """Defaults from the prior, if it fixes the order, or from a given kernel, which fixes the whole source."""
        check_kernel_alone(given)
        return cls(order=cls(**given).window)

    def next_step(self, report: Mapping[str, object]) -> str:
        """No suggestion if the tokens are on standard output, which another command may read."""
        return "" if self.out == "-" else super().next_step(report)

    def run(self) -> Outcome:
        """Sample, write, and report the output."""
        import numpy as np

        from anyorder.io import atomic, sequence_files

        self.check_window()
        given = None if self.kernel is None else chains.PointMass(chains.Kernel(sequence_files.read_array(self.kernel)))
        source = self.source_of(self.length, per_kernel=self.per_kernel, prior=given)
        drawn = source.sample(self.seed, self.count)
        tokens = np.asarray(drawn.tokens)
        report = {
            **facts(source, "order", "alphabet_size"),
            **facts(self, "length", "count", "seed"),
            "prior": source.prior.name,
            **facts(self, "start", "token_noise", "transition_noise", "per_kernel", "out"),
        }
        if self.kernels is not None:
            require(drawn.kernels is not None, f"the prior {self.prior} has no kernels; drop `kernels=`")
            atomic.write_array(self.kernels, np.asarray(drawn.kernels))
            report["kernels"] = self.kernels
        if self.out == sequence_files.STANDARD_STREAM:
            report["tokens"] = tokens.tolist()
            return Outcome(report, "\n".join(atomic.format_row(row) for row in tokens))
        atomic.write_array(self.out, tokens)
        return Outcome(report, f"{self.count} × {self.length} tokens of order {source.order} in {self.out}")
