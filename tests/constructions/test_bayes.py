"""The sink of the smoothed constructions."""

import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.hard_sequences import hard_sequences
from tests import oracles_constructions as oracles
from tests.constructions.cases import worst_error


@pytest.mark.parametrize("name", ["bayes", "k-head-bayes"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_the_sink_is_add_beta_everywhere(name, beta):
    order, symbols = 3, 3
    batch = hard_sequences(count=4, length=120, alphabet_size=symbols, order=order, seed=5)
    model = construct(name, order=order, alphabet_size=symbols, length=120, beta=beta)
    error, positions = worst_error(model, lambda tokens, k, s: oracles.add_beta(tokens, k, s, beta), order, batch)
    assert error < 1e-7
    assert positions == 4 * (120 - order + 1)  # contexts never seen are included
    np.testing.assert_allclose(model(batch[0])[order - 1], 1 / symbols, atol=1e-9)
