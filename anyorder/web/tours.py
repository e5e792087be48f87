"""Guided tours: stops with a state of the page, a sentence and a question, in Markdown or JSON.

In Markdown the first heading is the title, and every stop is a second heading, a line in backticks with the state as it
stands in the page's address, sentences, and a question that begins with `>`:

    # What follows "ba"?

    ## Choose a position
    `model=dyadic&order=2&text=banana bar&position=8`
    The window is blue.
    > What came after it before?

In JSON the same is `{"title": …, "stops": [{"state": {…}, "sentence": …, "question": …}]}`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pydantic

from anyorder.errors import InputError, require
from anyorder.io.atomic import Row, read_json
from anyorder.io.gates import gated, read_bytes
from anyorder.web.library import SHIPPED
from anyorder.web.schema import Stop, Tour, complaint

#: Fields that a stop may set: the names of the page's state, as in its address.
_NAMES = (
    "page model order alphabet dtype estimator temperature beta gated dimension own index source text position step "
    "heads show chainOrder chainAlphabet chainLength chainSeed chainTokenNoise chainTransitionNoise "
    "run algorithm chainsOrder symbols length steps seed frame result layer head hide"
)
STATE = frozenset(_NAMES.split())
#: Parts that a stop may hide until "Reveal": the counts, the prediction, the bars of attention, the profile of a head.
HIDE = ("none", "counts", "prediction", "attention", "profile")
_MOST_BYTES = 1 << 20
_EXAMPLE = "see docs/teaching.md for one"


def shipped_tours() -> list[Tour]:
    """The tours of the package, in the order of their file names.

    >>> [tour.title for tour in shipped_tours()][0]
    'What follows “ba”?'
    """
    return [read_tour(path) for path in sorted(SHIPPED.glob("*.md"))]


@gated
def read_tour(path: str | Path) -> Tour:
    """A tour from a `.md` or `.json` file, or an `InputError` that names the stop."""
    file = Path(path)
    expected = f"a tour as .md or .json, {_EXAMPLE}"
    if file.suffix == ".json":
        described = read_json(path, expected, most=_MOST_BYTES)
    else:
        data = read_bytes(path, expected, most=_MOST_BYTES)
        try:
            described = _markdown(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; give {expected}") from None
    name = re.sub(r"^\d+-|[^a-z0-9]+", lambda found: "" if found.start() == 0 else "-", file.stem.lower()).strip("-")
    return _checked(described, name or "tour", str(path))


def _checked(described: Row, name: str, path: str) -> Tour:
    """The tour described by a file, with every stop checked."""
    stops: list[Stop] = []
    entries = described.get("stops") or []
    require(bool(described.get("title")), f"{path} has no title; begin with a heading, {_EXAMPLE}")
    require(isinstance(entries, list) and bool(entries), f"{path} has no stops; add some, {_EXAMPLE}")
    for number, entry in enumerate(entries, start=1):
        where = f"{path}, stop {number}"
        try:
            stop = Stop.model_validate(entry)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the stop"
            raise InputError(f"{where}: {place}: {complaint(first)}; {_EXAMPLE}") from None
        unknown = sorted(set(stop.state) - STATE)
        require(
            not unknown,
            f"{where}: there is no {unknown[:1] and unknown[0]!r} in the state; take names from the page's address",
        )
        require(bool(stop.sentence.strip()), f"{where} has no sentence; write one")
        stops.append(stop.model_copy(update={"state": stop.state | {"hide": _hidden(stop, where)}}))
    return Tour(name=name, title=str(described["title"]), stops=stops)


def _hidden(stop: Stop, where: str) -> str:
    """The parts hidden until "Reveal": by default counts and prediction, where the stop asks about one position."""
    about_one = stop.state.get("page", "model") == "model" and stop.state.get("show") not in ("maps", "price")
    asks = bool(stop.question) and about_one
    words = str(stop.state.get("hide", "counts,prediction" if asks else "none")).split(",")
    unknown = [word for word in words if word and word not in HIDE]
    require(not unknown, f"{where}: hide is {','.join(unknown)!r}, must be some of {', '.join(HIDE)}")
    return ",".join(word for word in words if word != "none")


def _markdown(text: str) -> dict[str, object]:
    """The description of a tour in Markdown: headings, a line of state, sentences and a question."""
    opening, *parts = re.split(r"^## +.*$", text, flags=re.MULTILINE)
    title = re.search(r"^# +(.*)$", opening, flags=re.MULTILINE)
    stops = []
    for part in parts:
        state = re.search(r"^`#?([^`]*)`\s*$", part, flags=re.MULTILINE)
        rest = part.replace(state[0], "") if state else part
        lines = [line.strip() for line in rest.splitlines() if line.strip()]
        stops.append(
            {
                "state": dict(parse_qsl(state[1], keep_blank_values=True)) if state else {},
                "sentence": " ".join(line for line in lines if not line.startswith(">")),
                "question": " ".join(line.lstrip("> ") for line in lines if line.startswith(">")),
            }
        )
    return {"title": title[1].strip() if title else "", "stops": stops}
