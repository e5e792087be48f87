"""How often the probe gives an order to heads that do no induction: `python -m benchmarks.probe_null`."""

import json

import numpy as np

from anyorder.probing import sequences
from anyorder.probing.measurement import HALF_LEVEL
from anyorder.probing.order import order
from anyorder.probing.spectrum import Rows, join, match_lengths, tally

HEADS, BATCH, LONGEST = 2000, 200, 5


def scores(kind, generator, tokens, places):
    """Scores (queries, heads, keys) of random heads of a kind, which never compare what stands before a key."""
    length = len(tokens)
    if kind == "noise":
        return 3 * generator.standard_normal((len(places), BATCH, length))
    offsets = np.maximum(places[:, None] - np.arange(length), 0)
    if kind == "places":
        return generator.profile[:, offsets].swapaxes(0, 1)
    return generator.pairs[:, tokens[places][:, None], tokens[None, :]].swapaxes(0, 1)


class Heads(np.random.Generator):
    """Random heads, the same on every sequence."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.profile = 2 * self.standard_normal((BATCH, 192))
        self.pairs = 2 * self.standard_normal((BATCH, 4, 4))


def rows(kind, generator, drawn):
    parts = []
    for number, (tokens, marked) in enumerate(zip(drawn.tokens, drawn.queries, strict=True)):
        places = np.flatnonzero(marked)
        weights = np.exp(scores(kind, generator, tokens, places))
        weights *= (np.arange(len(tokens)) <= places[:, None])[:, None]
        weights /= weights.sum(axis=-1, keepdims=True)
        lengths = match_lengths(tokens, LONGEST)[places]
        parts.append(Rows(weights.astype(np.float32), lengths, places, np.full(len(places), number)))
    return join(parts)


def main():
    found = {}
    for kind in ("noise", "places", "tokens"):
        alone = confirmed = 0
        for batch in range(HEADS // BATCH):
            kept = rows(kind, Heads(batch), sequences(48, seed=batch))
            halves = [tally(kept.of(kept.sequence % 2 == half), LONGEST) for half in (0, 1)]
            whole, even = tally(kept, LONGEST), tally(kept, LONGEST, "offsets")
            for head in range(BATCH):
                has = order(whole[head]).order is not None
                alone += has
                confirmed += has and all(order(part[head], level=HALF_LEVEL).order for part in halves) and bool(
                    order(even[head]).order
                )  # fmt: skip
        found[kind] = {"heads": HEADS, "order_of_one_spectrum": alone, "order_of_the_probe": confirmed}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
