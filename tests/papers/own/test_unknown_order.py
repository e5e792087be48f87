"""The experiment on sources of unknown order: its rows, from given summaries."""

import types

import pytest

from anyorder.constructions import construct
from anyorder.papers.experiment import Task
from anyorder.papers.own import unknown_order
from anyorder.training.checks import check_config
from anyorder.training.run import Trained


def summary(floor, fixed, gaps):
    """As much of the summary of a run as the experiment reads."""
    reference = types.SimpleNamespace(
        floor_excess=floor,
        fixed_orders=[types.SimpleNamespace(order=order, excess=excess) for order, excess in fixed.items()],
    )
    models = [types.SimpleNamespace(gap=gap, gap_error=0.0005) for gap in gaps]
    known = construct("k-head", order=2, alphabet_size=2, length=192)
    return Trained((known,), 1, True, types.SimpleNamespace(reference=reference, models=models), [])


def test_rows_say_where_models_lie_between_the_floor_and_the_best_fixed_order(monkeypatch):
    found = iter([summary(0.07, {1: 0.11, 2: 0.08}, [0.001, 0.002]), summary(0.07, {1: 0.11, 2: 0.08}, [0.02, 0.03])])
    monkeypatch.setattr(Task, "train", lambda *given: next(found))
    result = unknown_order.unknown_order.run(Task("tiny", seeds=2))
    two, one = result.tables["gaps"].rows
    assert (two["source"], two["K"], two["T"]) == ("order-mixture", 2, 8)
    assert two["gap"].mean == pytest.approx(0.0015)
    assert two["gap"].seeds == [0.001, 0.002]
    assert two["best_fixed_order"] == pytest.approx(0.01)
    assert (two["within"], one["within"]) == (True, False)
    assert len(result.tables["fixed_orders"].rows) == 2  # both models have the same reference
    assert [(row["head"], row["order"], row["graded"]) for row in result.tables["heads"].rows] == [(0, 2, False)] * 2


@pytest.mark.parametrize("budget", ["tiny", "quick", "paper"])
def test_every_cell_is_a_config_that_can_be_run(budget):
    for trial in unknown_order.trials(budget):
        config = unknown_order.config(Task(budget), trial)
        check_config(config)
        assert config.data.window < config.data.length
