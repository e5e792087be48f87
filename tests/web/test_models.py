"""The folders of the explorer: links that lead out, pipes, names that are too long; and a server that ends at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

from anyorder.errors import InputError
from anyorder.training.folder import CHECKPOINT, CONFIG
from anyorder.web.models import Library, Refused
from anyorder.web.schema import Stored


@pytest.fixture
def library(tmp_path):
    (tmp_path / "models" / "run").mkdir(parents=True)
    return Library([tmp_path / "models"])


@pytest.mark.parametrize("name", [CONFIG, CHECKPOINT, "start.safetensors", "trajectory.npz"])
def test_a_link_inside_a_run_does_not_lead_out(library, tmp_path, name):
    secret = tmp_path / "secret"
    secret.write_text("not ours")
    (tmp_path / "models" / "run" / name).symlink_to(secret)
    with pytest.raises(Refused, match="is not in a folder of this explorer"):
        library.open(Stored(kind="stored", path="models/run"))


def test_a_link_that_stays_inside_is_followed(library, tmp_path):
    inside = tmp_path / "models" / "kept"
    inside.write_text("{}")
    (tmp_path / "models" / "run" / CONFIG).symlink_to(inside)
    with pytest.raises(InputError, match="has no config"):
        library.open(Stored(kind="stored", path="models/run"))


@pytest.mark.parametrize("path", ["models/" + "a" * 300, "models/" + "a/" * 3000, "models/run\0", "models/loop"])
def test_names_that_no_file_can_have_are_refused(library, tmp_path, path):
    (tmp_path / "models" / "loop").symlink_to(tmp_path / "models" / "loop")
    with pytest.raises(InputError):
        library.open(Stored.model_construct(path=path, index=0, order=None, beta=1.0))


@pytest.mark.parametrize("name", ["run/config.json", "run/checkpoint.safetensors", "pipe.safetensors"])
def test_a_pipe_is_never_waited_for(library, tmp_path, name):
    os.mkfifo(tmp_path / "models" / name)
    assert all(entry.path.startswith("package/") for entry in library.listed())  # what is shipped, nothing else
    begun = time.monotonic()
    with pytest.raises(InputError):
        library.open(Stored(kind="stored", path="models/run" if name.startswith("run") else f"models/{name}"))
    assert time.monotonic() - begun < 1


ENDED = "anyorder: told to end; nothing was written half-way\n"


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [([signal.SIGINT], 0, ""), ([signal.SIGINT] * 2, 0, ""), ([signal.SIGTERM], 143, ENDED)],
)
def test_a_signal_ends_a_busy_server_within_a_second(sent, code, said):
    """In the middle of a computation that cannot be interrupted: the first view is being compiled."""
    words = [sys.executable, "-m", "anyorder", "explore", "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = json.loads(process.stdout.readline())["url"]
        httpx.get(url, timeout=30).raise_for_status()
        begun = time.monotonic()
        for number in sent:
            process.send_signal(number)
        _, error = process.communicate(timeout=30)
    assert time.monotonic() - begun < 1.5  # a second, and what a busy machine adds
    assert (process.returncode, error) == (code, said)
