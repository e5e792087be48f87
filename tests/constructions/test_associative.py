"""Random embeddings: an error that falls with the dimension."""

import numpy as np

from anyorder.constructions import construct
from anyorder.constructions.verify import errors


def test_the_error_of_random_embeddings_falls_with_the_dimension():
    batch = np.random.default_rng(1).integers(0, 3, (4, 64))
    mean = []
    for dimension in (64, 256, 1024):
        options = {"order": 1, "alphabet_size": 3, "length": 64, "dtype": "float32", "dimension": dimension}
        models = [construct("associative", **options, seed=seed) for seed in range(2)]
        mean.append(np.mean([np.nanmean(errors(model, batch, 1)[:, 32:]) for model in models]))
    assert mean[0] > 0.3
    assert mean[1] < 0.85 * mean[0]
    assert mean[2] < 0.75 * mean[1]
