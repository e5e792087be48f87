"""A paper: a folder with its experiments, its ledger of claims and its presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger

#: Where results at the paper's budget are recorded, in a copy of the repository.
RESULTS = Path(__file__).parents[2] / "results"


@dataclasses.dataclass(frozen=True)
class Paper:
    """The parts of a paper. They are functions, so that listing papers imports none of them.

    name: short, as the folder of the paper.
    about: the statement that the paper is known for, in a line.
    results: the folder with recorded results; None: that of its name below `results/` of the repository.
    rule: when a number agrees with print, in a sentence.
    kinds: dataclasses in results that experiments of other papers do not have.
    page: the page of the docs that shows its results; None: docs/reproduce.md.
    """

    name: str
    title: str
    reference: str
    about: str
    experiments: Callable[[], Sequence[Experiment]] = tuple
    ledger: Callable[[], Ledger] | None = None
    results: Path | None = None
    rule: Callable[[], str] = str
    kinds: Callable[[], Sequence[type]] = tuple
    page: str | None = None

    @property
    def recorded(self) -> Path:
        """The folder with results at the paper's budget.

        >>> Paper("mine", "Mine", "me", "one is one").recorded.parts[-2:]
        ('results', 'mine')
        """
        return RESULTS / self.name if self.results is None else self.results
