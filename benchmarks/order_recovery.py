"""Which method recovers the order of heads that are known? `python -m benchmarks.order_recovery [--export FILE]`.

Heads with known answers (0: no order) on one set of sequences: ideal heads and certified constructions of order 1 to 8,
skips, sums, graded heads and decoys. Two methods are scored: the probe's agreement patterns, and the match-length
rule of version 0.2. `--export` writes tokens, attention and answers as arrays, for methods of others.
"""

import argparse
import json

import numpy as np

from anyorder.constructions import construct
from anyorder.probing import match_lengths, order, spectrum
from anyorder.probing.agreement import agreed, kind_of, profiles
from anyorder.probing.measurement import HALF_LEVEL
from anyorder.probing.stimuli import sequences

LONGEST, COUNT, LENGTH = 9, 48, 192


def agreement(tokens):
    """Whether offset j = 1 … K agrees, for every query and key."""
    rows, equal = len(tokens), tokens[:, None] == tokens
    return np.stack([np.pad(equal, ((j - 1, 0), (j, 0)))[:rows, :rows] for j in range(1, LONGEST + 1)])


def heads():
    """Name, answer (0: no order), and scores of every query and key as a function of tokens."""
    for k in range(1, 9):
        yield f"ideal, order {k}", k, lambda tokens, k=k: 15.0 * agreement(tokens)[:k].all(axis=0)
    for k in (2, 3, 4, 5):
        yield f"skip, offset {k} alone", 0, lambda tokens, k=k: 15.0 * agreement(tokens)[k - 1]
    yield "skip, offsets 1 and 3", 0, lambda tokens: 15.0 * agreement(tokens)[[0, 2]].all(axis=0)
    yield "skip, offsets 2 and 3", 0, lambda tokens: 15.0 * agreement(tokens)[[1, 2]].all(axis=0)
    for nats in (0.5, 1.0):
        yield f"sum, {nats} nats an offset", 0, lambda tokens, nats=nats: nats * agreement(tokens).sum(axis=0)
        yield f"graded, {nats} nats a token", 0, lambda tokens, nats=nats: nats * match_lengths(tokens, LONGEST)
    yield "duplicate token", 0, lambda tokens: 15.0 * (tokens[:, None] == tokens)
    yield "another symbol", 0, lambda tokens: 15.0 * ~agreement(tokens)[0]
    yield "previous token", 0, lambda tokens: 15.0 * np.eye(len(tokens), k=-1)
    yield "recency", 0, lambda tokens: 0.2 * np.arange(len(tokens)) * np.ones((len(tokens), 1))
    for seed in range(4):
        random = np.random.default_rng(seed)
        table = 2 * random.standard_normal((2, 2))
        yield "random preferences", 0, lambda tokens, table=table: table[tokens[:, None], tokens]
        yield "noise", 0, lambda tokens, random=random: 3 * random.standard_normal((len(tokens), len(tokens)))


def softmax(scores):
    weights = np.tril(np.exp(scores - scores.max(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)


def recorded():
    """Tokens, attention (sequences, heads, T, T), names and answers."""
    drawn = sequences(COUNT, length=LENGTH, symbols=2, max_length=LONGEST)
    names, answers, scores = zip(*heads(), strict=True)
    attention = np.array([[softmax(score(row)) for score in scores] for row in drawn.tokens], np.float32)
    built = [(name, k) for name in ("k-head", "dyadic") for k in range(1, 9)]
    models = [construct(name, order=k, alphabet_size=2, length=LENGTH) for name, k in built]
    proven = [[np.asarray(model.attention(row)[-1], np.float32)[-1] for model in models] for row in drawn.tokens]
    starts = [one.shape[-1] - LENGTH for one in proven[0]]
    proven = np.array([[one[start:, start:] for one, start in zip(row, starts, strict=True)] for row in proven])
    names += tuple(f"{name}, order {k}" for name, k in built)
    return drawn, np.concatenate([attention, proven], axis=1), names, (*answers, *(k for _, k in built))


def by_agreement(drawn, attention):
    given = zip(attention, drawn.tokens, drawn.pairs, strict=True)
    whole = profiles([agreed(maps, row, LONGEST, 0, pairs) for maps, row, pairs in given], LONGEST)
    halves = [whole.of(slice(half, None, 2)) for half in (0, 1)]
    both = np.all([half.compares(HALF_LEVEL) for half in halves], axis=0)
    shares = np.stack([half.shares(1) for half in halves], axis=1)
    kinds = map(kind_of, whole.shares(1), shares, whole.shares(1 + LONGEST))
    return [len(needed) * (kind == "k-gram" and bool(has)) for has, (kind, needed) in zip(both, kinds, strict=True)]


def by_match_length(drawn, attention):
    """The order that half of the rise of the spectrum gives; the spectrum leaves the first key out."""
    attention = attention / attention.sum(axis=-1, keepdims=True)
    found = spectrum(attention, drawn.tokens, max_length=LONGEST, queries=drawn.queries)
    return [order(found[head]).order or 0 for head in range(attention.shape[1])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--export", help="write tokens, attention, names and answers to this .npz file")
    path = parser.parse_args().export
    drawn, attention, names, answers = recorded()
    if path:
        np.savez_compressed(path, tokens=drawn.tokens, attention=attention, names=names, answers=answers)
    read = {"agreement": by_agreement(drawn, attention), "match_length": by_match_length(drawn, attention)}
    known = np.array(answers)
    report = {"heads": len(known)}
    for method, orders in read.items():
        right = np.array(orders) == known
        wrong = {name: int(got) for name, got, fine in zip(names, orders, right, strict=True) if not fine}
        has = known > 0
        report[method] = {
            "with_an_order": f"{right[has].sum()} of {has.sum()}",
            "without": f"{right[~has].sum()} of {(~has).sum()}",
            "wrong": wrong,
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
