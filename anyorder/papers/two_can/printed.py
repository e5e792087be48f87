"""Printed numbers of App. H, the rule for agreement with them, and the judged preset.

docs/rules.md has every rule; it was written before the runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from anyorder.io.atomic import Row
from anyorder.papers.figure_data import Series
from anyorder.sweeps.analysis import Spread

#: The judged preset, with the architecture of the authors' code, and all presets shown.
JUDGED = "published"
SHOWN = (JUDGED, "paper", "floor")
#: Largest difference of means that agree, in standard deviations, besides the rounding of the printed mean.
DEVIATIONS = 2.0
RULE = (
    "A mean agrees with the printed mean if they differ by at most two standard deviations of their difference, "
    "√(ours² + printed²), plus half of the last printed digit. Over seeds the deviations are those of single runs, "
    "which favours agreement, since the paper does not state all settings. In App. H.4 ± is over ten sequences and "
    "measures variation between chains, not runs: there both deviations are divided by √10, to be those of means."
)


class Printed(NamedTuple):
    """A printed mean with its ± value and its number of digits.

    sequences: number of sequences for a ± over sequences; 1 if it is over seeds.

    >>> str(Printed(0.1, 0.003, 3)), Printed(0.1, 0.003, 2).rounding
    ('0.100 ± 0.003', 0.005)
    """

    mean: float
    deviation: float
    digits: int = 3
    sequences: int = 1

    def __str__(self) -> str:
        return f"{self.mean:.{self.digits}f} ± {self.deviation:.{max(3, self.digits)}f}"

    @property
    def rounding(self) -> float:
        """The rounding error of the printed mean: half of its last digit."""
        return 0.5 * 10**-self.digits

    def agrees(self, mean: float, deviation: float | None) -> bool:
        """Whether a mean agrees with the printed one, by the rule; one seed has no deviation.

        >>> Printed(0.1, 0.003).agrees(0.0965, 0.001), Printed(0.1, 0.003).agrees(0.09, 0.001)
        (True, False)
        """
        scale = math.hypot(deviation or 0.0, self.deviation) / math.sqrt(self.sequences)
        return bool(abs(mean - self.mean) <= DEVIATIONS * scale + self.rounding)

    def beside(self, name: str, ours: Spread) -> Row:
        """Columns that compare the column `name` with the printed value.

        >>> Printed(0.1, 0.003).beside("excess", Spread(0.125, None))
        {'printed': '0.100 ± 0.003', 'excess_difference': 0.025, 'excess_agrees': False}
        """
        assert ours.mean is not None
        difference, agrees = round(ours.mean - self.mean, 12), self.agrees(ours.mean, ours.std)
        return {"printed": str(self), f"{name}_difference": difference, f"{name}_agrees": agrees}


def judged(rows: Iterable[Row], preset: str = JUDGED) -> list[Row]:
    """The rows of the judged preset, or of another.

    >>> judged([{"preset": "published", "layers": 1}, {"preset": "paper", "layers": 1}])
    [{'preset': 'published', 'layers': 1}]
    """
    return [row for row in rows if row["preset"] == preset]


def printed_series(values: Iterable[Printed], places: Iterable[float], style: str = "s") -> Series:
    """The printed numbers as a series at these x positions."""
    means, deviations = zip(*((entry.mean, entry.deviation) for entry in values), strict=True)
    return Series("printed", list(places), means, deviations, style, 1)


#: App. H.2: excess loss by number of layers; the text does not define ±, the settings say 5 seeds.
DEPTH = {1: Printed(0.131, 0.000), 2: Printed(0.100, 0.003)}
#: App. H.3.1: loss difference by p_n; ± is the standard deviation over three seeds.
TOKEN_NOISE = {
    0.0: Printed(0.10, 0.003, 2),
    0.1: Printed(0.15, 0.010, 2),
    0.25: Printed(0.18, 0.002, 2),
    0.5: Printed(0.21, 0.005, 2),
}
#: App. H.3.2: loss difference by α; ± is the standard deviation over three seeds.
TRANSITION_NOISE = {
    0.0: Printed(0.100, 0.003),
    0.1: Printed(0.101, 0.003),
    0.25: Printed(0.141, 0.005),
    0.5: Printed(0.181, 0.004),
}
#: App. H.4: Frobenius distance by bits; ± is the standard deviation over ten sequences with different kernels.
BITS = {
    "2": Printed(4.6108, 0.7190, 4, 10),
    "4": Printed(4.5842, 0.9826, 4, 10),
    "8": Printed(3.8615, 0.4590, 4, 10),
    "32": Printed(3.7700, 0.4725, 4, 10),
}
