"""Whole runs, identical to the last bit however they are interrupted or grouped, and their files."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from anyorder import models
from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.io.trees import read_tensors, write_tensors
from anyorder.training.config import Architecture, Config, Data, Initial, Measurement, Optimisation, preset
from anyorder.training.folder import kept_models, read_config, read_metrics
from anyorder.training.mixers import MIXERS, Mixer
from anyorder.training.run import Diverged, train
from tests.training.small import PAIR as TINY
from tests.training.small import environment

FLAGS = """--preset floor --order 1 --length 6 --layers 1 --dimension 4 --mlp none --batch 4 --warmup 3
--learning-rate 0.01 --evaluation-count 16 --evaluate-every 500 --checkpoint-every 100"""
FLAGS = tuple(FLAGS.split())


def with_steps(config, steps, **changes):
    return dataclasses.replace(config, optimisation=dataclasses.replace(config.optimisation, steps=steps), **changes)


def assert_same_weights(models, others):
    for model, other in zip(models, others, strict=True):
        for one, two in zip(jax.tree.leaves(model), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_run_leaves_config_metrics_checkpoint_models_and_summary(finished):
    result, folder, reports = finished
    assert result.finished
    names = ["checkpoint.safetensors", "config.json", "metrics.jsonl", "model-0.safetensors", "model-1.safetensors"]
    assert sorted(entry.name for entry in folder.iterdir()) == [*names, "summary.json"]
    assert json.loads((folder / "summary.json").read_text()) == dataclasses.asdict(result.summary)
    assert set(json.loads((folder / "config.json").read_text())) == {"config", "versions"}
    for index, model in enumerate(result.models):
        assert_same_weights([model], [models.load(folder / f"model-{index}.safetensors")])
    lines = read_metrics(folder)
    assert result.metrics == lines
    kinds = [(line["kind"], line["step"]) for line in lines]
    assert kinds[0] == ("reference", 0)
    for model in (0, 1):
        of_model = [(line["kind"], line["step"]) for line in lines if line.get("model") == model]
        losses = [("loss", step) for step in (40, 60, 80, 100, 120)]
        assert [pair for pair in of_model if pair[0] == "loss"] == losses
        measured = [("evaluation", step) for step in (0, 60, 120)]
        assert [pair for pair in of_model if pair[0] == "evaluation"] == measured
    last = [line for line in lines if line["kind"] == "evaluation"][-1]
    model = dataclasses.asdict(result.summary.models[1])
    assert {key: last[key] for key in model} == model
    assert [report.step for report in reports] == [40, 60, 80, 100, 120]
    assert reports[-1].gap == result.summary.mean_gap


def test_a_run_is_a_function_of_its_config(finished):
    """Once more, without a folder, each seed alone: the same weights to the last bit."""
    result = finished[0]
    for member in TINY.members:
        alone = train(dataclasses.replace(TINY, seed=member.seed, seeds=1))
        assert_same_weights(alone.models, [result.models[member.model]])
    assert not np.array_equal(result.models[0].embedding, result.models[1].embedding)


def test_stopped_and_resumed_it_is_the_same_run(finished, tmp_path):
    rounds = iter([False, True])
    stopped = train(TINY, tmp_path / "run", stop=lambda: next(rounds))
    assert not stopped.finished
    assert stopped.step == 40
    assert not (tmp_path / "run" / "summary.json").exists()
    # A killed process leaves lines after its checkpoint and perhaps a truncated line.
    with (tmp_path / "run" / "metrics.jsonl").open("a") as stream:
        stream.write('{"kind": "loss", "step": 60, "model": 0, "loss": 1.0}\n{"kind": "lo')
    with pytest.warns(UserWarning, match="the last, was cut short"):
        resumed = train(TINY, tmp_path / "run", resume=True)
    assert_same_weights(resumed.models, finished[0].models)
    assert resumed.metrics == finished[0].metrics
    assert untouched(tmp_path / "run") == untouched(finished[1])  # every file, byte for byte
    train(TINY, tmp_path / "run", resume=True)
    assert untouched(tmp_path / "run") == untouched(finished[1])


def test_models_are_kept_on_the_way_and_change_nothing(finished, tmp_path):
    """Stopped after a round and resumed, the run has every set once; the last is the finished model."""
    often = dataclasses.replace(TINY, measurement=dataclasses.replace(TINY.measurement, keep_every=30))
    rounds = iter([False, True])
    train(often, tmp_path / "run", stop=lambda: next(rounds))
    assert list(kept_models(tmp_path / "run")) == [0, 30]
    result = train(often, tmp_path / "run", resume=True)
    kept = kept_models(tmp_path / "run")
    assert list(kept) == [0, 30, 60, 90, 120]
    assert_same_weights(result.models, finished[0].models)
    assert_same_weights(kept[120], result.models)
    assert not np.array_equal(kept[30][0].embedding, kept[60][0].embedding)
    assert kept_models(finished[1]) == {}


def command(tmp_path, *words, **options):
    words = [sys.executable, "-m", "anyorder", "train", *map(str, words)]
    return subprocess.Popen(words, env=environment(tmp_path), stderr=subprocess.PIPE, text=True, **options)


def weights(folder):
    tensors, header = read_tensors(folder / "checkpoint.safetensors")
    return header["step"], tensors


def wait_for_step(process, folder, step, limit=240):
    """Wait until the metrics of a running process reach a step."""
    begun = time.monotonic()
    while not any(line["step"] >= step for line in read_metrics(folder)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() - begun < limit
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_and_interrupted_it_ends_with_the_same_bits(tmp_path):
    """Three models on two devices: never interrupted; and SIGKILLed, resumed, Ctrl-C, resumed, finished."""
    steps = ["--seeds", 3, "--steps", 4000]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with command(tmp_path, "--out", whole, *FLAGS, *steps) as process:
        assert process.wait(300) == 0, process.stderr.read()

    with command(tmp_path, "--out", broken, *FLAGS, *steps) as process:
        wait_for_step(process, broken, 300)
        process.kill()
    assert weights(broken)[0] < 4000
    with command(tmp_path, "--resume", broken) as process:
        wait_for_step(process, broken, weights(broken)[0] + 300)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        assert process.returncode == 130
    step = weights(broken)[0]
    assert step < 4000
    assert said.splitlines()[-1] == (
        f"anyorder: interrupted at step {step}; resume with: anyorder train --resume {broken}"
    )
    with command(tmp_path, "--resume", broken) as process:
        assert process.wait(300) == 0, process.stderr.read()
    expected, found = weights(whole), weights(broken)
    assert expected[0] == found[0] == 4000
    assert expected[1].keys() == found[1].keys()
    for name, values in expected[1].items():
        np.testing.assert_array_equal(values, found[1][name], err_msg=name)
    assert read_metrics(whole) == read_metrics(broken)

    assert any((tmp_path / "cache" / "xla").iterdir())  # compiled programs are kept

    # One seed by itself, on one device, in this process: the last of the three.
    alone = tmp_path / "alone"
    train(dataclasses.replace(read_config(whole), seed=2, seeds=1), alone)
    for name, values in weights(alone)[1].items():
        np.testing.assert_array_equal(values, expected[1][name.replace("0", "2", 1)], err_msg=name)


def test_a_diverging_run_stops_and_keeps_its_last_good_checkpoint(tmp_path):
    wild = with_steps(TINY, 120, seeds=1)
    wild = dataclasses.replace(
        wild, optimisation=dataclasses.replace(wild.optimisation, learning_rate=(1e38,), warmup=60)
    )
    with pytest.raises(Diverged, match=r"the model of seed 0 diverged at step \d+ with learning rate 1e\+38") as error:
        train(wild, tmp_path / "run")
    assert error.value.step < 40
    step, tensors = weights(tmp_path / "run")
    assert step == 0
    assert all(np.isfinite(values).all() for values in tensors.values())


def test_sampled_targets_give_another_run(finished):
    sampled = dataclasses.replace(TINY, optimisation=dataclasses.replace(TINY.optimisation, targets="sampled"))
    result = train(sampled)
    assert not np.array_equal(result.models[0].embedding, finished[0].models[0].embedding)
    assert result.summary.mean_excess > 0
    for shown in (repr(result), repr(result.summary)):
        assert "finished at step" in shown
        assert len(shown) < 120


@pytest.fixture
def copied(finished, tmp_path):
    return pathlib.Path(shutil.copytree(finished[1], tmp_path / "copy"))


def untouched(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def test_folders_of_other_runs_are_refused_and_not_touched(copied, tmp_path):
    before = untouched(copied)
    with pytest.raises(InputError, match="already contains a run; choose another `out=`, or resume with `resume=True`"):
        train(TINY, copied)
    with pytest.raises(InputError, match=r"contains a run with batch 4, not 5; keep its config"):
        train(
            dataclasses.replace(TINY, optimisation=dataclasses.replace(TINY.optimisation, batch=5)),
            copied,
            resume=True,
        )
    assert untouched(copied) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="already contains other files"):
        train(TINY, other)
    with pytest.raises(InputError, match=r"contains no config.json; give the folder of a training run"):
        train(TINY, other, resume=True)
    with pytest.raises(InputError, match="is a file where a folder is needed"):
        train(TINY, other / "thesis.txt")
    assert list(other.iterdir()) == [other / "thesis.txt"]


def test_truncated_and_foreign_checkpoints_are_refused_and_not_touched(copied):
    path = copied / "checkpoint.safetensors"
    whole = path.read_bytes()
    for cut in (0, 7, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        before = untouched(copied)
        with pytest.raises(InputError, match="is not a complete safetensors file"):
            train(TINY, copied, resume=True)
        assert untouched(copied) == before
    tensors, header = _read(whole, copied)
    other = {**header, "config": {**header["config"], "seed": 9}}
    write_tensors(path, tensors, other)
    with pytest.raises(InputError, match="is of a run with seed 9, not 0"):
        train(TINY, copied, resume=True)
    write_tensors(path, {**tensors, "0.weights.embedding": np.zeros(3, np.float32)}, header)
    with pytest.raises(InputError, match=r"has no array 0.weights.embedding of shape \(2, 4\) and type float32"):
        train(TINY, copied, resume=True)
    write_tensors(path, tensors, {"format": "anyorder model 1"})
    with pytest.raises(InputError, match="is not a training checkpoint"):
        train(TINY, copied, resume=True)


def _read(data, folder):
    path = folder / "again.safetensors"
    path.write_bytes(data)
    contents = read_tensors(path)
    path.unlink()
    return contents


@pytest.mark.slow
def test_training_can_start_from_a_construction(tmp_path):
    """A Bayes construction is at the floor and small steps leave it there; the run survives the loss of its file."""
    source = tmp_path / "bayes.safetensors"
    models.save(construct("k-head-bayes", order=1, alphabet_size=2, length=8), source)
    config = Config(
        seeds=1,
        data=Data(order=1, length=6),
        initial=Initial(from_model=str(source)),
        optimisation=Optimisation(
            optimiser="adamw", steps=4, batch=4, warmup=0, learning_rate=(1e-6,), dtype="float64"
        ),
        measurement=Measurement(evaluation_count=32, checkpoint_every=2),
    )
    result = train(config, tmp_path / "run")
    first = next(line for line in read_metrics(tmp_path / "run") if line["kind"] == "evaluation")
    assert abs(first["gap"]) < 1e-4
    assert abs(result.summary.mean_gap) < 1e-3  # of either sign: its standard error is larger
    assert result.models[0].blocks is not None
    source.unlink()
    assert_same_weights(train(config, tmp_path / "run", resume=True).models, result.models)
    with pytest.raises(InputError, match="cannot read"):
        train(config, tmp_path / "second")
    with pytest.raises(InputError, match=r"a weight of 6.8e\+15, at most 1e\+06 can be trained"):
        train(config, tmp_path / "second", from_model=construct("bayes", order=1, alphabet_size=2, length=8))
    assert not (tmp_path / "second").exists()


@pytest.mark.slow
def test_two_layers_learn_in_context_what_one_layer_cannot():
    """Order 1, 300 steps: two layers come within 0.01 nats of the Bayes floor, one layer stays above 0.02."""

    def gap(layers):
        config = Config(
            data=Data(order=1, length=24),
            seeds=1,
            architecture=Architecture(layers=layers, dimension=16, last_mlp=False),
            optimisation=Optimisation(
                optimiser="adamw", targets="sampled", steps=300, batch=32, warmup=20, learning_rate=(1e-2,)
            ),
            measurement=Measurement(evaluation_count=1024),
        )
        measured = train(config).summary.models[0]
        assert measured.gap_error < 0.002
        return measured.gap

    assert gap(2) < 0.01
    assert gap(1) > 0.02


def test_a_mixer_itself_is_trained_like_its_name():
    mine = Mixer(MIXERS["attention"].parts, name="mine")
    named, given = (train(TINY, mixer=mixer, steps=2, progress=False) for mixer in ("attention", (mine,)))
    assert_same_weights(named.models, given.models)
    assert preset(mixer=mine).architecture.mixer == ("mine",)
    assert preset(mixer=MIXERS["mamba"], layers=1) == preset(mixer="mamba", layers=1)
    with pytest.raises(InputError, match="the mixer is a Mixer, must be a name"):
        train(TINY, mixer=Mixer(mine.parts), progress=False)
