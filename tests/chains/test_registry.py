"""Priors by name, of the package and of plug-ins."""

import numpy as np
import pytest

import anyorder
from anyorder.chains import PRIORS, Dirichlet, Prior, named_prior, sample
from anyorder.chains.config import SourceConfig
from anyorder.errors import InputError
from anyorder.io import plugins
from anyorder.training import config_text, preset

STICKY = """
import jax.numpy as jnp

from anyorder.chains import Dirichlet, Prior


class Sticky(Prior):
    name = "sticky"
    stay: float = 0.5

    def draw(self, key, dtype=jnp.float64):
        rows = Dirichlet(self.order, self.alphabet_size).draw(key, dtype)
        return (1 - self.stay) * rows + self.stay * jnp.eye(self.alphabet_size, dtype=dtype)


class Unnamed(Sticky):
    pass
"""
TINY = {"length": 6, "layers": 1, "dimension": 4, "mlp": "none", "batch": 2, "evaluation_count": 4, "steps": 2}


def test_names_build_the_priors_that_have_them():
    for name in PRIORS:
        config = SourceConfig(prior=name, alphabet_size=3 if name == "recall" else 2)
        source = config.source_of(8)
        assert (source.prior.name, source.order) == (name, config.window)


@pytest.mark.slow
def test_a_prior_of_a_plug_in_is_sampled_and_trained_on(plugin, run, tmp_path):
    path = plugin(STICKY)
    assert list(PRIORS)[-1] == "sticky"
    kernels = sample("sticky", order=1, alphabet_size=3, length=8, count=50).kernels
    np.testing.assert_array_less(0.5, np.diagonal(np.asarray(kernels), axis1=1, axis2=2))
    out = tmp_path / "run"
    anyorder.train(out=out, prior="sticky", order=1, seeds=1, **TINY)
    assert run("evaluate", out)[0] == 0
    stored = out / "config.json"
    assert f'"{path}"' in stored.read_text()


@pytest.mark.slow
def test_a_run_names_the_plug_in_that_is_missing_and_executes_nothing(plugin, run, tmp_path, monkeypatch):
    mark = tmp_path / "executed"
    path = plugin(STICKY + f"\nopen({str(mark)!r}, 'a').write('x')\n")
    out = tmp_path / "run"
    anyorder.train(out=out, prior="sticky", order=1, seeds=1, **TINY)
    assert mark.read_text() == "x"
    monkeypatch.delenv(plugins.VARIABLE)
    monkeypatch.setattr(plugins, "_imported", {})  # as in another process
    code, _, error = run("evaluate", out)
    way_out = "load that with --plugin or ANYORDER_PLUGINS"
    assert (code, error) == (2, f"anyorder: {out}/config.json has the prior 'sticky' of {path}; {way_out}\n")
    assert mark.read_text() == "x"
    code, _, error = run("evaluate", out, "--plugin", path)
    assert (code, error) == (0, "")
    assert mark.read_text() == "xx"


class Half(Prior):
    """Rows half way to uniform."""

    name = "half"

    def draw(self, key, dtype=np.float64):
        rows = Dirichlet(self.order, self.alphabet_size).draw(key, dtype)
        return (rows + 1 / self.alphabet_size) / 2


def test_functions_take_a_class_and_an_instance():
    assert float(sample(Half, order=2, alphabet_size=2, length=8, count=9).kernels.min()) > 0.25
    assert isinstance(named_prior(Half, 3, 2), Half)
    for given in (Half, Half(order=2, alphabet_size=2)):
        assert anyorder.train(prior=given, seeds=1, **TINY).finished
    assert preset(prior=Half).data.prior == "half"
    assert "half" not in list(PRIORS)
    with pytest.raises(InputError, match="the prior is a Nameless, must be a name, or a prior that has one"):
        sample(type("Nameless", (Prior,), {"__module__": __name__}))


def test_a_config_names_the_program_whose_prior_it_has():
    recorded = [["prior", "theirs", plugins.PROGRAM]]
    with pytest.raises(InputError, match="x has the prior 'theirs' of the Python program that wrote it; load that"):
        config_text.check_plugins(recorded, "x")
