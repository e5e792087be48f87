"""`anyorder zoo`: the trained models that come with the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import tyro
from rich.console import Group

from anyorder import zoo
from anyorder.cli.command import Command, Outcome, key_value_table, table


class Zoo(Command):
    """List the trained models that come with the package, or print the card of one.

    Examples:
      anyorder zoo
      anyorder zoo published-order-2
      anyorder probe zoo:mamba
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME …]")] = ()
    """Models to list; all by default. A single name prints the model's whole card."""

    def next_step(self, report: Mapping[str, object]) -> str:
        """The command that probes the listed model."""
        return f"anyorder probe zoo:{self.names[0] if self.names else 'fast'}"

    def run(self) -> Outcome:
        """Read the cards."""
        cards = {name: zoo.card(name) for name in self.names or zoo.names()}
        if len(cards) == 1:
            return Outcome({"models": cards}, key_value_table(*cards.values()))
        forms = {"model": "<", "k": "d", "gap": "+.5f", "±": ".5f", "follows": "<", "orders": "<", "KB": ".0f"}
        rows = (
            (name, *(one[key] for key in ("order", "gap", "gap_error", "follows")), _orders(one), one["bytes"] / 1000)
            for name, one in cards.items()
        )
        legend = "k: order; gap: loss above the Bayes floor, nats; follows: nearest predictor; orders: of the heads"
        return Outcome({"models": cards}, Group(table(forms, rows), legend))


def _orders(card: Mapping[str, Any]) -> str:
    return " ".join("–" if head["order"] is None else str(head["order"]) for head in card["heads"])
