"""Chunks on their way to a worker."""

import json

from anyorder.sweeps import engine, spec
from anyorder.training.config_text import from_json
from tests.sweeps.small import GRID


def test_a_chunk_is_one_line_and_comes_back_as_it_was():
    runs = spec.runs(GRID)[3:7]
    line = engine.pack(runs)
    assert "\n" not in line
    assert [(number, from_json(config)) for number, config in json.loads(line)] == [
        (run.number, run.config) for run in runs
    ]


def test_a_run_that_is_lost_has_failed_with_its_reason():
    found = engine.lost(spec.runs(GRID)[5], "the worker ended with signal 9")
    assert (found.number, found.result.outcome) == (5, "failed")
    assert found.result.reason == "the worker ended with signal 9, 3 times"
