"""App. D and F: the assumptions for higher orders, Algorithm 2, its two theorems, and the monotonicity lemmas."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder import chains, dynamics
from anyorder.chains import Dirichlet, Kernel, Prior, Reversible, ReversibleBinary
from anyorder.chains.priors import draw_until, second_hop
from anyorder.claims.entry import Finding, claim, judge
from anyorder.claims.measures import drawn

#: Differences below this are rounding.
ROUNDING = 1e-12


class NewestFirst(Prior):
    """Assumption 2 with contexts read newest token first, as App. D writes x_n = s_1, x_{n-1} = s_2.

    `chains.ReversibleBinary` reads them oldest first. Both preferences are about π(s|s,s) and the context that
    differs in one token: here the newer one, there the older one.
    """

    order: int = eqx.field(static=True, default=2)
    alphabet_size: int = eqx.field(static=True, default=2)

    @eqx.filter_jit
    def draw(self, key: PRNGKeyArray, dtype: Any = jnp.float64) -> Float[Array, "2 2 2"]:
        """One kernel; drawn again while the second-hop likelihood is below 1."""

        def propose(key: PRNGKeyArray) -> Float[Array, "2 2 2"]:
            pairs = jax.random.uniform(key, (2, 2), dtype)
            zero = jnp.stack([jnp.sort(pairs[0])[::-1], jnp.sort(pairs[1])[::-1]])  # π(0 | older, newer)
            return jnp.stack([zero, 1 - zero], axis=-1)

        return draw_until(key, propose, lambda kernel: second_hop(kernel) >= 1)


def random_kernels(count: int, seed: int = 0) -> list[Kernel]:
    """Second-order binary kernels with uniform entries."""
    zero = np.random.default_rng(seed).random((count, 2, 2))
    return [Kernel(np.stack([entry, 1 - entry], axis=-1)) for entry in zero]


def _reversible(order: int) -> Float[np.ndarray, "count *kernel"]:
    """Sixteen kernels that are reversible as processes."""
    return drawn(Reversible(order, 3 if order == 1 else 2), 64)[:16]


@claim(
    "asm-second-order",
    "App. D, Assumption 2",
    "Binary second-order kernels: reversible, π(0|0,0) > π(0|1,0) and π(1|1,1) > π(1|0,1), and Σ_s π²(s|s,s) ≥ 1.",
)
def second_order_assumption() -> Finding:
    """The three parts for a prior made for them; reversibility for any kernel at all."""
    checks = [chains.check_second_order(Kernel(kernel)) for kernel in drawn(ReversibleBinary(), 400)[:4]]
    defect = max(kernel.reversibility_defect for kernel in random_kernels(64))
    return judge(
        {
            "kernels that meet all three": sum(all(check.holds for check in entry) for entry in checks),
            "of": len(checks),
            "largest reversibility defect of 64 arbitrary kernels": defect,
        },
        printed=all(check.holds for entry in checks for check in entry) and defect < 1e-9,
        note="it can be met; the first part holds for every binary second-order chain and asks for nothing",
        failure="the parts exclude each other",
    )


@claim(
    "asm-any-order",
    "App. D, Assumption 3",
    "Kernels of order k that are reversible, whose lifted chain is self-adjoint with positive "
    "spectrum, and β_m > 0 for all m.",
)
def any_order_assumption() -> Finding:
    """Which parts fail for kernels that are reversible as processes, by order."""
    failing = {
        order: sorted(
            {
                check.name
                for kernel in _reversible(order)[:2]
                for check in chains.check_any_order(Kernel(kernel))
                if not check.holds
            }
        )
        for order in (1, 2)
    }
    printed = {"spectral assumptions: self-adjoint", "spectral assumptions: positive", "non-degenerate projection"}
    return judge(
        {f"parts that fail, order {order}": names for order, names in failing.items()},
        printed=not any(printed & set(names) for names in failing.values()),
        failure="no chain meets it: β_m = 0 for every m ≥ 2 (E15), and above order one no irreducible lifted chain "
        "is self-adjoint "
        "(E16)",
    )


@claim("E15", "App. D, Assumption 3", "β_m = Σ_{a,b} φ_m(a) φ_m(b) π(b) f(a) > 0 for all m.")
def projections() -> Finding:
    """β_m as printed on reversible first-order chains, where eigenfunctions exist, and with f(a, b)."""
    found = [
        {check.name: check.measured for check in chains.check_any_order(Kernel(kernel))}
        for kernel in _reversible(1)[:6]
    ]
    printed = max(abs(entry["non-degenerate projection"]) for entry in found)
    mended = min(entry["mended projection"] for entry in found)
    return judge(
        {"chains": len(found), "largest |β_m| as printed, m ≥ 2": printed, "smallest β_m with f(a, b)": mended},
        printed=min(entry["non-degenerate projection"] for entry in found) > 1e-9,
        failure="β_m = 0 for m ≥ 2, whatever the chain: φ_m is orthogonal to the constant, and f(a) does not see b; "
        "with f(a, b), as "
        "in the proof, it is positive at order one",
    )


@claim("E16", "App. D, Assumption 3", "The lifted transition matrix is self-adjoint on ℓ²(π).")
def self_adjoint() -> Finding:
    """The largest |μ(a)P(a→b) - μ(b)P(b→a)| of reversible processes and of random ones, by order."""

    def defect(kernel: np.ndarray) -> float:
        chain = Kernel(kernel)
        flow = chain.stationary.ravel()[:, None] * np.asarray(chain.transition_matrix)
        return float(np.abs(flow - flow.T).max())

    reversible = {order: [defect(kernel) for kernel in _reversible(order)] for order in (1, 2)}
    others = [defect(kernel) for order in (2, 3) for kernel in drawn(Dirichlet(order, 2), 64)]
    return judge(
        {
            **{f"smallest defect, reversible, order {order}": min(values) for order, values in reversible.items()},
            "smallest defect of 128 random kernels, orders 2 and 3": min(others),
        },
        printed=max(max(values) for values in reversible.values()) < 1e-9,
        failure="only at order one: above it a step a → b can hardly ever be undone in one step, and no irreducible "
        "lifted chain is "
        "self-adjoint",
    )


@claim("E17", "App. F, second lemma", "The return count Σ_{a,b} P^l(a→b) f(a) falls with l.")
def return_count() -> Finding:
    """Its change over eight lags as printed, and the count of the lemma's first line."""
    found = [dynamics.spectral_decay(Kernel(kernel)) for kernel in _reversible(2)[:8]]
    return judge(
        {
            "largest change as printed": max(entry.printed_change for entry in found),
            "smallest step down of Σ Pr(X_{i+l} = s_j | context)": min(entry.measured for entry in found),
        },
        printed=min(entry.printed_change for entry in found) > 1e-9,
        corrected=all(entry.measured > 0 for entry in found),
        correction="rows of P^l add up to one, so that it does not depend on l; with f(a, b), as in the proof, it "
        "is the count of the "
        "first line, which falls for the chains of `Reversible`",
        failure="neither falls",
    )


@claim(
    "lem-spectral",
    "App. F, second lemma",
    "g_l - g_{l+1} = Σ_{m ≥ 2} λ_m^l (1 - λ_m) β_m ≥ 0, and g_1 - g_l = Σ (λ_m² - λ_m^l) β_m > 0.",
)
def spectral() -> Finding:
    """Both formulas with the mended β at order one, and the fall of g at order two, where no formula applies."""
    first = [dynamics.spectral_decay(Kernel(kernel)) for kernel in _reversible(1)[:8]]
    second = [dynamics.spectral_decay(Kernel(kernel)) for kernel in _reversible(2)[:8]]
    others = [dynamics.spectral_decay(Kernel(kernel)) for kernel in drawn(Dirichlet(2, 2), 8)]
    # by the lemma's first line lag l is l + 1 steps; at order one g is a trace and every β_m is 1
    traces = [
        np.array([np.trace(np.linalg.matrix_power(kernel, lag + 1)) for lag in range(1, 6)])
        for kernel in _reversible(1)[:8]
    ]
    spectra = [np.sort(np.linalg.eigvals(kernel).real)[:-1] for kernel in _reversible(1)[:8]]
    second_formula = {
        shift: max(
            float(np.abs((g[0] - g) - [(e**2 - e ** (lag + shift)).sum() for lag in range(1, 6)]).max())
            for g, e in zip(traces, spectra, strict=True)
        )
        for shift in (0, 1)
    }
    numbers = {
        "largest error of the first formula, order 1, β with f(a, b)": max(entry.formula_error for entry in first),
        "of the second as printed, and with λ^(l+1)": list(second_formula.values()),
        "smallest g_l - g_{l+1}, order 1": min(entry.measured for entry in first),
        "smallest g_l - g_{l+1}, reversible, order 2": min(entry.measured for entry in second),
        "the same for random kernels of order 2": min(entry.measured for entry in others),
    }
    return judge(
        numbers,
        printed=all(entry.formula_error < 1e-9 for entry in first + second),
        corrected=max(entry.formula_error for entry in first) < 1e-9
        and all(entry.measured > 0 for entry in first)
        and second_formula[1] < 1e-9,
        correction="for order one, with β_m from f(a, b) (E15 to E17) and λ^(l+1) for λ^l in the second formula; "
        "above order one "
        "there is no such spectrum",
        failure="the formula is wrong at order one too",
    )


@claim(
    "lem-second-order",
    "App. F, first lemma",
    "If π(0|0,0) - π(0|1,0) and π(1|1,1) - π(1|0,1) are at least δ' > 0, then P^i(0|0,0) and P^i(1|1,1) fall with i.",
)
def second_order_monotone() -> Finding:
    """Random kernels that prefer to stay, contexts read newest first, oldest first, and both."""
    counted = {"newest first": [0, 0], "oldest first": [0, 0], "both": [0, 0], "newest first, Σ π² ≥ 1": [0, 0]}
    worst = 0.0
    for kernel in random_kernels(1500):
        found = dynamics.second_order_decay(kernel)
        newest, oldest = found.preference > 0, found.preference_oldest_first > 0
        hop = found.returns[:, 1].sum() >= 1
        readings = (newest, oldest, newest and oldest, newest and hop)
        for tally, met in zip(counted.values(), readings, strict=True):
            if met:
                tally[0] += 1
                tally[1] += found.measured > -ROUNDING
        worst = min(worst, found.measured) if newest else worst
    return judge(
        {
            **{f"kernels and of these falling, {name}": tally for name, tally in counted.items()},
            "largest rise of P^i, newest first": -worst,
        },
        printed=counted["newest first"][0] == counted["newest first"][1]
        or counted["oldest first"][0] == counted["oldest first"][1],
        corrected=counted["both"][0] == counted["both"][1] > 50,
        correction="if π(s|s,s) is above both contexts that differ in one token, it fell in all kernels tried; with "
        "one of them alone "
        "it need not (the proof uses a recursion that is false, E9)",
        failure="it need not fall",
    )


@claim("E9", "App. F, first lemma", "P^(i+1)(0|0,0) = π(0|1,0) + (π(0|0,0) - π(0|1,0)) P^i(0|0,0).")
def recursion() -> Finding:
    """The recursion against the lifted chain: one kernel in full, and the share of random ones where it fails."""
    zero = np.array([[0.8, 0.3], [0.45, 0.25]])  # π(0 | older, newer); the paper's π(0|1,0) is newest first: 0.3
    example = dynamics.second_order_decay(Kernel(np.stack([zero, 1 - zero], axis=-1)))
    errors = [dynamics.second_order_decay(kernel).recursion_error for kernel in random_kernels(100)]
    first_order = Kernel(np.broadcast_to(np.array([[0.8, 0.2], [0.3, 0.7]]), (2, 2, 2)))
    same = dynamics.second_order_decay(first_order).recursion_error
    return judge(
        {
            "P^1, P^2, P^3 of an example": example.returns[0, :3].tolist(),
            "by the recursion": example.recursion[0, :3].tolist(),
            "random kernels, and of these wrong": [len(errors), sum(error > 1e-6 for error in errors)],
            "error for a chain that is of first order": same,
        },
        printed=max(errors) < 1e-9,
        failure="from i = 2 on the token before last matters; it holds for first-order chains only",
    )
