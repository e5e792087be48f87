"""False positives of the probe on heads that do not compare tokens: `python -m benchmarks.probe_null`."""

import json

import numpy as np

from anyorder.probing.agreement import agreed, profiles
from anyorder.probing.measurement import HALF_LEVEL
from anyorder.probing.order import LEVEL
from anyorder.probing.stimuli import complete

HEADS, BATCH = 2000, 200
#: Length, symbols and K: the defaults, the largest K, and for models trained on 32 or 64 binary tokens.
DESIGNS = (192, 3, 5), (192, 2, 9), (32, 2, 4), (64, 2, 5)


def scores(kind, generator, tokens, places):
    """Scores (queries, heads, keys) of random heads of a kind, which never compare the tokens before a key."""
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


def compared(kind, generator, drawn, longest):
    parts = []
    for tokens, pairs in zip(drawn.tokens, drawn.pairs, strict=True):
        places = np.flatnonzero(pairs.any(axis=1))  # attention in other rows is never read
        weights = np.exp(scores(kind, generator, tokens, places)).swapaxes(0, 1) * (
            np.arange(len(tokens)) <= places[:, None]
        )
        attention = np.zeros((BATCH, len(tokens), len(tokens)), np.float32)
        attention[:, places] = weights / weights.sum(axis=-1, keepdims=True)
        parts.append(agreed([attention], tokens, longest, 0, pairs))
    return profiles(parts, longest)


def main():
    for length, symbols, longest in DESIGNS:
        found = {"length": length, "symbols": symbols, "max_length": longest, "heads_of_a_kind": HEADS}
        for kind in ("noise", "places", "tokens"):
            alone = confirmed = 0
            for batch in range(HEADS // BATCH):
                drawn = complete(48, length=length, symbols=symbols, max_length=longest, seed=batch)
                whole = compared(kind, Heads(batch), drawn, longest)
                alone += int(whole.compares(LEVEL).sum())
                halves = [whole.of(slice(half, None, 2)).compares(HALF_LEVEL) for half in (0, 1)]
                confirmed += int(np.all(halves, axis=0).sum())
            found[kind] = {"on_all_sequences": alone, "on_both_halves": confirmed}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
