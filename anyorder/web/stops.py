"""Checks of tours before a class sees them: every stop must name a model, an order, a length and a position that exist.

A stop is checked as the explorer would open it, without running the model; on an exported page also against what was
exported with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pydantic

from anyorder.errors import InputError, require
from anyorder.web import probe, schema
from anyorder.web.films import film
from anyorder.web.library import Library
from anyorder.web.traced import NamedTokens, draw
from anyorder.web.view import open_model

_CHAIN = {
    "order": "chainOrder", "alphabet_size": "chainAlphabet", "length": "chainLength", "seed": "chainSeed",
    "token_noise": "chainTokenNoise", "transition_noise": "chainTransitionNoise",
}  # fmt: skip
_MODEL = {name: name for name in ("order", "dtype", "beta", "gated", "dimension")} | {"alphabet_size": "alphabet"}
_SHOW = ("answer", "proof", "figures", "maps", "prediction", "price")
#: Fields of the state that need a server.
_SERVED = ("estimator", "own", "beta", "gated", "dimension", "chainTokenNoise", "chainTransitionNoise")

State = Mapping[str, str | int | float | bool]


def check_tour(tour: schema.Tour, library: Library) -> schema.Tour:
    """The tour, or an `InputError` that names the first stop which cannot be shown, and why.

    >>> bad = schema.Stop(sentence="Look.", state={"model": "diadic"})
    >>> check_tour(schema.Tour(name="a", title="A", stops=[bad]), Library())
    Traceback (most recent call last):
    ...
    anyorder.errors.InputError: a, stop 1: no construction 'diadic'; did you mean dyadic?
    """
    _check_stops(tour, lambda state: _check_stop(state, library))
    return tour


def check_exported(tour: schema.Tour, models: Mapping[str, Any], films: Mapping[str, Any]) -> None:
    """Reject a stop that a server can show but the exported page cannot."""
    _check_stops(tour, lambda state: _check_exported(state, models, films))


def _check_stops(tour: schema.Tour, check: Callable[[State], None]) -> None:
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
    ours = "an exported page has only what the package has; start the explorer with --models for {!r}"
    if page == "dynamics":
        require(state.get("run") in (None, *films), ours.format(state.get("run")))
    elif page == "heads":
        require(state.get("result") in (None, probe.SHIPPED_PROBE), ours.format(state.get("result")))
    elif name.startswith("stored:"):
        require(name.removeprefix("stored:") in models, ours.format(name))
    else:
        asked, drawn = _asked(state)
        for given in _SERVED:
            require(given not in state, f"{given} is given, which an exported page does not have; leave it out")
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
    """A number or a truth value from its form in an address; other words are unchanged."""
    try:
        return json.loads(str(written).lower())
    except ValueError:
        return written
