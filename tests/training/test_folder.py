"""The folder of a damaged or interrupted run: no lost data, no silent change, every line once, the same final bytes."""

from __future__ import annotations

import dataclasses
import errno
import json
import pathlib
import shutil

import jax
import numpy as np
import pytest

from anyorder import models
from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.io import atomic
from anyorder.io.trees import read_tensors, write_tensors
from anyorder.training import folder as folders
from anyorder.training.config import Initial, Optimisation
from anyorder.training.initial import initial_model
from anyorder.training.run import train
from anyorder.training.step import keys, start
from tests.training.small import PAIR, TINY


def contents(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(TINY, folder)
    return folder


@pytest.fixture
def copied(whole, tmp_path):
    return pathlib.Path(shutil.copytree(whole, tmp_path / "copy"))


def refused(folder, words):
    """Assert that resuming is refused and changes nothing."""
    before = contents(folder)
    with pytest.raises(InputError, match=words):
        train(TINY, folder, resume=True)
    assert contents(folder) == before


def test_a_checkpoint_is_what_was_saved(tmp_path):
    """Every array of the state, optimiser included, comes back with its bits and its type."""
    states = [start(PAIR, initial_model(PAIR, keys(member.seed).weights)) for member in PAIR.members]
    folder = folders.Folder(tmp_path, PAIR)
    folder.append([{"kind": "loss", "step": 7}])
    folder.save(7, states)
    back = folders.read_checkpoint(tmp_path, PAIR)
    assert (back.step, back.metrics.size) == (7, len((tmp_path / "metrics.jsonl").read_bytes()))
    for one, other in zip(jax.tree.leaves(back.states), jax.tree.leaves(states), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_equal_runs_are_equal_files(whole, tmp_path):
    train(TINY, tmp_path / "run")
    assert contents(tmp_path / "run") == contents(whole)


def test_metrics_that_vanish_during_a_run_are_written_again(tmp_path):
    folder = folders.Folder(tmp_path, PAIR)
    rows = [{"kind": "loss", "step": step} for step in (1, 2, 3)]
    folder.append(rows[:1])
    (tmp_path / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"metrics.jsonl was removed or changed during the run"):
        folder.append(rows[1:2])
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.warns(UserWarning, match="it is written again"):
        folder.save(3, [])
    assert folders.read_metrics(tmp_path) == rows[:2]


@pytest.mark.parametrize("away", [shutil.rmtree, lambda run: run.rename(run.with_name("elsewhere"))])
def test_a_folder_that_vanishes_during_a_run_is_one_line(tmp_path, away):
    run = tmp_path / "run"
    gone = []

    def watch(progress):
        if not gone:
            gone.append(away(run))

    with pytest.raises(InputError, match=r"run was removed or renamed during the run; look for it under another"):
        train(TINY, run, watch=watch)
    assert not run.exists()
    if (tmp_path / "elsewhere").exists():
        assert folders.read_models(tmp_path / "elsewhere")[1]


def test_what_was_left_before_the_first_whole_file_is_not_in_the_way(whole, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / f"{atomic.UNFINISHED}x1y2.json").write_text('{"conf')
    with pytest.raises(InputError, match=r"contains no config\.json; give the folder of a training run, or begin one"):
        train(TINY, run, resume=True)
    train(TINY, run)
    assert contents(run) == contents(whole)


@pytest.mark.slow
def test_a_model_to_start_from_without_a_config_is_not_in_the_way(tmp_path):
    source, run = tmp_path / "model.safetensors", tmp_path / "run"
    models.save(construct("k-head-bayes", order=1, alphabet_size=2, length=8), source)
    run.mkdir()
    shutil.copy(source, run / folders.START)  # killed between the two first files
    config = dataclasses.replace(
        TINY,
        initial=Initial(from_model=str(source), zero_output=False),
        optimisation=Optimisation(steps=2, batch=2, warmup=0, dtype="float64"),
    )
    assert train(config, run).finished
    (run / folders.START).unlink()
    with pytest.raises(InputError, match=r"has lost start\.safetensors"):
        train(config, run, resume=True)


@pytest.mark.parametrize("step", [0, 40, 60])
def test_every_line_once_wherever_it_was_stopped(whole, tmp_path, step):
    asked = []

    def stop():
        asked.append(None)
        return len(asked) > {0: 0, 40: 1, 60: 2}[step]

    stopped = train(TINY, tmp_path / "run", stop=stop)
    assert stopped.step == step
    train(TINY, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_a_damaged_line_is_refused_even_of_a_finished_run(copied):
    path = copied / folders.METRICS
    good = path.read_bytes()
    lines = good.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], lines[2][:9] + b"\xff" + lines[2][10:], *lines[3:]]))
    refused(copied, r"line 3 of .*metrics\.jsonl is not valid JSON")
    path.write_bytes(good.replace(b'"loss": 0.', b'"loss": 1.', 1))  # still JSON, but not what was written
    refused(copied, r"metrics\.jsonl was changed since the checkpoint at step 120")
    path.write_bytes(b"\n".join(lines[:4]) + b"\n")
    refused(copied, "was changed since the checkpoint")
    path.unlink()
    refused(copied, "was changed since the checkpoint")


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(whole, tmp_path, monkeypatch):
    written = []

    def full(path, rows):
        written.append(rows)
        if len(written) == 4:
            raise InputError(f"cannot write {path}: No space left on device; make room, then resume")
        return atomic.append_lines(path, rows)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "append_lines", full)
        with pytest.raises(InputError, match="No space left on device; make room"):
            train(TINY, tmp_path / "run")
    assert read_tensors(tmp_path / "run" / folders.CHECKPOINT)[1]["step"] == 40
    train(TINY, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_no_room_for_a_checkpoint_keeps_the_last(whole, tmp_path, monkeypatch):
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 6:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", full)
        with pytest.raises(InputError, match="No space left on device"):
            train(TINY, tmp_path / "run")
    train(TINY, tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == contents(whole)


def test_a_run_that_lives_is_not_touched_by_a_second_one(copied, tmp_path):
    with atomic.locked(copied):
        before = contents(copied)
        with pytest.raises(InputError, match=r"is in use by process \d+ on .*; wait for it"):
            train(TINY, copied, resume=True)
        assert contents(copied) == before
    with atomic.locked(tmp_path / "new"), pytest.raises(InputError, match="is in use by"):
        train(TINY, tmp_path / "new")


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(copied, wrong):
    tensors, header = read_tensors(copied / folders.CHECKPOINT)
    changed = np.array(tensors["0.weights.embedding"])
    changed[0, 0] = wrong
    write_tensors(copied / folders.CHECKPOINT, {**tensors, "0.weights.embedding": changed}, header)
    refused(copied, rf"has {wrong} in the array 0\.weights\.embedding, weights are finite")


def test_the_checkpoint_of_another_run_is_refused(copied, tmp_path):
    """Even of the same config: a checkpoint contains the digest of its run's metrics."""
    other = dataclasses.replace(TINY, seed=1)
    train(other, tmp_path / "other")
    tensors, _ = read_tensors(tmp_path / "other" / folders.CHECKPOINT)
    shutil.copy(tmp_path / "other" / folders.CHECKPOINT, copied / folders.CHECKPOINT)
    refused(copied, "is of a run with seed 1, not 0")
    _, header = read_tensors(tmp_path / "other" / folders.CHECKPOINT)
    write_tensors(copied / folders.CHECKPOINT, tensors, {**header, "config": {**header["config"], "seed": 0}})
    refused(copied, "was changed since the checkpoint")


def test_another_version_is_said(copied):
    stored = json.loads((copied / folders.CONFIG).read_text())
    stored["versions"]["jax"] = "0.0.1"
    (copied / folders.CONFIG).write_text(json.dumps(stored))
    with pytest.warns(UserWarning, match=r"was begun with jax 0\.0\.1, not .*; the rest may differ in the last bits"):
        train(TINY, copied, resume=True)
