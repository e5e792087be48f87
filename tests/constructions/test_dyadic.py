"""`dyadic`: integer codes, equal keys, the inverse temperature for its target, and the sink of `bayes`."""

import math

import numpy as np
import pytest

from anyorder.constructions import construct
from anyorder.constructions.certificate import nearest_miss
from anyorder.constructions.hard_sequences import hard_sequences
from tests import oracles_constructions as oracles
from tests.constructions.cases import worst_error


def test_kappa_is_what_the_target_needs():
    loose, tight = (
        construct("dyadic", order=3, alphabet_size=2, length=100, target_error=error).certificate
        for error in (1e-2, 1e-8)
    )
    assert tight.kappa - loose.kappa == pytest.approx(math.log(1e6) / nearest_miss(7), rel=1e-9)
    assert tight.bound <= 1e-8
    assert loose.bound <= 1e-2
    with_less = construct("dyadic", order=3, alphabet_size=2, length=100, kappa=10.0, force=True).certificate
    assert with_less.kappa == 10.0
    assert with_less.bound == 1.0


def test_equal_windows_are_identical_keys_and_codes_are_integers():
    order, symbols = 10, 2
    rng = np.random.default_rng(0)
    tokens = np.where(rng.random(700) < 0.1, rng.integers(0, symbols, 700), 0)
    model = construct("dyadic", order=order, alphabet_size=symbols, length=700, dtype="float32")
    trace = model.trace(tokens)
    codes = np.asarray(trace.block("window", "attention 1"))
    keys = np.asarray(trace.block("key", "mlp 1.3"))
    seen = {}
    for n in range(order, len(tokens)):
        window = tuple(tokens[n - order : n].tolist())
        expected = [sum(2**i for i in range(order) if window[order - 1 - i] == s) for s in range(symbols)]
        assert codes[n].tolist() == expected
        assert seen.setdefault(window, keys[n].tobytes()) == keys[n].tobytes()
    assert not keys[:order].any()  # gated
    assert 20 < len(seen) < 500
    # Equal keys have equal scores at all positions, which depends on the backend's products.
    weights = np.asarray(trace.attention[1])[0]
    for n in range(2 * order, len(tokens)):
        matches = [
            weights[n, i] for i in range(order, n + 1) if (tokens[i - order : i] == tokens[n - order + 1 : n + 1]).all()
        ]
        assert len(set(matches)) <= 1


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
