"""Weights before the first step."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.errors import InputError
from anyorder.training.config import Data, Initial
from anyorder.training.initial import initial_model
from tests.training.small import settings


@pytest.mark.slow
def test_a_given_model_is_perturbed_and_loses_its_promise():
    model = initial_model(settings({}, dtype="float32"), jax.random.key(0))
    config = dataclasses.replace(settings({}), initial=Initial(from_model="x", perturbation=0.5))
    begun = initial_model(config, jax.random.key(1), model)
    assert begun.dtype == jnp.float64
    assert begun.certificate is None
    noise = np.concatenate(
        [
            np.ravel(np.asarray(one) - np.asarray(other))
            for one, other in zip(
                jax.tree.leaves(eqx.filter(begun, eqx.is_inexact_array)),
                jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)),
                strict=True,
            )
        ]
    )
    assert abs(noise.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * noise.size)
    other = dataclasses.replace(config, data=Data(alphabet_size=2))
    with pytest.raises(InputError, match="the model has 3 symbols, the chains have 2; pass `alphabet_size=3`"):
        initial_model(other, jax.random.key(1), model)
