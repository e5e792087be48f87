"""The presets of the lab, of papers and of plug-ins."""

import pytest

from anyorder.chains import Floored
from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.sweeps import spec
from anyorder.training.config import PRESETS, Config, changed, preset
from anyorder.training.mixers import MIXERS


def test_presets_of_papers_and_plug_ins_stand_beside_those_of_the_lab(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text('from anyorder.training import preset\nLONG_RUN = preset("floor", steps=9000)\n')
    monkeypatch.setenv(plugins.VARIABLE, str(path))
    assert list(PRESETS) == ["floor", "fast", "paper", "published", "gpt2", "long-run"]
    assert all(isinstance(config, Config) for config in PRESETS.values())
    found = preset("long-run", order=3)
    assert (found.preset, found.optimisation.steps, found.data.order) == ("long-run", 9000, 3)


def test_a_preset_that_is_not_there_is_named():
    with pytest.raises(InputError, match="no preset 'publish'; did you mean published"):
        preset("publish")


def test_a_preset_itself_is_taken_like_its_name():
    assert preset(PRESETS["floor"], order=3, steps=7) == preset("floor", order=3, steps=7)


def test_a_prior_and_a_mixer_themselves_are_taken_like_their_names():
    config = changed(Config(), {"prior": Floored, "mixer": [MIXERS["mamba"], "attention"]})
    assert config == changed(Config(), {"prior": "floored", "mixer": ["mamba", "attention"]})
    axes = spec.sweep("s", Config(), {"mixer": [MIXERS["mamba"], "attention"]}).axes
    assert axes == {"mixer": ("mamba", "attention")}
    with pytest.raises(InputError, match="the prior is a int"):
        changed(Config(), {"prior": int})
