"""What is in a folder, in words: runs by order, preset, gap and date, files and trajectories by what they hold.

A folder may name its files in `about.json`, as the folder of the package does: `{file: {"title": …, "order": …}}`.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import re
import zipfile
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from anyorder.errors import InputError
from anyorder.files import Row, read_json
from anyorder.training import forms
from anyorder.training.folder import read_config
from anyorder.web.schema import StoredInfo

#: The model and the trajectories that come with the package, and what their folder is called in paths.
SHIPPED, SHIPPED_NAME = Path(__file__).with_name("shipped"), "package"


def run_info(folder: Path, path: str) -> StoredInfo:
    """A training run: what was trained, how near it came to Bayes, and when."""
    config = read_config(folder)
    preset = re.search(r"--preset (\S+)", forms.command(config))
    words = [f"order {config.data.order}", preset[1] if preset else "own settings"]
    gap = math.inf
    with contextlib.suppress(InputError, KeyError, TypeError, ValueError):
        gap = float(read_json(folder / "summary.json", "a finished run")["mean_gap"])
        words.append(f"gap {gap:+.4f}")
    date = datetime.date.fromtimestamp((folder / "checkpoint.safetensors").stat().st_mtime)
    size = config.data.alphabet_size
    return StoredInfo(
        path=path,
        kind="run",
        models=len(config.members),
        title=f"{', '.join(words)}, {date} ({path})",
        about=f"Trained: S = {size}, T = {config.data.length}, d = {config.architecture.dimension}. "
        "The gap is that of its loss to Bayes, in nats.",
        order=config.data.order,
        alphabet_size=size,
        length=config.data.length if config.architecture.absolute_positions else None,
    )


def file_info(file: Path, path: str) -> StoredInfo:
    """A model file, by its certificate or by what its folder says of it."""
    named = _named(file)
    unreadable = (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError)
    with contextlib.suppress(*unreadable), safe_open(file, framework="numpy") as stored:
        model = json.loads(stored.metadata()["anyorder"])["value"]["fields"]
        named = _certified(model["certificate"], path) | named
        named["alphabet_size"] = stored.get_slice(model["embedding"]["array"]).get_shape()[0]
        if model["positions"] is not None:
            named["length"] = stored.get_slice(model["positions"]["array"]).get_shape()[0]
    return StoredInfo.model_validate({"path": path, "kind": "file", "models": 1, "title": path, **named})


def trajectory_info(file: Path, path: str) -> StoredInfo:
    """A trajectory of gradient descent, by its algorithm and order."""
    named = _named(file)
    with contextlib.suppress(OSError, ValueError, KeyError, zipfile.BadZipFile), np.load(file) as stored:
        number = 1 if stored["algorithm"] == "two-stage" else 2
        title = f"Algorithm {number}, order {int(stored['order'])} ({path})"
        named = {"title": title, "order": int(stored["order"])} | named
    return StoredInfo.model_validate({"path": path, "kind": "trajectory", "models": 0, "title": path, **named})


def _named(file: Path) -> dict[str, object]:
    with contextlib.suppress(InputError):
        said = read_json(file.with_name("about.json"), "names of files").get(file.name)
        return dict(said) if isinstance(said, dict) else {}
    return {}


def _certified(certificate: Row | None, path: str) -> dict[str, object]:
    if certificate is None:
        return {}
    promise = certificate["fields"]
    name, order, dtype = promise["construction"], int(promise["order"]), promise["dtype"]
    return {"title": f"{name}, order {order}, {dtype} ({path})", "order": order}
