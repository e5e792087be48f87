"""The nearest β, against counts by hand; and configs that can be run."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.papers.experiment import Task
from anyorder.papers.markov_to_laplace import experiments
from anyorder.training.checks import check_config


def smoothed(row, order, beta):
    """Add-β smoothing after every token, from counts in a loop."""
    found = []
    for n in range(len(row)):
        counts = [beta, beta]
        for i in range(order, n + 1):
            if n >= order - 1 and row[i - order : i] == row[n - order + 1 : n + 1]:
                counts[row[i]] += 1
        found.append([count / sum(counts) for count in counts])
    return found


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("beta", [0.3, 1.7])
def test_the_nearest_smoothing_of_a_smoother_is_its_own(order, beta):
    rows = [list(row) for row in itertools.product([0, 1], repeat=6)]  # every sequence
    predicted = jnp.asarray([smoothed(row, order, beta) for row in rows])
    found, distance = experiments.nearest_beta(predicted, jnp.asarray(rows), order)
    assert found == pytest.approx(beta, rel=0.01)
    assert 0 <= distance < 1e-5


def test_distances_are_those_of_every_sequence_by_hand():
    rows = [list(row) for row in itertools.product([0, 1], repeat=5)]
    model = [[0.8, 0.2]] * 5
    by_hand = np.mean(
        [
            np.mean(
                [
                    sum(p * math.log(p / q) for p, q in zip(row, model[0], strict=True))
                    for row in smoothed(own, 2, 0.5)[1:]
                ]
            )
            for own in rows
        ]
    )
    found = experiments._distances(jnp.asarray([model] * len(rows)), jnp.asarray(rows), jnp.asarray(0.5), 2)
    assert float(found) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("budget", ["tiny", "quick", "paper"])
def test_every_cell_is_a_config_that_can_be_run(budget):
    for trial in experiments.TRIALS[budget]:
        config = experiments.config(Task(budget), trial)
        check_config(config)
        assert config.mixers == (("mamba",) if trial.taps else ("attention",) * config.architecture.layers)
        assert trial.taps is None or config.taps == trial.taps


def test_the_recorded_budget_has_every_window_that_a_claim_needs():
    cells = {(one.order, one.taps) for one in experiments.TRIALS["paper"] if one.model == experiments.MAMBA}
    assert {(order, taps) for order in (1, 2, 3) for taps in (1, order, order + 1)} <= cells
