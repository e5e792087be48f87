"""Sections 2 and 3: chains, the conditional k-gram, the transformer, the induction head, and the Bayes predictor."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from anyorder import chains, estimators
from anyorder.chains import Dirichlet, Kernel, PointMass
from anyorder.constructions import bounds
from anyorder.constructions.price import price
from anyorder.models import Head, Transformer
from anyorder.models.mlp import run_stack
from anyorder.papers.entry import Finding, claim, judge
from anyorder.papers.own import floor
from anyorder.papers.two_can.claims.measures import LENGTH, TOLERANCE, apart, built, directions, drawn, hard, verified
from anyorder.probing import matched

#: Largest accepted deviation, in standard errors, over the comparisons made here.
STANDARD_ERRORS = 5.0


@claim("Definition 1", "The law of x_{n+1} given the whole past depends on the last k tokens, for n ≥ k.")
def def_markov() -> Finding:
    """Frequencies after every whole past, against the kernel's row for its last k tokens."""
    kernel, order, count = Kernel(drawn(Dirichlet(2, 2), 1)[0]), 2, 1 << 15
    tokens = np.asarray(chains.sample(PointMass(kernel), length=5, count=count, seed=2).tokens)
    scores = []
    for n in range(order, 4):
        worst = 0.0
        for past in itertools.product(range(2), repeat=n + 1):
            rows = tokens[(tokens[:, : n + 1] == past).all(axis=1)]
            truth = kernel.probabilities[(*past[-order:], 0)]
            error = np.sqrt(truth * (1 - truth) / max(len(rows), 1))
            worst = max(worst, abs((rows[:, n + 1] == 0).mean() - truth) / error) if len(rows) > 50 else worst
        scores.append(worst)
    return judge({"largest deviation in standard errors, n = 2, 3": scores}, printed=max(scores) < STANDARD_ERRORS)


@claim("Definition 2", "The conditional k-gram: relative frequencies after earlier occurrences of the last k tokens.")
def def_kgram() -> Finding:
    """The sums of Definition 2 in exact fractions, on every binary sequence of eight tokens, orders 1 to 3."""
    sequences, worst, undefined, rows = list(itertools.product(range(2), repeat=8)), 0.0, 0, 0
    for order in (1, 2, 3):
        estimate = jax.jit(jax.vmap(functools.partial(estimators.kgram, order=order, alphabet_size=2)))
        predicted, defined = map(np.asarray, estimate(jnp.asarray(sequences, jnp.int32)))
        for x, probabilities, known in zip(sequences, predicted[:, -1], defined[:, -1], strict=True):
            last = len(x) - 1
            agree = [i for i in range(order, last + 1) if all(x[i - j] == x[last - j + 1] for j in range(1, order + 1))]
            rows, undefined = rows + 1, undefined + (not agree)
            if bool(agree) != bool(known):
                worst = np.inf
            for s in range(2) if agree else ():
                exact = Fraction(sum(x[i] == s for i in agree), len(agree))
                worst = max(worst, abs(float(exact) - probabilities[s]))
    return judge(
        {"largest difference": worst, "sequences": rows, "share with denominator 0": undefined / rows},
        printed=worst < 1e-15,
        note="where the denominator is not zero (def-kgram-denominator)",
    )


@claim("Definition 2", "Assuming that the denominator is not zero: the context occurred before.")
def def_kgram_denominator() -> Finding:
    """Coverage of the k-gram on Dirichlet chains of order 2, and attention of constructions in unseen contexts."""
    sequences = np.asarray(chains.sample(Dirichlet(2, 2), length=64, count=128, seed=2).tokens)
    coverage = [
        np.mean([matched(tokens, order)[order - 1 :].any(axis=1) for tokens in sequences]) for order in (1, 2, 3, 6)
    ]
    return judge(
        {"share of positions with a denominator, k = 1, 2, 3, 6": coverage, **_unseen()},
        printed=min(coverage) > 0 and verified("two-layer", 2).max_error < TOLERANCE,
        note="the assumption is explicit; an unseen context gives 0/0, and the share of unseen contexts grows with k. "
        "For these a construction attends to the nearest code: the paper's to windows that agree in the oldest tokens, "
        "`attention-only` nearly always to the longest suffix",
    )


def _unseen() -> dict[str, float]:
    """For unseen contexts: the share in which the most attended window agrees in the most tokens from one end."""
    order, shares = 5, {}
    for name, end, step in (("two-layer", "oldest", 1), ("attention-only", "newest", -1)):
        model, best = built(name, order), []
        for tokens in np.random.default_rng(0).integers(0, 2, (2, LENGTH)):
            weights = np.asarray(model.trace(tokens).attention[-1])[0]
            windows = np.lib.stride_tricks.sliding_window_view(tokens, order)[:, ::step]
            unseen = ~np.asarray(estimators.kgram(tokens, order=order, alphabet_size=2).defined)
            for n in np.flatnonzero(unseen[order:]) + order:
                *earlier, own = windows[: n - order + 2]
                agree = np.cumprod(np.array(earlier) == own, axis=1).sum(axis=1)
                best.append(agree[weights[n].argmax() - order] == agree.max())
        shares[f"{name}: unseen contexts with most {end} tokens agreeing"] = float(np.mean(best))
    return shares


@claim(
    "Sec. 2.1, data",
    "Rows of the kernel are Dirichlet(1, …, 1), that is uniform on the simplex; the first k tokens are uniform.",
)
def def_data() -> Finding:
    """First and second moments of the rows, and frequencies of the openings, in standard errors."""
    size, order, count = 3, 2, 4096
    drawn_chains = chains.sample(Dirichlet(order, size), length=4, count=count, seed=0)
    rows = np.asarray(drawn_chains.kernels).reshape(count, -1, size)
    mean, second = 1 / size, 2 / (size * (size + 1))
    moments = [(estimators.mean_and_error(moment), truth) for moment, truth in ((rows, mean), (rows**2, second))]
    scores = [(found - truth) / error for (found, error), truth in moments]
    openings = np.asarray(drawn_chains.tokens)[:, :order] @ size ** np.arange(order)
    expected = count / size**order
    opening = (np.bincount(openings, minlength=size**order) - expected) / np.sqrt(expected * (1 - size**-order))
    worst = {
        "moments of rows, standard errors": np.abs(scores).max(),
        "openings, standard errors": np.abs(opening).max(),
    }
    return judge(worst, printed=max(worst.values()) < STANDARD_ERRORS)


def definition_three(
    model: Transformer, tokens: Int[np.ndarray, "length"], query: str = "n"
) -> Float[np.ndarray, "length symbols"]:
    """Definition 3 in NumPy, position by position, with the query of position n, or with the printed x_i.

    Written without the package's attention; the MLP between the layers is the package's.
    """
    stream = np.asarray(model.embedding)[tokens]
    for layer in model.layers:
        stream = stream + sum(_head(head, stream, query) for head in layer.heads)
        stream = np.asarray(run_stack(layer.mlp, layer.mlp_norm, jnp.asarray(stream))[-1])
    return np.maximum(stream @ np.asarray(model.output).T, 0.0)


def _head(head: Head, stream: Float[np.ndarray, "length d"], query: str) -> Float[np.ndarray, "length d"]:
    queries, keys, values = (stream @ np.asarray(weight).T for weight in (head.query, head.key, head.value))
    by_offset = [np.zeros_like(keys), np.zeros_like(values)]  # zero beyond the end of a table of positions
    for rows, table in zip(by_offset, (head.key_positions, head.value_positions), strict=True):
        if table is not None:
            rows[: len(table)] = np.asarray(table)[: len(rows)]
    out = np.zeros_like(values)
    for n in range(len(stream)):
        key_rows, value_rows = (rows[n::-1] for rows in by_offset)
        asked = queries[n] if query == "n" else queries[: n + 1]
        scores = float(head.scale) * ((keys[: n + 1] + key_rows) * asked).sum(axis=1)
        out[n] = softmax(scores) @ (values[: n + 1] + value_rows)
    return out


@claim(
    "Definition 3",
    "Embedding, relative attention with key and value positions, residual, MLP with norm and skips, linear output.",
)
def def_transformer() -> Finding:
    """The definition in NumPy, with the printed query and with that of position n."""
    model, tokens = built("two-layer", 2), hard(2)[0][:64]
    ours = model(tokens)
    printed, corrected = (apart(definition_three(model, tokens, query), ours) for query in ("i", "n"))
    return judge(
        {"difference with the query of n": corrected, "difference with the printed query": printed},
        printed=printed < TOLERANCE,
        corrected=corrected < TOLERANCE,
        correction="the query is that of position n; with x_i no score would depend on the query position",
    )


@claim(
    "Definition 4",
    "A head is an induction head of order k if att_{T,i} is maximal exactly where "
    "the k tokens before i are the last k tokens.",
)
def def_induction_head() -> Finding:
    """The positions of largest attention of three constructions, against the positions that match."""
    order, seen, agree, unseen = 3, 0, 0, 0
    for name in ("two-layer", "dyadic", "k-head"):
        model = built(name, order)
        for tokens in hard(order):
            weights, wanted = np.asarray(model.trace(tokens).attention[-1])[0], matched(tokens, order)
            for n in range(order - 1, len(tokens)):
                maximal = weights[n, : n + 1] >= weights[n, : n + 1].max() * (1 - 1e-9)
                if wanted[n].any():
                    seen, agree = seen + 1, agree + bool((maximal == wanted[n, : n + 1]).all())
                else:
                    unseen += 1  # a softmax has a maximum without a match as well
    return judge(
        {"positions with a match": seen, "of these as defined": agree, "positions without a match": unseen},
        printed=agree == seen and unseen == 0,
        corrected=agree == seen > 0,
        correction="the quantifier runs over j = 1 … k (printed i), and some position must match, since a softmax "
        "always has a maximum",
    )


@claim("Sec. 3, opening", "The k-gram is close to Laplace smoothing, which is the Bayes predictor of the next token.")
def claim_bayes() -> Finding:
    """Excess loss of add-one against other predictors on Dirichlet(1) chains of order 2, T = 32."""
    compared = floor.compare(jax.random.key(0), order=2, length=33, count=2048)
    excess = {name: scores.excess.mean for name, scores in compared.scores.items()}
    others = [value for name, value in excess.items() if name != floor.FLOOR]
    kgram = compared.scores["k-gram"]
    return judge(
        {
            "excess of add-one": excess[floor.FLOOR],
            "its standard error": compared.scores[floor.FLOOR].excess.standard_error,
            "excess of add-half": excess["add-half (KT)"],
            "share of next tokens that the k-gram gives probability 0": kgram.missed.mean,
        },
        printed=excess[floor.FLOOR] < min(others),
        note="add-one is best; the k-gram itself has infinite loss",
    )


@claim(
    "App. A.1",
    "Standard layer norm of [x; -x], divided by √d, is x / ‖x‖: the mean is 0, the standard deviation ‖x‖/√d.",
)
def claim_layer_norm() -> Finding:
    """Layer norm without its epsilon, and with the usual 1e-5."""
    x = np.random.default_rng(0).normal(size=(64, 15)) * np.logspace(-2, 2, 64)[:, None]
    both = np.concatenate([x, -x], axis=1)
    mean, d = both.mean(axis=1, keepdims=True), x.shape[1]
    plain, usual = (
        apart((both - mean)[:, :d] / np.sqrt(d * (both.var(axis=1, keepdims=True) + epsilon)), directions(x))
        for epsilon in (0, 1e-5)
    )
    return judge(
        {"largest mean": np.abs(mean).max(), "largest error": plain, "with epsilon 1e-5, ‖x‖ from 0.04 on": usual},
        printed=max(np.abs(mean).max(), plain) < 1e-12,
        note="without the epsilon of standard implementations; the zero vector has no direction and is mapped to zero "
        "here",
    )


@claim(
    "Abstract, Sec. 1",
    "One layer with one head cannot represent an induction head unless its hidden dimension is exponentially larger "
    "than that of the two-layer model.",
)
def claim_one_layer() -> Finding:
    """Theorem A of docs/price.md at S = 3: all lists of five values are distinguished; the implied width as T grows.

    The sequence is κ_1 v_1 … κ_5 v_5 ?, with κ = ? before the queried value and 0 elsewhere.
    """
    size, word, lengths = 3, 32, [1 << power for power in range(8, 21, 4)]
    lists, right = list(itertools.product((0, 1), repeat=5)), 0
    for values, asked in itertools.product(lists, range(5)):
        pairs = [token for place, value in enumerate(values) for token in (2 if place == asked else 0, value)]
        found = estimators.kgram(jnp.asarray([*pairs, 2]), order=1, alphabet_size=size).probabilities[-1]
        right += bool(found[values[asked]] == 1)
    bits = [bounds.attention_bits(1, size, length) for length in lengths]
    one = [math.ceil(found / word) - 2 for found in bits]
    two = [price("bigram", order=1, alphabet_size=size, length=length).dimension for length in lengths]
    ratios = [after / before for before, after in itertools.pairwise(bits)]
    return judge(
        {
            "1-gram answers that reveal the value": right,
            "questions": 5 * len(lists),
            "lengths": lengths,
            "bits that one layer must transmit": bits,
            "least width of its head, float32": one,
            "width of the certified two-layer model": two,
        },
        printed=right == 5 * len(lists) and len(set(two)) == 1 and all(abs(r / 16 - 1) < 0.02 for r in ratios),
        note='reading "exponentially" as linear in T versus log T (N21): one layer of h heads, each with m values of '
        "W bits, needs h(m + 2)W ≥ N log₂(S - 1), N = ⌊(T + 1)/2⌋ - 1, if its sums merge (Theorem A of docs/price.md; "
        "B and C are for exact sums and for real numbers). The width of the two-layer model is constant, and its "
        "counts fit into about log₂ T bits. Linear size suffices: `one-layer` has about T heads. At T = 32 the bound "
        "is 15 bits, less than one float32 number, and does not explain trained models (tab-depth)",
    )
