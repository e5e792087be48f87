"""The evaluation of the published code."""

import jax
import numpy as np

from anyorder.papers.two_can.experiments.as_published import signed_gaps
from anyorder.training import config as configs
from anyorder.training.config import Config, Data
from anyorder.training.initial import initial_model


def test_a_model_that_knows_nothing_loses_the_entropy_it_misses():
    """A zero output is a fair coin: its loss is log 2 on every token, the difference that of the kernel."""
    config = configs.changed(Config(), {"tied": False, "zero_output": True, "dimension": 8, "length": 8})
    model = initial_model(config, jax.random.key(0))
    data, key = Data(order=1, length=8), jax.random.key(5)
    found = signed_gaps(model, data, key, kernels=3, count=2000)
    drawn = data.source_of(9, per_kernel=4000).sample(key, 3 * 4000)
    truth, tokens = np.asarray(drawn.truth), np.asarray(drawn.tokens)
    for kernel, difference in enumerate(found):
        other = slice(kernel * 4000 + 2000, (kernel + 1) * 4000)
        picked = np.take_along_axis(truth[other, 1:], tokens[other, 1:, None], axis=2)
        np.testing.assert_allclose(difference, np.log(2) + np.log(picked).mean(), atol=1e-5)
