"""A config as JSON and as words of a command."""

import json

import pytest

from anyorder.cli.main import parse
from anyorder.io.trees import as_json
from anyorder.papers.experiment import run_name
from anyorder.sweeps.spec import sweep, sweep_digest
from anyorder.training import config as configs
from anyorder.training import config_text
from anyorder.training.checks import check_config
from anyorder.training.config import PRESETS, Config, preset
from anyorder.training.config_text import from_json


@pytest.mark.parametrize("config", [*map(preset, PRESETS), Config()])
def test_json_and_flags_hold_the_whole_config(config):
    read = from_json(json.loads(json.dumps(as_json(config))))
    assert (read, read.preset) == (config, config.preset)
    check_config(config)


def test_the_name_of_the_preset_is_no_setting():
    named, unnamed = preset("paper", steps=7), configs.changed(PRESETS["paper"], {"steps": 7})
    assert (named.preset, unnamed.preset) == ("paper", None)
    assert named == unnamed
    assert hash(named) == hash(unnamed)
    assert run_name(named) == run_name(unnamed)
    assert config_text.config_difference(named, unnamed) == ""
    sweeps = [sweep("s", config, {"order": [1, 2]}) for config in (named, unnamed)]
    assert sweep_digest(sweeps[0]) == sweep_digest(sweeps[1])


def test_commands_give_back_any_config():
    for config in (
        *map(preset, PRESETS),
        *PRESETS.values(),
        preset("floor", heads=[1, 2], beginning=False, seed=3),
    ):
        assert parse(config_text.command(config).split()[1:]).settings == config
