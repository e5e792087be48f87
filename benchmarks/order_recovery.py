"""Compare methods that recover the order of known heads: `python -m benchmarks.order_recovery [RUN …] [--export FILE]`.

Heads with known answers (0: no order) on one set of sequences: ideal heads and certified constructions of order 1 to 8,
bags, skips, sums, graded heads, decoys and noise; and both layers of trained models, from the given run folders, at
their training length. Methods: the probe, the match-length rule of version 0.2, and, if TransformerLens is installed,
its `detect_head`, unchanged and with a pattern for every order. `--export` writes tokens, attention and answers as
arrays, for other methods.
"""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from anyorder.constructions import construct
from anyorder.probing import Sequences, match_lengths, matched, order, sequences, spectrum
from anyorder.probing.measurement import as_pass, read_heads
from anyorder.probing.stimuli import complete, fitting

LONGEST, COUNT, LENGTH = 9, 48, 192


class Group(NamedTuple):
    """Heads on one set of sequences."""

    drawn: Sequences
    attention: np.ndarray  # (sequences, heads, T, T)
    names: tuple[str, ...]
    answers: tuple[int, ...]
    longest: int


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
        yield f"sum, {nats} nats per offset", 0, lambda tokens, nats=nats: nats * agreement(tokens).sum(axis=0)
        yield f"graded, {nats} nats per token", 0, lambda tokens, nats=nats: nats * match_lengths(tokens, LONGEST)
    for k in (2, 3, 4):
        yield f"bag of {k}", 0, lambda tokens, k=k: 15.0 * matched(tokens, k, bag=True)
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
    """Heads by formula, and certified constructions."""
    drawn = sequences(COUNT, length=LENGTH, symbols=2, max_length=LONGEST)
    names, answers, scores = zip(*heads(), strict=True)
    attention = np.array([[softmax(score(row)) for score in scores] for row in drawn.tokens], np.float32)
    built = [(name, k) for name in ("k-head", "dyadic") for k in range(1, 9)]
    models = [construct(name, order=k, alphabet_size=2, length=LENGTH) for name, k in built]
    proven = [[_last(model.attention(row)[-1], LENGTH)[-1] for model in models] for row in drawn.tokens]
    names += tuple(f"{name}, order {k}" for name, k in built)
    answers += tuple(k for _, k in built)
    return Group(drawn, np.concatenate([attention, np.array(proven)], axis=1), names, answers, LONGEST)


def trained(folder):
    """Both layers of all models of a run, whose last layer has the order of the chains."""
    from anyorder.training.folder import read_config, read_models

    data, models = read_config(Path(folder)).data, read_models(Path(folder))[1]
    symbols, longest = fitting(data.length, range(2, 1 + models[0].alphabet_size), LONGEST)
    drawn = complete(COUNT, length=data.length, symbols=symbols, max_length=longest)
    maps = [[_last(layer, data.length) for model in models for layer in model.attention(row)] for row in drawn.tokens]
    names = tuple(
        f"{folder}, model {number}, layer {layer}"
        for number, model in enumerate(models)
        for layer in range(len(model.layers))
    )
    answers = tuple(
        data.order * (layer == len(model.layers) - 1) for model in models for layer in range(len(model.layers))
    )
    return Group(drawn, np.array(maps)[:, :, 0], names, answers, longest)


def _last(attention, length):
    """Attention without a beginning token."""
    attention = np.asarray(attention, np.float32)[..., -length:, -length:]
    return attention / np.maximum(attention.sum(axis=-1, keepdims=True), 1e-30)


def by_agreement(group):
    passes = [
        as_pass([maps], row, queries, group.longest, number, pairs=pairs)
        for number, (maps, row, queries, pairs) in enumerate(
            zip(group.attention, group.drawn.tokens, group.drawn.queries, group.drawn.pairs, strict=True)
        )
    ]
    count = len(group.names)
    result = read_heads("heads", [(0, head) for head in range(count)], passes, group.longest, np.zeros(count), {})
    return [len(head.needed) * (head.kind == "k-gram") for head in result.heads]


def by_match_length(group):
    """The order at half of the rise of the spectrum, which excludes the first key."""
    found = spectrum(group.attention, group.drawn.tokens, max_length=group.longest, queries=group.drawn.queries)
    return [order(found[head]).order or 0 for head in range(len(group.names))]


def _detect(tokens, maps, pattern, measure):
    """`detect_head` on given attention instead of a model's."""
    import torch
    from transformer_lens.head_detector import detect_head

    cfg = SimpleNamespace(device="cpu", n_heads=len(maps), n_layers=1, n_ctx=len(tokens) + 1, dtype=torch.float32)
    model = SimpleNamespace(cfg=cfg, to_tokens=lambda seq: torch.as_tensor(tokens)[None])
    cache = {("pattern", 0, "attn"): torch.as_tensor(maps)}
    given = pattern if isinstance(pattern, str) else torch.as_tensor(pattern, dtype=torch.float32)
    return detect_head(model, "", given, cache=cache, error_measure=measure)[0].numpy()


def by_detect_head(group):
    """Its pattern `induction_head`: order 1 if the score is more than half of the way from chance to 1."""
    given = list(zip(group.drawn.tokens, group.attention, strict=True))
    scores = np.mean([_detect(row, maps, "induction_head", "mul") for row, maps in given], axis=0)
    even = np.tri(group.attention.shape[-1], dtype=np.float32)[None]
    even /= even.sum(axis=-1, keepdims=True)
    chance = np.mean([_detect(row, even, "induction_head", "mul") for row in group.drawn.tokens])
    return (scores > (1 + chance) / 2).astype(int).tolist()


def by_patterns(group):
    """Its measure "abs" against ideal heads of every order and uniform attention: the best score wins."""
    totals = 0
    for row, maps in zip(group.drawn.tokens, group.attention, strict=True):
        ideal = [
            softmax(15.0 * matched(row, k)) if k else softmax(0.0 * matched(row, 1)) for k in range(group.longest + 1)
        ]
        totals = totals + np.array([_detect(row, maps, pattern, "abs") for pattern in ideal])
    return np.argmax(totals, axis=0).tolist()


def methods():
    yield "agreement patterns", by_agreement
    yield "match-length rule of version 0.2", by_match_length
    try:
        import transformer_lens.head_detector  # noqa: F401
    except ImportError:
        return
    yield "detect_head, induction_head", by_detect_head
    yield "detect_head, a pattern for every order", by_patterns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", help="folders of training runs")
    parser.add_argument("--export", help="write tokens, attention, names and answers to this .npz file")
    given = parser.parse_args()
    groups = [recorded(), *map(trained, given.runs)]
    if given.export:
        arrays = {}
        for number, group in enumerate(groups):
            end = f"_{number}" if number else ""
            arrays |= {f"tokens{end}": group.drawn.tokens, f"pairs{end}": group.drawn.pairs}
            arrays |= {f"attention{end}": group.attention, f"names{end}": group.names, f"answers{end}": group.answers}
        np.savez_compressed(given.export, **arrays)
    names, known = sum((group.names for group in groups), ()), np.array(sum((group.answers for group in groups), ()))
    by_formula = np.arange(len(known)) < sum(answer > 0 for answer in groups[0].answers[:8])
    late = np.arange(len(known)) >= len(groups[0].names)
    kinds = {
        "ideal": by_formula,
        "constructions": (known > 0) & ~by_formula & ~late,
        "trained": (known > 0) & late,
        "without an order": known == 0,
    }
    for method, read in methods():
        orders = np.concatenate([read(group) for group in groups])
        right = orders == known
        report = {kind: f"{right[chosen].sum()} of {chosen.sum()}" for kind, chosen in kinds.items()}
        wrong = {name: int(got) for name, got, fine in zip(names, orders, right, strict=True) if not fine}
        print(json.dumps({"method": method, **report, "wrong": wrong}, indent=2), flush=True)


if __name__ == "__main__":
    main()
