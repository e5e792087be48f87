"""The compiled sampler against a NumPy loop over time, vectorised over the batch."""

import statistics

import jax
import numpy as np

from anyorder.chains import Dirichlet, sample
from anyorder.estimators import kgram
from benchmarks.measure import Row, seconds, show, timed

COUNT, ORDER, SIZE, LENGTH = 4096, 3, 2, 64


def with_numpy(generator: np.random.Generator) -> np.ndarray:
    kernels = generator.dirichlet(np.ones(SIZE), size=(COUNT, SIZE**ORDER))
    sums = np.cumsum(kernels, axis=-1)[..., :-1]
    tokens = np.empty((COUNT, LENGTH), np.int32)
    tokens[:, :ORDER] = generator.integers(0, SIZE, (COUNT, ORDER))
    context = tokens[:, :ORDER] @ SIZE ** np.arange(ORDER - 1, -1, -1)
    rows = np.arange(COUNT)
    for t in range(ORDER, LENGTH):
        uniform = generator.random(COUNT)
        tokens[:, t] = (uniform[:, None] >= sums[rows, context]).sum(axis=1)
        context = (context * SIZE + tokens[:, t]) % SIZE**ORDER
    return tokens


def main() -> None:
    key, generator = jax.random.key(0), np.random.default_rng(0)
    prior = Dirichlet(ORDER, SIZE)
    tokens_only = jax.jit(lambda key: sample(prior, length=LENGTH, count=COUNT, seed=key).tokens)
    ours = timed(lambda: tokens_only(key).block_until_ready(), 100)
    everything = seconds(lambda: jax.block_until_ready(sample(prior, length=LENGTH, count=COUNT, seed=key)), 50)
    numpy = timed(lambda: with_numpy(generator), 30)
    tokens = tokens_only(key)
    compiled = jax.jit(jax.vmap(lambda row: kgram(row, order=ORDER, alphabet_size=SIZE)))
    estimating = seconds(lambda: jax.block_until_ready(compiled(tokens)), 10)
    show(
        f"{COUNT} binary sequences of order {ORDER} and length {LENGTH}, kernels drawn too",
        [
            Row("NumPy loop over time, median", 1e3 * statistics.median(numpy), "ms"),
            Row("sample, tokens only, median", 1e3 * statistics.median(ours), "ms"),
            Row("sample, with kernels and true distributions", 1e3 * everything, "ms"),
            Row("speed-up, tokens only, medians", statistics.median(numpy) / statistics.median(ours), "×", "≥ 8"),
            Row("speed-up, tokens only, fastest calls", min(numpy) / min(ours), "×", "≥ 5"),
            Row("k-gram at every position, one compiled call", 1e3 * estimating, "ms"),
        ],
    )


if __name__ == "__main__":
    main()
