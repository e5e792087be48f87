"""The folders of the explorer: paths and links that lead out, pipes, names that are too long."""

from __future__ import annotations

import os
import time

import pytest

from anyorder.errors import InputError
from anyorder.training.folder import CHECKPOINT, CONFIG
from anyorder.web.models import Library, Refused
from anyorder.web.schema import Stored
from tests.web.exploring import refused


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


@pytest.mark.parametrize(
    "path",
    [
        "../secret.safetensors", "models/../secret.safetensors", "models/../../etc/passwd", "/etc/passwd",
        "models//etc/passwd", "models/link.safetensors", "models/%2e%2e/secret.safetensors", "models/\0", "",
        "models/../models/../secret.safetensors", "\u2025/secret.safetensors", "models/" + "a/" * 300,
    ],
)  # fmt: skip
def test_paths_outside_the_folders_are_refused(client, path):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": path}})
    assert response.status_code in (403, 422)
    refused(response)
    assert "secret" not in response.text or "not in a folder" in response.text or "no 'models" in response.text


def test_a_broken_file_is_one_line_without_our_paths(client, folder):
    response = client.post("/api/view", json={"model": {"kind": "stored", "path": "models/cut.safetensors"}})
    assert "not a whole safetensors file" in refused(response)
    assert str(folder) not in response.text
    assert "has 2 symbols" not in response.text
    short = client.post(
        "/api/view",
        json={"model": {"kind": "stored", "path": "models/run"}, "sequence": {"kind": "text", "text": "abcd"}},
    )
    assert "the sequence has 4 symbols, the model has 2" in refused(short)
