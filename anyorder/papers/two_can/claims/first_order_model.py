"""Section 5 (ii) to (vi) and App. C.1: the model of Algorithm 1 as a transformer, as printed and as intended."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar, ScalarLike
from scipy.special import softmax

from anyorder import chains
from anyorder.constructions.parts import assemble
from anyorder.constructions.stream import Stream
from anyorder.constructions.two_layer import blocks
from anyorder.models import Head, Layer, MLPLayer, Transformer, UnitNorm
from anyorder.papers.entry import Finding, claim, judge, slow_claim
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.claims.gradient import PRIOR
from anyorder.papers.two_can.claims.measures import TOLERANCE, apart, hard

SYMBOLS = PRIOR.alphabet_size


def first_order_model(
    p: Float[Array, "offsets"], a_2: ScalarLike, *, normalise: bool = False, printed: bool = False
) -> Transformer:
    """App. C.1: one head per layer, three MLP layers between them, d = 6S + 3.

    normalise: with the layer norms of the MLP, as in stage two.
    printed: W_mlp^(3) and W_Q^(2) in the printed blocks (E4, E18); missing columns are zero (E26).
    """
    stream, norm = blocks(SYMBOLS), UnitNorm() if normalise else None
    code = Stream(gate=1, code=SYMBOLS, unused=stream.dimension - 1 - SYMBOLS)
    scalar = stream.vector(unused=np.array([1.0, 0.0]))  # [0 1 0 …]: W_K^(1) adds up the second and the third

    def layer(skip: int, *routes: tuple[str, str, float]) -> MLPLayer:
        return MLPLayer(stream.map(*routes), stream.vector(), norm=norm, skip=skip)

    first = Head(
        query=stream.map(("token", "gate", 1.0)),
        key=stream.map(("unused", "gate", 1.0)),
        value=stream.map(("gate", "gate", 1.0), ("unused", "unused", 1.0), ("token", "window", 1.0)),
        key_positions=p[:, None] * scalar,
        positions_through_key=True,
    )
    third = ("token", "window", 1.0) if printed else ("window", "key", 1.0)
    second = Head(
        query=stream.map(("gate", "gate", 1.0), ("window" if printed else "query", "code", 1.0), to=code),
        key=stream.map(("gate", "gate", 1.0), ("key", "code", 1.0), to=code),
        value=stream.map(("token", "output", 1.0)),
        scale=jnp.asarray(a_2, jnp.float64),
    )
    mlp = (layer(0), layer(0, ("token", "query", 1.0)), layer(2, third))
    return assemble(stream, Layer((first,), mlp), Layer((second,)))


def _reduced(p: Float[Array, "offsets"], a_2: ScalarLike, *, normalise: bool) -> dynamics.Reduced:
    return dynamics.Reduced(p, jnp.asarray(a_2, jnp.float64), jnp.zeros(1, jnp.float64), normalise)


def _random_scalars(count: int, length: int) -> Float[Array, "count length"]:
    return jnp.asarray(np.random.default_rng(1).normal(size=(count, length)))


@claim(
    "App. C.1",
    "With p and a_2 in its weights the transformer with one head per layer, three MLP layers and d = 6S + 3 is the "
    "reduced model.",
    see=("asm-second-layer", "eq-reduced-training"),
)
def eq_reduced() -> Finding:
    """Both models on one sequence, with and without norms, with the matrices as printed and as intended."""
    tokens, p = jnp.asarray(hard(1, SYMBOLS)[0][:24]), _random_scalars(1, 24)[0]
    gaps: dict[str, float] = {}
    for name, printed in (("as printed", True), ("as intended", False)):
        pairs = [
            (first_order_model(p, 2.0, normalise=norms, printed=printed), _reduced(p, 2.0, normalise=norms))
            for norms in (False, True)
        ]
        gaps[name] = max(apart(full(tokens)[-1], reduced(tokens, SYMBOLS)) for full, reduced in pairs)
    first, second = (first_order_model(q, a_2, printed=True)(tokens) for q, a_2 in ((p, 2.0), (0 * p, 9.0)))
    ignored = apart(first, second)
    model = first_order_model(p, 2.0)
    heads = [len(layer.heads) for layer in model.layers]
    return judge(
        {
            **{f"largest difference, {name}": gap for name, gap in gaps.items()},
            "as printed: change of the output with p and a_2": ignored,
            "d, heads and MLP layers": [model.dimension, *heads, len(model.layers[0].mlp)],
        },
        printed=gaps["as printed"] < ROUNDED,
        corrected=gaps["as intended"] < ROUNDED,
        correction="W_mlp^(3) reads v_n and writes the block of v̂_n, W_Q^(2) reads u_n (E4, E18). As printed the keys "
        "of layer two are zero, its attention is uniform, and neither p nor a_2 changes the output",
    )


#: Two float64 computations of one number.
ROUNDED = 1e-12

Model = Callable[[Float[Array, "offsets"], Scalar, bool], Callable[[Int[Array, "length"]], Array]]


def _algorithm_one(model: Model, steps: int, length: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1 on eq. (1) as printed, contexts as they occur: p and a_2 before and after each step.

    The same chains and rates for every model. `steps` steps on p without norms, then as many on a_2 with norms.
    """

    @functools.partial(jax.jit, static_argnums=3)
    def gradient(p: Array, a_2: Array, key: Array, norms: bool) -> tuple[Array, Array]:
        drawn = chains.sample(PRIOR, length=length, count=64, start="stationary", seed=key)

        def loss(p: Array, a_2: Array) -> Array:
            logits = jax.vmap(model(p, a_2, norms))(drawn.tokens)
            rows = jax.vmap(lambda kernel, token: kernel[token])(drawn.kernels, drawn.tokens[:, -1])
            return -(rows * jnp.log(logits + 1e-3)).sum(axis=1).mean()

        return jax.grad(loss, argnums=(0, 1))(p, a_2)

    p, a_2 = jnp.zeros(length, jnp.float64), jnp.asarray(0.01, jnp.float64)
    visited = [(p, a_2)]
    for step in range(2 * steps):
        on_p = step < steps
        slope_p, slope_a = gradient(p, a_2, jax.random.key(step), not on_p)
        p, a_2 = (p - 40.0 * length * slope_p, a_2) if on_p else (p, a_2 - 10.0 * slope_a)
        visited.append((p, a_2))
    return np.array([p for p, _ in visited]), np.array([float(a_2) for _, a_2 in visited])


@slow_claim(
    "App. C.1 with Algorithm 1",
    "Trained by Algorithm 1, the transformer of App. C.1 finds the previous token, and then sharpens its attention.",
    see=("alg-1",),
    tolerances={"*": 0.02},
)
def eq_reduced_training() -> Finding:
    """150 steps per stage on the transformer itself, T = 32; 5 steps next to the reduced model; and as printed."""

    def full(p: Array, a_2: Array, norms: bool, printed: bool = False) -> Callable[[Array], Array]:
        built = first_order_model(p, a_2, normalise=norms, printed=printed)
        return lambda tokens: built(tokens)[-1]

    def reduced(p: Array, a_2: Array, norms: bool) -> Callable[[Array], Array]:
        built = _reduced(p, a_2, normalise=norms)
        return lambda tokens: built(tokens, SYMBOLS)

    beside = [_algorithm_one(model, 5) for model in (full, reduced)]
    gap = max(apart(a, b) for a, b in zip(*beside, strict=True))
    stuck = _algorithm_one(functools.partial(full, printed=True), 5)
    moved = max(np.ptp(values, axis=0).max() for values in stuck)
    p, a_2 = _algorithm_one(full, 150)
    leads = bool((p[1:, 1] > np.delete(p[1:], 1, axis=1).max(axis=1)).all())
    weight = softmax(p[-1])[1]
    return judge(
        {
            "p_1 leads after every step": leads,
            "softmax(p)_1 after stage one": weight,
            "a_2 before and after stage two": a_2[[150, -1]],
            "largest difference to the reduced model over 5 + 5 steps": gap,
            "largest change of p and a_2, matrices as printed": moved,
        },
        printed=moved > 0 and leads,
        corrected=leads and weight > 0.95 and a_2[-1] > a_2[150] + 1 and gap < 1e-9,
        correction="with the matrices as intended (eq-reduced). As printed all gradients are zero, and nothing is "
        "learned",
    )


@slow_claim(
    "App. C.1 and C.2, end",
    "For chains of order one layer norm does not affect the model, since u_n and v_n become one-hot vectors.",
    see=("alg-1", "claim-layer-norm"),
    tolerances={"*": 0.02},
)
def claim_norms_first_order() -> Finding:
    """Outputs and excess with and without norms during stage one of Algorithm 1 and at its end, T = 64."""
    run = dynamics.two_stage(PRIOR, dynamics.TwoStage(length=64, rate=40.0 * 64, steps=300, steps_2=300, batch=32))
    places, a_2 = [0, 10, 50, 300], float(run.a_2[-1])
    states = {
        f"{place} {kind}": _reduced(jnp.asarray(run.p[place]), a_2, normalise=kind == "with")
        for place in places
        for kind in ("with", "without")
    }
    drawn = chains.sample(PRIOR, length=65, count=128, start="stationary", seed=3)
    outputs = {
        name: np.asarray(jax.jit(jax.vmap(lambda tokens, model=model: model(tokens, SYMBOLS)))(drawn.tokens))
        for name, model in states.items()
    }
    differences = [
        np.abs(outputs[f"{place} with"] - outputs[f"{place} without"]).max(axis=1).mean() for place in places
    ]
    ends = dynamics.evaluate(states, PRIOR, jax.random.key(4), length=65, epsilon=1e-3, count=512).standings
    excess = [[ends[f"{place} {kind}"].excess for kind in ("with", "without")] for place in (places[0], places[-1])]
    return judge(
        {
            "steps of stage one": places,
            "mean difference of the outputs with and without norms": differences,
            "a_2": a_2,
            "excess with and without, p = 0": excess[0],
            "excess with and without, after stage one": excess[1],
        },
        printed=differences[-1] < 0.05 * differences[0] and abs(excess[1][0] - excess[1][1]) < 0.01 * excess[1][0],
        note="once p_1 leads; at p = 0 norms change the output, since no v_n is one-hot there",
    )


@claim("Sec. 5 (ii)", "Scalar key positions are enough for layer one: p_n^(1,K) is p_n times one vector.")
def asm_key_scalars() -> Finding:
    """The rank of the key positions, and the scores that layer one has from them at random p."""
    p = _random_scalars(1, 24)[0]
    model, tokens = first_order_model(p, 1.0), hard(1, SYMBOLS)[0][:24]
    weights = np.asarray(model.trace(tokens).attention[0])[0]
    gap = max(apart(np.log(weights[n, : n + 1]) - np.log(weights[n, n]), p[n::-1] - p[0]) for n in range(24))
    positions = model.layers[0].heads[0].key_positions
    assert positions is not None
    rank = int(np.linalg.matrix_rank(np.asarray(positions)))
    return judge(
        {"rank of the key positions": rank, "largest |score - p_(n-i)|, up to a constant a row": gap},
        printed=rank == 1 and gap < ROUNDED,
    )


@claim("Sec. 5 (iv)", "The MLP gives the right u_n from any v_n; at order one it does, through the skip connections.")
def asm_optimal_mlp() -> Finding:
    """u_n in the stream of App. C.1 at 16 random p, with and without norms."""
    tokens, wrong = hard(1, SYMBOLS)[0][:24], []
    for p in _random_scalars(16, 24):
        for norms in (False, True):
            trace = first_order_model(p, 1.0, normalise=norms).trace(tokens)
            wrong.append(apart(trace.block("query", "mlp 1.3"), np.eye(SYMBOLS)[tokens]))
    return judge(
        {"first layers": len(wrong), "largest |u_n - e_(x_n)|": max(wrong)},
        printed=max(wrong) < ROUNDED,
        note="at order one, where u_n = e_{x_n} and v_n is not needed; the paper says so",
    )


@claim(
    "Sec. 5 (v) and (vi)",
    "Layer two attends with exp(a_2 <v_i, u_T>) / Σ_j exp(a_2 <v_j, u_T>), and the logit is Σ_i att_{T,i} e_{x_i}.",
)
def asm_second_layer() -> Finding:
    """Both formulas from the v_i and u_T in the stream of App. C.1, at random p, without norms."""
    tokens, a_2 = hard(1, SYMBOLS)[0][:24], 2.0
    model = first_order_model(_random_scalars(1, 24)[0], a_2)
    trace = model.trace(tokens)
    v, u = np.asarray(trace.block("window", "mlp 1.3")), np.asarray(trace.block("query", "mlp 1.3"))[-1]
    weights = softmax(a_2 * v @ u)
    gaps = [apart(trace.attention[1][0][-1], weights), apart(model(tokens)[-1], weights @ np.eye(SYMBOLS)[tokens])]
    return judge(
        {"largest difference of attention and of logits": gaps},
        printed=max(gaps) < TOLERANCE,
        note="with T in place of n in the denominator and in (vi)",
    )
