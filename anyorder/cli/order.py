"""`anyorder order`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from rich.console import Group

from anyorder.cli.command import Outcome, SequenceCommand, facts, progress, table
from anyorder.errors import in_flags
from anyorder.io.gates import FIGURES, Gate

if TYPE_CHECKING:
    from anyorder.estimators.order_scores import OrderReport
    from anyorder.io.sequence_files import SequenceFile

#: Further values of β for which the selected order is shown.
BETAS = (0.05, 0.25, 0.5, 1.0, 2.0)


class OrderCommand(SequenceCommand):
    """Find the Markov order that describes a sequence: bits per symbol of every order, and the posterior over them.

    Examples:
      anyorder order genome.fa
      anyorder order examples/alice.txt --alphabet auto --max-order 6 --figure orders.png
      anyorder sample --order 2 --length 2000 | anyorder order - --max-order 5 --json

    All orders are scored on the same symbols, from position K on. Each predicts from the counts so far, so a higher
    order pays for the rows it has to learn. Sequences in one file (records of FASTA, rows of .npy) share their counts.
    """

    next = "anyorder estimate {input} --order {selected} --estimator bayes"
    max_order: int = 8
    """The largest order K; also the depth of context-tree weighting."""
    beta: float = 0.5
    """Concentration β of the Dirichlet prior over rows, for all orders and context trees."""
    figure: Annotated[str | None, Gate("write", FIGURES)] = None
    """Plot bits per symbol against the order, and the posterior as the sequence grows: .png, .svg or .pdf."""
    compressors: bool = True
    """Compare with gzip, bzip2 and xz, which takes most of the time on long files."""

    def run(self) -> Outcome:
        """Count once, score every order, compare, draw."""
        from anyorder.estimators.compressors import Compressors
        from anyorder.estimators.order_scores import OrderStream, growing

        with self.opened() as sequences:
            stream = OrderStream(self.max_order, sequences.alphabet_size)
            compressors = Compressors(sequences.alphabet_size) if self.compressors else None
            growth: list[OrderReport] = []
            uncoded = self.max_order
            with progress() as bar:
                task = bar.add_task(f"orders 0 to {self.max_order}", total=sequences.length)
                for tokens, begins in sequences.chunks():
                    if begins:
                        stream.begin_sequence()
                        uncoded = self.max_order
                    if self.figure is None:
                        stream.feed(tokens)
                    else:
                        growth += growing(stream, tokens, self.beta)
                    if compressors is not None:
                        compressors.feed(tokens[uncoded:])
                    uncoded = max(0, uncoded - tokens.size)
                    bar.advance(task, tokens.size)
        report = stream.report(self.beta)
        others = {} if compressors is None else compressors.bits_per_symbol()
        sensitivity = [stream.report(beta) for beta in sorted({*BETAS, self.beta})]
        if self.figure is not None:
            from anyorder.report.figures import draw_orders
            from anyorder.report.style import write_figure

            write_figure(draw_orders([*growth, report], others), self.figure)
        found = {
            **facts(self, "file", "beta", "max_order"),
            "alphabet_size": sequences.alphabet_size,
            **({"alphabet": sequences.alphabet} if sequences.alphabet else {}),
            "sequences": sequences.count,
            "length": sequences.length,
            **facts(report, "positions", "orders", "selected"),
            **_next_best(report),
            **facts(report, "bic_selected", "mixture_bits_per_symbol", "ctw_bits_per_symbol"),
            "compressors": others,
            "uniform_bits_per_symbol": math.log2(sequences.alphabet_size),
            "sensitivity": [
                {
                    **facts(one, "beta", "selected"),
                    "bits_per_symbol": one.orders[one.selected].bits_per_symbol,
                    **_next_best(one),
                }
                for one in sensitivity
            ],
            "notes": sequences.notes,
            **({"figure": self.figure} if self.figure else {}),
        }
        shown = _shown(report, sequences, others, sensitivity)
        return Outcome(found, Group(shown, f"figure: {self.figure}") if self.figure else shown)


def _next_best(report: OrderReport) -> dict[str, int | float | None]:
    """The order with the second-highest posterior, and its excess over the best: total bits, and odds."""
    if report.max_order == 0:
        return {"next_best": None, "next_best_bits": None, "next_best_odds": None}
    odds = 2**report.lead if report.lead < 1000 else math.inf
    return {"next_best": report.ranked[1].order, "next_best_bits": report.lead, "next_best_odds": odds}


def _shown(
    report: OrderReport, sequences: SequenceFile, others: dict[str, float], sensitivity: list[OrderReport]
) -> Group:
    columns = {"order": "<", "bits per symbol": ".4f", "contexts": ",", "posterior": ".3g", "bits lost": ""}
    rows = []
    best = report.ranked[0]
    for score in report.orders:
        lost = (best.log_marginal - score.log_marginal) / math.log(2)
        paid = f"{lost:,.1f}" if lost < 1e6 else f"{lost:.3g}"
        bic = _bic(score.bic, report.positions) + " ←" * (score.order == report.bic_selected)
        order = f"{score.order}{' ←' * (score is best)}"
        rows.append((order, score.bits_per_symbol, score.contexts, score.posterior, paid, bic))
    orders = table(columns | {"BIC, bits per symbol": ""}, rows)
    orders.add_section()
    compared = {
        "mixture": report.mixture_bits_per_symbol,
        "ctw": report.ctw_bits_per_symbol,
        **others,
        "uniform": math.log2(report.alphabet_size),
    }
    for name, bits in compared.items():
        orders.add_row(name, f"{bits:.4f}")
    columns = {"β": "<", "order": "", "bits per symbol": ".4f", "next best": "", "loses (bits)": ",.1f", "odds": ""}
    rows = []
    for one in sensitivity:
        rest = () if one.max_order == 0 else (one.ranked[1].order, one.lead, _odds(one.lead))
        mark = " ←" * (one.beta == report.beta)
        rows.append((f"{one.beta:g}{mark}", one.selected, one.orders[one.selected].bits_per_symbol, *rest))
    across = table(columns, rows)
    notes = [f"Note: {in_flags(note)}." for note in sequences.notes]
    return Group(
        _sentence(report, sequences.count), *notes, orders, "The answer depends on β, the prior of the rows:", across
    )


def _sentence(report: OrderReport, count: int) -> str:
    several = f" of {count:,} sequences" if count > 1 else ""
    counted = f"{report.positions:,} symbols{several} over an alphabet of {report.alphabet_size}"
    if report.max_order == 0:
        return f"Only order 0 was scored: {counted}."
    against = f"order {report.ranked[1].order} needs {report.lead:,.1f} bits more (odds {_odds(report.lead)})"
    return f"Order {report.selected} describes {counted} best; {against}."


def _odds(bits: float) -> str:
    """Odds of two to this power to one.

    >>> _odds(3.0), _odds(100.0)
    ('8 to 1', '10^30 to 1')
    """
    return f"{2**bits:,.3g} to 1" if bits < 20 else f"10^{bits * math.log10(2):.0f} to 1"


def _bic(bic: float, positions: int) -> str:
    """Half of BIC in bits per symbol, which approximates the code length."""
    bits = bic / 2 / math.log(2) / positions
    return f"{bits:.2f}" if bits < 100 else f"{bits:,.0f}" if bits < 1e6 else f"{bits:.1e}"
