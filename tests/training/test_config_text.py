"""A config as JSON and as words of a command."""

import json

import pytest

from anyorder.cli.main import parse
from anyorder.io.trees import as_json
from anyorder.training import config as configs
from anyorder.training import config_text
from anyorder.training.checks import check_config
from anyorder.training.config import PRESETS, Config
from anyorder.training.config_text import from_json


@pytest.mark.parametrize("config", [*PRESETS.values(), Config()])
def test_json_and_flags_hold_the_whole_config(config):
    assert from_json(json.loads(json.dumps(as_json(config)))) == config
    check_config(config)


def test_commands_give_back_any_config():
    for config in (
        *PRESETS.values(),
        configs.changed(PRESETS["floor"], {"heads": [1, 2], "beginning": False, "seed": 3}),
    ):
        assert parse(config_text.command(config).split()[1:]).settings == config
