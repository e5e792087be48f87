"""Runs with layers other than attention: the recipe, save, load, resume, probe, and plug-ins."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.models import load
from anyorder.probing import Settings, probe
from anyorder.training import changed, config_text, preset, read_models, train
from anyorder.training.initial import initial_model
from tests.training.small import ROOT

TINY = {"order": 1, "length": 8, "dimension": 8, "heads": 2, "state": 4, "seeds": 1, "batch": 4, "steps": 120}
TINY |= {"warmup": 3, "evaluation_count": 16, "checkpoint_every": 60}
MIXERS = {
    "mamba": {"mixer": "mamba", "layers": 1},
    "linear attention": {"mixer": "mamba", "layers": 1, "decay": "one"},
    "both": {"mixer": ("convolution", "mamba"), "optimiser": "adamw", "dropout": 0.1},
}


def test_the_recipe_has_one_tap_more_than_the_order():
    config = preset(mixer="mamba", layers=1, order=3)
    heads = initial_model(config, 0).layers[0].heads
    assert [head.taps.shape for head in heads] == [(4, 80)] * 4
    assert initial_model(changed(config, {"taps": 2}), 0).layers[0].heads[0].taps.shape == (2, 80)
    assert preset(mixer=("mamba", "attention", "mamba")).architecture.layers == 3


@pytest.mark.parametrize("name", MIXERS)
@pytest.mark.slow
def test_a_run_is_stopped_resumed_and_read(name, tmp_path):
    config = preset(**TINY | MIXERS[name])
    whole = train(config, tmp_path / "whole")
    rounds = iter([False, True])
    assert not train(config, tmp_path / "run", stop=lambda: next(rounds)).finished
    train(config, tmp_path / "run", resume=True)
    files = [tmp_path / run / "model-0.safetensors" for run in ("whole", "run")]
    assert files[0].read_bytes() == files[1].read_bytes()
    tokens = np.arange(8) % 2
    _, models = read_models(tmp_path / "run")
    for model in (load(files[1]), models[0]):
        np.testing.assert_array_equal(model(tokens), whole.models[0](tokens))
    assert len(whole.summary.models[0].attention) == config.architecture.layers


def test_the_probe_reads_the_mixing_matrix():
    model = initial_model(preset(mixer="mamba", layers=1), 0)
    found = probe(model, Settings(sequences=4, length=64, max_length=2))
    assert len(found.heads) == 4


def test_configs_of_version_0_2_mean_attention():
    old = {"architecture": {"layers": 2, "heads": [1], "dimension": 32}, "data": {"order": 2}}
    config = config_text.from_json(old)
    assert config.mixers == ("attention", "attention")
    assert not config.architecture.rotary_positions


@pytest.mark.slow
def test_a_plug_in_brings_a_mixer(tmp_path, monkeypatch):
    monkeypatch.setenv(plugins.VARIABLE, str(ROOT / "examples" / "alibi.py"))
    config = preset(**TINY | {"mixer": "alibi"})
    trained = train(config, tmp_path / "run").models[0]
    assert type(trained.layers[1].heads[0]).__name__ == "AlibiHead"
    stored = load(tmp_path / "run" / "model-0.safetensors")
    np.testing.assert_array_equal(stored([0, 1, 1]), trained([0, 1, 1]))
    monkeypatch.delenv(plugins.VARIABLE)
    with pytest.raises(InputError, match="no mixer 'alibi'"):
        train(dataclasses.replace(config, seeds=2))
