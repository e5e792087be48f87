"""The lemmas of App. E about the two stages themselves, as measurements on sampled chains and on the descent.

See `lemmas` for those about kernels; both return `Measured` numbers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder import chains
from anyorder.chains import Kernel, PointMass, Prior
from anyorder.dynamics.algorithms import preconditioned_direction
from anyorder.dynamics.closed_form import expected_lag_scores, pair_distribution, stage_one_gradient
from anyorder.dynamics.fit import power_law
from anyorder.dynamics.lemmas import Measured
from anyorder.dynamics.objective import all_contexts, model_excess
from anyorder.dynamics.reduced import EXCLUDED, Reduced, initial
from anyorder.errors import require


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linearisation(Measured):
    """The first extension lemma of App. E: ‖g* - ĝ‖_∞ at a_2 = a_{2,0} against 6 S^{k+1} ε^{-2} a_{2,0}."""

    sharper_bound: float
    """3 S^{k+1} ε^{-2} (e^a - 1), the lemma's first form."""
    largest_on_a_sequence: float
    """The largest difference before the expectation; the proof bounds this one too."""


def linearisation(
    prior: Prior, key: PRNGKeyArray, *, a_2: float, epsilon: float, length: int = 32, count: int = 256
) -> Linearisation:
    """How far the pull g* on the first layer at a_2 is from ĝ, that at a_2 = 0, with p = 0.

    >>> from anyorder.chains import Floored
    >>> linearisation(Floored(1, 2), jax.random.key(0), a_2=0.1, epsilon=0.1, length=8, count=8).holds
    True
    """
    require(0 <= a_2 <= 1, f"a_2 is {a_2}, the lemma is about 0 to 1")
    require(epsilon > 0, f"epsilon is {epsilon}, must be above 0")
    size, order = prior.alphabet_size, prior.order
    mean, largest = _pull_difference(prior, key, jnp.float64(a_2), jnp.float64(epsilon), length, count)
    scale = size ** (order + 1) / epsilon**2
    return Linearisation(
        measured=float(mean),
        bound=6 * scale * a_2,
        side="at most",
        sharper_bound=3 * scale * math.expm1(a_2),
        largest_on_a_sequence=float(largest),
    )


@eqx.filter_jit
def _pull_difference(
    prior: Prior, key: PRNGKeyArray, a_2: Float[Array, ""], epsilon: Float[Array, ""], length: int, count: int
) -> tuple[Array, Array]:
    drawn = chains.sample(key, prior, length=length, count=count, start="stationary")
    model = initial(length=length, a_2=0.0, order=prior.order)
    size = prior.alphabet_size
    contexts = all_contexts(prior.order, size)

    def pull(
        tokens: Int[Array, "length"], kernel: Float[Array, "..."], a_2: Float[Array, ""]
    ) -> Float[Array, "length length"]:
        """g_{i,j} = n Σ_{c,s'} π(s'|c) A_i (1[x_i = s'] - logit(s')) u_c(x_j) / (logit(s') + ε)."""
        queries = model.queries(contexts, size)
        attention = jax.nn.softmax(a_2 * queries @ model.windows(tokens, size).T, axis=1)
        symbols = jax.nn.one_hot(tokens, size, dtype=jnp.float64)
        logits = attention @ symbols
        weights = kernel.reshape(-1, size) / (logits + epsilon)
        towards = attention * (weights @ symbols.T - (weights * logits).sum(axis=1, keepdims=True))
        return length * towards.T @ queries[:, tokens]

    differences = jax.vmap(lambda tokens, kernel: pull(tokens, kernel, a_2) - pull(tokens, kernel, 0 * a_2))(
        drawn.tokens, drawn.kernels
    )
    return jnp.abs(differences.mean(axis=0)).max(), jnp.abs(differences).max()


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrequencyRatio(Measured):
    """Lemma G.2 extended: |E[(1[x_i=s'] - μ̂)1[x_j=s]/(μ̂+ε)] - (P/μ - P)| · √(n(1-λ)), against a constant.

    The lemma names no constant. Its proof bounds the error by E[(|μ̂ - μ| + ε)/μ²], which with ε = (n(1-λ))^{-1/2}
    and the constant 1/2 of the variance is (1 + √½)/min μ², the `bound` here.
    """

    lengths: tuple[int, ...]
    errors: Float[np.ndarray, "lengths"]
    """Largest error over s, s' and lags 1 … 4, averaged over positions."""
    scaled: Float[np.ndarray, "lengths"]
    exponent: float
    """Exponent of the error in n: -1/2 in the lemma, -1 in the last line of its proof."""
    modulus: float


def frequency_ratio(
    kernel: Kernel, key: PRNGKeyArray, *, lengths: Sequence[int] = (32, 64, 128, 256), count: int = 4096
) -> FrequencyRatio:
    """The error of replacing μ̂ by μ in the gradient, with ε = (n(1 - λ))^{-1/2}."""
    modulus = abs(kernel.second_eigenvalue)
    scales = np.sqrt(np.array(lengths) * (1 - modulus))
    errors = np.array([
        float(_ratio_error(PointMass(kernel), key, jnp.float64(1 / scale), length, count))
        for length, scale in zip(lengths, scales, strict=True)
    ])  # fmt: skip
    scaled = errors * scales
    return FrequencyRatio(
        measured=float(scaled.max()),
        bound=float((1 + math.sqrt(0.5)) / kernel.symbol_distribution.min() ** 2),
        side="at most",
        lengths=tuple(lengths),
        errors=errors,
        scaled=scaled,
        exponent=power_law(lengths, errors).exponent,
        modulus=modulus,
    )


@eqx.filter_jit
def _ratio_error(
    prior: PointMass, key: PRNGKeyArray, epsilon: Float[Array, ""], length: int, count: int
) -> Float[Array, ""]:
    lags = 5
    drawn = chains.sample(key, prior, length=length, count=count, start="stationary")
    pairs = pair_distribution(prior.probabilities, lags)[1:]
    symbols = pairs[0].sum(axis=0)

    def one(tokens: Int[Array, "length"]) -> Float[Array, "4 s s"]:
        hot = jax.nn.one_hot(tokens, prior.alphabet_size, dtype=jnp.float64)
        frequency = hot.mean(axis=0)
        ratio = (hot - frequency) / (frequency + epsilon)
        return jnp.stack([hot[:-lag].T @ ratio[lag:] / (length - lag) for lag in range(1, lags)])

    return jnp.abs(jax.vmap(one)(drawn.tokens).mean(axis=0) - (pairs / symbols - symbols[:, None])).max()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowGap(Measured):
    """Lemma D.3 extended: C with -dL/dp_1 ≥ -dL/dp_j + att_1(1 - att_1)·C·a_2/n in every row, against 0."""

    row: int
    lag: int


def row_gap(scores: Float[np.ndarray, "offsets"], p: Float[np.ndarray, "offsets"], *, alphabet_size: int) -> RowGap:
    """The smallest gap of the descent directions over rows i and offsets j ≠ 1, at given p, for order one.

    >>> row_gap(np.array([0.0, 0.2, 0.0]), np.zeros(3), alphabet_size=2).holds
    True
    """
    worst, place = math.inf, (1, 0)
    for i in range(1, len(p)):
        weights = np.exp(p[: i + 1] - p[: i + 1].max())
        weights /= weights.sum()
        pulls = weights * (scores[: i + 1] - weights @ scores[: i + 1])
        gaps = (pulls[1] - pulls) / (weights[1] * (1 - weights[1])) / alphabet_size
        gaps[1] = math.inf
        if gaps.min() < worst:
            worst, place = float(gaps.min()), (i, int(gaps.argmin()))
    return RowGap(measured=worst, bound=0.0, side="at least", row=place[0], lag=place[1])


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvergenceTime(Measured):
    """Lemma D.5 extended: the exponent of the time τ in n, against that of the printed bound.

    The bound is n/(η a) · (n log 2n + log((1/k - α)(n - k)/(kα))/α), up to a constant. Rows share p here, so
    that every step adds up n rows and takes about n times less than the lemma's own rows would.
    """

    lengths: tuple[int, ...]
    times: Float[np.ndarray, "lengths"]
    """τ·η·a, in which the step size cancels."""
    shapes: Float[np.ndarray, "lengths"]
    """The bound without its constant, times η·a."""
    exponent_error: float

    @property
    def ratios(self) -> Float[np.ndarray, "lengths"]:
        """τ over the bound without its constant: bounded if the lemma holds."""
        return self.times / self.shapes


def convergence_time(
    prior: Prior,
    key: PRNGKeyArray,
    *,
    alpha: float = 0.1,
    lengths: Sequence[int] = (32, 64, 128, 256, 512),
    step: float = 0.05,
    limit: int = 200_000,
) -> ConvergenceTime:
    """Steps until softmax(p)_r ≥ 1/k - α for r = 1 … k, in the closed form of a_2 → 0 with the preconditioner.

    `step` is the largest change of p in the first step: it sets η, which cancels in τ·η·a.
    """
    k, contexts = prior.order, prior.alphabet_size**prior.order
    require(0 < alpha < 1 / k, f"alpha is {alpha}, must be between 0 and 1/k = {1 / k:.3g}")
    times, shapes = [], []
    scores = expected_lag_scores(prior, key, lags=max(lengths), count=512).mean
    for n in lengths:
        taken, rate = _steps_until(scores[:n], alpha, step, contexts, k, limit)
        require(int(taken) < limit, f"softmax(p) has not come within {alpha} of 1/k after {limit} steps; raise step")
        times.append(float(taken) * float(rate))
        shapes.append(n * (n * math.log(2 * n) + math.log((1 / k - alpha) * (n - k) / (k * alpha)) / alpha))
    fitted, printed = power_law(lengths, times), power_law(lengths, shapes)
    return ConvergenceTime(
        measured=fitted.exponent,
        bound=printed.exponent,
        side="at most",
        lengths=tuple(lengths),
        times=np.array(times),
        shapes=np.array(shapes),
        exponent_error=fitted.standard_error,
        standard_error=fitted.standard_error,
    )


@eqx.filter_jit
def _steps_until(
    scores: Float[Array, "offsets"], alpha: float, step: float, contexts: int, k: int, limit: int
) -> tuple[Array, Array]:
    start = jnp.zeros_like(scores).at[0].set(EXCLUDED)

    def direction(p: Float[Array, "offsets"]) -> Float[Array, "offsets"]:
        return preconditioned_direction(stage_one_gradient(p, scores, 1.0, contexts, k), k)

    rate = step / jnp.abs(direction(start)).max()  # η·a_2

    def unfinished(state: tuple[Array, Array]) -> Array:
        p, taken = state
        return (jax.nn.softmax(p)[1 : k + 1].min() < 1 / k - alpha) & (taken < limit)

    def move(state: tuple[Array, Array]) -> tuple[Array, Array]:
        p, taken = state
        return p - rate * direction(p), taken + 1

    return jax.lax.while_loop(unfinished, move, (start, jnp.int32(0)))[1], rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageTwoSlope(Measured):
    """Lemma D.8 of Nichani et al.: the smallest of -dL/da_2 - γ⁸ e^{-2a_2} / (4 S⁶) over a_2, against 0."""

    a_2: Float[np.ndarray, "points"]
    slopes: Float[np.ndarray, "points"]
    """-dL/da_2 with the first layer at the previous token."""
    lower_bounds: Float[np.ndarray, "points"]
    turning_point: float | None
    """The first a_2 on the grid where the slope is no longer positive: where finite T stops the growth."""


def stage_two_slope(
    prior: Prior,
    gamma: float,
    key: PRNGKeyArray,
    *,
    length: int = 128,
    epsilon: float = 1e-3,
    a_2: Sequence[float] = (0.01, 0.5, 1.0, 1.5, 2.0),
    count: int = 1024,
) -> StageTwoSlope:
    """1 ≥ -dL/da_2 ≥ γ⁸ e^{-2a_2} / (4 S⁶) while e^{a_2} is small next to a power of n."""
    require(prior.order == 1, f"the prior has order {prior.order}, this lemma is about order 1")
    grid = jnp.asarray(a_2, jnp.float64)
    slopes, errors = (np.asarray(values) for values in _slopes(prior, key, grid, length, epsilon, count))
    lower = gamma**8 * np.exp(-2 * np.asarray(grid)) / (4 * prior.alphabet_size**6)
    worst = int((slopes - lower).argmin())
    falling = np.flatnonzero(slopes <= 0)
    return StageTwoSlope(
        measured=float((slopes - lower)[worst]),
        bound=0.0,
        side="at least",
        standard_error=float(errors[worst]),
        a_2=np.asarray(grid),
        slopes=slopes,
        lower_bounds=lower,
        turning_point=float(grid[falling[0]]) if len(falling) else None,
    )


@eqx.filter_jit
def _slopes(
    prior: Prior, key: PRNGKeyArray, grid: Float[Array, "points"], length: int, epsilon: float, count: int
) -> tuple[Array, Array]:
    drawn = chains.sample(key, prior, length=length, count=count, start="stationary")
    p = jnp.full(length, EXCLUDED, jnp.float64).at[1].set(0.0)

    def slope(a_2: Float[Array, ""], tokens: Array, kernel: Array) -> Float[Array, ""]:
        def loss(a_2: Float[Array, ""]) -> Float[Array, ""]:
            return model_excess(Reduced(p, a_2, jnp.zeros(1, jnp.float64), True), tokens, kernel, epsilon)

        return -jax.grad(loss)(a_2)

    over_chains = jax.vmap(slope, in_axes=(None, 0, 0))
    values = jax.lax.map(lambda a_2: over_chains(a_2, drawn.tokens, drawn.kernels), grid)
    return values.mean(axis=1), values.std(axis=1, ddof=1) / jnp.sqrt(count)
