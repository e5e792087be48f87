"""The view of a model beside the exact numbers."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from anyorder.estimators.registry import ESTIMATORS
from anyorder.web.library import Library
from anyorder.web.schema import ViewRequest
from anyorder.web.view import Explorer
from tests import oracles
from tests.web.exploring import SYMBOLS, TOKENS, body, matrix, refused


def test_temperature_breaks_exactness_and_restores_it(client):
    errors = []
    for temperature in (1.0, 2.0**10, 1.0):
        view = client.post("/api/view", json=body(name="dyadic", temperature=temperature)).raise_for_status().json()
        errors.append(view["exactness"]["max_error"])
        assert view["model"]["certificate"]["kappa"] == pytest.approx(view["model"]["certified_kappa"] / temperature)
        assert view["exactness"]["passed"] is (temperature == 1)
    assert errors[0] == errors[2] < 1e-7 < 0.1 < errors[1]


def test_a_kept_trace_is_of_numpy_so_that_looking_at_it_compiles_nothing():
    traced = Explorer(Library()).traced(ViewRequest(), lambda: None)
    leaves = jax.tree.leaves(traced.trace)
    assert len(leaves) > 4
    assert all(isinstance(leaf, np.ndarray) for leaf in leaves)


def test_what_the_dtype_cannot_hold_is_built_and_said(client):
    view = client.post("/api/view", json=body(name="dyadic", order=12, dtype="float32")).raise_for_status().json()
    assert "needs 28 bits, float32 has 24" in view["model"]["refusal"]
    assert view["exactness"]["passed"] is False


def test_every_estimator_of_the_registry_can_stand_beside_a_model(client, plugin):
    plugin(
        "import dataclasses\nfrom anyorder.estimators.registry import ESTIMATORS\n"
        'TOY = dataclasses.replace(ESTIMATORS["ctw"], name="toy", meaning="a toy")\n'
    )
    assert "toy" in ESTIMATORS
    offered = client.get("/api/options").raise_for_status().json()["estimators"]
    assert offered == {name: entry.meaning for name, entry in ESTIMATORS.items()}
    view = client.post("/api/view", json={**body(order=2), "estimator": "toy"}).raise_for_status().json()
    row, _ = oracles.ctw(TOKENS, len(TOKENS) - 1, 2, len(SYMBOLS), Fraction(1, 2))
    np.testing.assert_allclose(matrix(view["estimated"])[-1], [float(p) for p in row], atol=1e-6)
    assert client.post("/api/view", json=body(order=2)).json()["estimated"] is None
    wrong = client.post("/api/view", json={**body(order=2), "estimator": "oracle"})
    assert "no estimator 'oracle'; choose from kgram" in refused(wrong)


def test_a_drawn_chain_is_that_of_the_command_and_knows_its_truth(client, run):
    asked = {"kind": "chain", "order": 2, "alphabet_size": 3, "length": 40, "seed": 7}
    view = client.post("/api/view", json={"model": {"kind": "construction", "name": "bayes"}, "sequence": asked})
    view = view.raise_for_status().json()
    code, text, _ = run("sample", "--order", 2, "--alphabet-size", 3, "--length", 41, "--seed", 7)
    assert code == 0
    assert [*view["tokens"], view["outcome"]] == [int(word) for word in text.split()]
    truth = matrix(view["truth"])
    np.testing.assert_allclose(truth.sum(axis=1), 1, atol=1e-6)
    entropy = np.mean([oracles.entropy(row[row > 0]) for row in truth[1:]])
    assert view["losses"]["true_loss"] == pytest.approx(entropy, abs=1e-5)
    assert view["losses"]["model_excess"] == pytest.approx(view["losses"]["bayes_excess"], abs=1e-6)
    noisy = client.post(
        "/api/view",
        json={"model": {"kind": "construction"}, "sequence": {**asked, "alphabet_size": 2, "transition_noise": 0.3}},
    )
    assert noisy.raise_for_status().json()["bayes_name"] == "Bayes under noise 0.3"
