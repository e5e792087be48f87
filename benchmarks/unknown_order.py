"""Streams of unknown order against the streaming k-gram of the same order, for each depth that a token visits.

Each data set has its own process. Times are CPU times, so that the ratios of one run are valid on a shared machine.
"""

import json
import subprocess
import sys
import time

from benchmarks.measure import Row, show
from benchmarks.streaming import DATA, LENGTH, ORDER, SIZE, generate

ESTIMATORS = ("kgram", "mixture", "ctw")
VISITED = ORDER + 1  # nodes on the path of a token, the empty context included


def measure(name: str) -> dict[str, dict[str, float]]:
    """Nanoseconds per token, distinct contexts and megabytes of every estimator, the fastest of three runs."""
    from anyorder.estimators.order_scores import OrderStream
    from anyorder.estimators.streaming import StreamingEstimator

    tokens = generate(name)
    numbers = {}
    for estimator in (*ESTIMATORS, "orders"):
        times = []
        for part in (tokens[:1000], tokens, tokens, tokens):  # the first compiles
            stream = OrderStream(ORDER, SIZE) if estimator == "orders" else StreamingEstimator(ORDER, SIZE, estimator)
            run = stream.feed if isinstance(stream, OrderStream) else stream.probabilities
            start = time.process_time()
            run(part)
            times.append(1e9 * (time.process_time() - start) / len(part))
        numbers[estimator] = {"time": min(times[1:]), "contexts": stream.contexts, "megabytes": stream.nbytes / 1e6}
    return numbers


def main() -> None:
    for name, description in DATA.items():
        command = [sys.executable, "-m", "benchmarks.unknown_order", name]
        numbers = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        kgram, ctw = numbers["kgram"], numbers["ctw"]
        show(
            f"unknown order, up to {ORDER}, alphabet {SIZE}, {LENGTH:,} tokens: {description}",
            [
                Row("k-gram", kgram["time"], "ns/token"),
                Row("mixture over orders", numbers["mixture"]["time"], "ns/token"),
                Row("context-tree weighting", ctw["time"], "ns/token"),
                Row("counting alone, as anyorder order does", numbers["orders"]["time"], "ns/token"),
                Row("ctw, for each depth, over the k-gram", ctw["time"] / VISITED / kgram["time"], "×", "≤ 3"),
                Row("distinct contexts of every order", ctw["contexts"] / 1e6, "million"),
                Row("memory for each of them", 1e6 * ctw["megabytes"] / ctw["contexts"], "bytes"),
            ],
        )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
