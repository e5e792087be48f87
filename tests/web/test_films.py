"""Runs of the algorithms, fresh and stored, as films."""

import numpy as np
import pytest

from anyorder import chains
from anyorder.papers.two_can import dynamics
from anyorder.web import films, limits
from tests.web import exploring
from tests.web.exploring import matrix, refused


@pytest.mark.parametrize(("algorithm", "order"), [(1, 1), (2, 2)])
@pytest.mark.slow
def test_a_fresh_run_is_that_of_the_package(client, monkeypatch, algorithm, order):
    # Short sequences and few steps: compiling them takes most of the time.
    monkeypatch.setattr(films, "BATCH", 16)
    asked = {"algorithm": algorithm, "order": order, "alphabet_size": 2, "length": 8, "steps": 12, "seed": 3}
    film = client.post("/api/dynamics", json={"run": {"kind": "fresh", **asked}}).raise_for_status().json()
    shared = {"length": 8, "steps": 12, "batch": 16, "seed": 3}
    if algorithm == 1:
        run = dynamics.two_stage(chains.Floored(1, 2), dynamics.TwoStage(**shared, rate=5000.0, steps_2=12))
        assert film["floor_excess"] == pytest.approx(run.evaluation.standings["Bayes"].excess)
    else:
        run = dynamics.preconditioned(chains.Reversible(2, 2), dynamics.Preconditioned(**shared, rate=20000.0))
    assert film["steps"] == list(range(len(run.p)))
    scores = np.exp(run.p)
    np.testing.assert_allclose(matrix(film["attention"]), scores / scores.sum(axis=1, keepdims=True), atol=1e-6)
    assert film["a_2"] == run.a_2.tolist()
    assert film["excess"] == [*run.excess, run.excess[-1]]
    assert film["stage_one_steps"] == 12
    assert film["true_loss"] == run.true_loss


def test_a_stored_trajectory_is_played(client, folder):
    stored = exploring.trajectory(steps=1000)
    exploring.write_trajectory(folder / "trajectory.npz", steps=1000)
    listed = client.get("/api/options").json()["stored"]
    assert ("models/trajectory.npz", "trajectory") in {(entry["path"], entry["kind"]) for entry in listed}
    asked = {"run": {"kind": "stored", "path": "models/trajectory.npz"}}
    film = client.post("/api/dynamics", json=asked).raise_for_status().json()
    assert (film["algorithm"], film["order"], film["floor_excess"]) == (2, 2, None)
    assert (film["steps"][0], film["steps"][-1]) == (0, 1000)
    assert len(film["steps"]) <= limits.MOST_FRAMES + 1
    np.testing.assert_allclose(matrix(film["attention"]), stored.attention[film["steps"]], atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"a_2": np.ones(5)}, {"excess": np.ones((2, 2))}, {"p": np.ones((1, 9))}, {"p": np.array(["x"])},
        {"record": "{"}, {"record": '{"kind": "Path", "fields": {}}'}, {"p": np.array([None], dtype=object)},
    ],
)  # fmt: skip
def test_files_that_are_no_trajectory_are_one_line(client, folder, changes):
    (folder / "odd").mkdir(exist_ok=True)
    exploring.write_trajectory(folder / "odd" / "trajectory.npz", steps=10, **changes)
    response = client.post("/api/dynamics", json={"run": {"kind": "stored", "path": "models/odd"}})
    assert "is not a trajectory" in refused(response)


def test_a_trajectory_that_unpacks_to_too_much_is_not_unpacked(client, folder):
    (folder / "bomb").mkdir()
    exploring.write_trajectory(folder / "bomb" / "trajectory.npz", steps=10, loss=np.zeros(1 << 24))
    response = client.post("/api/dynamics", json={"run": {"kind": "stored", "path": "models/bomb/trajectory.npz"}})
    refused(response)
    assert response.json()["limit"]["limit"] == limits.MOST_FILE
    for path in ("../trajectory.npz", "models/link.safetensors", "models/dyadic.safetensors", "models/absent"):
        refused(client.post("/api/dynamics", json={"run": {"kind": "stored", "path": path}}))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"kind": "fresh", "algorithm": 1, "order": 2}, "Algorithm 1 applies to order 1"),
        ({"kind": "fresh", "algorithm": 3}, "algorithm is 3"),
        ({"kind": "fresh", "algorithm": 2, "order": 4, "alphabet_size": 8}, "4096 contexts"),
        ({"kind": "fresh", "length": 10**9}, "length is 1000000000, must be at most 256"),
        ({"kind": "fresh", "steps": 0}, "steps is 0, must be at least 1"),
        (
            {"kind": "fresh", "algorithm": 2, "order": 4, "alphabet_size": 2, "length": 4},
            "smaller than the length 4",
        ),
    ],
)
def test_runs_beyond_the_limits_are_one_line(client, run, message):
    assert message in refused(client.post("/api/dynamics", json={"run": run}))
