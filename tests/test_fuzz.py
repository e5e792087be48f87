"""Every reader on damaged files: a result or a one-line error; never a traceback, never a hang.

Files are cut short, bytes are flipped, replaced and added, values of JSON change their type or go missing.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyorder
from anyorder import models
from anyorder.chains import Floored
from anyorder.errors import InputError
from anyorder.io.trees import read_record, write_record
from anyorder.papers import runner
from anyorder.papers.experiment import Result, Table
from anyorder.papers.two_can import dynamics
from anyorder.sweeps import spec, table
from anyorder.sweeps.table import Ended
from anyorder.training import folder as folders
from anyorder.training.config_text import from_json
from tests.sequence_files import read_one
from tests.web import exploring

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["data", "seed", "order", "optimisation", ""]), inner)
    ),
    max_leaves=6,
)
LIGHT = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@st.composite
def damage(draw):
    """A function that damages bytes."""
    kind = draw(st.sampled_from(["cut", "flip", "replace", "add", "random"]))
    place, noise = draw(st.floats(0, 1, exclude_max=True)), draw(st.binary(min_size=1, max_size=40))

    def damaged(data):
        at = int(place * len(data))
        if kind == "cut":
            return data[:at]
        if kind == "flip":
            return data[:at] + bytes([data[at] ^ (1 << noise[0] % 8)]) + data[at + 1 :] if data else data
        if kind == "replace":
            return data[:at] + noise + data[at + len(noise) :]
        return data[:at] + noise + data[at:] if kind == "add" else noise

    return damaged


@st.composite
def changed(draw):
    """A function that changes or removes one value of a JSON file."""
    new = draw(
        st.sampled_from([None, True, -1, 10**30, 1e308, "", "x", [], {}, [[]], {"": 0}, ["a", None], "\ud800", 0.5])
    )
    choice, drop = draw(st.integers(0, 10**6)), draw(st.booleans())

    def altered(data):
        value = json.loads(data)
        places = list(_places(value))
        if not places:
            return data
        holder, key = places[choice % len(places)]
        if drop:
            del holder[key]
        else:
            holder[key] = new
        return json.dumps(value).encode()

    return altered


def _places(value):
    """Every place in a tree, as a container and a key."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


TOML = b"""name = "s"\nseeds = 2\nmetric = "gap"\n[set]\norder = 1\nlength = 6\n[axes]\nlearning_rate = [1e-3, 1e-2]
warmup = { from = 0, to = 20, step = 10 }\n[success]\ngap = 0.1\n"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """One complete file of every kind, with its reader."""
    folder = tmp_path_factory.mktemp("fuzz")
    anyorder.save(anyorder.construct("dyadic", order=1, alphabet_size=2, length=8), folder / "model.safetensors")
    exploring.begin_run(folder / "run")
    run = dynamics.two_stage(Floored(1, 2), dynamics.TwoStage(length=8, steps=2, steps_2=2, batch=2))
    dynamics.write_trajectory(run, folder / "trajectory.npz")
    grid = spec.sweep("s", anyorder.training.PRESETS["floor"], {"order": [1, 2]}, seeds=1)
    kept = table.SweepFolder(folder / "sweep", grid)
    kept.begin({})
    kept.add(spec.runs(grid)[0], Ended("done", gap=0.1, excess=0.2, attention=0.3))
    record = runner.Record(Result({"t": Table("A table.", [{"a": 1.0}])}), "tiny", 1, {})
    write_record(folder / "result.safetensors", record, "result 1")
    np.save(folder / "tokens.npy", np.array([0, 1, 1, 0]))
    (folder / "tokens.txt").write_bytes(b"0 1 1 0\n")
    (folder / "tokens.fasta").write_bytes(b">a\nACGT\n>b\nAAC\n")
    (folder / "sweep.toml").write_bytes(TOML)
    return folder


READERS = {
    "model.safetensors": models.load,
    "run/config.json": lambda path: folders.read_config(path.parent),
    "run/metrics.jsonl": lambda path: folders.read_metrics(path.parent),
    "run/checkpoint.safetensors": lambda path: folders.read_models(path.parent),
    "trajectory.npz": dynamics.read_trajectory,
    "sweep/sweep.json": lambda path: table.read_sweep(path.parent),
    "sweep/runs.jsonl": lambda path: table.read_sweep(path.parent),
    "sweep.toml": spec.read_toml,
    "result.safetensors": lambda path: read_record(path, "result 1", (runner.Record, Result, Table)),
    **dict.fromkeys(("tokens.npy", "tokens.txt", "tokens.fasta"), read_one),
}


def assert_read_or_refused(read, path, data):
    whole = path.read_bytes()
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert str(error)  # noqa: PT017
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", READERS)
@LIGHT
@given(damaged=damage())
def test_a_damaged_file_is_read_or_refused_in_one_line(samples, name, damaged):
    path = samples / name
    assert_read_or_refused(READERS[name], path, damaged(path.read_bytes()))


@pytest.mark.parametrize("name", ["run/config.json", "sweep/sweep.json"])
@LIGHT
@given(altered=changed())
def test_a_changed_value_is_read_or_refused_in_one_line(samples, name, altered):
    path = samples / name
    assert_read_or_refused(READERS[name], path, altered(path.read_bytes()))


@LIGHT
@given(altered=changed())
def test_a_changed_row_is_read_or_refused_in_one_line(samples, altered):
    path = samples / "sweep/runs.jsonl"
    assert_read_or_refused(READERS["sweep/runs.jsonl"], path, altered(path.read_bytes()) + b"\n")


@pytest.mark.slow
@LIGHT
@given(value=ANY_JSON)
def test_any_json_is_a_config_or_refused_in_one_line(value):
    try:
        from_json(value)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
