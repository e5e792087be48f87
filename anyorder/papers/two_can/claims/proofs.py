"""App. A and B step by step: the output of each layer, and the proofs' statements about it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from anyorder import chains, estimators
from anyorder.chains import Chains, Dirichlet
from anyorder.constructions import construct
from anyorder.models import MLPLayer
from anyorder.papers.entry import Finding, Numbers, claim, judge
from anyorder.papers.two_can.claims.measures import (
    TOLERANCE,
    apart,
    built,
    codes,
    directions,
    distance_to_kgram,
    hard,
    verified,
)
from anyorder.papers.two_can.dynamics import power_law


@claim(
    "App. A and B, layer 1",
    "att_{n,n-i} = 3^(i-1)/C for 1 ≤ i ≤ min(n, k) (head 1: 3^i/C for 0 ≤ i < k), and 0 elsewhere.",
)
def eq_first_attention() -> Finding:
    """Attention of layer one read off the running model, against the formula with C for min(n, k) terms."""
    order, tokens = 3, hard(3)[0]
    weights = np.asarray(built("two-head", order).trace(tokens).attention[0])
    wanted = np.zeros_like(weights)
    for n in range(len(tokens)):
        for i in range(min(n + 1, order)):
            wanted[0, n, n - i] = 3.0**i
        for i in range(1, min(n, order) + 1):
            wanted[1, n, n - i] = 3.0 ** (i - 1)
    with np.errstate(invalid="ignore"):
        wanted /= wanted.sum(axis=2, keepdims=True)
    gap = np.nan_to_num(np.abs(weights - wanted), nan=np.inf)
    return judge(
        {"largest error from n = 1 on": gap[:, 1:].max(), "att_{0,0} of the second head": weights[1, 0, 0]},
        printed=gap[:, 1:].max() < 1e-12,
        note="from n = 1 on, where the sum is not empty; position 0 attends to itself",
    )


@claim(
    "Sec. 3 and 4, proof sketches",
    "Layer one has the weights attn_{n,i} = 3^i / Σ_{j=1..k} 3^j at the positions i = n - 1 … n - k (Sec. 3: "
    "3^i / Σ_{j=0..k-1} 3^j at n … n - k + 1).",
    see=("eq-first-attention",),
)
def eq_sketch_attention() -> Finding:
    """The weights with i the position, as written, and with i the offset, against the running model; order 3."""
    order, tokens = 3, hard(3)[0]
    weights = np.asarray(built("two-head", order).trace(tokens).attention[0])
    sketches = {1: range(1, order + 1), 0: range(order)}  # by head of App. A: v_n and u_n
    literal, meant = 0.0, 0.0
    for head, offsets in sketches.items():
        total = sum(3.0**j for j in offsets)
        for n in range(order, 12):
            found = weights[head, n, [n - offset for offset in offsets]]
            literal = max(literal, apart(found, [3.0 ** (n - offset) / total for offset in offsets]))
            meant = max(meant, apart(found, [3.0**offset / total for offset in offsets]))
    return judge(
        {"largest difference, i the position": literal, "i the offset": meant},
        printed=literal < 1e-12,
        corrected=meant < 1e-12,
        correction="attn_{n,n-i} with i the offset, as in the appendices: with i the position the weights of a row do "
        "not add up to one",
    )


@claim(
    "App. B.1, W_mlp^(1)",
    "Subtracting (3^(k-1) - 1)/2C and taking ReLU and norm leaves the one-hot vector of the oldest token x_{n-k}.",
)
def eq_isolation() -> Finding:
    """Every context, S = 2 to k = 8 and S = 3 to k = 5, with the printed bias and with 3^(k-1)/2C of the text."""
    wrong, smallest = [], []  # with the bias and with the text's; the codes are whole numbers, not yet divided by C
    for symbols, order in [*((2, k) for k in range(1, 9)), *((3, k) for k in range(1, 6))]:
        oldest = np.eye(symbols)[[context[0] for context in itertools.product(range(symbols), repeat=order)]]
        thresholds = (3 ** (order - 1) - 1) / 2, 3 ** (order - 1) / 2
        left = [np.maximum(codes(symbols, order) - threshold, 0.0) for threshold in thresholds]
        wrong.append([np.abs(directions(one) - oldest).max(axis=1) > 1e-12 for one in left])
        smallest.append(min((one * oldest).sum(axis=1).min() for one in left))
    bias, text = np.concatenate(wrong, axis=1)
    return judge(
        {
            "contexts": len(bias),
            "contexts wrong with the printed bias": bias.sum(),
            "contexts wrong with the text's threshold": text.sum(),
            "smallest remaining coefficient, times C": min(smallest),
        },
        printed=not (bias | text).any(),
        note="both thresholds work; with the printed bias a run of equal later tokens gives exactly zero, not a "
        "negative value",
    )


@claim(
    "Sec. 4, MLP; App. B.1, W_mlp^(2)",
    "u_n is e_{x_n}/C + 3 v_n - 3^k e_{x_{n-k}}/C, the code of the last k "
    "tokens (Sec. 4 prints (3 e_{x_{n-k}} v_n)/C for 3 v_n).",
)
def eq_query() -> Finding:
    """Both formulas on all contexts and next tokens, S = 3, k = 4."""
    symbols, order = 3, 4
    words, total = np.array([*itertools.product(range(symbols), repeat=order + 1)]), (3**order - 1) / 2
    one_hot, weights = np.eye(symbols)[words], 3.0 ** np.arange(order - 1, -1, -1) / total
    u, v = weights @ one_hot[:, 1:], weights @ one_hot[:, :-1]
    oldest, newest = one_hot[:, 0], one_hot[:, -1]
    appendix, section = (
        apart(newest / total + middle - 3**order / total * oldest, u) for middle in (3 * v, 3 * oldest * v / total)
    )
    return judge(
        {"largest error, App. B.1": appendix, "largest error, Sec. 4": section},
        printed=max(appendix, section) < 1e-12,
        corrected=appendix < 1e-12,
        correction="the middle term is 3 v_n, as in App. B.1: v_n is divided by C already, and no e_{x_{n-k}} "
        "multiplies it",
    )


@claim(
    "App. A and B, layer 2",
    "The score written as a distance: kappa·cos(v_i, u_n) = 2 - kappa·‖v̂_i - û_n‖² (2·kappa in the softmax), and "
    "<LN, LN> = 2·cos in the qk variants.",
)
def eq_score() -> Finding:
    """Both sides on all pairs of contexts, S = 2, k = 5."""
    units, kappa = directions(codes(2, 5)), 7.0
    cosine = units @ units.T
    square = ((units[:, None] - units[None]) ** 2).sum(axis=2)
    printed, corrected = apart(kappa * cosine, 2 - kappa * square), apart(kappa * cosine, kappa - kappa / 2 * square)
    return judge(
        {"largest difference, printed": printed, "largest difference, with kappa - kappa/2·‖·‖²": corrected},
        printed=printed < 1e-9,
        corrected=corrected < 1e-9,
        correction="cos = 1 - ½‖·‖²: kappa·cos = kappa - (kappa/2)‖·‖²; a factor of two in kappa, nothing more",
    )


@claim(
    "App. A and B, layer 2",
    "As kappa grows, the attention of layer two tends to the uniform distribution on the matching positions.",
)
def eq_uniform_attention() -> Finding:
    """Largest distance to the pseudo-attention at growing kappa, where something matches."""
    order = 3
    model = built("two-layer", order)
    assert model.certificate is not None
    kappas, gaps = [factor * model.certificate.kappa for factor in (0.125, 0.25, 0.5, 1.0)], []
    for kappa in kappas:
        scaled, gap = built("two-layer", order, kappa=kappa, force=True), 0.0
        for tokens in hard(order):
            wanted = np.asarray(estimators.pseudo_attention(jnp.asarray(tokens, jnp.int32), order))
            some = wanted.sum(axis=1) > 0
            gap = max(gap, apart(scaled.trace(tokens).attention[-1][0][some], wanted[some]))
        gaps.append(gap)
    return judge(
        {"kappa": kappas, "largest distance": gaps},
        printed=gaps[-1] < TOLERANCE and all(b <= a for a, b in itertools.pairwise(gaps)),
    )


#: Ends of the ranges of positions, each the later half of a sequence, over which distances are averaged.
ENDS = (16, 64, 256)


def _falls(
    names: tuple[str, ...], seed: int, to: str, target: Callable[[Chains], ArrayLike], at_most: float, note: str
) -> Finding:
    """The mean distance of constructions to a target on Dirichlet chains of order 2, and the exponent of its fall."""
    drawn = chains.sample(Dirichlet(2, 2), length=ENDS[-1], count=64, seed=seed)
    wanted = np.asarray(target(drawn))
    numbers: Numbers = {"up to position": ENDS}
    exponents = []
    for name in names:
        model = construct(name, order=2, alphabet_size=2, length=ENDS[-1], dtype="float64")
        # of two symbols the largest difference is the total variation distance
        gap = np.abs(np.asarray(jax.vmap(model)(drawn.tokens))[:, : wanted.shape[1]] - wanted).max(axis=2)
        means = [np.nanmean(gap[:, end // 2 : end]) for end in ENDS]
        exponents.append(power_law(ENDS, means).exponent)
        numbers |= {f"mean distance to the {to}, {name}": means, f"exponent, {name}": exponents[-1]}
    return judge(numbers, printed=max(exponents) < at_most, note=note)


@claim(
    "App. A.2.2 and B.2, end",
    "The bias of the variants with normalised queries and keys vanishes as T grows, for irreducible chains.",
    see=("thm-two-head-variants", "thm-two-layer-variants"),
)
def claim_bias_vanishes() -> Finding:
    """The mean distance of both variants to the k-gram by position, and the exponent of its fall."""
    exact = jax.jit(jax.vmap(lambda x: estimators.kgram(x, order=2, alphabet_size=2).probabilities))
    note = (
        "the bias decreases over these positions; the paper states no rate, and Dirichlet chains with rare contexts "
        "converge slowly"
    )
    variants = ("two-head-qk", "two-layer-qk")
    return _falls(variants, 0, "k-gram", lambda drawn: exact(drawn.tokens), -0.5, note)


@claim("App. A and B, theorems", "The output approximates the kernel itself on sequences of any chain of order k.")
def claim_consistent() -> Finding:
    """Mean total variation distance between each configuration of App. A and B and the true kernel, order 2."""
    names = ("two-head", "two-head-qk", "two-layer", "two-layer-qk")
    note = "in the mean, as T grows, where contexts recur; at a fixed T no estimate from the tokens is exact"
    return _falls(names, 1, "kernel", lambda drawn: drawn.truth[:, 1:], -0.25, note)


@claim("Sec. 4", "ReLU and layer norm are critical for the two-layer, one-head result.")
def claim_nonlinearities() -> Finding:
    """Theorem 3 without its ReLU, without its norms, and two attention layers without an MLP."""
    order = 3
    model = built("two-layer", order)

    def without(change: Callable[[MLPLayer], MLPLayer]) -> float:
        stack = tuple(map(change, model.layers[0].mlp))
        changed = eqx.tree_at(lambda m: m.layers[0].mlp, model, stack, is_leaf=lambda x: x is None)
        return distance_to_kgram(changed, order)

    numbers = {
        "error of Theorem 3": distance_to_kgram(model, order),
        "without ReLU": without(lambda layer: dataclasses.replace(layer, activation="none")),
        "without layer norm": without(lambda layer: dataclasses.replace(layer, norm=None)),
        "error of `attention-only`, no MLP": verified("attention-only", order).max_error,
    }
    return judge(
        numbers,
        printed=min(numbers["without ReLU"], numbers["without layer norm"]) > 0.1,
        note="for this construction, as the paper says. `attention-only` has no MLP and no ReLU; it normalises queries "
        "and keys, which Definition 3 does not do (App. A.2.2 and B.2 do)",
    )
