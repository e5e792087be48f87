"""App. A and B: the printed matrices, gates and index sets, run as printed and as intended."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from anyorder import estimators
from anyorder.constructions.stream import Stream
from anyorder.models import Transformer
from anyorder.papers.entry import Finding, claim, judge
from anyorder.papers.two_can.claims.measures import (
    TOLERANCE,
    apart,
    built,
    codes,
    distance_to_kgram,
    hard,
    nearest,
    verified,
)


def _routed(model: Transformer, layer: int, name: str, *routes: tuple[str, str, float]) -> Transformer:
    """The model with the codes of one projection of a layer's head read from other blocks of the stream."""
    head = model.layers[layer].heads[0]
    stream, weight = _stream(model), getattr(head, name)
    gate = {} if head.normalise else {"gate": 1}
    space = Stream(**gate, code=model.alphabet_size, unused=len(weight) - model.alphabet_size - len(gate))
    kept = 0 if head.normalise else jnp.where(stream.map(("gate", "gate", 1.0), to=space) != 0, weight, 0)
    return eqx.tree_at(lambda m: getattr(m.layers[layer].heads[0], name), model, kept + stream.map(*routes, to=space))


def _stream(model: Transformer) -> Stream:
    """The named blocks of a construction."""
    return Stream(**dict(model.blocks or ()))


@claim("App. A and B, gate", "Z_n = 3^(k+1)/5 for n ≥ k + 1, and at most 3^k/5 before.")
def eq_gate() -> Finding:
    """Z_n read off the running model at every position, k = 1 … 4."""
    printed, corrected, separated, values = [], [], [], []
    for order in range(1, 5):
        trace = built("two-layer", order).trace(hard(order)[0])
        z = np.asarray(trace.block("gate", "attention 1"))[:, 0]
        wanted = [1.0] + [0.75 * (3.0 ** min(n, order) + 1) for n in range(1, len(z))]
        printed.append(apart(z[order + 1 :], 3 ** (order + 1) / 5))
        corrected.append(apart(z, wanted))
        separated.append(z[:order].max() < z[order:].min())
        values.append([z[order - 1], z[order]])
    return judge(
        {
            "largest error as printed": max(printed),
            "largest error of ¾(3^m + 1)": max(corrected),
            "Z with one token fewer and with a full window, k = 1 … 4": values,
        },
        printed=max(printed) < 1e-9,
        corrected=max(corrected) < 1e-9 and all(separated),
        correction="Z_n = ¾(3^m + 1) with m = min(n, k) tokens, full already at n = k; it separates as needed",
    )


def frequencies(tokens: Int[np.ndarray, "length"], first: int, compared: range) -> Float[np.ndarray, "length 2"]:
    """Token frequencies over index sets as the paper writes them; NaN where a set is empty.

    The set of n has the i from `first` to n with x_{i-1-j} = x_{n-j} for all j of a range.

    >>> frequencies(np.array([0, 1, 0, 1, 0]), 1, range(1))[-1].tolist()
    [0.0, 1.0]
    """
    counts = np.zeros((len(tokens), 2))
    for n in range(max(compared), len(tokens)):
        for i in range(max(first, max(compared) + 1), n + 1):
            counts[n, tokens[i]] += all(tokens[i - 1 - j] == tokens[n - j] for j in compared)
    with np.errstate(invalid="ignore"):
        return counts / counts.sum(axis=1, keepdims=True)


@claim("App. A and B, index set I_n", "I_n has the i from k + 1 (or k) to n with x_{i-1-j} = x_{n-j}, j = 0 … k.")
def eq_index_set() -> Finding:
    """Frequencies over the set as printed and as corrected, against Definition 2, order 2."""
    order = 2

    def error(first: int, compared: range) -> float:
        """Over two sequences; 1 where only one of the two is defined."""
        gaps = []
        for tokens in hard(order)[[0, 3], :64]:
            exact = np.asarray(estimators.kgram(tokens, order=order, alphabet_size=2).probabilities)
            found = frequencies(tokens, first, compared)
            gaps.append(np.where(np.isnan(found) != np.isnan(exact), 1.0, np.nan_to_num(np.abs(found - exact))))
        return float(np.max(gaps))

    worst = {
        "printed": error(order, range(order + 1)),
        "j = 0 … k - 1, i from k + 1": error(order + 1, range(order)),
        "j = 0 … k - 1, i from k": error(order, range(order)),
    }
    return judge(
        {f"largest error, {name}": value for name, value in worst.items()},
        printed=worst["printed"] < 1e-12,
        corrected=worst["j = 0 … k - 1, i from k"] < 1e-12,
        correction="k comparisons, j = 0 … k - 1, and i from k, as in Definition 2",
    )


def _as_printed(printed: dict[str, Transformer], ours: tuple[str, ...], order: int, correction: str) -> Finding:
    """Constructions with a matrix as printed, and with our reading of it."""
    errors = {name: distance_to_kgram(model, order) for name, model in printed.items()}
    read = {name: verified(name, order).max_error for name in ours}
    return judge(
        {
            **{f"error as printed, {name}": error for name, error in errors.items()},
            **{f"error as read here, {name}": error for name, error in read.items()},
        },
        printed=max(errors.values()) < TOLERANCE,
        corrected=max(read.values()) < TOLERANCE,
        correction=correction,
    )


@claim(
    "App. A.2.1, W_mlp^(1) and W_mlp^(2); App. B.1, W_mlp^(3)",
    "Copies between blocks of S: A.2.1 from v_n to û_n and from v_n to v_n, B.1 from e_{x_n} to v_n.",
)
def eq_mlp_matrices() -> Finding:
    """Theorems 2 and 3 with each matrix as printed, and with only the columns of B.1's corrected; order 2."""
    order = 2

    def changed(name: str, layer: int, read: str, write: str) -> Transformer:
        model = built(name, order)
        return eqx.tree_at(lambda m: m.layers[0].mlp[layer].weight, model, _stream(model).map((read, write, 1.0)))

    return _as_printed(
        {
            "A.2.1, W_mlp^(1)": changed("two-head", 0, "window", "query"),
            "A.2.1, W_mlp^(2)": changed("two-head", 1, "window", "window"),
            "B.1, W_mlp^(3)": changed("two-layer", 2, "token", "window"),
            "B.1, W_mlp^(3), columns corrected": changed("two-layer", 2, "window", "window"),
        },
        ("two-head", "two-layer"),
        order,
        "W_mlp^(1) of A.2.1 reads u_n; W_mlp^(2) there and W_mlp^(3) of B.1 read v_n and write the block of "
        "v̂_n, one further right; the latter has 6S + 3 columns, not 5S + 3",
    )


#: Widths of the blocks in a row of a printed matrix, as (whole numbers, multiples of S), and corrected.
ROWS = {
    "W_K^(1), upper blocks": (((1, 0), (2, 0), (0, 6)), ((1, 0), (2, 0), (0, 6))),
    "W_K^(1), lower blocks": (((1, 0), (2, 0), (2, 6)), ((1, 0), (2, 0), (0, 6))),
    "W_Q^(1)": (((3, 0), (0, 1), (0, 5)), ((3, 0), (0, 1), (0, 5))),
    "W_V^(1)": (((3, 0), (0, 1), (0, 4)), ((3, 0), (0, 1), (0, 5))),
    "W_mlp^(1)": (((3, 3), (0, 1), (0, 2)), ((3, 3), (0, 1), (0, 2))),
    "b_mlp^(1)": (((3, 1), (0, 1), (0, 1), (0, 2)), ((3, 1), (0, 1), (0, 1), (0, 3))),
    "W_mlp^(3)": (((3, 0), (0, 1), (0, 4)), ((3, 0), (0, 1), (0, 5))),
}


@claim("App. A to D, block matrices", "Every matrix of layer one and of the MLP has d = 6S + 3 columns.")
def eq_shapes() -> Finding:
    """The widths of the blocks of a row, added up as printed and as intended."""

    def total(widths: tuple[tuple[int, int], ...]) -> list[int]:
        return np.sum(widths, axis=0).tolist()

    sums = {name: [total(printed), total(meant)] for name, (printed, meant) in ROWS.items()}
    return judge(
        {f"{name}: a and b of a + bS columns": printed for name, (printed, _) in sums.items()},
        printed=all(printed == [3, 6] for printed, _ in sums.values()),
        corrected=all(meant == [3, 6] for _, meant in sums.values()),
        correction="the lower blocks of W_K^(1) have 6S + 5 columns, W_V^(1), W_mlp^(3) and b_mlp^(1) 5S + 3; only the "
        "width of a zero block is wrong",
    )


@claim(
    "App. B.1 and B.2, figures of the MLP",
    "Three layers, each with ReLU, layer norm and a skip connection (B.1); two, of which the second is linear (B.2).",
)
def fig_mlp() -> Finding:
    """The points of both stacks in the running models, against x + LN(ReLU(Wx + b)) written out in NumPy; order 3."""
    order, tokens = 3, hard(3)[0]
    gaps, layers = {}, {}
    for name in ("two-layer", "two-layer-qk"):
        model = built(name, order)
        trace, stack = model.trace(tokens), model.layers[0].mlp
        entering = np.concatenate(
            [np.asarray(trace.block(block, "attention 1")) for block, _ in model.blocks or ()], axis=1
        )
        points = [entering]
        for place, layer in enumerate(stack):
            x = points[-1] @ np.asarray(layer.weight).T + np.asarray(layer.bias)
            if name == "two-layer" or place == 0:
                x = np.maximum(x, 0.0)
                lengths = np.linalg.norm(x, axis=1, keepdims=True)
                # the skip of the second layer of B.1 starts where the stack does: e_{x_{n-k}} is dropped
                x = points[0 if place < 2 else place] + x / np.where(lengths > 0, lengths, 1)
            points.append(x)
        after = f"mlp 1.{len(stack)}"
        found = np.concatenate([np.asarray(trace.block(block, after)) for block, _ in model.blocks or ()], axis=1)
        gaps[name], layers[name] = apart(points[-1][order:], found[order:]), len(stack)
    return judge(
        {
            **{f"MLP layers, {name}": count for name, count in layers.items()},
            **{f"largest difference, {name}": gap for name, gap in gaps.items()},
        },
        printed=list(layers.values()) == [3, 2] and max(gaps.values()) < 1e-9,
        note="judged by the equations in the text; the figures themselves were not available",
    )


@claim("App. A and B, margin", "Directions of different contexts are at least 3^-k apart.")
def eq_margin() -> Finding:
    """The smallest distance over all pairs of contexts, times 3^k: S = 2 to k = 8, S = 3 to k = 5."""
    scaled = {s: [nearest(codes(s, k)) * 3.0**k for k in range(1, last + 1)] for s, last in ((2, 8), (3, 5))}
    smallest = min(min(values) for values in scaled.values())
    return judge(
        {f"smallest distance times 3^k, S = {s}, k = 1 …": values for s, values in scaled.items()},
        printed=smallest >= 1,
        note=f"loose: the smallest tends to 2·3^-k (here {smallest:.4f}), so 1 - cos tends to 2·9^-k",
    )


@claim(
    "App. A and B, W_Q^(2), W_K^(2) and W_V of head 1",
    "The identity of W_Q^(2) stands after 1 + (2 + 3S) columns, that of W_K^(2) after 1 + (2 + 4S); W_V of head 1 in "
    "App. A writes rows 3 + 3S … 3 + 4S.",
)
def eq_projections() -> Finding:
    """Each matrix as printed, by the block that its place names, in the constructions that have it; order 2."""
    order, printed = 2, {}
    for name in ("two-layer", "two-head"):
        model = built(name, order)
        assert model.certificate is not None
        printed[f"W_Q^(2), {name}"] = _routed(model, 1, "query", ("window", "code", model.certificate.kappa**0.5))
    for name in ("two-layer-qk", "two-head-qk"):
        printed[f"W_Q^(2), {name}"] = _routed(built(name, order), 1, "query", ("window", "code", 1.0))
        printed[f"W_K^(2), {name}"] = _routed(built(name, order), 1, "key", ("key", "code", 1.0))
    model = built("two-head", order)
    printed["W_V of head 1, two-head"] = eqx.tree_at(
        lambda m: m.layers[0].heads[0].value, model, _stream(model).map(("token", "window", 1.0))
    )
    return _as_printed(
        printed,
        ("two-layer", "two-head", "two-layer-qk", "two-head-qk"),
        order,
        "W_Q^(2) reads û_n, one block of S further left; in the qk variants it reads u_n, two blocks "
        "further left, and W_K^(2) reads v_n, one block further left; W_V of head 1 writes the block of u_n. All W_V "
        "of layer one have 6S + 3 columns, not 5S + 3",
    )


@claim("Sec. 3 and 4, App. D", "Raising the temperature of the softmax to infinity gives the k-gram.")
def claim_temperature() -> Finding:
    """Error of `two-head` with scores divided by a temperature above and below its own."""
    order = 2
    model = built("two-head", order)
    assert model.certificate is not None
    cold, own, warm, hot = (
        distance_to_kgram(built("two-head", order, kappa=model.certificate.kappa * factor), order)
        for factor in (100.0, 1.0, 0.01, 1e-4)
    )
    return judge(
        {
            "error at a hundredth the temperature": cold,
            "error at its own temperature": own,
            "error at a hundred times the temperature": warm,
            "error at ten thousand times the temperature": hot,
        },
        printed=hot < TOLERANCE and warm < TOLERANCE,
        corrected=cold < TOLERANCE < min(warm, hot),
        correction="the scores are multiplied by a number that goes to infinity: the temperature goes to zero",
    )


@claim("Sec. 2.2, output", "The output is f(W_o x + b_o) with f = ReLU, called logits.")
def def_output() -> Finding:
    """The effect of a softmax on top of a construction that is exact without it."""
    order, model = 2, built("two-layer", 2)
    sums = max(apart(model(x).sum(axis=1)[order:], 1) for x in hard(order))
    error = distance_to_kgram(model, order)
    return judge(
        {
            "error of ReLU(output)": error,
            "error of softmax(output)": distance_to_kgram(lambda x: jax.nn.softmax(model.logits(x), axis=1), order),
            "largest |sum - 1| of the output": sums,
        },
        printed=max(error, sums) < TOLERANCE,
        note="the output is the k-gram itself, a distribution: ReLU leaves it unchanged, and no softmax follows",
    )
