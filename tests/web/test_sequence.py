"""Sequences that the explorer draws."""

import numpy as np
import pytest

from tests import oracles
from tests.web.exploring import matrix


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
