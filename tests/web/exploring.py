"""A real explorer in a thread, on a free port, over a folder with a model file, a run, and a forbidden file."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import threading
import time

import numpy as np
import uvicorn

import anyorder
from anyorder.papers.two_can import dynamics
from anyorder.training.config import PRESETS, Config, Data
from anyorder.training.folder import Folder
from anyorder.training.initial import initial_model
from anyorder.training.step import keys, start
from anyorder.web import schema
from anyorder.web.app import create_app
from anyorder.web.server import listen

TEXT = "abracadabra abracabadabra"
SYMBOLS = list(dict.fromkeys(TEXT))
TOKENS = [SYMBOLS.index(character) for character in TEXT]
CONFIG = Config(
    seeds=2,
    data=Data(order=1, length=6),
    architecture=dataclasses.replace(PRESETS["paper"].architecture, dimension=4, mlp="none", beginning=True),
    initial=PRESETS["paper"].initial,
    preset="paper",
)


def begin_run(path):
    """The folder of a run with two models before the first step, with all files that the explorer reads."""
    path.mkdir(parents=True, exist_ok=True)
    folder = Folder(path, CONFIG)
    models = [initial_model(CONFIG, keys(member.seed).weights) for member in CONFIG.members]
    states = [start(CONFIG, model) for model in models]
    folder.begin(None)
    folder.append([{"kind": "reference", "step": 0}])
    folder.save(0, states)
    folder.finish({"mean_gap": 0.25}, models)


def trajectory(steps):
    """A run of Algorithm 2 at order 2 without its preconditioner: p_1 rises to 5 and p_2 to 4."""
    p = np.zeros((steps + 1, 9))
    p[:, 1:3] = np.linspace(0, 1, steps + 1)[:, None] * [5, 4]
    return dynamics.Trajectory(
        settings=dynamics.Preconditioned(length=8, steps=steps), order=2, alphabet_size=2, p=p,
        a_2=np.full(steps + 1, 0.01), excess=np.linspace(1, 0.1, steps), gradient=np.zeros((steps, 9)), normalise=False,
        evaluation=dynamics.Standings(0.5, {"learned": dynamics.Standing(0.1, 0.01, 0.2, 0.01)}),
    )  # fmt: skip


def write_trajectory(path, steps, **changes):
    """The file of that run, with some of its entries changed."""
    dynamics.write_trajectory(trajectory(steps), path)
    if changes:
        with np.load(path) as stored:
            entries = dict(stored)
        np.savez_compressed(path, **entries | changes)


def fill(folder):
    """A model file, a run of two models, a link that leads out, and a secret beside the folder."""
    models = folder / "models"
    models.mkdir()
    model = anyorder.construct("dyadic", order=2, alphabet_size=3, length=64)
    anyorder.save(model, models / "dyadic.safetensors")
    anyorder.save(model, folder / "secret.safetensors")
    (models / "link.safetensors").symlink_to(folder / "secret.safetensors")
    (models / "cut.safetensors").write_bytes((models / "dyadic.safetensors").read_bytes()[:500])
    begin_run(models / "run")
    write_trajectory(models / "trajectory.npz", steps=40)
    return models


@contextlib.contextmanager
def explorer(folders=(), **options):
    """The address and the application of a running explorer."""
    app = create_app([str(folder) for folder in folders], **options)
    socket = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}", app
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def matrix(packed):
    """A matrix of the API, unpacked without the code that packed it."""
    values = np.frombuffer(base64.b64decode(packed["values"]), "<f4").astype(np.float64)
    return values.reshape(packed["rows"], packed["columns"])


def body(text=TEXT, **model):
    return {"model": {"kind": "construction", **model}, "sequence": {"kind": "text", "text": text}}


def refused(response):
    """The one-line message of a refused request."""
    assert 400 <= response.status_code < 500, response.text
    problem = schema.Problem.model_validate_json(response.content)
    assert problem.error
    assert "\n" not in problem.error
    assert "Traceback" not in response.text
    return problem.error
