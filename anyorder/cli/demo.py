"""`anyorder demo`: the whole story in three minutes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from anyorder.cli.command import Command, Outcome, progress, table
from anyorder.errors import require

if TYPE_CHECKING:
    from anyorder.constructions.verify import Verification
    from anyorder.experiments.experiment import Result
    from anyorder.experiments.floor import Comparison


LEGEND = """\
excess loss: nats per token over the true loss, ± standard error    to floor: over the Bayes predictor
missed: probability of tokens given probability zero    distance: total variation to the true distribution
"""
NEXT = """\
try next:
  anyorder explore                                      look inside every model of this page, in a browser
  anyorder verify unrolled --order 20 --dtype float32   one head, twenty tokens back, certified
  anyorder train                                        three models to the Bayes floor
  anyorder order book.txt --alphabet auto               which Markov order describes your own text?
  anyorder reproduce                                    every table and figure of the paper
the command is .venv/bin/anyorder; after `source .venv/bin/activate` it is plain anyorder"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """The whole story: estimators and their floor, certified constructions, a trained model, Algorithm 1, one page.

    Examples:
      anyorder demo --out demo
      anyorder demo --orders 1 2 --steps 300 --json
    """

    fills = ("out",)
    out: str = "demo"
    """Folder for index.html, figures and tables."""
    orders: tuple[int, ...] = (1, 2, 3)
    """Orders of the chains that estimators are compared on."""
    length: int = 65
    """Tokens in each of their sequences."""
    count: int = 4096
    """Sequences of each order, each from a kernel of its own."""
    steps: int = 1000
    """Training steps of the model of order 2."""
    seed: int = 0
    """The same seed gives the same numbers."""

    def run(self) -> Outcome:
        """Measure, certify, train, descend, write the page."""
        from anyorder.files import locked

        with locked(self.out):
            return self._run()

    def _run(self) -> Outcome:
        from anyorder.training import devices

        devices.prepare()
        import jax

        from anyorder.experiments import floor, story
        from anyorder.experiments.experiment import Task
        from anyorder.report import story as page

        require(len(self.orders) > 0, "--orders is empty; give at least one order")
        require(self.steps >= 2, f"steps is {self.steps}, must be at least 2")
        comparisons, folder = [], Path(self.out)
        with progress() as bar:
            for order in bar.track(self.orders, description="estimators"):
                key = jax.random.fold_in(jax.random.key(self.seed), order)
                comparisons.append(floor.compare(key, order=order, length=self.length, count=self.count))
            verified = list(bar.track(story.verified(), total=len(story.SHOWN), description="constructions"))

            def task(name: str) -> Task:
                bars = bar.add_task(name, total=1.0)
                watch = lambda fraction, doing: bar.update(bars, completed=fraction, description=f"{name}: {doing}")  # noqa: E731
                return Task(runs=folder / "runs", watch=watch)

            trained, followed = story.trained(task("training"), self.steps, self.seed)
            two_stage = story.two_stage(task("two-stage algorithm"), self.seed)
            measured = story.compared(comparisons), story.certified(verified), trained, two_stage
            index = page.write(folder, followed, *measured)
        learned, facts = trained.tables["training"].rows[0], two_stage.tables["facts"].rows[0]
        report = {
            "page": str(index),
            "length": self.length,
            "count": self.count,
            "seed": self.seed,
            "orders": [_row(comparison) for comparison in comparisons],
            "constructions": [dataclasses.asdict(verification) for verification in verified],
            "training": learned,
            "two_stage": {**facts, "standings": two_stage.tables["run"].rows},
        }
        shown = Group(*map(_table, comparisons), LEGEND, _certified(verified), *_learned(trained, two_stage))
        passed = all(verification.passed for verification in verified)
        return Outcome(report, Group(shown, f"page: {index}\n", NEXT), passed)


def _learned(trained: Result, two_stage: Result) -> list[str]:
    row, facts = trained.tables["training"].rows[0], two_stage.tables["facts"].rows[0]
    ends = {row["predictor"]: row["excess"] for row in two_stage.tables["run"].rows}
    return [
        f"trained, order 2, {row['steps']} steps: excess {row['excess']:.4f}, floor {row['floor']:.4f}, gap "
        f"{row['gap']:+.4f} ± {row['gap_error']:.4f}; attention on matches {row['attention_on_matches']:.2f} "
        f"(chance {row['chance']:.2f})",
        f"Algorithm 1, order 1: attention at offset 1 {facts['attention_1']:.3f}, p_1 "
        f"{'led' if facts['p_1_leads'] else 'did NOT lead'} after every step, a_2 {facts['a_2_end']:.2f}; excess "
        f"{ends['learned']:.4f}, k-gram {ends['k-gram']:.4f}, Bayes {ends['Bayes']:.4f}",
    ]


def _row(comparison: Comparison) -> dict[str, object]:
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
    shown = table(
        *("predictor", "excess loss", "to floor", "missed", "distance", "defined"),
        words=("predictor",),
        title=f"order {comparison.order}: true loss {true.mean:.4f} ± {true.standard_error:.4f} nats a token",
    )
    floor = comparison.scores[FLOOR].excess.mean
    for name, (excess, missed, distance) in comparison.scores.items():
        bounded = math.isfinite(excess.mean)
        shown.add_row(
            name,
            f"{excess.mean:.4f}±{excess.standard_error:.4f}" if bounded else "infinite",
            f"{excess.mean - floor:+.4f}" if bounded else "",
            f"{missed.mean:.1%}",
            f"{distance.mean:.4f}±{distance.standard_error:.4f}",
            f"{excess.coverage:.1%}",
        )
    return shown


def _certified(verified: list[Verification]) -> Table:
    """Each construction's worst error next to what its certificate promises."""
    shown = table(
        *("construction", "order", "dtype", "weights", "bits", "worst error", "bound"),
        words=("construction", "dtype"),
        title="transformers written down, compared with the exact estimator",
    )
    for one in verified:
        shown.add_row(
            one.construction,
            str(one.order),
            one.dtype,
            f"{one.parameters:,}",
            f"{one.bits_needed}/{one.mantissa_bits}",
            f"{one.max_error:.1e}",
            f"{one.bound:.1e}",
        )
    return shown
