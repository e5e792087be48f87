"""Checkers for the paper's assumptions on the data, each with a verdict, the measured number and its limit.

App. C states four assumptions on a prior over first-order chains, App. D three on second-order binary kernels and
five on reversible kernels of any order; `docs/assumptions.md` discusses how the last five can be read.
"""

from __future__ import annotations

import itertools
import statistics
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from anyorder.chains import lifted_chain
from anyorder.chains.kernel import Kernel
from anyorder.chains.priors import RETURN_STEPS, Prior, ReversibleBinary, return_counts, second_hop
from anyorder.chains.random import Seed, as_key
from anyorder.chains.sampling import stationary_contexts
from anyorder.errors import InputError, require
from anyorder.io.gates import check_memory, gated


class Check(NamedTuple):
    """One assumption: whether it holds, the measured number and its limit, and a description of that number."""

    name: str
    holds: bool
    measured: float
    limit: float
    detail: str

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{self.name}: {verdict} ({self.detail}: {self.measured:.4g}, limit {self.limit:.4g})"


@gated
def check_first_order(
    prior: Prior, gamma: float, key: Seed = 0, *, count: int = 4096, confidence: float = 0.999
) -> list[Check]:
    """App. C, Assumption 1, on `count` kernels drawn from a prior.

    The first two are about every kernel and are checked on each. Permutation invariance and a uniform mean are about
    the distribution: the largest deviation of a moment, in standard errors, is compared with the
    Bonferroni-corrected normal quantile at the given confidence.

    >>> from anyorder.chains import Dirichlet
    >>> [check.holds for check in check_first_order(Dirichlet(1, 3), 0.2)]
    [False, False, True, True]
    """
    require(prior.order == 1, f"the prior has order {prior.order}, must be 1 here; use check_any_order")
    require(0 < gamma < 1, f"gamma is {gamma}, must be between 0 and 1")
    require(0 < confidence < 1, f"confidence is {confidence}, must be between 0 and 1")
    kernels = _drawn(prior, key, count)
    size = prior.alphabet_size
    stationary = np.asarray(jax.jit(jax.vmap(stationary_contexts))(kernels))
    mixing = np.square(kernels - stationary[:, None, :]).sum(axis=(1, 2)).min()
    smallest = kernels.min()
    invariance, invariance_limit = _permutation_deviation(kernels, confidence)
    mean_deviation = np.abs(_standard_scores(kernels - 1 / size)).max()
    mean_limit = _quantile(confidence, size * size)
    return [
        Check("minimum transition probability", bool(smallest > gamma / size), float(smallest), gamma / size,
              "smallest π(s'|s)"),
        Check("non-trivial mixing", bool(mixing >= gamma**2 / size), float(mixing), gamma**2 / size,
              "smallest Σ_s ‖π(·|s) - μ‖²"),
        Check("permutation invariance", invariance <= invariance_limit, invariance, invariance_limit,
              "largest deviation of a moment under renaming, in standard errors"),
        Check("uniform expected transition matrix", bool(mean_deviation <= mean_limit), float(mean_deviation),
              mean_limit, "largest deviation of E[π] from 1/S, in standard errors"),
    ]  # fmt: skip


@gated
def check_second_order(kernel: Kernel, newest_first: bool = False) -> list[Check]:
    """App. D, Assumption 2, for one second-order binary kernel, with both readings of its first part.

    As printed, a word of three tokens is as probable as its cyclic shift. As named, the chain is time-reversible, which
    every such chain is. Contexts of the transition preference are read oldest token first or, as in the proofs, newest
    token first.

    >>> from anyorder.chains import ReversibleBinary
    >>> kernel = Kernel(ReversibleBinary().draw(jax.random.key(1)))
    >>> [check.name for check in check_second_order(kernel) if not check.holds]
    ['cyclic shift, as printed']
    """
    require(
        kernel.order == 2 and kernel.alphabet_size == 2,
        f"the kernel has order {kernel.order} over {kernel.alphabet_size} symbols; "
        "this assumption applies to order 2 over 2 symbols, use check_any_order",
    )
    pi = kernel.probabilities
    other = pi.transpose(1, 0, 2) if newest_first else pi
    preference = min(pi[0, 0, 0] - other[1, 0, 0], pi[1, 1, 1] - other[0, 1, 1])
    hop = float(second_hop(jnp.asarray(pi)))
    words = kernel.stationary[..., None] * pi
    shift = float(np.abs(words - words.transpose(2, 0, 1)).max())
    return [
        Check("cyclic shift, as printed", shift < 1e-9, shift, 1e-9, "largest |μ(s_1 s_2 s') - μ(s_2 s' s_1)|"),
        _reversible(kernel),
        Check("transition preference", bool(preference > 0), float(preference), 0.0,
              "smaller of π(0|00) - π(0|10) and π(1|11) - π(1|01), "
              + ("newest token first" if newest_first else "oldest token first")),
        Check("second-hop likelihood", hop >= 1, hop, 1.0, "Σ_s π²(s|s,s)"),
    ]  # fmt: skip


@gated
def check_any_order(kernel: Kernel) -> list[Check]:
    """App. D, Assumption 3, for one kernel of any order, as printed and, in the last two rows, as possibly intended.

    As printed, it requires a self-adjoint lifted chain, which no irreducible chain above order one has, and β_m > 0 for
    all m, although β_m = 0 for all m ≥ 2 and every chain, because φ_m is orthogonal to constants.

    >>> from anyorder.chains import Reversible
    >>> kernel = Kernel(Reversible(order=1, alphabet_size=3).draw(jax.random.key(0)))
    >>> [check.name for check in check_any_order(kernel) if not check.holds]
    ['non-degenerate projection']
    """
    matrix = kernel.transition_matrix
    if not isinstance(matrix, np.ndarray):
        raise InputError(
            f"the lifted chain has {len(kernel.rows)} contexts, the limit is {lifted_chain.DENSE_STATES}; lower the "
            "order"
        )
    flow = kernel.stationary.ravel()[:, None] * matrix
    defect = float(np.abs(flow - flow.T).max())
    eigenvalues = kernel.eigenvalues
    real = bool(np.abs(eigenvalues.imag).max() < 1e-9)
    smallest = float(eigenvalues.real.min()) if real else float("nan")
    sound = kernel.irreducible and kernel.aperiodic
    printed, corrected = _projections(kernel, matrix) if defect < 1e-9 else (float("nan"), float("nan"))
    counts = np.asarray(return_counts(jnp.asarray(kernel.probabilities), RETURN_STEPS))
    decay = float((counts[:-1] - counts[1:]).min())
    return [
        Check("irreducibility and aperiodicity", sound, float(sound), 1.0, "both hold"),
        _reversible(kernel),
        Check("lifted representation", True, float(len(kernel.rows)), float(len(kernel.rows)),
              "contexts; every chain has one"),
        Check("spectral assumptions: self-adjoint", defect < 1e-9, defect, 0.0,
              "largest |μ(a)P(a→b) - μ(b)P(b→a)| on contexts"),
        Check("spectral assumptions: positive", real and smallest > 0, smallest, 0.0,
              "smallest eigenvalue of the lifted chain, NaN if some are complex"),
        Check("non-degenerate projection", bool(printed > 1e-9), printed, 0.0,
              "smallest β_m as printed, NaN where P is not self-adjoint"),
        Check("corrected projection", bool(corrected > 1e-9), corrected, 0.0,
              "smallest β_m with f(a, b) = number of entries of a equal to the newest of b"),
        Check("falling return count", decay > 0, decay, 0.0,
              "smallest g_l - g_{l+1}, the property that the assumptions must imply"),
    ]  # fmt: skip


@gated
def conditions(prior: Prior, gamma: float, key: Seed = 0, *, count: int = 16) -> list[Check]:
    """Check the assumptions of App. C (order one) or App. D (higher orders) on `count` kernels of the prior.

    For several kernels `measured` is the worst value, and the detail states how many fail.

    >>> from anyorder.chains import Floored
    >>> all(check.holds for check in conditions(Floored(1, 3, gamma=0.2), 0.2, jax.random.key(0)))
    True
    """
    if prior.order == 1:
        return check_first_order(prior, gamma, key)
    kernels = _drawn(prior, key, count)
    if prior.order == 2 and prior.alphabet_size == 2:
        newest_first = isinstance(prior, ReversibleBinary) and prior.newest_first
        checked = [check_second_order(Kernel(kernel), newest_first) for kernel in kernels]
    else:
        checked = [check_any_order(Kernel(kernel)) for kernel in kernels]
    return [_worst(same) for same in zip(*checked, strict=True)]


def _drawn(prior: Prior, key: Seed, count: int) -> Float[np.ndarray, "count *contexts symbols"]:
    require(count >= 2, f"count is {count}, must be at least 2 for a standard error")
    numbers = count * prior.alphabet_size ** (prior.order + 1)
    check_memory(32 * numbers, f"{count} kernels", "pass a smaller `count=`")
    return np.asarray(jax.jit(jax.vmap(lambda key: prior.draw(key)))(jax.random.split(as_key(key), count)))


def _worst(same: tuple[Check, ...]) -> Check:
    """Combine one check over many kernels: the result furthest beyond the limit, if any fails."""
    failing = [check for check in same if not check.holds]
    # Failing kernels lie on the wrong side of the limit; the worst is the furthest from it.
    worst = max(failing, key=lambda check: abs(check.measured - check.limit)) if failing else same[0]
    return worst._replace(detail=f"{worst.detail}; fails for {len(failing)} of {len(same)} kernels")


def _reversible(kernel: Kernel) -> Check:
    defect = kernel.reversibility_defect
    return Check("time reversibility", kernel.reversible, defect, 1e-9, "largest |μ(w) - μ(w reversed)|")


def _projections(kernel: Kernel, matrix: Float[np.ndarray, "contexts contexts"]) -> tuple[float, float]:
    """The smallest β_m over m ≥ 2, with the printed f(a) = |a| (distinct symbols) and with f(a, b)."""
    weights = kernel.stationary.ravel()
    root = np.sqrt(weights)
    symmetric = root[:, None] * matrix / root[None, :]
    _, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    functions = (vectors / root[:, None])[:, :-1]  # orthonormal in ℓ²(μ); the last one is the constant
    contexts = list(itertools.product(range(kernel.alphabet_size), repeat=kernel.order))
    distinct = np.array([len(set(context)) for context in contexts], dtype=np.float64)
    matches = np.array([[context.count(other[-1]) for other in contexts] for context in contexts], np.float64)
    printed = (functions * distinct[:, None]).sum(axis=0) * (functions * weights[:, None]).sum(axis=0)
    corrected = np.einsum("am,bm,b,ab->m", functions, functions, weights, matches)
    return float(printed.min()), float(corrected.min())


def _standard_scores(samples: Float[np.ndarray, "count *shape"]) -> Float[np.ndarray, "*shape"]:
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return samples.mean(axis=0) / np.where(error > 0, error, np.inf)


def _quantile(confidence: float, comparisons: int) -> float:
    return statistics.NormalDist().inv_cdf(1 - (1 - confidence) / (2 * comparisons))


def _permutation_deviation(kernels: Float[np.ndarray, "count s s"], confidence: float) -> tuple[float, float]:
    """Compare first and second moments of π with those of σ⁻¹πσ for the S - 1 neighbour swaps σ.

    Swaps generate every permutation, so invariance under them is invariance under all.
    """
    size = kernels.shape[-1]
    scores = []
    for first in range(size - 1):
        swap = np.arange(size)
        swap[[first, first + 1]] = swap[[first + 1, first]]
        renamed = kernels[:, swap][:, :, swap]
        for moment in (1, 2):
            scores.append(_standard_scores(kernels**moment - renamed**moment))
    return float(np.abs(np.stack(scores)).max()), _quantile(confidence, np.size(scores))
