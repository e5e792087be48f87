"""A paper: a folder with its experiments, its ledger of claims and its presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyorder.papers.experiment import Experiment
    from anyorder.papers.ledger import Ledger


@dataclasses.dataclass(frozen=True)
class Paper:
    """What a paper offers. Experiments and ledger are functions, so that listing papers imports neither.

    `results` names the folder below `results/` in which its experiments are recorded at the paper's budget.
    """

    name: str
    title: str
    reference: str
    about: str
    experiments: Callable[[], Sequence[Experiment]]
    ledger: Callable[[], Ledger] | None = None
    results: str = ""
