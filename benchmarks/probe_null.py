"""How often the probe gives a kind to heads that compare nothing: `python -m benchmarks.probe_null`."""

import json

import numpy as np

from anyorder.probing.agreement import agreed, profiles
from anyorder.probing.measurement import HALF_LEVEL
from anyorder.probing.order import LEVEL
from anyorder.probing.stimuli import uniform

HEADS, BATCH, LONGEST, LENGTH = 2000, 200, 5, 192


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
        self.profile = 2 * self.standard_normal((BATCH, LENGTH))
        self.pairs = 2 * self.standard_normal((BATCH, 4, 4))


def compared(kind, generator, drawn):
    parts = []
    for tokens in drawn.tokens:
        weights = np.tril(np.exp(scores(kind, generator, tokens, np.arange(LENGTH))).swapaxes(0, 1))
        parts.append(agreed(weights / weights.sum(axis=-1, keepdims=True), tokens, LONGEST))
    return profiles(parts, LONGEST)


def main():
    found = {}
    for kind in ("noise", "places", "tokens"):
        alone = confirmed = 0
        for batch in range(HEADS // BATCH):
            whole = compared(kind, Heads(batch), uniform(48, seed=batch))
            alone += int(whole.compares(LEVEL).sum())
            halves = [whole.of(slice(half, None, 2)).compares(HALF_LEVEL) for half in (0, 1)]
            confirmed += int(np.all(halves, axis=0).sum())
        found[kind] = {"heads": HEADS, "compare_on_all_sequences": alone, "compare_on_both_halves": confirmed}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
