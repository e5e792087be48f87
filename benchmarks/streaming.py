"""The streaming estimator against a plain Python dictionary of counters: the probability of every next token.

Each data set has a process of its own, so that the peak memory is that of one run. The dictionaries are timed on a
prefix and taken to cost the same for every token of the whole, which favours them: they slow down as they grow.
`python -m benchmarks.streaming --tokens 100000000` takes ten times as many.
"""

import json
import resource
import subprocess
import sys
import time

from benchmarks.measure import Row, fastest, show

ORDER, SIZE, PREFIX = 12, 4, 500_000
LENGTH = int(sys.argv[sys.argv.index("--tokens") + 1]) if "--tokens" in sys.argv else 10_000_000
DATA = {"uniform": "uniform random tokens", "chain": "a Markov chain of order 3, rows from Dirichlet(1)"}


def generate(name: str):
    import numpy as np
    from numba import njit

    generator = np.random.default_rng(0)
    if name == "uniform":
        return generator.integers(0, SIZE, LENGTH)
    kernel = generator.dirichlet(np.ones(SIZE), SIZE**3)

    @njit
    def sample(sums, uniforms):
        tokens = np.empty(uniforms.size, np.int64)
        context = 0
        for n in range(uniforms.size):
            tokens[n] = min(np.searchsorted(sums[context], uniforms[n]), sums.shape[1] - 1)
            context = (context * sums.shape[1] + tokens[n]) % sums.shape[0]
        return tokens

    return sample(kernel.cumsum(axis=1), generator.random(LENGTH))


def with_tuples(tokens: list[int]) -> list[float]:
    """The plain baseline: a dictionary from the context, a tuple, to its counts."""
    counters: dict[tuple[int, ...], list[int]] = {}
    chances = [float("nan")] * ORDER
    for n in range(ORDER, len(tokens)):
        context, token = tuple(tokens[n - ORDER : n]), tokens[n]
        counter = counters.get(context)
        if counter is None:
            counter = counters[context] = [0] * SIZE
            chances.append(float("nan"))
        else:
            chances.append(counter[token] / sum(counter))
        counter[token] += 1
    return chances


def with_integers(tokens: list[int]) -> list[float]:
    """The fastest baseline in plain Python: the context is an integer that is shifted."""
    counters: dict[int, list[int]] = {}
    chances = [float("nan")] * ORDER
    context, contexts = 0, SIZE**ORDER
    for token in tokens[:ORDER]:
        context = context * SIZE + token
    for token in tokens[ORDER:]:
        counter = counters.get(context)
        if counter is None:
            counter = counters[context] = [0] * SIZE
            chances.append(float("nan"))
        else:
            chances.append(counter[token] / sum(counter))
        counter[token] += 1
        context = (context * SIZE + token) % contexts
    return chances


def measure(name: str) -> dict[str, float]:
    """Measure all numbers of one data set in this process."""
    import numpy as np

    from anyorder.estimators.streaming import StreamingEstimator

    tokens = generate(name)
    StreamingEstimator(ORDER, SIZE).probabilities(tokens[:1000])  # compiles
    stream = StreamingEstimator(ORDER, SIZE)
    start = time.perf_counter()
    chances = stream.probabilities(tokens)[:PREFIX].copy()
    first = (time.perf_counter() - start) / LENGTH
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    contexts = stream.contexts
    del stream

    prefix = tokens[:PREFIX].tolist()
    for plain in (with_tuples, with_integers):
        np.testing.assert_array_equal(plain(prefix), chances)
    return {
        "contexts": contexts,
        "first": first,
        "gigabytes": peak / 1e9,
        "beside": (peak - tokens.nbytes - LENGTH * chances.itemsize) / 1e9,
        "ours": fastest(lambda: StreamingEstimator(ORDER, SIZE).probabilities(tokens), 5) / LENGTH,
        "tuples": fastest(lambda: with_tuples(prefix), 3) / PREFIX,
        "integers": fastest(lambda: with_integers(prefix), 3) / PREFIX,
    }


def main() -> None:
    for name, description in DATA.items():
        command = [sys.executable, "-m", "benchmarks.streaming", name, "--tokens", str(LENGTH)]
        numbers = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        show(
            f"streaming k-gram, order {ORDER}, alphabet {SIZE}, {LENGTH:,} tokens: {description}",
            [
                Row(f"dictionary, first {PREFIX:,} tokens", 1e9 * numbers["tuples"], "ns/token"),
                Row("the same with integer keys", 1e9 * numbers["integers"], "ns/token"),
                Row("StreamingEstimator, all tokens, fastest of 5 in a row", 1e9 * numbers["ours"], "ns/token"),
                Row("its first run, which also pays for fresh memory", 1e9 * numbers["first"], "ns/token"),
                Row("speed-up", numbers["tuples"] / numbers["ours"], "×", "≥ 40"),
                Row("speed-up over integer keys", numbers["integers"] / numbers["ours"], "×"),
                Row("distinct contexts", numbers["contexts"] / 1e6, "million"),
                Row("peak memory of the process", numbers["gigabytes"], "GB"),
                Row("of it beside the tokens and their probabilities", numbers["beside"], "GB", "< 1.5"),
            ],
        )


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in DATA:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
