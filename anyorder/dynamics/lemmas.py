"""The lemmas of App. E to G as measurements: what each bounds, its bound, and how much is left.

Every function returns numbers. `holds` says whether the measured side is on the right side of the bound, and
`slack` by how much; where a prior was sampled, `standard_error` says how well that is known.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from anyorder.chains import Kernel, Prior
from anyorder.chains.lifted import DENSE_STATES
from anyorder.chains.priors import return_counts
from anyorder.dynamics.closed_form import expected_lag_scores, lag_scores, pair_distribution
from anyorder.errors import require

_lag_scores = jax.jit(lag_scores, static_argnums=1)
_pair_distribution = jax.jit(pair_distribution, static_argnums=1)
_return_counts = jax.jit(return_counts, static_argnums=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """One inequality: `measured` must be at least or at most `bound`."""

    measured: float
    bound: float
    side: Literal["at least", "at most"]
    standard_error: float = 0.0

    @property
    def slack(self) -> float:
        """How far inside the bound the measured value lies; negative when it is violated."""
        return self.measured - self.bound if self.side == "at least" else self.bound - self.measured

    @property
    def holds(self) -> bool:
        """Whether the inequality is met."""
        return self.slack >= 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreviousTokenGap(Measured):
    """Lemma D.2 of Nichani et al.: the smallest g_1 - g_j over j ≠ 1, against γ³/(2S)."""

    worst_lag: int | None
    """The lag of the smallest gap; None: infinity, where g is zero."""
    scores: Float[np.ndarray, "lags"]
    score_errors: Float[np.ndarray, "lags"]


def previous_token_gap(
    prior: Prior, gamma: float, key: PRNGKeyArray, *, lags: int = 32, count: int = 4096
) -> PreviousTokenGap:
    """g_1 - g_j ≥ γ³/(2S) for all j ≥ 0, j ≠ 1, with g_j = E_π[g_j(π)] (App. G, first lemma).

    >>> from anyorder.chains import Floored
    >>> previous_token_gap(Floored(1, 3, gamma=0.2), 0.2, jax.random.key(0)).holds
    True
    """
    require(prior.order == 1, f"the prior has order {prior.order}, this lemma is about order 1")
    scores = expected_lag_scores(prior, key, lags=lags, count=count)
    # lag infinity, where g = 0, stands for all that are longer
    drawn = np.concatenate([np.asarray(scores.drawn), np.zeros((count, 1))], axis=1)
    gaps = np.delete(drawn[:, 1:2] - drawn, 1, axis=1)
    worst = int(gaps.mean(axis=0).argmin())
    lag = worst if worst == 0 else worst + 1
    return PreviousTokenGap(
        measured=float(gaps[:, worst].mean()),
        bound=gamma**3 / (2 * prior.alphabet_size),
        side="at least",
        standard_error=float(gaps[:, worst].std(ddof=1) / math.sqrt(count)),
        worst_lag=None if lag == lags else lag,
        scores=np.asarray(scores.mean),
        score_errors=np.asarray(scores.standard_error),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SecondOrderDecay(Measured):
    """The second-order lemma of App. F for one kernel: the smallest P^i(s|s,s) - P^{i+1}(s|s,s), against 0."""

    returns: Float[np.ndarray, "2 steps"]
    """P^i(s|s,s) for s = 0, 1 and i = 1 … steps, from the lifted chain."""
    recursion: Float[np.ndarray, "2 steps"]
    """The same by the printed recursion (erratum E9)."""
    recursion_error: float
    """Largest difference between the two; zero would mean that the recursion is right."""
    worst_step: int
    """i of the smallest decrease."""
    preference: float
    """Smaller of π(s|s,s) - π(s|1-s,s) with contexts newest first, as in the proof: its δ'."""
    preference_oldest_first: float
    """The same with contexts oldest first, as `chains.check_second_order` reads the assumption."""
    return_gap: float
    """Smallest Σ_s P^1(s|s,s) - P^i(s|s,s) over i ≥ 4, the δ of the lemma."""
    scores: Float[np.ndarray, "steps"]
    """g_1 … g_steps, which the gradient uses."""
    identity_error: float
    """Largest |g_j - 2(Σ_s P^{j+1}(s|s,s) - 1)|, which App. D derives from detailed balance."""

    @property
    def scores_fall(self) -> bool:
        """Whether g_1 > g_2 > …, which is what the algorithm needs."""
        return bool((np.diff(self.scores) < 0).all())


def second_order_decay(kernel: Kernel, *, steps: int = 12) -> SecondOrderDecay:
    """P^i(s|s,s) falls with i, measured on the lifted chain and by the printed recursion.

    The proof writes contexts newest token first (App. D: x_n = s_1, x_{n-1} = s_2), so that its π(0|1,0) is the
    probability of 0 after 0, 1. Kernels here are oldest first.

    >>> zero = np.array([[0.8, 0.3], [0.45, 0.25]])  # π(0 | older, newer)
    >>> result = second_order_decay(Kernel(np.stack([zero, 1 - zero], axis=-1)))
    >>> result.returns[0, 2].round(4).item(), result.recursion[0, 2].round(4).item()
    (0.622, 0.65)
    """
    require(
        kernel.order == 2 and kernel.alphabet_size == 2,
        f"the kernel has order {kernel.order} over {kernel.alphabet_size} symbols, this lemma is about order 2 over 2",
    )
    require(steps >= 4, f"steps is {steps}, must be at least 4: the lemma compares with lags from 4 on")
    pi, matrix = kernel.probabilities, np.asarray(kernel.transition_matrix)
    later, returns = pi.reshape(4, 2), []  # later[a, s] = P^i(s | a)
    for _ in range(steps + 1):
        returns.append([later[0, 0], later[3, 1]])
        later = matrix @ later
    exact = np.array(returns).T
    recursion = np.empty((2, steps))
    for s in (0, 1):
        stay, back = pi[s, s, s], pi[s, 1 - s, s]
        recursion[s, 0] = stay
        for i in range(1, steps):
            recursion[s, i] = back + (stay - back) * recursion[s, i - 1]
    scores = np.asarray(_lag_scores(jnp.asarray(pi), steps + 1))[1:]
    drops = (-np.diff(exact[:, :steps], axis=1)).min(axis=0)
    totals = exact.sum(axis=0)
    return SecondOrderDecay(
        measured=float(drops.min()),
        bound=0.0,
        side="at least",
        returns=exact[:, :steps],
        recursion=recursion,
        recursion_error=float(np.abs(exact[:, :steps] - recursion).max()),
        worst_step=int(drops.argmin()) + 1,
        preference=float(min(pi[s, s, s] - pi[s, 1 - s, s] for s in (0, 1))),
        preference_oldest_first=float(min(pi[s, s, s] - pi[1 - s, s, s] for s in (0, 1))),
        return_gap=float((totals[0] - totals[3:steps]).min()),
        scores=scores,
        identity_error=float(np.abs(scores - 2 * (totals[1 : steps + 1] - 1)).max()),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpectralDecay(Measured):
    """The spectral lemma of App. F for one kernel: the smallest g_l - g_{l+1} of the return counts, against 0."""

    counts: Float[np.ndarray, "steps"]
    """g_l = Σ_a Σ_j Pr(the token l steps after context a equals a_j)."""
    worst_step: int
    printed_change: float
    """Largest change of Σ P^l(a→b) f(a) over l, as printed: zero whatever the chain (erratum E17)."""
    formula_error: float
    """Largest |g_l - g_{l+1} - Σ λ^l (1 - λ) β| with the mended β; NaN where P is not self-adjoint (erratum E16)."""
    self_adjoint_defect: float
    scores: Float[np.ndarray, "steps"]
    """g_1 … g_steps of the gradient."""

    @property
    def scores_fall(self) -> bool:
        """Whether g_1 > g_2 > … for the scores that the gradient uses."""
        return bool((np.diff(self.scores) < 0).all())


def spectral_decay(kernel: Kernel, *, steps: int = 8) -> SpectralDecay:
    """The return counts of a kernel of any order fall with the lag, and by how much the spectrum says.

    >>> from anyorder.chains import Reversible
    >>> result = spectral_decay(Kernel(Reversible(1, 3).draw(jax.random.key(0))))
    >>> result.holds, result.formula_error < 1e-12
    (True, True)
    """
    matrix = kernel.transition_matrix
    require(
        isinstance(matrix, np.ndarray),
        f"the lifted chain has {len(kernel.rows)} contexts, the limit is {DENSE_STATES}; lower the order",
    )
    matrix = np.asarray(matrix)
    counts = np.asarray(_return_counts(jnp.asarray(kernel.probabilities), steps + 1))
    drops = -np.diff(counts)
    weights = kernel.stationary.ravel()
    flow = weights[:, None] * matrix
    defect = float(np.abs(flow - flow.T).max())
    contexts = np.indices((kernel.alphabet_size,) * kernel.order).reshape(kernel.order, -1)  # [place, a]
    distinct = np.array([len(set(context)) for context in contexts.T], np.float64)
    powers = np.stack([np.linalg.matrix_power(matrix, lag) for lag in range(1, steps + 1)])
    printed = np.einsum("lab,a->l", powers, distinct)
    formula_error = math.nan
    if defect < 1e-9:
        root = np.sqrt(weights)
        eigenvalues, vectors = np.linalg.eigh(root[:, None] * matrix / root)
        functions = vectors / root[:, None]
        matches = (contexts[:, :, None] == contexts[-1]).sum(axis=0)  # f(a, b): entries of a like b's newest
        beta = np.einsum("am,bm,b,ab->m", functions, functions, weights, matches)
        lag = np.arange(1, steps + 1)[:, None]
        formula = ((1 - eigenvalues) * eigenvalues**lag * beta)[:, :-1].sum(axis=1)
        formula_error = float(np.abs(drops - formula).max())
    return SpectralDecay(
        measured=float(drops.min()),
        bound=0.0,
        side="at least",
        counts=counts[:steps],
        worst_step=int(drops.argmin()) + 1,
        printed_change=float(np.ptp(printed)),
        formula_error=formula_error,
        self_adjoint_defect=defect,
        scores=np.asarray(_lag_scores(jnp.asarray(kernel.probabilities), steps + 1))[1:],
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CovarianceDecay(Measured):
    """The largest |Cov(1[x_t = s], 1[x_{t+j} = s])| / (λ^j Var) over lags and symbols, against 1 (App. G)."""

    modulus: float
    """λ, the second largest modulus of an eigenvalue of the lifted chain."""
    covariances: Float[np.ndarray, "lags symbols"]
    worst_lag: int
    reversibility_defect: float


def covariance_decay(kernel: Kernel, *, lags: int = 24) -> CovarianceDecay:
    """|Cov(f(z_t), f(z_{t'}))| ≤ λ^{|t-t'|} Var f with f an indicator of the newest symbol.

    Ratios whose denominator is lost to rounding (below 1e-8) are left out.

    >>> covariance_decay(Kernel([[0.9, 0.1], [0.5, 0.5]])).holds
    True
    """
    covariances, modulus = _covariances(kernel, lags), abs(kernel.second_eigenvalue)
    limits = modulus ** np.arange(lags)[:, None] * covariances[0]
    ratios = np.where(limits > 1e-8, np.abs(covariances) / np.where(limits > 1e-8, limits, 1), 0)
    return CovarianceDecay(
        measured=float(ratios.max()),
        bound=1.0 + 1e-7,  # rounding
        side="at most",
        modulus=modulus,
        covariances=covariances,
        worst_lag=int(ratios.max(axis=1).argmax()),
        reversibility_defect=kernel.reversibility_defect,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrequencyVariance(Measured):
    """The largest E[(μ̂_n(s) - μ(s))²] · n(1 - λ) over lengths and symbols, against the constant 1/2 (App. G).

    For a reversible first-order chain the variance is at most μ(1 - μ)(1 + λ)/(n(1 - λ)), hence 1/2. The lemma
    says that some constant serves all chains of any order.
    """

    modulus: float
    lengths: tuple[int, ...]
    variances: Float[np.ndarray, "lengths symbols"]
    scaled: Float[np.ndarray, "lengths symbols"]
    """variance · n(1 - λ)"""
    reversibility_defect: float


def frequency_variance(kernel: Kernel, *, lengths: Sequence[int] = (16, 64, 256, 1024)) -> FrequencyVariance:
    """The variance of empirical frequencies, exactly: (1/n)(c_0 + 2 Σ_{j<n} (1 - j/n) c_j).

    >>> frequency_variance(Kernel([[0.9, 0.1], [0.5, 0.5]])).holds
    True
    """
    covariances, modulus = _covariances(kernel, max(lengths)), abs(kernel.second_eigenvalue)
    variances = []
    for n in lengths:
        lag = np.arange(1, n)[:, None]
        variances.append((covariances[0] + 2 * ((1 - lag / n) * covariances[1:n]).sum(axis=0)) / n)
    scaled = np.array(variances) * (np.array(lengths) * (1 - modulus))[:, None]
    return FrequencyVariance(
        measured=float(scaled.max()),
        bound=0.5,
        side="at most",
        modulus=modulus,
        lengths=tuple(lengths),
        variances=np.array(variances),
        scaled=scaled,
        reversibility_defect=kernel.reversibility_defect,
    )


def _covariances(kernel: Kernel, lags: int) -> Float[np.ndarray, "lags symbols"]:
    pairs = np.asarray(_pair_distribution(jnp.asarray(kernel.probabilities), lags))
    return np.diagonal(pairs, axis1=1, axis2=2) - np.square(kernel.symbol_distribution)
