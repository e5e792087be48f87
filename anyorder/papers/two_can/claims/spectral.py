"""App. D and F, any order: Assumption 3, the return count, and the second lemma of App. F."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import numpy as np
from jaxtyping import Float

from anyorder import chains
from anyorder.chains import Dirichlet, Kernel, Reversible
from anyorder.chains.priors import return_counts
from anyorder.papers.entry import Finding, Numbers, claim, judge
from anyorder.papers.two_can.claims.measures import apart, drawn


def reversible(order: int, *, falling: bool = True) -> Float[np.ndarray, "count *kernel"]:
    """Kernels that are reversible as processes; with `falling=False` without a condition on their return counts."""
    return drawn(Reversible(order, 3 if order == 1 else 2, falling=falling), 64)


@claim(
    "App. D, Assumption 3",
    "Kernels of order k whose lifted chain is self-adjoint on ℓ²(π) with positive spectrum, and "
    "β_m = Σ_{a,b} φ_m(a) φ_m(b) π(b) f(a) > 0 for all m.",
    see=("thm-any-order", "eq-return-count", "lem-covariance"),
)
def asm_any_order() -> Finding:
    """β_m as printed and with f(a, b) where eigenfunctions exist; how far lifted chains are from self-adjoint."""
    numbers, possible = any_order_assumption()
    return judge(
        numbers,
        printed=possible,
        failure="no chain meets it. β_m = 0 for every m ≥ 2, because φ_m is orthogonal to constants and f(a) does not "
        "depend on b (with f(a, b), as in the proof of App. F, β_m is positive at order one); and above order one a "
        "step a → b can hardly ever be reversed in one step, so no irreducible lifted chain is self-adjoint",
    )


@functools.cache
def any_order_assumption() -> tuple[Numbers, bool]:
    """The measurement of Assumption 3, and whether some chain above order one can meet it.

    It needs β_m > 0, as printed, and a lifted chain that is self-adjoint.
    """

    def measured(name: str, *kernels: np.ndarray) -> list[float]:
        checks = [check for one in kernels for kernel in one for check in chains.check_any_order(Kernel(kernel))]
        return [check.measured for check in checks if check.name == name]

    first, self_adjoint = reversible(1)[:6], "spectral assumptions: self-adjoint"
    printed = measured("non-degenerate projection", first)
    random = [drawn(Dirichlet(order, 2), 64)[:16] for order in (2, 3)]
    above = {
        "reversible, order 2": min(measured(self_adjoint, reversible(2)[:6])),
        "random, orders 2 and 3": min(measured(self_adjoint, *random)),
    }
    numbers: Numbers = {
        "largest |β_m| as printed, m ≥ 2, order 1": max(map(abs, printed)),
        "smallest β_m with f(a, b), order 1": min(measured("corrected projection", first)),
        "smallest defect of self-adjointness, reversible, order 1": min(measured(self_adjoint, first)),
        **above,
    }
    return numbers, max(map(abs, printed)) > 1e-9 and min(above.values()) < 1e-9


def counts(kernels: Float[np.ndarray, "count *kernel"], steps: int) -> Float[np.ndarray, "count steps"]:
    """Σ_a Σ_j Pr(the token l steps after context a equals a_j) of every kernel, l = 1 … steps."""
    return np.asarray(jax.jit(jax.vmap(lambda kernel: return_counts(kernel, steps)))(kernels))


@claim("App. F, second lemma", "The return count is Σ_{a,b} P^l(a→b) f(a) with f(a) = |a|, and falls with l.")
def eq_return_count() -> Finding:
    """Its change over eight lags as printed; the count of the lemma's first line, on kernels not selected for it."""
    change, falling = 0.0, {}
    for order in (1, 2, 3):
        kernels = reversible(order, falling=False)
        distinct = [len(set(context)) for context in itertools.product(range(kernels.shape[-1]), repeat=order)]
        for kernel in kernels[:8]:
            matrix = Kernel(kernel).transition_matrix
            printed = [distinct @ np.linalg.matrix_power(matrix, lag).sum(axis=1) for lag in range(1, 9)]
            change = max(change, np.ptp(printed))
        falling[order] = (np.diff(counts(kernels, 9), axis=1) < 0).all(axis=1).sum()
    return judge(
        {
            "largest change as printed, orders 1 to 3": change,
            **{f"of 64 reversible kernels with a falling count, order {k}": count for k, count in falling.items()},
        },
        printed=change > 1e-9,
        corrected=falling[1] == 64,
        correction="rows of P^l sum to one, so the expression does not depend on l; with f(a, b), as in the proof, it "
        "is the count of the first line, which decreases for reversible chains of order one with a positive spectrum, "
        "and for most of order two and three",
    )


@claim(
    "App. F, second lemma",
    "g_l - g_{l+1} = Σ_{m ≥ 2} λ_m^l (1 - λ_m) β_m ≥ 0, and g_1 - g_l = Σ (λ_m² - λ_m^l) β_m > 0.",
    see=("eq-return-count", "lem-spectral-bound"),
)
def lem_spectral() -> Finding:
    """Both formulas at order one with f(a, b), for lags of l and of l + 1 steps; there every β_m is 1."""
    kernels, lags = reversible(1, falling=False)[:8], np.arange(1, 6)
    spectra, found = np.sort(np.linalg.eigvals(kernels).real)[:, None, :-1], counts(kernels, 7)
    errors = {}
    for steps, power in itertools.product(("l", "l + 1"), ("λ^l", "λ^(l+1)")):
        g = found[:, 1:] if steps == "l + 1" else found[:, :6]
        powers = spectra ** (lags + (power == "λ^(l+1)"))[:, None]
        first = -np.diff(g) - ((1 - spectra) * powers).sum(axis=2)
        second = g[:, :1] - g[:, :5] - (spectra**2 - powers).sum(axis=2)
        errors[steps, power] = [np.abs(first).max(), np.abs(second).max()]
    first_order = (
        "At order one the lemma holds with f(a, b) in β_m, l + 1 steps as in the lemma's first line, and λ^(l+1) for "
        "λ^l in both formulas, as in its proof; the second formula holds for l ≥ 2, not for all l ≥ 0 as printed"
    )
    return judge(
        {
            **{
                f"largest error of both formulas with {power}, g_l after {steps} steps": pair
                for (steps, power), pair in errors.items()
            },
            "largest g_1 - g_0, after l + 1 steps": (found[:, 1] - found[:, 0]).max(),
        },
        printed=min(max(errors["l", "λ^l"]), max(errors["l + 1", "λ^l"])) < 1e-9,
        corrected=max(errors["l + 1", "λ^(l+1)"]) < 1e-9,
        vacuous=""
        if any_order_assumption()[1]
        else f"above order one no lifted chain is self-adjoint (asm-any-order). {first_order}",
        correction=first_order,
    )


@claim("App. F, after the second lemma", "Moreover g_1 ≥ 2^(k-1) if Σ_m λ_m² β_m ≥ 2^(k-1).")
def lem_spectral_bound() -> Finding:
    """Σ λ² β at order one, as printed and with f(a, b); and the smallest g_1 of reversible kernels of several sizes."""
    first_order = reversible(1, falling=False)
    spectra = np.sort(np.linalg.eigvals(first_order).real)
    # as printed β_1 = Σ_a f(a) = S, and β_m = 0 from m = 2 on; with f(a, b) every β_m is 1
    sides = {"as printed": 3 * spectra[:, -1] ** 2, "with f(a, b)": (spectra**2).sum(axis=1)}
    errors = {name: apart(counts(first_order, 2)[:, 1], side) for name, side in sides.items()}
    smallest = {
        (k, s): counts(drawn(Reversible(k, s, falling=False), 64), 2)[:, 1].min()
        for k, s in ((1, 2), (1, 3), (2, 2), (3, 2))
    }
    least = [sum(math.comb(k, zeros) * min(zeros, k - zeros) for zeros in range(k + 1)) for k in (2, 3, 4)]
    return judge(
        {
            **{f"largest |g_1 - Σ λ² β|, order 1, {name}": error for name, error in errors.items()},
            **{f"smallest g_1, and 2^(k-1), k = {k}, S = {s}": [g, 2 ** (k - 1)] for (k, s), g in smallest.items()},
            "sum of min(n_0, n_1) over contexts, k = 2, 3, 4": least,
        },
        printed=errors["as printed"] < 1e-9,
        corrected=errors["with f(a, b)"] < 1e-9 and all(g > 2 ** (k - 1) - 1e-9 for (k, _), g in smallest.items()),
        correction="with f(a, b) in β_m both sides are equal at order one: g_1 = tr P² = Σ λ². No condition is needed "
        "there, because the spectrum of a reversible chain is real and contains 1. Nor is one needed for two symbols "
        "at k ≥ 2: a context with n_0 zeros and n_1 ones contributes at least min(n_0, n_1), and these sum to at least "
        "2^(k-1)",
    )
