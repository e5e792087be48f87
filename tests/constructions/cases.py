"""The promises of the registry's entries, each with an independent oracle."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.constructions import CONSTRUCTIONS
from tests import oracles_constructions as oracles

ORACLES = {"kgram": oracles.kgram, "bayes": oracles.add_beta, "biased": oracles.biased}
CASES = [(entry, case) for entry in CONSTRUCTIONS.values() for case in entry.cases]
RANDOM = np.random.default_rng(0).integers(0, 2, (2, 200))
TOKENS = np.random.default_rng(3).integers(0, 3, 40)


def worst_error(model, oracle, order, batch):
    """Largest error of a probability over all positions where the oracle is defined, and how many there are."""
    outputs = np.asarray(jax.vmap(model)(jnp.asarray(batch, jnp.int32)), np.float64)
    worst, positions = 0.0, 0
    for output, tokens in zip(outputs, batch, strict=True):
        expected = oracle(tokens.tolist(), order, model.alphabet_size)
        if model.certificate is not None and model.certificate.construction == "two-layer-qk":
            expected[order - 1] = np.nan  # its MLP makes the query from a full window before position n
        defined = ~np.isnan(expected[:, 0])
        positions += defined.sum()
        worst = max(worst, np.abs(output - expected)[defined].max(initial=0.0))
    return worst, positions
