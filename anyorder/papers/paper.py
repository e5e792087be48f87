"""A paper: a folder with its experiments, its ledger of claims and its presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger

#: Where results at the paper's budget are recorded, in a copy of the repository.
RESULTS = Path(__file__).parents[2] / "results"


def imported(name: str) -> Callable[[], Any]:
    """A function that imports an object by `module:name` when it is called.

    >>> imported("math:pi")()
    3.141592653589793
    """
    return lambda: resolve_name(name)


@dataclasses.dataclass(frozen=True)
class Paper:
    """The parts of a paper. Each part is a function, so that listing papers imports no experiments and no claims.

    name: short name, the name of the paper's folder.
    about: the main statement of the paper, in one line.
    results: the folder with recorded results; by default `results/<name>` of the repository.
    rule: the condition, in one sentence, under which a measured number agrees with the printed one.
    page: the docs page that shows the results; by default docs/reproduce.md.
    """

    name: str
    title: str
    reference: str
    about: str
    experiments: Callable[[], Sequence[Experiment]] = tuple
    ledger: Callable[[], Ledger] | None = None
    results: Path | None = None
    rule: Callable[[], str] = str
    page: str | None = None

    @property
    def results_folder(self) -> Path:
        """The folder with results at the paper's budget.

        >>> Paper("mine", "Mine", "me", "one is one").results_folder.parts[-2:]
        ('results', 'mine')
        """
        return RESULTS / self.name if self.results is None else self.results
