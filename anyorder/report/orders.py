"""The figure of `anyorder order`: bits per symbol over the order, and the posterior as the sequence grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anyorder.estimators.order_scores import OrderReport
from anyorder.report.style import COLOURS, Drawing, apart, logarithmic, styled

#: Orders whose posterior never reaches this are left out of the second panel.
_VISIBLE = 0.2


@styled
def draw_orders(growth: Sequence[OrderReport], others: Mapping[str, float] | None = None) -> Figure:
    """Draw reports of a growing sequence, the whole one last; `others` are bits per symbol to compare with."""
    whole = growth[-1]
    figure = Drawing(figsize=(8, 3.2))
    left, right = figure.subplots(1, 2)
    bits = [one.bits_per_symbol for one in whole.orders]
    left.plot([one.order for one in whole.orders], bits, "o-", color="black")
    left.plot(whole.selected, bits[whole.selected], "o", color="black", markersize=10, mfc="none")
    lines = {"mixture": whole.mixture_bits_per_symbol, "ctw": whole.ctw_bits_per_symbol, **(others or {})}
    for number, (name, level) in enumerate(lines.items()):
        left.axhline(level, color=COLOURS[number % len(COLOURS)], linewidth=1, label=name)
    left.set(xlabel="order", ylabel="bits per symbol")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.legend()
    for order in range(whole.max_order + 1):
        posterior = [report.orders[order].posterior for report in growth]
        if max(posterior) > _VISIBLE:
            places = [report.positions for report in growth]
            look = {"color": COLOURS[order % len(COLOURS)], **apart(order, whole.max_order + 1, len(places))}
            right.plot(places, posterior, label=f"order {order}", **look)
    logarithmic(right, "x", base=10)
    right.set(xlabel="symbols coded", ylabel="posterior")
    right.legend()
    return figure
