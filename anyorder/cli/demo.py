"""`anyorder demo`: a tour of the package on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Group

from anyorder import estimators, io, papers
from anyorder.cli.command import Command, Outcome, facts, progress, result_table
from anyorder.errors import require
from anyorder.io.gates import Gate
from anyorder.training import devices

if TYPE_CHECKING:
    from anyorder.papers.own.floor import Comparison

ORDERS = "Predictors at every order; losses are in nats per token."
NEXT = """
  anyorder explore                                      look inside every model of this page, in a browser
  anyorder verify unrolled --order 20 --dtype float32   one head, twenty tokens back, certified
  anyorder train                                        three models to the Bayes floor
  anyorder order examples/alice.txt --alphabet auto     which Markov order describes a text?
  anyorder reproduce                                    every table and figure of the paper
the command is .venv/bin/anyorder, or anyorder after `source .venv/bin/activate`"""


class Demo(Command):
    """Write a tour of the package on one page: estimators, certified constructions, a trained model, Algorithm 1.

    Examples:
      anyorder demo --out demo
      anyorder demo --orders 1 2 --steps 300 --json
    """

    next = NEXT
    out: Annotated[str, Gate("fill")] = "demo"
    """Folder for index.html, figures and tables."""
    orders: tuple[int, ...] = (1, 2, 3)
    """Orders of the chains on which estimators are compared."""
    length: int = 65
    """Tokens per sequence."""
    count: int = 4096
    """Sequences of each order, each from its own kernel."""
    steps: int = 1000
    """Training steps of the order-2 model."""
    seed: int = 0
    """Random seed; equal seeds give equal numbers."""

    def run(self) -> Outcome:
        """Measure, certify, train, descend, write the page."""
        devices.prepare()
        import jax

        from anyorder.papers.own import floor
        from anyorder.papers.two_can import story
        from anyorder.report import demo_page as page

        require(len(self.orders) > 0, "--orders is empty; give at least one order")
        require(self.steps >= 2, f"steps is {self.steps}, must be at least 2")
        comparisons, folder = [], Path(self.out)
        with io.atomic.locked(folder), progress() as bar:
            for order in bar.track(self.orders, description="estimators"):
                key = jax.random.fold_in(jax.random.key(self.seed), order)
                comparisons.append(floor.compare(key, order=order, length=self.length, count=self.count))
            verified = list(bar.track(story.verified(), total=len(story.SHOWN), description="constructions"))

            def task(name: str) -> papers.Task:
                bars = bar.add_task(name, total=1.0)
                watch = lambda fraction, doing: bar.update(bars, completed=fraction, description=f"{name}: {doing}")  # noqa: E731
                return papers.Task(runs=folder / "runs", watch=watch)

            trained, followed = story.trained(task("training"), self.steps, self.seed)
            two_stage = story.two_stage(task("two-stage algorithm"), self.seed)
            measured = story.compared(comparisons), story.certified(verified), trained, two_stage
            index = page.write_story(folder, followed, *measured)
        learned = dict(trained.tables["training"].rows[0])
        descent = {**two_stage.tables["facts"].rows[0], "standings": two_stage.tables["run"].rows}
        report = {
            "page": str(index),
            **facts(self, "length", "count", "seed"),
            "orders": [_row(comparison) for comparison in comparisons],
            "constructions": verified,
            "training": learned,
            "two_stage": descent,
        }
        compared, certified = measured[0].tables["orders"], measured[1].tables["constructions"]
        tables = map(result_table, (compared._replace(caption=ORDERS), certified))
        shown = Group(*tables, *_learned(learned, descent))
        passed = all(verification.passed for verification in verified)
        return Outcome(report, Group(shown, f"page: {index}"), passed)


def _learned(row: io.atomic.Row, descent: io.atomic.Row) -> list[str]:
    ends = {one["predictor"]: one["excess"] for one in descent["standings"]}
    return [
        f"trained, order 2, {row['steps']} steps: excess {row['excess']:.4f}, floor {row['floor']:.4f}, gap "
        f"{row['gap']:+.4f} ± {row['gap_error']:.4f}; attention on matches {row['attention_on_matches']:.2f} "
        f"(chance {row['chance']:.2f})",
        f"Algorithm 1, order 1: attention at offset 1 {descent['attention_at_offset_1']:.3f}, p_1 "
        f"{'led' if descent['p_1_leads'] else 'did NOT lead'} after every step, a_2 {descent['a_2_end']:.2f}; excess "
        f"{ends['learned']:.4f}, k-gram {ends['k-gram']:.4f}, Bayes {ends['Bayes']:.4f}",
    ]


def _row(comparison: Comparison) -> dict[str, object]:
    predictors = {
        name: {
            **_mean("excess", excess),
            "zero_probability": missed.mean,
            **_mean("distance", distance),
            "coverage": excess.coverage,
        }
        for name, (excess, missed, distance) in comparison.scores.items()
    }
    return {"order": comparison.order, **_mean("true_loss", comparison.true), "predictors": predictors}


def _mean(name: str, loss: estimators.LossSummary) -> dict[str, float]:
    return {name: loss.mean, f"{name}_error": loss.standard_error}
