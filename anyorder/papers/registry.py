"""All papers with their experiments and ledgers: built-in papers first, then those of plug-ins.

Ids of experiments and claims start with the name of their paper, as in `toy/depth`; those of `two_can` and `own` have
no prefix.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from anyorder.errors import InputError, nearest, require
from anyorder.io.plugins import Registry
from anyorder.papers.experiment import Experiment
from anyorder.papers.paper import Paper

if TYPE_CHECKING:
    from anyorder.papers.entry import Claim
    from anyorder.papers.ledger import Ledger

_UNPREFIXED = ("two_can", "own")

#: Every paper, by name.
PAPERS: Registry[Paper] = Registry("paper", {}, Paper)


def papers() -> dict[str, Paper]:
    """Every paper by name, in the order of reports: `two_can` first, `own` last.

    >>> list(papers())[0], list(papers())[-1]
    ('two_can', 'own')
    """
    return {
        paper.name: paper
        for paper in sorted(PAPERS.values(), key=lambda paper: (paper.name == "own", paper.name != "two_can"))
    }


def prefix(paper: str) -> str:
    """The prefix of all ids of a paper.

    >>> prefix("two_can"), prefix("toy")
    ('', 'toy/')
    """
    return "" if paper in _UNPREFIXED else f"{paper}/"


def _by_paper() -> dict[str, dict[str, Experiment]]:
    """The experiments of each paper, by their ids without prefix."""
    return {
        name: {one.id: dataclasses.replace(one, id=prefix(name) + one.id, home=paper) for one in paper.experiments()}
        for name, paper in papers().items()
    }


class _Experiments(Mapping[str, Experiment]):
    """All experiments, listed anew at each access because plug-ins can be loaded later."""

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


def chosen(ids: Iterable[str]) -> list[Experiment]:
    """The experiments of these ids, in the order of the report; a paper selects all of its experiments.

    No id, or `all`, selects every experiment. A prefix can be omitted if only one paper has the id.

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
    """All ledgers, by the name of their paper."""
    return {name: paper.ledger() for name, paper in papers().items() if paper.ledger is not None}


def find_claims(ids: Iterable[str]) -> dict[str, list[Claim]]:
    """The claims of these ids, by paper; no id selects all claims, the name of a paper all of its claims.

    >>> {paper: [claim.id for claim in claims] for paper, claims in find_claims(["E9", "two_can/eq-score"]).items()}
    {'two_can': ['eq-recursion', 'eq-score']}
    """
    known = ledgers()
    found: dict[str, dict[str, Claim]] = {}
    for word in list(ids) or known:
        paper, slash, id = word.partition("/")
        if word in known:
            id = ""
        elif not slash and word not in PAPERS:
            homes = [name for name, ledger in known.items() if word in ledger]
            paper, id = _only(homes or [*known][:1], "claim", word, ""), word  # its error lists similar ids
        require(paper in known, f"no paper {paper!r} with claims; {nearest(paper, known)}")
        found.setdefault(paper, {}).update({one.id: one for one in known[paper].find([id] if id else [])})
    return {paper: list(claims.values()) for paper, claims in found.items()}


def _only(homes: list[str], kind: str, word: str, ways: str) -> str:
    """The single paper with an entry of this name; papers without a prefix take precedence."""
    if not homes:
        raise InputError(f"no {kind} {word!r}; {ways}")
    first = [name for name in homes if name in _UNPREFIXED] or homes
    if len(first) > 1:
        raise InputError(f"the {kind} {word!r} is in {' and in '.join(first)}; write {first[0]}/{word}")
    return first[0]
