"""Section 5 and App. C, E and G: the reduced model, Algorithm 1, its theorems, and the lemmas behind them."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Floored, Kernel, Prior
from anyorder.claims.entry import Finding, claim, judge
from anyorder.claims.measures import drawn, hard, slope
from anyorder.dynamics.objective import model_excess

#: The prior that meets the assumptions of App. C, and its γ.
GAMMA = 0.2
PRIOR = Floored(1, 3, gamma=GAMMA)


def closed_descent(
    scores: Float[Array, "offsets"], order: int, contexts: int, *, steps: int = 400, step: float = 0.3
) -> Float[np.ndarray, "states offsets"]:
    """Stage one in the limit a_2 → 0: p after every step. From order two on as Algorithm 2, with p_0 = -∞."""
    start = jnp.zeros_like(scores) if order == 1 else jnp.zeros_like(scores).at[0].set(dynamics.reduced.EXCLUDED)
    return np.asarray(_closed_descent(scores, start, order, contexts, steps, step))


@eqx.filter_jit
def _closed_descent(
    scores: Float[Array, "offsets"], start: Float[Array, "offsets"], order: int, contexts: int, steps: int, step: float
) -> Float[Array, "states offsets"]:
    def direction(p: Float[Array, "offsets"]) -> Float[Array, "offsets"]:
        gradient = dynamics.stage_one_gradient(p, scores, 1.0, contexts, order)
        return gradient if order == 1 else dynamics.algorithms.preconditioned_direction(gradient, order)

    rate = step / jnp.abs(direction(start)).max()

    def move(p: Float[Array, "offsets"], _: None) -> tuple[Array, Array]:
        moved = p - rate * direction(p)
        return moved, moved

    return jax.lax.scan(move, start, None, length=steps)[1]


def softmax(p: Float[np.ndarray, "offsets"]) -> Float[np.ndarray, "offsets"]:
    """The attention of the last row of layer one."""
    weights = np.exp(p - p.max())
    return weights / weights.sum()


@functools.cache
def mean_scores(prior: Prior, count: int, lags: int = 64) -> Float[Array, "lags"]:
    """g_j in the mean over kernels of a prior."""
    return jax.jit(jax.vmap(lambda kernel: dynamics.lag_scores(kernel, lags)))(drawn(prior, count)).mean(axis=0)


@claim(
    "asm-first-order",
    "App. C, Assumption 1",
    "A prior over first-order kernels with transitions above γ/S, rows that "
    "differ, invariance under renaming, and mean 1/S.",
)
def assumption() -> Finding:
    """The four parts for a prior made for them, and for the data of the experiments."""
    made = chains.check_first_order(PRIOR, GAMMA, jax.random.key(0))
    data = chains.check_first_order(Dirichlet(1, 3), GAMMA, jax.random.key(0))
    return judge(
        {
            **{f"{check.name}, measured and limit": [check.measured, check.limit] for check in made},
            "parts that Dirichlet(1) breaks": [check.name for check in data if not check.holds],
        },
        printed=all(check.holds for check in made),
        note="it can be met; the data of the experiments, Dirichlet(1) rows, break the first two for every γ > 0",
        failure="no prior found that meets it",
    )


@claim(
    "asm-model",
    "Sec. 5, assumption (iii); App. C",
    "Layer one's weight at offset i is exp(p_i) / Σ_{j ≤ i} exp(p_j), zero or one.",
)
def model_assumption() -> Finding:
    """Weights of one row at random p, with the sum up to i and up to n."""
    p = np.random.default_rng(0).normal(size=12)
    printed, mended = np.exp(p) / np.cumsum(np.exp(p)), softmax(p)
    ours = np.asarray(dynamics.reduced.first_layer(jnp.asarray(p), 12))[-1, ::-1]
    return judge(
        {
            "sum of the weights as printed": float(printed.sum()),
            "with the sum up to n": float(mended.sum()),
            "difference to the reduced model": float(np.abs(ours - mended).max()),
        },
        printed=abs(printed.sum() - 1) < 1e-12,
        corrected=np.abs(ours - mended).max() < 1e-12,
        correction="the sum goes up to n, as in App. C.1, and weights are between zero and one",
        failure="neither is the attention of the model",
    )


@claim(
    "eq-reduced",
    "App. C.1",
    "With p and a_2 in its weights the two-layer transformer is the reduced model.",
    quick=False,
)
def reduced() -> Finding:
    """The reduced model and the same as a transformer on one sequence, with and without norms."""
    tokens, gap = hard(1, 3)[0][:24], 0.0
    p = jnp.asarray(np.random.default_rng(1).normal(size=24))
    for normalise in (False, True):
        model = dynamics.Reduced(p, jnp.asarray(2.0), jnp.zeros(1, jnp.float64), normalise)
        full = np.asarray(dynamics.as_transformer(model, 3)(tokens))
        gap = max(gap, float(np.abs(np.asarray(jax.jit(lambda x, m=model: m(x, 3))(tokens)) - full[-1]).max()))
    return judge({"largest difference": gap}, printed=gap < 1e-12, failure="the two differ")


@claim(
    "eq-optimal-loss",
    "Sec. 5, eq. 1 and Theorem 4",
    "The loss is an expectation over sequences of the chain, and its optimum is L* = E[(1/S) Σ_s H(π(·|s))].",
)
def optimal_loss() -> Finding:
    """The loss of the true kernel with contexts as they occur, and with all weighted alike, less L*; paired."""
    size, kernels = PRIOR.alphabet_size, drawn(PRIOR, 1024)
    entropies = -(kernels * np.log(kernels)).sum(axis=2)
    system = np.eye(size) - kernels.transpose(0, 2, 1) + np.ones((size, size))
    weights = np.linalg.solve(system, np.ones((len(kernels), size, 1)))[..., 0]
    gap = (weights * entropies).sum(axis=1) - entropies.mean(axis=1)
    error = gap.std() / np.sqrt(len(gap))
    other = kernels * np.random.default_rng(0).uniform(0.5, 2.0, kernels.shape)
    other /= other.sum(axis=2, keepdims=True)
    alike = float((-(kernels * np.log(other)).sum(axis=2) - entropies).mean(axis=1).min())
    return judge(
        {
            "loss of the true kernel less L*": float(gap.mean()),
            "its standard error": float(error),
            "least loss less L* of other predictors, contexts alike": alike,
        },
        printed=gap.mean() > -3 * error,
        corrected=alike > 0,
        correction="the loss must weigh all contexts alike, (1/S) Σ_s, as App. C.2 writes it: weighted as they occur, "
        "the true kernel itself is below L*",
        failure="L* is not the optimum of either",
    )


@claim("eq-taylor", "App. C.2", "softmax(a Z) = 1/n + a(I/n - 11ᵀ/n²)Z to first order in a.")
def taylor() -> Finding:
    """The error of the expansion at small a, with n + 1 positions 0 … n, divided by n and by n + 1."""
    z, scales, errors = np.random.default_rng(0).random(33), (0.1, 0.01, 0.001), {}
    for name, n in (("n", 32), ("n + 1", 33)):
        errors[name] = [
            float(np.abs(softmax(a * z) - (1 / n + a * (z / n - z.sum() / n**2))).max() * 33) for a in scales
        ]
    powers = {name: slope(scales, values) for name, values in errors.items()}
    return judge(
        {
            **{f"relative error, divisor {name}, a = 0.1, 0.01, 0.001": values for name, values in errors.items()},
            **{f"power of a, divisor {name}": power for name, power in powers.items()},
        },
        printed=powers["n"] > 1.8,
        corrected=powers["n + 1"] > 1.8,
        correction="there are n + 1 positions, 0 … n: with 1/(n + 1) the error is of second order",
        failure="the error is not of second order",
    )


@claim("eq-g", "App. C.2", "g_{i,j} = Σ π(s'|s)/μ(s')·(P(x_i = s', x_{i-j} = s) - P(x_{i-j} = s) μ(s')) = Σ π/μ·P - 1.")
def lag_score() -> Finding:
    """Both forms and the package's on 16 kernels, lags 0 … 5, by matrix powers."""
    gap, scores = 0.0, jax.jit(lambda kernel: dynamics.lag_scores(kernel, 6))
    for kernel in drawn(PRIOR, 1024)[:16]:
        mu = Kernel(kernel).symbol_distribution
        ours = np.asarray(scores(jnp.asarray(kernel)))
        for j in range(6):
            pairs = mu[:, None] * np.linalg.matrix_power(kernel, j)
            first = (kernel / mu * (pairs - mu[:, None] * mu)).sum()
            last = (kernel / mu * pairs).sum() - 1
            gap = max(gap, abs(first - last), abs(first - ours[j]))
    return judge({"largest difference": float(gap)}, printed=gap < 1e-12, failure="the forms differ")


@claim(
    "eq-gradient",
    "App. C.2",
    "dL/dp_m = -(a/Sn) Σ_{i ≥ m} att_{i,m} (g_m - Σ_j att_{i,j} g_j) at small a and long sequences.",
    quick=False,
)
def closed_gradient() -> Finding:
    """Automatic differentiation on 1,024 chains of two lengths against the closed form, p = 0, a = 0.01."""
    cosines, ratios, lengths = [], [], (32, 96)
    for length in lengths:
        sampled = np.asarray(_sampled_gradient(PRIOR, jax.random.key(3), length, 1024))
        closed = np.asarray(
            dynamics.stage_one_gradient(jnp.zeros(length), mean_scores(PRIOR, 1024, 96)[:length], 0.01, 3, 1)
        )
        cosines.append(float(sampled @ closed / np.linalg.norm(sampled) / np.linalg.norm(closed)))
        ratios.append(float(sampled[1] / closed[1]))
    return judge(
        {"n": list(lengths), "cosine of the two gradients": cosines, "ratio at p_1": ratios},
        printed=cosines[-1] > 0.98 and abs(ratios[-1] - 1) < 0.15 and abs(ratios[1] - 1) < abs(ratios[0] - 1),
        note="the ratio tends to one as n grows: what is left is that of frequencies to their means",
        failure="the closed form is not the gradient",
    )


@eqx.filter_jit
def _sampled_gradient(prior: Prior, key: Array, length: int, count: int) -> Float[Array, "offsets"]:
    drawn_chains = chains.sample(key, prior, length=length, count=count, start="stationary")

    def loss(p: Float[Array, "offsets"]) -> Float[Array, ""]:
        model = dynamics.Reduced(p, jnp.asarray(0.01, jnp.float64), jnp.zeros(1, jnp.float64))
        return jax.vmap(lambda t, k: model_excess(model, t, k, 1e-3))(drawn_chains.tokens, drawn_chains.kernels).mean()

    return jax.grad(loss)(jnp.zeros(length, jnp.float64))


@claim("eq-stage-one", "App. C.2, requirement", "In every row dL/dp_1 is positive and larger than every other dL/dp_j.")
def stage_one() -> Finding:
    """Rows of the closed form at p = 0, with the sign as printed and turned."""
    scores = np.asarray(mean_scores(PRIOR, 1024))
    rows = [scores[: i + 1] - scores[: i + 1].mean() for i in range(1, len(scores))]  # -dL/dp_m up to a factor
    up = [float(np.delete(row[1] - row, 1).min()) for row in rows]
    return judge(
        {
            "rows": len(rows),
            "smallest -dL/dp_1 over the next, up to a factor": min(up),
            "smallest -dL/dp_1, up to a factor": float(min(row[1] for row in rows)),
        },
        printed=all(-row[1] > 0 and (-np.delete(row, 1) < -row[1]).all() for row in rows),
        corrected=min(up) > 0 and min(row[1] for row in rows) > 0,
        correction="of the descent direction -dL/dp, as the text goes on to use it",
        failure="p_1 does not lead",
    )


@claim(
    "claim-stage-one", "App. C.2, end", "p_1 leads after every step, the attention on the previous token tends to one."
)
def stage_one_descent() -> Finding:
    """400 steps in the limit a → 0."""
    p = closed_descent(mean_scores(PRIOR, 1024), 1, 3)
    others = np.delete(p, 1, axis=1).max(axis=1)
    weight = [float(softmax(p[step])[1]) for step in (0, 49, 399)]
    return judge(
        {
            "softmax(p)_1 after 1, 50, 400 steps": weight,
            "smallest lead of p_1": float((p[:, 1] - others).min()),
            "p_1 at the end": float(p[-1, 1]),
            "largest other": float(others[-1]),
        },
        printed=(p[:, 1] > others).all() and weight[0] < weight[1] < weight[2] and weight[2] > 0.99,
        failure="p_1 does not lead, or its weight stays below one",
    )


@functools.cache
def _run(length: int) -> dynamics.Trajectory:
    """Algorithm 1 at one T; gradients on p are of size 1/T, and so the rate grows with T."""
    settings = dynamics.TwoStage(length=length, rate=40.0 * length, steps=300, steps_2=300, batch=32)
    return dynamics.two_stage(PRIOR, settings)


LENGTHS = (32, 64, 128, 256)


@claim(
    "alg-1",
    "App. C, Algorithm 1",
    "T_1 steps on p without norms, then T_2 steps on a_2 with norms: layer one finds the previous "
    "token, then attention sharpens.",
    quick=False,
)
def algorithm_one() -> Finding:
    """A run with sampled gradients, T = 128."""
    run = _run(128)
    stage = run.stage_one_steps
    return judge(
        {
            "p_1 leads after every step": run.leads,
            "softmax(p)_1 after stage one": float(run.attention[stage, 1]),
            "a_2 before and after stage two": [float(run.a_2[stage]), float(run.a_2[-1])],
            "excess loss, start, after stage one, end": [
                float(run.excess[0]),
                float(run.excess[stage]),
                run.evaluation.standings["learned"].excess,
            ],
        },
        printed=run.leads
        and run.attention[stage, 1] > 0.99
        and run.a_2[-1] > run.a_2[stage] + 1
        and run.evaluation.standings["learned"].excess < run.excess[0] / 2,
        failure="it does not find the previous token",
    )


@claim(
    "thm-grad",
    "Theorem 4; App. C, convergence",
    "After Algorithm 1 the loss is above L* by at most about log T / T^(cγ).",
    quick=False,
)
def convergence() -> Finding:
    """Excess loss of runs at four T, its exponent, and the Bayes floor beside it."""
    ends = [_run(length).evaluation.standings for length in LENGTHS]
    excess = [end["learned"].excess for end in ends]
    fitted = dynamics.power_law(LENGTHS, excess)
    return judge(
        {
            "T": list(LENGTHS),
            "excess over L*": excess,
            "standard error": [end["learned"].excess_error for end in ends],
            "excess of Bayes": [end["Bayes"].excess for end in ends],
            "exponent": fitted.exponent,
            "its standard error": fitted.standard_error,
        },
        printed=min(excess) > 0 and fitted.exponent + 2 * fitted.standard_error < 0,
        note="c is not named, so that any negative exponent agrees",
        failure="the excess does not fall with T",
    )


@claim(
    "thm-generalisation",
    "App. C, generalisation",
    "On a new chain with transitions above γ/S the output is within about log n / n^(cγ) of its kernel.",
    quick=False,
)
def generalisation() -> Finding:
    """Mean sup-norm distance to the true row on chains that no step has seen, and its exponent."""
    ends = [_run(length).evaluation.standings for length in LENGTHS]
    distance = [end["learned"].generalisation for end in ends]
    fitted = dynamics.power_law(LENGTHS, distance)
    return judge(
        {
            "T": list(LENGTHS),
            "distance": distance,
            "of the 1-gram": [end["k-gram"].generalisation for end in ends],
            "exponent": fitted.exponent,
            "its standard error": fitted.standard_error,
        },
        printed=fitted.exponent + 2 * fitted.standard_error < 0,
        note="c is not named, so that any negative exponent agrees",
        failure="the distance does not fall with T",
    )
