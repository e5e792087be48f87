"""The streaming estimator against a plain Python dictionary of counters, and against simpler compiled forms.

Each computes the probability of every next token.

Each data set has its own process, so that the peak memory is that of one run. The dictionaries are timed on a prefix
and extrapolated to the whole, which favours them: they slow down as they grow.
`python -m benchmarks.streaming --tokens 100000000` takes ten times as many.
"""

import functools
import json
import resource
import subprocess
import sys
import time

from benchmarks.measure import Row, fastest, show, timed

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


def with_sorting(tokens):
    """The simplest compiled form: codes of contexts are sorted, and a count is the rank among equal codes."""
    import numpy as np

    codes = np.zeros(len(tokens) - ORDER, np.int64)
    for offset in range(ORDER):
        codes = codes * SIZE + tokens[offset : len(tokens) - ORDER + offset]

    def seen(codes):
        order = np.argsort(codes, kind="stable")
        ranked, places = codes[order], np.arange(len(codes))
        starts = np.where(np.r_[True, ranked[1:] != ranked[:-1]], places, 0)
        found = np.empty(len(codes), np.int64)
        found[order] = places - np.maximum.accumulate(starts)
        return found

    with np.errstate(invalid="ignore"):
        chances = seen(codes * SIZE + tokens[ORDER:]) / seen(codes)
    return np.r_[np.full(ORDER, np.nan), chances]


@functools.cache
def with_typed_dict():
    """The simplest compiled loop: a `numba.typed.Dict` from the code of a context to a row of counts."""
    import numba
    import numpy as np

    @numba.njit
    def count(tokens):
        rows = numba.typed.Dict.empty(numba.int64, numba.int64)
        counts = np.zeros((1024, SIZE), np.int32)
        chances = np.full(tokens.size, np.nan)
        context, contexts = 0, SIZE**ORDER
        for n in range(tokens.size):
            if n >= ORDER:
                known = len(rows)
                row = rows.setdefault(context, known)
                if row == len(counts):
                    counts = np.concatenate((counts, np.zeros_like(counts)))
                if row < known:
                    chances[n] = counts[row, tokens[n]] / counts[row].sum()
                counts[row, tokens[n]] += 1
            context = (context * SIZE + tokens[n]) % contexts
        return chances

    return count


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
    simple = {"sorting": with_sorting, "typed_dict": with_typed_dict()}
    for predict in simple.values():
        np.testing.assert_array_equal(predict(tokens[:PREFIX]), chances)
    cpu = {"ours": lambda tokens: StreamingEstimator(ORDER, SIZE).probabilities(tokens), **simple}
    spent = {name: min(timed(lambda: one(tokens), 3, 0, time.process_time)) for name, one in cpu.items()}  # noqa: B023
    return {
        **{f"over_{name}": spent[name] / spent["ours"] for name in simple},
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
                Row("CPU time of sorting the codes of contexts over ours", numbers["over_sorting"], "×", "> 2"),
                Row("CPU time of numba.typed.Dict over ours", numbers["over_typed_dict"], "×", "> 2"),
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
