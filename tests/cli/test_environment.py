"""Environment variables with which JAX cannot start, or draws other numbers."""

import os
import subprocess
import sys

import pytest

from anyorder.cli.environment import ALLOWED, check_environment, unusable
from anyorder.cli.main import main
from anyorder.errors import InputError


@pytest.mark.parametrize("name", ALLOWED)
def test_variables_with_which_commands_fail_are_refused(monkeypatch, capsys, name):
    for value in ALLOWED[name]:
        check_environment({name: value})
        check_environment({name: value.upper()})
    value = {"JAX_NUMPY_RANK_PROMOTION": "raise", "JAX_NO_TRACING": "1"}.get(name, "disallow")
    monkeypatch.setenv(name, value)
    assert main(["sample", "--order", "1", "--length", "4"]) == 2
    assert capsys.readouterr().err.startswith(f"anyorder: {name} is {value!r}, must be ")
    assert main(["--version"]) == 0


def test_only_what_jax_cannot_use_is_to_blame():
    assert unusable({}) is None
    assert unusable({"JAX_PLATFORMS": "cpu"}) is None  # this process has started


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_PLATFORMS", "cuda"),
        ("JAX_PLATFORMS", "nonsense"),
        ("JAX_ENABLE_X64", "nonsense"),
        ("JAX_DEFAULT_DEVICE", "gpu"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(name, value):
    words = [sys.executable, "-m", "anyorder", "sample", "--order", "1", "--length", "4"]
    found = subprocess.run(words, env={**os.environ, name: value}, capture_output=True, text=True)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith("anyorder: JAX cannot start with ")
    assert f"{name}={value}" in line


def test_no_backend_of_figures_is_needed(run, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "nonsense")
    assert run("price", "--order", 1, "--length", 16, "--figure", tmp_path / "price.svg")[0] == 0
    assert "MPLBACKEND" not in os.environ


def test_the_message_names_the_limit_and_the_way_out():
    with pytest.raises(InputError, match="must be threefry2x32; unset it"):
        check_environment({"JAX_DEFAULT_PRNG_IMPL": "rbg"})
