"""The order of a model's predictions."""

import numpy as np
import pytest

from anyorder.probing import behaviour, sequences
from tests.probing import heads


@pytest.mark.parametrize("order", [0, 1, 3])
def test_behaviour_names_the_order_of_an_in_context_predictor(order):
    drawn = sequences(3)
    predicted = []
    for row in drawn.tokens:
        weights = heads.uniform(row) if order == 0 else heads.induction(row, order)
        predicted.append(weights @ np.eye(4)[row])
    act = behaviour(np.stack(predicted), drawn.tokens)
    assert act.order[1:] == (order,) * 3
    assert act.kgram[-1][order] < 1e-6
