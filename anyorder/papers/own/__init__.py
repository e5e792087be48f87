"""Experiments of our own, which belong to no paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyorder.papers.paper import RESULTS, Paper

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment


def _experiments() -> Sequence[Experiment]:
    from anyorder.papers.own import (
        birth,
        floor,
        head_trade_off,
        mechanism,
        phase,
        precision,
        trained_price,
        unknown_order,
    )

    return (
        precision.precision, floor.floor, phase.phase, head_trade_off.head_trade_off, birth.birth,
        mechanism.mechanism, unknown_order.unknown_order, trained_price.trained_price,
    )  # fmt: skip


PAPER = Paper(
    name="own",
    title="Our own experiments",
    reference="the anyorder developers",
    about="the Bayes floor, precision, mechanism and birth of induction heads, the price of an order",
    experiments=_experiments,
    results=RESULTS / "paper",
)
