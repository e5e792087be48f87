"""A worker's runs are those of `anyorder train`; those that diverge or raise are rows too."""

from __future__ import annotations

import dataclasses

import jax
import pytest

from anyorder.sweeps import chunk, engine, spec
from anyorder.training import config as configs
from anyorder.training.run import train
from tests.sweeps.small import GRID, TINY, in_process


@pytest.mark.slow
def test_numbers_never_recompile():
    base = configs.changed(TINY, {"transition_noise": 0.1})
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, _, **about: compiled.append(about) if event.endswith("backend_compile_duration") else None
    )
    changes = {"learning_rate": 1e-2, "beta1": 0.8, "beta2": 0.99, "weight_decay": 0.0, "clip": 0.0, "seed": 7,
               "transition_noise": 0.2, "warmup": 5, "final_rate": 0.1, "evaluation_seed": 3}  # fmt: skip
    try:
        chunk.train_together([base])
        assert compiled  # the first run of a shape does compile
        compiled.clear()
        (result,) = chunk.train_together([configs.changed(base, changes)])
        assert compiled == []
    finally:
        jax.monitoring.clear_event_listeners()
    assert result.outcome == "done"
    assert result.gap is not None


@pytest.mark.slow
def test_a_row_is_what_train_measures_to_the_last_bit():
    config = dataclasses.replace(TINY, seeds=2, optimisation=dataclasses.replace(TINY.optimisation, weight_decay=0.01))
    summary = train(config).summary
    for model in summary.models:
        row = next(row.ended for row in in_process() if (row.run - 2) == model.seed)
        for name in ("loss", "true_loss", "excess", "excess_error", "gap", "gap_error"):
            assert getattr(row, name) == getattr(model, name)
        assert row.floor_excess == summary.reference.floor_excess
        head = model.attention[0][0]
        chance = summary.reference.chance_matching_mass
        assert row.matching_mass == head.matching_mass
        assert row.attention == pytest.approx((head.matching_share - chance) / (1 - chance))


@pytest.mark.slow
def test_in_a_stack_one_that_diverges_leaves_the_others_alone():
    configs = [run.config for run in spec.runs(GRID)][2:10:2]
    rows = chunk.train_together(configs, stacked=True)
    assert [row.outcome for row in rows] == ["done", "done", "done", "diverged"]
    for row, alone in zip(rows[:3], in_process()[2:8:2], strict=True):
        assert row.excess == pytest.approx(alone.ended.excess, abs=1e-4)
    assert rows[3].step == in_process()[8].ended.step < 120


def test_a_run_that_raises_is_a_row_with_its_reason():
    config = configs.changed(TINY, {"from_model": "absent.safetensors"})
    ((number, result, _),) = chunk.answers(engine.pack([spec.Run(7, {}, 0, config)]))
    assert number == 7
    assert result["outcome"] == "failed"
    assert result["reason"].startswith("InputError: cannot read absent.safetensors")
