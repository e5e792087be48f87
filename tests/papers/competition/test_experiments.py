"""The four predictors against enumeration over the pool, and weights of mixtures that are known."""

import itertools
import math

import numpy as np
import pytest

from anyorder.papers.competition import experiments
from anyorder.papers.experiment import Task
from anyorder.training.checks import check_config
from anyorder.training.config import Data

DATA = Data(order=1, alphabet_size=3, length=6, prior="pool", chains=3)


def stationary(kernel):
    """By brute force: a row of a high power."""
    return np.linalg.matrix_power(kernel, 10_000)[0]


@pytest.mark.parametrize("novel", [False, True])
def test_the_four_predictors_by_enumeration(novel):
    found = experiments.sequences(DATA, novel)
    pool = np.asarray(DATA.source.prior.kernels)
    symbols = np.array([stationary(kernel) for kernel in pool])
    for tokens, place in itertools.product(np.asarray(found.tokens)[:5], range(DATA.length)):
        past = tokens[: place + 1].tolist()
        pairs = list(itertools.pairwise(past))
        bigram = np.array([math.prod(kernel[a, b] for a, b in pairs) for kernel in pool])
        unigram = np.array([math.prod(one[b] for b in past[1:]) for one in symbols])
        expected = {
            "retrieval": (bigram / bigram.sum()) @ pool[:, past[-1]],
            "unigram-retrieval": (unigram / unigram.sum()) @ symbols,
            "order-0": np.array([1 + past[1:].count(s) for s in range(3)]) / (3 + len(past) - 1),
            "order-1": np.array([1 + pairs.count((past[-1], s)) for s in range(3)], float),
        }
        expected["order-1"] /= expected["order-1"].sum()
        row = next(n for n, one in enumerate(np.asarray(found.tokens)) if one is tokens or (one == tokens).all())
        for name, rows in found.rows.items():
            np.testing.assert_allclose(rows[row, place], expected[name], atol=1e-9, err_msg=name)


def test_novel_chains_are_not_those_of_the_pool():
    pool, novel = experiments.sequences(DATA), experiments.sequences(DATA, novel=True)
    kernels = {tuple(row) for row in np.asarray(DATA.source.prior.kernels).reshape(-1, 3).round(9).tolist()}
    assert all(tuple(row) in kernels for row in pool.truth[0].round(9).tolist())
    assert not any(tuple(row) in kernels for row in novel.truth[0].round(9).tolist())


@pytest.mark.parametrize("true", [(0.7, 0.3, 0.0, 0.0), (0.1, 0.2, 0.3, 0.4), (0.0, 0.0, 0.0, 1.0)])
def test_the_weights_of_a_mixture_are_found(true):
    rows = experiments.sequences(DATA).rows
    mixed = sum(weight * row for weight, row in zip(true, rows.values(), strict=True))
    found = experiments.mixture_weights(mixed, rows)
    assert list(found.values()) == pytest.approx(true, abs=0.02)
    assert experiments.mixture_distance(mixed, rows, found) == pytest.approx(0, abs=1e-4)


def test_no_weights_on_a_grid_are_nearer():
    rows = experiments.sequences(DATA).rows
    predicted = np.random.default_rng(0).dirichlet([2, 2, 2], size=rows["order-0"].shape[:2])

    def distance(weights):
        mixture = sum(weight * row for weight, row in zip(weights, rows.values(), strict=True))
        return float((predicted * np.log(predicted / mixture)).sum(axis=2).mean())

    found = experiments.mixture_weights(predicted, rows)
    least = distance(found.values())
    assert experiments.mixture_distance(predicted, rows, found) == pytest.approx(least)
    tenths = [grid for grid in itertools.product(range(11), repeat=4) if sum(grid) == 10]
    assert all(distance(np.array(grid) / 10) >= least - 1e-6 for grid in tenths)


def test_losses_are_compared_on_the_same_tokens():
    truth = np.array([[[0.5, 0.5]]])
    assert experiments.loss_above(np.array([[[0.25, 0.75]]]), truth, truth) == pytest.approx(math.log(2 / math.sqrt(3)))


@pytest.mark.parametrize("budget", ["tiny", "quick", "paper"])
def test_every_setting_is_a_config_that_can_be_run(budget):
    task = Task(budget)
    for setting in (*map(experiments.Setting, experiments.POOLS[budget]), *experiments.OTHERS[budget]):
        config = experiments.config(task, setting)
        check_config(config)
        assert config.data.chains == setting.chains
    assert {one.chains for one in experiments.OTHERS[budget]} <= set(experiments.POOLS[budget])  # trained once
