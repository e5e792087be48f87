"""All papers and their experiments, in the order of the report."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path

from anyorder.errors import InputError, nearest
from anyorder.papers.experiment import Experiment, OnPage
from anyorder.papers.paper import Paper


@functools.cache
def papers() -> dict[str, Paper]:
    """Every folder beside this file, by name: the paper that the project is built around, others, and our own.

    >>> list(papers())[0], list(papers())[-1]
    ('two_can', 'own')
    """
    folders = [entry.name for entry in pkgutil.iter_modules([str(Path(__file__).parent)]) if entry.ispkg]
    found = [importlib.import_module(f"anyorder.papers.{name}").PAPER for name in folders]
    return {
        paper.name: paper for paper in sorted(found, key=lambda paper: (paper.name == "own", paper.name != "two_can"))
    }


#: Every experiment, by id.
EXPERIMENTS: dict[str, Experiment] = {one.id: one for paper in papers().values() for one in paper.experiments()}
#: How the docs show those whose results at the paper's budget are recorded, by id.
RECORDED: dict[str, OnPage] = {
    id: experiment.recorded for id, experiment in EXPERIMENTS.items() if experiment.recorded is not None
}


def chosen(ids: tuple[str, ...]) -> list[Experiment]:
    """The experiments of these ids, in the order of the report; none or `all` are all.

    >>> [experiment.id for experiment in chosen(("bits", "depth"))]
    ['depth', 'bits']
    """
    unknown = [id for id in ids if id not in EXPERIMENTS and id != "all"]
    if unknown:
        raise InputError(f"no experiment {unknown[0]!r}; {nearest(unknown[0], [*EXPERIMENTS, 'all'])}")
    everything = not ids or "all" in ids
    return [experiment for experiment in EXPERIMENTS.values() if everything or experiment.id in ids]
