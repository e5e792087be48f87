"""Versions of the packages that a run depends on."""

from anyorder.training.versions import versions, versions_difference


def test_every_difference_is_named_and_what_is_missing_too():
    here = versions()
    stored = {name: version for name, version in here.items() if name != "optax"} | {"jax": "0.1", "other": "9"}
    assert versions_difference(stored) == f"jax 0.1, not {here['jax']}; optax None, not {here['optax']}"
    assert versions_difference(here) == ""
