"""Token by token equals all at once, and memory does not grow."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.errors import InputError
from anyorder.estimators.streaming import StreamingEstimator
from anyorder.models.streaming import begin, step
from tests.models.small import SYMBOLS, random_model, tokens_of

MODELS = {
    "tables": {"features": 5, "heads": (2, 1), "mlp": "gpt", "pre_norm": True},
    "mamba": {"state": 4, "mamba_taps": 3, "heads": (2, 1), "mlp": "gpt", "pre_norm": True},
    "a convolution": {"features": 3, "initial": True, "taps": 3, "heads": (1, 1)},
}


@pytest.mark.parametrize("case", MODELS)
def test_a_step_is_the_next_row(case):
    model, tokens = random_model(2, **MODELS[case]), tokens_of(30)
    state, rows = begin(model), []
    for token in tokens:
        state, row = step(model, state, int(token))
        rows.append(row)
    np.testing.assert_allclose(np.stack(rows), model(tokens), atol=1e-10)


def test_a_hundred_thousand_tokens_take_the_memory_of_one():
    model = construct("recurrent-bayes", order=3, alphabet_size=SYMBOLS, length=1 << 17, dtype="float32")
    tokens, start = tokens_of(100_000), begin(model)
    last, rows = jax.jit(lambda tokens: jax.lax.scan(lambda s, token: step(model, s, token), start, tokens))(
        jnp.asarray(tokens, jnp.int32)
    )
    exact = StreamingEstimator(3, SYMBOLS, "bayes").distributions(tokens)
    assert np.abs(np.asarray(rows)[2:] - exact[2:]).max() <= model.certificate.bound
    assert [memory.size for memory in last] == [memory.size for memory in start]


@pytest.mark.parametrize("case", [{}, {"features": 2, "beginning": True}, {"features": 2, "places": 9}])
def test_models_whose_memory_grows_are_refused(case):
    with pytest.raises(InputError, match="only models of recurrences run in constant memory"):
        begin(random_model(0, **case))
