"""Guided tours: stops with a state of the page, a sentence and a question, in Markdown or JSON.

In Markdown the first heading is the title, and every stop is a second-level heading, a line in backticks with the state
from the page's address, sentences, and a question that begins with `>`:

    # What follows "ba"?

    ## Choose a position
    `model=dyadic&order=2&text=banana bar&position=8`
    The window is blue.
    > What came after it before?

In JSON the same is `{"title": …, "stops": [{"state": {…}, "sentence": …, "question": …}]}`.

Every stop is checked in advance, as the explorer would open it but without running the model: its model, order, length
and position must exist, on an exported page among the exported ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pydantic

from anyorder.errors import InputError, require
from anyorder.io.atomic import Row, read_json
from anyorder.io.gates import gated, read_bytes
from anyorder.web import probe, schema
from anyorder.web.films import film
from anyorder.web.library import SHIPPED, Library
from anyorder.web.schema import Stop, Tour
from anyorder.web.traced import NamedTokens, draw
from anyorder.web.view import open_model

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
_CHAIN = {
    "order": "chainOrder", "alphabet_size": "chainAlphabet", "length": "chainLength", "seed": "chainSeed",
    "token_noise": "chainTokenNoise", "transition_noise": "chainTransitionNoise",
}  # fmt: skip
_MODEL = {name: name for name in ("order", "dtype", "beta", "gated", "dimension")} | {"alphabet_size": "alphabet"}
_SHOW = ("answer", "proof", "figures", "maps", "prediction", "price")
#: Fields of the state that need a server.
_SERVED = ("estimator", "own", "beta", "gated", "dimension", "chainTokenNoise", "chainTransitionNoise")

State = Mapping[str, str | int | float | bool]


def offered(own: Tour | None) -> list[Tour]:
    """The tours of a page: the one with which it opens, then those of the package."""
    return [*([own] if own else []), *shipped_tours()]


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
            raise InputError(f"{where}: {place}: {schema.complaint(first)}; {_EXAMPLE}") from None
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


def check_tour(tour: Tour, library: Library) -> Tour:
    """The tour, or an `InputError` with the first stop that cannot be shown, and the reason.

    >>> bad = Stop(sentence="Look.", state={"model": "diadic"})
    >>> check_tour(Tour(name="a", title="A", stops=[bad]), Library())
    Traceback (most recent call last):
    ...
    anyorder.errors.InputError: a, stop 1: no construction 'diadic'; did you mean dyadic?
    """
    _check_stops(tour, lambda state: _check_stop(state, library))
    return tour


def check_exported(tour: Tour, models: Mapping[str, Any], films: Mapping[str, Any]) -> None:
    """Reject a stop that a server can show but the exported page cannot."""
    _check_stops(tour, lambda state: _check_exported(state, models, films))


def _check_stops(tour: Tour, check: Callable[[State], None]) -> None:
    """Check every stop; errors name the tour and the stop."""
    for number, stop in enumerate(tour.stops, start=1):
        where = f"{tour.name}, stop {number}"
        try:
            check(stop.state)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            reason = first.get("ctx", {}).get("error")
            said = f"{first['loc'][-1]} is {first['input']!r}, {schema.complaint(first)}"
            raise InputError(f"{where}: {reason if isinstance(reason, InputError) else said}") from None
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _check_stop(state: State, library: Library) -> None:
    page, show = state.get("page", "model"), state.get("show", "answer")
    require(page in ("model", "dynamics", "heads"), f"page is {page!r}, must be model, dynamics or heads")
    require(show in _SHOW, f"show is {show!r}, must be one of {', '.join(_SHOW)}")
    if page == "dynamics":
        films = [one.path for one in library.listed()[0] if one.kind == "trajectory"]
        run = state.get("run", films[0])
        require(run in ("fresh", *films), f"there is no run {run!r}; this explorer has {', '.join(films)}")
        if run != "fresh":
            asked_run = schema.DynamicsRequest(run=schema.StoredRun(kind="stored", path=str(run)))
            _check_place(state, "frame", len(film(asked_run, library, lambda: None).steps) - 1, str(run))
    elif page == "heads":
        path = str(state.get("result") or probe.listed(library)[0].path)  # as the page opens it
        heads = [(one.layer, one.head) for one in probe.opened(library, path).heads]
        place = int(state.get("layer", 0)), int(state.get("head", 0))
        require(place in heads, f"{path} has no head {place[1]} in layer {place[0]}; layers and heads count from 0")
    else:
        asked, drawn = _asked(state)
        opened = open_model(asked, drawn, library)
        _check_place(state, "position", len(drawn.tokens) - 1, "the sequence")
        _check_place(state, "step", len(opened.steps) - 1, opened.construction or opened.source)


def _check_place(state: State, name: str, last: int, whose: str) -> None:
    """Reject a number of the state beyond the last object that it counts."""
    asked = _value(state.get(name, 0))
    require(isinstance(asked, int) and 0 <= asked <= last, f"{name} is {asked}, {whose} has {name}s 0 to {last}")


def _check_exported(state: State, models: Mapping[str, Any], films: Mapping[str, Any]) -> None:
    page, name = state.get("page", "model"), str(state.get("model", schema.Constructed().name))
    ours = "an exported page contains only files of the package; start the explorer with --models for {!r}"
    if page == "dynamics":
        require(state.get("run") in (None, *films), ours.format(state.get("run")))
    elif page == "heads":
        require(state.get("result") in (None, probe.SHIPPED_PROBE), ours.format(state.get("result")))
    elif name.startswith("stored:"):
        require(name.removeprefix("stored:") in models, ours.format(name))
    else:
        asked, drawn = _asked(state)
        for given in _SERVED:
            require(given not in state, f"{given} is given, which an exported page does not support; drop it")
        model, size = asked.model, int(state.get("alphabet", max(2, len(drawn.symbols))))
        assert isinstance(model, schema.Constructed)
        sizes = models.get(name, {"orders": {}})["orders"].get(model.order, {"sizes": {}})["sizes"]
        have = f"the exported page has no {name} of order {model.order} over {size} symbols in {model.dtype}"
        require(size in sizes and model.dtype in sizes[size]["certificates"], f"{have}; lower one of them")
        longest = sizes[size]["certificates"][model.dtype]["length"]
        tokens = len(drawn.tokens)
        require(tokens <= longest, f"the sequence has {tokens} tokens, the exported {name} takes {longest}; shorten it")


def _asked(state: State) -> tuple[schema.StoryRequest, NamedTokens]:
    """The request that the page makes for a state, as in state.js, and its sequence."""

    def picked(names: Mapping[str, str]) -> dict[str, object]:
        return {field: _value(state[name]) for field, name in names.items() if name in state}

    name = str(state.get("model", schema.Constructed().name))
    if name.startswith("stored:"):
        model = {"kind": "stored", "path": name.removeprefix("stored:"), **picked({"index": "index", "order": "order"})}
        model["order"] = model.get("order") or None  # 0 is the model's own
    else:
        own = dict(pair.split("=", 1) for pair in str(state.get("own", "")).split(",") if "=" in pair)
        warmth = 2.0 ** float(state.get("temperature", 0))
        options = {option: _value(value) for option, value in own.items()}
        model = {"kind": "construction", "name": name, "temperature": warmth, **options, **picked(_MODEL)}
    text = {"kind": "text", "text": str(state.get("text", schema.EXAMPLE))}
    sequence = {"kind": "chain", **picked(_CHAIN)} if state.get("source") == "chain" else text
    body = {"model": model, "sequence": sequence, "position": _value(state.get("position", 0))}
    asked = schema.StoryRequest.model_validate(body)
    return asked, draw(asked.sequence)


def _value(written: str | int | float | bool) -> object:
    """A number or a boolean from its form in an address; other text is unchanged."""
    try:
        return json.loads(str(written).lower())
    except ValueError:
        return written
