"""Strategies against enumeration, layers against models whose answers are known, and stages by hand."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.models import Head, Layer, Transformer
from anyorder.papers.experiment import Task
from anyorder.papers.statistical_induction import experiments
from anyorder.papers.statistical_induction.experiments import Course
from anyorder.training.checks import check_config
from anyorder.training.config import Data
from anyorder.training.reference import evaluation_set


@pytest.mark.parametrize(("order", "size"), [(1, 3), (2, 2)])
@pytest.mark.parametrize("prior", ["dirichlet", "doubly-stochastic"])
def test_strategies_are_counts_plus_one_by_hand(order, size, prior):
    drawn = evaluation_set(Data(order=order, alphabet_size=size, length=7, prior=prior), 4)
    found = experiments.strategies(drawn)
    assert list(found) == ["uniform", *(f"order-{shorter}" for shorter in range(order + 1))]
    for number, row in enumerate(np.asarray(drawn.tokens).tolist()):
        for place, shorter in itertools.product(range(order, len(row)), range(order + 1)):
            counts = [1.0] * size
            for i in range(order, place):  # the opening is not counted
                if row[i - shorter : i] == row[place - shorter : place]:
                    counts[row[i]] += 1
            expected = np.array(counts) / sum(counts)
            np.testing.assert_allclose(found[f"order-{shorter}"][number, place - order], expected, atol=1e-12)


def test_layer_one_is_read_at_its_offsets():
    model = construct("k-head", order=2, alphabet_size=2, length=12)  # a head for each offset
    tokens = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0])
    assert experiments.on_last(model, jnp.asarray(tokens), 2) > 0.99
    uniform = Head(*(jnp.zeros((2, 2)),) * 2, value=jnp.eye(2))
    plain = Transformer(jnp.eye(2), (Layer((uniform,)),), jnp.eye(2))
    even = np.mean([1 / (n + 1) for n in range(1, 12)])
    assert float(experiments.on_last(plain, jnp.asarray(tokens), 1)) == pytest.approx(even)


def test_alignment_is_the_score_of_equal_tokens_above_others():
    """Query and key are the identity times 3 and 1, layer 1 copies tokens: 3 on the diagonal, 0 elsewhere."""
    copying = Head(jnp.zeros((2, 2)), jnp.zeros((2, 2)), value=jnp.eye(2), projection=2 * jnp.eye(2))
    matching = Head(3 * jnp.eye(2), jnp.eye(2), value=jnp.eye(2), scale=0.5)
    model = Transformer(jnp.eye(2), (Layer((copying,)), Layer((matching,))), jnp.eye(2))
    assert float(experiments.alignment(model)) == pytest.approx(3.0)


def test_stages_are_long_and_in_order():
    three = np.repeat([0, 1, 2], 3)
    assert experiments.passes(three, 3)
    assert not experiments.passes(three[1:], 3)  # uniform for two measurements alone
    assert not experiments.passes(three[::-1], 3)
    assert experiments.passes(np.array([0, 0, 0, 1, 0, 1, 1, 1, 2, 2, 2]), 3)  # a glance back


def test_an_arrival_is_half_of_the_way_and_may_not_come():
    distances = np.array([[[0.0, 0.4], [0.1, 0.3], [0.2, 0.2]], [[0.0, 0.4], [0.1, 0.3], [0.2, 0.21]]])
    found = Course(np.array([0.0, 5.0, 10.0]), ("uniform", "order-1"), distances, np.zeros((2, 3)), np.zeros((2, 3)))
    assert experiments.arrives(found) == [10.0, None]


@pytest.mark.parametrize("budget", ["tiny", "quick", "paper"])
def test_every_setting_is_a_config_that_can_be_run(budget):
    for setting in experiments.SETTINGS[budget]:
        config = experiments.config(Task(budget), setting)
        check_config(config)
        measured = config.optimisation.steps // (config.measurement.keep_every or 0)
        assert measured >= experiments.LONG * (setting.order + 1)  # a stage for all strategies but the first
