"""Section 5 and App. C: the reduced model, its loss, its gradient in closed form, and stage one of Algorithm 1."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import softmax

from anyorder import chains
from anyorder.chains import Dirichlet, Floored, Kernel, Prior
from anyorder.chains.sampling import stationary_contexts
from anyorder.estimators import mean_and_error
from anyorder.papers.entry import Finding, claim, judge, slow_claim
from anyorder.papers.two_can import dynamics
from anyorder.papers.two_can.claims.measures import apart, drawn
from anyorder.papers.two_can.dynamics.algorithms import preconditioned_direction
from anyorder.papers.two_can.dynamics.closed_form import Offsets

#: The prior that satisfies the assumptions of App. C, and its γ.
GAMMA = 0.2
PRIOR = Floored(1, 3, gamma=GAMMA)


def descent_direction(p: Offsets, scores: Offsets, order: int, plain: bool = False) -> Offsets:
    """S^k dL/dp in the limit a_2 → 0, from order two on with the preconditioner, unless it is plain."""
    gradient = dynamics.stage_one_gradient(p, scores, 1.0, 1, order)
    return gradient if order == 1 or plain else preconditioned_direction(gradient, order)


def closed_descent(
    scores: Float[np.ndarray, "offsets"], order: int, *, plain: bool = False, steps: int = 400
) -> Float[np.ndarray, "states offsets"]:
    """Stage one in the limit a_2 → 0: p before and after each step; the first changes it by at most 0.3.

    It starts at p = 0, and from order two on as Algorithm 2 does, with p_0 = -∞.
    """
    return np.asarray(_closed_descent(jnp.asarray(scores), order, plain, steps))


@eqx.filter_jit
def _closed_descent(scores: Offsets, order: int, plain: bool, steps: int) -> Float[Array, "states offsets"]:
    start = dynamics.initial(length=len(scores), a_2=0.0, order=order, exclude_own=order > 1).p
    rate = 0.3 / jnp.abs(descent_direction(start, scores, order, plain)).max()

    def move(p: Offsets, _: None) -> tuple[Array, Array]:
        return p - rate * descent_direction(p, scores, order, plain), p

    return jax.lax.scan(move, start, None, length=steps + 1)[1]


@functools.cache
def mean_scores(prior: Prior, count: int, lags: int = 64) -> Float[np.ndarray, "lags"]:
    """g_j in the mean over kernels of a prior."""
    return dynamics.lag_scores_of(prior, jax.random.key(0), lags=lags, count=count).mean(axis=0)


def kernel_scores(kernels: Float[np.ndarray, "count *kernel"], lags: int) -> Float[np.ndarray, "count lags"]:
    """g_0 … g_{lags - 1} of every kernel."""
    return np.asarray(jax.jit(jax.vmap(lambda kernel: dynamics.lag_scores(kernel, lags)))(kernels))


@claim(
    "App. C, Assumption 1",
    "A prior over first-order kernels with transitions above γ/S, rows that "
    "differ, invariance under renaming, and mean 1/S.",
)
def asm_first_order() -> Finding:
    """The four parts for a prior designed to satisfy them, and for the data of the experiments."""
    made = chains.check_first_order(PRIOR, GAMMA, jax.random.key(0))
    data = chains.check_first_order(Dirichlet(1, 3), GAMMA, jax.random.key(0))
    return judge(
        {
            **{f"{check.name}, measured and limit": [check.measured, check.limit] for check in made},
            "parts violated by Dirichlet(1)": [check.name for check in data if not check.holds],
        },
        printed=all(check.holds for check in made),
        note="the assumption can be met; the experiments' data, Dirichlet(1) rows, violate the first two parts for "
        "every γ > 0",
    )


@claim(
    "Sec. 5, assumption (iii); App. C", "Layer one's weight at offset i is exp(p_i) / Σ_{j ≤ i} exp(p_j), zero or one."
)
def asm_model() -> Finding:
    """Weights of one row at random p, with the sum up to i and up to n."""
    p = np.random.default_rng(0).normal(size=12)
    printed, corrected = np.exp(p) / np.cumsum(np.exp(p)), softmax(p)
    ours = np.asarray(dynamics.reduced.first_layer(jnp.asarray(p), 12))[-1, ::-1]
    return judge(
        {
            "sum of the weights as printed": printed.sum(),
            "with the sum up to n": corrected.sum(),
            "difference to the reduced model": apart(ours, corrected),
        },
        printed=abs(printed.sum() - 1) < 1e-12,
        corrected=apart(ours, corrected) < 1e-12,
        correction="the sum goes up to n, as in App. C.1, and weights are between zero and one",
    )


@claim(
    "Sec. 5, eq. 1 and Theorem 4",
    "The loss is an expectation over sequences of the chain, and its optimum is L* = E[(1/S) Σ_s H(π(·|s))].",
)
def eq_optimal_loss() -> Finding:
    """The loss of the true kernel with contexts weighted as they occur and equally, minus L*; paired."""
    kernels = drawn(PRIOR, 1024)
    entropies = -(kernels * np.log(kernels)).sum(axis=2)
    weights = np.asarray(jax.jit(jax.vmap(stationary_contexts))(kernels))
    gap, error = map(float, mean_and_error((weights * entropies).sum(axis=1) - entropies.mean(axis=1)))
    other = kernels * np.random.default_rng(0).uniform(0.5, 2.0, kernels.shape)
    other /= other.sum(axis=2, keepdims=True)
    alike = (-(kernels * np.log(other)).sum(axis=2) - entropies).mean(axis=1).min()
    return judge(
        {
            "loss of the true kernel minus L*": gap,
            "its standard error": error,
            "least loss minus L* of other predictors, contexts weighted equally": alike,
        },
        printed=gap > -3 * error,
        corrected=alike > 0,
        correction="the loss must weight all contexts equally, (1/S) Σ_s, as in App. C.2: with contexts weighted as "
        "they occur, the true kernel itself is below L*",
    )


@claim("App. C.2", "softmax(a Z) = 1/n + a(I/n - 11ᵀ/n²)Z to first order in a.")
def eq_taylor() -> Finding:
    """The error of the expansion at small a, with n + 1 positions 0 … n, divided by n and by n + 1."""
    z, scales, errors = np.random.default_rng(0).random(33), (0.1, 0.01, 0.001), {}
    for name, n in (("n", 32), ("n + 1", 33)):
        errors[name] = [apart(softmax(a * z), 1 / n + a * (z / n - z.sum() / n**2)) * 33 for a in scales]
    powers = {name: dynamics.power_law(scales, values).exponent for name, values in errors.items()}
    return judge(
        {
            **{f"relative error, divisor {name}, a = 0.1, 0.01, 0.001": values for name, values in errors.items()},
            **{f"power of a, divisor {name}": power for name, power in powers.items()},
        },
        printed=powers["n"] > 1.8,
        corrected=powers["n + 1"] > 1.8,
        correction="there are n + 1 positions, 0 … n: with 1/(n + 1) the error is of second order",
    )


@claim("App. C.2", "g_{i,j} = Σ π(s'|s)/μ(s')·(P(x_i = s', x_{i-j} = s) - P(x_{i-j} = s) μ(s')) = Σ π/μ·P - 1.")
def eq_g() -> Finding:
    """Both forms and the package's on 16 kernels, lags 0 … 5, by matrix powers."""
    gap, kernels = 0.0, drawn(PRIOR, 1024)[:16]
    for kernel, ours in zip(kernels, kernel_scores(kernels, 6), strict=True):
        mu = Kernel(kernel).symbol_distribution
        for j in range(6):
            pairs = mu[:, None] * np.linalg.matrix_power(kernel, j)
            first = (kernel / mu * (pairs - mu[:, None] * mu)).sum()
            last = (kernel / mu * pairs).sum() - 1
            gap = max(gap, abs(first - last), abs(first - ours[j]))
    return judge({"largest difference": gap}, printed=gap < 1e-12)


def _against_closed_form(prior: Prior, count: int, lengths: tuple[int, ...]) -> Finding:
    """Automatic differentiation at p = 0 and a = 0.01, at several lengths, against the closed form."""
    order, contexts = prior.order, prior.alphabet_size**prior.order
    found = [
        dynamics.agreement(
            dynamics.initial(length=length, a_2=0.01, order=order, exclude_own=order > 1),
            prior,
            jax.random.key(3),
            count=count,
        )
        for length in lengths
    ]
    cosines = [entry.cosine for entry in found]
    inside = slice(1, order + 1)
    ratios = [entry.sampled[inside] / entry.closed[inside] for entry in found]
    off = [np.abs(ratio - 1).max() for ratio in ratios]
    return judge(
        {
            "n": lengths,
            "cosine of the two gradients": cosines,
            "ratio at p_1 … p_k": ratios,
            "the same, with the factor 1/S^k twice": [contexts * ratio for ratio in ratios],
        },
        printed=np.abs(contexts * ratios[-1] - 1).max() < 0.15,
        corrected=cosines[-1] > 0.98 and off[-1] < 0.15 and off[-1] < off[0],
        correction="the derivative of log logit repeats the factor 1/S^k in front of the expectation; with the factor "
        "once, as in the gradient itself, the ratio tends to one as n grows (at finite n frequencies differ from their "
        "means)",
    )


eq_gradient = slow_claim(
    "App. C.2",
    "dL/dp_m = -(a/Sn) Σ_{i ≥ m} att_{i,m} (g_m - Σ_j att_{i,j} g_j) at small a and long sequences; the derivative of "
    "log logit before it has the factor 1/S a second time.",
    see=("eq-gradient-any-order",),
)(functools.partial(_against_closed_form, PRIOR, 1024, (32, 96)))

eq_gradient_any_order = slow_claim(
    "App. D.2, eq. (3) and (4)",
    "dL/dp_m = -(κ/(S^k kn)) Σ_{i ≥ m} att_{i,m} (g_m - Σ_j att_{i,j} g_j), with g_j = Σ_l g_{i,j,l}, at small κ and "
    "long sequences; the derivative of log logit before it has the factor 1/S^k a second time.",
)(functools.partial(_against_closed_form, Floored(2, 2, gamma=GAMMA), 2048, (32, 64)))


@claim("App. C.2, requirement", "In every row dL/dp_1 is positive and larger than every other dL/dp_j.")
def eq_stage_one() -> Finding:
    """Rows of the closed form at p = 0, with the sign as printed and reversed."""
    scores = mean_scores(PRIOR, 1024)
    rows = [scores[: i + 1] - scores[: i + 1].mean() for i in range(1, len(scores))]  # -dL/dp_m up to a factor
    ahead, least = min(np.delete(row[1] - row, 1).min() for row in rows), min(row[1] for row in rows)
    return judge(
        {
            "rows": len(rows),
            "smallest -dL/dp_1 over the next, up to a factor": ahead,
            "smallest -dL/dp_1, up to a factor": least,
        },
        printed=all(-row[1] > 0 and (-np.delete(row, 1) < -row[1]).all() for row in rows),
        corrected=min(ahead, least) > 0,
        correction="for the descent direction -dL/dp, as the text uses it afterwards",
    )


@claim("App. C.2, end", "p_1 leads after every step, the attention on the previous token tends to one.")
def claim_stage_one() -> Finding:
    """400 steps in the limit a → 0."""
    p = closed_descent(mean_scores(PRIOR, 1024), 1)[1:]
    others = np.delete(p, 1, axis=1).max(axis=1)
    weight = softmax(p[[0, 49, 399]], axis=1)[:, 1]
    return judge(
        {
            "softmax(p)_1 after 1, 50, 400 steps": weight,
            "smallest lead of p_1": (p[:, 1] - others).min(),
            "p_1 at the end": p[-1, 1],
            "largest other": others[-1],
        },
        printed=(p[:, 1] > others).all() and weight[0] < weight[1] < weight[2] and weight[2] > 0.99,
    )
