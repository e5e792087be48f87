"""Files that version 0.2.0 wrote still open: runs, models, sweeps and trajectories, under the same names."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import anyorder
from anyorder.papers.experiment import run_name
from anyorder.papers.two_can.dynamics.trajectory import read_trajectory
from anyorder.sweeps import builtin
from anyorder.sweeps.run import plan_sweep
from anyorder.sweeps.spec import sweep_digest
from anyorder.sweeps.table import read_sweep
from anyorder.training import evaluation_set, preset, read_config, read_metrics, read_models, summarised, train

WRITTEN = Path(__file__).with_name("fixtures") / "v0_2"
FINISHED = WRITTEN / "finished"
#: `run_name(preset(name, order=3, seeds=2))` and the digests of the sweeps, in version 0.2.0.
RUNS = {
    "paper": "4c0d3a0c25087218",
    "published": "2402f78952c48b9c",
    "gpt2": "f6d9dfe809cb68e5",
    "floor": "d7701377f626341f",
    "fast": "4a94d51494e61821",
}
SWEEPS = {"paper-grid": "85370eb551db187f", "phase": "2309bd8a73920431", "learning-rate": "cd4ef3cce4c4603f"}


def test_a_finished_run_opens_and_measures_the_same():
    config, (step, models) = read_config(FINISHED), read_models(FINISHED)
    assert (step, config.preset, config.optimisation.dropout) == (120, None, 0.1)
    for found in (models[0], anyorder.load(FINISHED / "model-0.safetensors")):
        summary = summarised(config, step, [found], evaluation_set(*config.evaluation))
        stored = json.loads((FINISHED / "summary.json").read_text())
        assert summary.mean_gap == pytest.approx(stored["mean_gap"], abs=1e-6)
        assert summary.reference.true_loss == pytest.approx(stored["reference"]["true_loss"], abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*was begun with")
@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_end(tmp_path):
    folder = shutil.copytree(WRITTEN / "stopped", tmp_path / "run")
    # The name of a preset is no part of the run: the folder has none.
    small = {"length": 8, "dimension": 4, "steps": 120, "batch": 4, "mlp": "gpt2", "qk_norm": True, "dropout": 0.1}
    often = {"evaluation_count": 16, "evaluate_every": 60, "checkpoint_every": 40}
    resumed = train(preset("paper", order=1, **small, **often), folder, resume=True, progress=False)
    assert resumed.finished
    wanted, stored = anyorder.load(FINISHED / "model-0.safetensors"), read_metrics(FINISHED)
    np.testing.assert_allclose(resumed.models[0].embedding, wanted.embedding, atol=1e-5)
    np.testing.assert_allclose(resumed.models[0].layers[1].heads[0].query, wanted.layers[1].heads[0].query, atol=1e-5)
    assert [(line["kind"], line["step"]) for line in resumed.metrics] == [
        (line["kind"], line["step"]) for line in stored
    ]
    assert resumed.metrics[-1]["loss"] == pytest.approx(stored[-1]["loss"], abs=1e-5)


def test_a_construction_opens_with_its_promise():
    model = anyorder.load(WRITTEN / "dyadic.safetensors")
    assert model.certificate.construction == "dyadic"
    assert anyorder.verify(model).passed


def test_a_sweep_opens_and_has_nothing_left_to_do(tmp_path):
    sweep, rows = read_sweep(WRITTEN / "sweep")
    assert [row.ended.outcome for row in rows] == ["done"] * 4
    assert not plan_sweep(sweep, shutil.copytree(WRITTEN / "sweep", tmp_path / "sweep")).missing


def test_a_trajectory_opens():
    found = read_trajectory(WRITTEN / "trajectory.npz")
    assert (found.algorithm, found.order, found.loss.shape) == ("two-stage", 1, (24,))


@pytest.mark.parametrize("name", RUNS)
def test_runs_keep_their_names(name):
    exact = {"targets": "exact"} if name == "fast" else {}  # from order 3 on `fast` has other targets now
    assert run_name(preset(name, order=3, seeds=2, **exact)) == RUNS[name]


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_keep_their_names(name):
    assert sweep_digest(builtin.find(name)) == SWEEPS[name]
