"""`anyorder demo`: the main job in a minute."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from anyorder.cli.command import Command, Outcome, progress
from anyorder.errors import require

if TYPE_CHECKING:
    from anyorder.constructions.verify import Verification
    from anyorder.experiments.floor import Comparison


LEGEND = """\
excess loss: nats per token over the true loss, ± standard error    to floor: over the Bayes predictor
missed: probability of tokens given probability zero    distance: total variation to the true distribution
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Measure every estimator against the true loss and the Bayes floor, and certify constructed transformers.

    Examples:
      anyorder demo --out demo
      anyorder demo --orders 1 2 --length 33 --count 20000 --json
    """

    out: str = "demo"
    """Folder for the figure."""
    orders: tuple[int, ...] = (1, 2, 3)
    """Orders of the chains."""
    alphabet_size: int = 2
    """Number of symbols."""
    length: int = 65
    """Tokens in each sequence."""
    count: int = 4096
    """Sequences, each from a kernel of its own."""
    seed: int = 0
    """The same seed gives the same numbers."""

    def run(self) -> Outcome:
        """Measure, draw, and tabulate."""
        import jax

        from anyorder.experiments import floor
        from anyorder.experiments.certified import SHOWN, certified
        from anyorder.report import floor as figure
        from anyorder.report.style import write_figure

        require(len(self.orders) > 0, "--orders is empty; give at least one order")
        comparisons = []
        with progress() as bar:
            for order in bar.track(self.orders, description="orders"):
                key = jax.random.fold_in(jax.random.key(self.seed), order)
                comparisons.append(
                    floor.compare(
                        key,
                        order=order,
                        alphabet_size=self.alphabet_size,
                        length=self.length,
                        count=self.count,
                    )
                )
            verified = list(bar.track(certified(), total=len(SHOWN), description="constructions"))
        picture = Path(self.out) / "floor.png"
        write_figure(figure.draw(comparisons), picture)
        report = {
            "alphabet_size": self.alphabet_size,
            "length": self.length,
            "count": self.count,
            "seed": self.seed,
            "figure": str(picture),
            "orders": [_row(comparison) for comparison in comparisons],
            "constructions": [dataclasses.asdict(verification) for verification in verified],
        }
        passed = all(verification.passed for verification in verified)
        return Outcome(
            report, Group(*map(_table, comparisons), LEGEND, _certified(verified), f"figure: {picture}"), passed
        )


def _row(comparison: Comparison) -> dict[str, Any]:
    return {
        "order": comparison.order,
        "true_loss": comparison.true.mean,
        "true_loss_error": comparison.true.standard_error,
        "predictors": {
            name: {
                "excess": scores.excess.mean,
                "excess_error": scores.excess.standard_error,
                "zero_probability": scores.missed.mean,
                "distance": scores.distance.mean,
                "distance_error": scores.distance.standard_error,
                "coverage": scores.excess.coverage,
            }
            for name, scores in comparison.scores.items()
        },
    }


def _table(comparison: Comparison) -> Table:
    """One order: each predictor's excess next to the floor, and its distance to the truth."""
    from anyorder.experiments.floor import FLOOR

    true = comparison.true
    table = Table(
        title=f"order {comparison.order}: true loss {true.mean:.4f} ± {true.standard_error:.4f} nats a token",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    headings = ("predictor", "excess loss", "to floor", "missed", "distance", "defined")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "predictor" else "right", no_wrap=True)
    floor = comparison.scores[FLOOR].excess.mean
    for name, (excess, missed, distance) in comparison.scores.items():
        bounded = math.isfinite(excess.mean)
        table.add_row(
            name,
            f"{excess.mean:.4f}±{excess.standard_error:.4f}" if bounded else "infinite",
            f"{excess.mean - floor:+.4f}" if bounded else "",
            f"{missed.mean:.1%}",
            f"{distance.mean:.4f}±{distance.standard_error:.4f}",
            f"{excess.coverage:.1%}",
        )
    return table


def _certified(verified: list[Verification]) -> Table:
    """Each construction's worst error next to what its certificate promises."""
    table = Table(
        title="transformers written down, held against the exact estimator",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for heading in ("construction", "order", "dtype", "weights", "bits", "worst error", "bound"):
        table.add_column(heading, justify="left" if heading in ("construction", "dtype") else "right", no_wrap=True)
    for one in verified:
        table.add_row(
            one.construction,
            str(one.order),
            one.dtype,
            f"{one.parameters:,}",
            f"{one.bits_needed}/{one.mantissa_bits}",
            f"{one.max_error:.1e}",
            f"{one.bound:.1e}",
        )
    return table
