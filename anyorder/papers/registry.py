"""Papers, their experiments and their ledgers: those below `anyorder/papers`, then those of plug-ins.

Experiments and claims have the ids of version 0.2 in `two_can` and `own`; elsewhere the name of the paper stands before
them, as in `toy/depth`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from anyorder.errors import InputError, nearest, require
from anyorder.io.plugins import Registry
from anyorder.papers.experiment import Experiment, OnPage
from anyorder.papers.paper import Paper

if TYPE_CHECKING:
    from anyorder.papers.entry import Claim
    from anyorder.papers.ledger import Ledger

_UNPREFIXED = ("two_can", "own")

#: Every paper, by name.
PAPERS: Registry[Paper] = Registry(
    "paper", {}, lambda variable, value: value.name if isinstance(value, Paper) else None
)


def papers() -> dict[str, Paper]:
    """Every paper by name, in the order of reports: the one that the project is built around, others, and our own.

    >>> list(papers())[0], list(papers())[-1]
    ('two_can', 'own')
    """
    return {
        paper.name: paper
        for paper in sorted(PAPERS.values(), key=lambda paper: (paper.name == "own", paper.name != "two_can"))
    }


def prefix(paper: str) -> str:
    """The beginning of all ids of a paper.

    >>> prefix("two_can"), prefix("toy")
    ('', 'toy/')
    """
    return "" if paper in _UNPREFIXED else f"{paper}/"


def _by_paper() -> dict[str, dict[str, Experiment]]:
    """The experiments of each paper, by the ids that they have there."""
    return {
        name: {one.id: dataclasses.replace(one, id=prefix(name) + one.id, home=paper) for one in paper.experiments()}
        for name, paper in papers().items()
    }


class _Experiments(Mapping[str, Experiment]):
    """Read off the papers each time, because plug-ins come and go."""

    def _all(self) -> dict[str, Experiment]:
        return {one.id: one for entries in _by_paper().values() for one in entries.values()}

    def __getitem__(self, id: str) -> Experiment:
        return self._all()[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


#: Every experiment, by id.
EXPERIMENTS: Mapping[str, Experiment] = _Experiments()


def recorded() -> dict[str, OnPage]:
    """How the docs show the experiments whose results at the paper's budget are recorded, by id."""
    return {id: experiment.recorded for id, experiment in EXPERIMENTS.items() if experiment.recorded is not None}


def chosen(ids: Iterable[str]) -> list[Experiment]:
    """The experiments of these ids, in the order of the report; none or `all` are all, a paper is all of its own.

    The id of another paper's experiment needs its prefix only where several papers have one of that name.

    >>> [experiment.id for experiment in chosen(("bits", "two_can/depth"))]
    ['depth', 'bits']
    """
    words, known = list(ids), dict(EXPERIMENTS)
    if not words or "all" in words:
        return list(known.values())
    by_paper = _by_paper()
    wanted: set[str] = set()
    for word in words:
        if word in known:
            wanted.add(word)
        elif word in by_paper:
            wanted |= {one.id for one in by_paper[word].values()}
        else:
            paper, _, id = word.rpartition("/")
            homes = [name for name, entries in by_paper.items() if id in entries and paper in ("", name)]
            ways = nearest(word, [*known, *by_paper, "all"])
            wanted.add(by_paper[_only(homes, "experiment", word, ways)][id].id)
    return [experiment for id, experiment in known.items() if id in wanted]


def ledgers() -> dict[str, Ledger]:
    """The ledgers of all papers that have one, by the name of the paper."""
    return {name: paper.ledger() for name, paper in papers().items() if paper.ledger is not None}


def find_claims(ids: Iterable[str]) -> dict[str, list[Claim]]:
    """The claims of these ids by paper; all where none is given. A paper's name stands for all of its claims.

    >>> {paper: [claim.id for claim in claims] for paper, claims in find_claims(["E9", "two_can/eq-score"]).items()}
    {'two_can': ['eq-recursion', 'eq-score']}
    """
    known = ledgers()
    found: dict[str, dict[str, Claim]] = {}
    for word in list(ids) or known:
        paper, slash, id = word.partition("/")
        if word in known:
            id = ""
        elif not slash:
            homes = [name for name, ledger in known.items() if word in ledger]
            paper, id = _only(homes or [*known][:1], "claim", word, ""), word  # the first says what is near
        require(paper in known, f"no paper {paper!r} with claims; {nearest(paper, known)}")
        found.setdefault(paper, {}).update({one.id: one for one in known[paper].find([id] if id else [])})
    return {paper: list(claims.values()) for paper, claims in found.items()}


def _only(homes: list[str], kind: str, word: str, ways: str) -> str:
    """The one paper that has something of this name; one without a prefix comes before others."""
    if not homes:
        raise InputError(f"no {kind} {word!r}; {ways}")
    first = [name for name in homes if name in _UNPREFIXED] or homes
    if len(first) > 1:
        raise InputError(f"the {kind} {word!r} is in {' and in '.join(first)}; write {first[0]}/{word}")
    return first[0]
