"""The explorer as a folder of plain files that needs no server: the same page, computing with exported weights.

It contains the constructions at small orders and alphabets, in float32 and float64, if their weights are small enough,
and the model, the trajectories and the tours of the package. Weights are scripts with data, loaded when the model is
first chosen.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from anyorder.constructions import CONSTRUCTIONS, Plan, plan
from anyorder.constructions.construction import Construction
from anyorder.constructions.steps import Show, Step
from anyorder.errors import InputError
from anyorder.io.atomic import holds, write_text
from anyorder.io.trees import as_json
from anyorder.models import Head, Transformer
from anyorder.models.mamba import Mamba
from anyorder.web import api, probe
from anyorder.web.app import STATIC
from anyorder.web.bundle import bundle
from anyorder.web.films import film
from anyorder.web.library import Library, Opened
from anyorder.web.packing import pack, pack_plan
from anyorder.web.proof import symbol_coordinates
from anyorder.web.schema import DynamicsRequest, Stored, StoredRun, Tour
from anyorder.web.tours import check_exported, check_tour, offered
from anyorder.web.view import Explorer, model_info

#: Limits of the page without a server: every order and alphabet size up to these, sequences up to this length.
ORDERS, SIZES, LENGTH = range(1, 6), range(2, 9), 128
DTYPES = ("float32", "float64")
#: Steps of the page's slider of temperatures, as powers of two.
TEMPERATURES = [step / 2 for step in range(-8, 25)]
#: Longest sequence of constructions whose heads grow with the length.
SHORT = 32
#: Most bytes of one construction, and of one order and size; dense weights exceed it and are left out.
MOST_BYTES, MOST_MODEL = 600_000, 60_000


@runtime_checkable
class ExportWatcher(Protocol):
    """Progress callback of an export: constructions written, and their total."""

    def __call__(self, done: int, total: int, /) -> None:
        """Called before each of them, and at the end."""


@dataclasses.dataclass(frozen=True)
class Exported:
    """The files of an export."""

    index: Path
    constructions: list[str]
    files: int
    bytes: int


def export(
    folder: str | Path,
    tour: Tour | None = None,
    *,
    names: Sequence[str] | None = None,
    orders: Sequence[int] = ORDERS,
    sizes: Sequence[int] = SIZES,
    watch: ExportWatcher = lambda done, total: None,
) -> Exported:
    """Write the given constructions, orders and sizes to a folder, replacing an earlier export.

    Open `index.html` to see it; no server is needed.
    """
    target = Path(folder)
    holds(target, "explorer.js")
    library = Library()
    if tour is not None:
        check_tour(tour, library)
    models: dict[str, object] = {}
    wanted = list(names or CONSTRUCTIONS)
    for number, name in enumerate(wanted):
        watch(number, len(wanted))
        found = construction_data(CONSTRUCTIONS[name], orders, sizes)
        if found is not None:
            models[name] = found
    constructions, films = list(models), {}
    for entry in library.listed()[0]:
        if entry.kind == "file":
            opened = library.open(Stored(kind="stored", path=entry.path))
            if any(isinstance(head, Mamba) for layer in opened.model.layers for head in layer.heads):
                continue  # the page cannot compute it
            info, steps = model_info(opened).model_dump(), steps_data(opened.steps)
            models[entry.path] = {"packed": pack(plain_positions(opened.model)), "info": info, "steps": steps}
        elif entry.kind == "trajectory":
            asked = DynamicsRequest(run=StoredRun(kind="stored", path=entry.path))
            films[entry.path] = as_json(film(asked, library, lambda: None).model_dump())
    files = {name: f"models/{name.removesuffix('.safetensors').replace('/', '-')}.js" for name in models}
    explorer = Explorer(library, tour)
    for each in offered(tour) if names is None else offered(tour)[:1]:
        check_exported(each, models, films)
    options = _options(explorer, constructions, {*models, *films})
    probes = {one.path: as_json(probe.opened(library, one.path).model_dump()) for one in probe.listed(library)}
    data = {"options": options, "files": files, "films": films, "probes": probes, "models": {}}
    scripts = {name: f"anyorderData.models[{json.dumps(name)}] = {_json(held)};\n" for name, held in models.items()}
    content = {
        "index.html": _page(),
        "explorer.js": bundle(STATIC.parent, "static/main.js", {"static/backend.js": "local/backend.js"}),
        "data.js": f"globalThis.anyorderData = {_json(data)};\n",
        **{files[name]: text for name, text in scripts.items()},
        **{name: (STATIC / name).read_text(encoding="utf-8") for name in ("style.css", "icon.svg")},
    }
    for name, text in content.items():
        write_text(target / name, text)
    watch(len(wanted), len(wanted))
    size = sum((target / name).stat().st_size for name in content)
    return Exported(target / "index.html", constructions, len(content), size)


def plain_positions(model: Transformer) -> Transformer:
    """The model with its key positions multiplied by W_K, as the page expects them."""

    def plain(head: Head) -> Head:
        if head.key_positions is None or not head.positions_through_key:
            return head
        table = head.key_positions @ head.key.T
        return dataclasses.replace(head, key_positions=table, positions_through_key=False)

    layers = (dataclasses.replace(one, heads=tuple(map(plain, one.heads))) for one in model.layers)
    return dataclasses.replace(model, layers=tuple(layers))


def construction_data(entry: Construction, orders: Sequence[int], sizes: Sequence[int]) -> dict[str, object] | None:
    """Steps, weights and certificates of a construction at every order and size; None if they are too large."""
    found: dict[int, object] = {}
    size = 0
    for order in orders:
        if entry.largest_order is not None and order > entry.largest_order:
            break
        models: dict[int, object] = {}
        for symbols in sizes:
            with contextlib.suppress(InputError):  # a combination that is rejected in every dtype
                made = _model_data(entry, order, symbols)
                length = len(_json(made))
                if length <= MOST_MODEL:
                    models[symbols] = made
                    size += length
            if size > MOST_BYTES:
                return None
        if models:
            proof = steps_data(_plan(entry, order, sizes[0], "float64").steps)
            found[order] = {"steps": proof, "opening": entry.opening, "sizes": models}
    return {"orders": found} if found else None


def _plan(entry: Construction, order: int, symbols: int, dtype: str) -> Plan:
    length = SHORT if "T" in entry.heads else LENGTH
    return plan(entry.name, order=order, alphabet_size=symbols, length=length, dtype=dtype)


def _model_data(entry: Construction, order: int, symbols: int) -> dict[str, object]:
    packed: dict[str, object] = {}
    certificates = {}
    for dtype in reversed(DTYPES):
        made = _plan(entry, order, symbols, dtype)
        weights, model = pack_plan(made)
        if weights != packed.get("float64"):  # shared if the dtype makes no difference
            packed[dtype] = weights
        certificates[dtype] = _certificate(made)
    info = model_info(Opened.of(made, model)).model_dump()
    coordinates = [symbol_coordinates(model, layer.heads[0]) for layer in model.layers]
    return {"packed": packed, "certificates": certificates, "info": info, "coordinates": coordinates}


def _certificate(made: Plan) -> dict[str, object] | None:
    """The certificate at every temperature of the slider: only kappa and the bound change."""
    if made.certificate is None:
        return None
    bounds = [certificate.bound for step in TEMPERATURES if (certificate := made.at(made.kappa / 2**step).certificate)]
    shown = [float(f"{bound:.4g}") for bound in bounds]
    tempered = made.analysis is not None and made.analysis.tempered
    return {**vars(made.certificate), "bounds": shown, "tempered": tempered, "refusal": made.refusal}


def steps_data(steps: Sequence[Step]) -> list[dict[str, object]]:
    """The steps of a proof as JSON; every displayed value states its kind."""
    return [{**vars(step), "shows": [_show(show) for show in step.shows]} for step in steps]


def _show(show: Show) -> dict[str, object]:
    inner = {name: _show(part) if isinstance(part, Show) else part for name, part in vars(show).items()}
    return {"kind": type(show).__name__, **inner}


def _options(explorer: Explorer, constructions: Sequence[str], stored: Collection[str]) -> dict[str, object]:
    """The options of the server, restricted to the exported models."""
    options = api.choices(explorer)
    there = [entry.model_copy(update={"options": []}) for entry in options.constructions if entry.name in constructions]
    cut = {
        "constructions": there,
        "stored": [entry for entry in options.stored if entry.path in stored],
        "dtypes": list(DTYPES),
        "estimators": {},
        "features": [],
        "limits": options.limits
        | {"tokens": LENGTH, "symbols": SIZES[-1], "order": ORDERS[-1], "coldest_step": TEMPERATURES[0]},
    }
    return options.model_copy(update=cut).model_dump()


def _page() -> str:
    """The page with its data, without texts about the server."""
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    script = '<script src="data.js" defer></script>'
    policy = "<meta http-equiv=\"content-security-policy\" content=\"connect-src 'none'; form-action 'none'\">"
    assert text.count(script) == 1, "the page has another script"
    text = text.replace(script, f"{policy}\n{script}")
    start = text.index('<span id="api">')
    end = text.index("</span>", start)
    said = f"Computed in this page: orders to {ORDERS[-1]}, {SIZES[-1]} symbols, {LENGTH} tokens."
    return f'{text[:start]}<span id="api">{said}{text[end:]}'


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
