"""The assumptions of App. C and D on priors designed for them and on others."""

import jax
import numpy as np
import pytest

from anyorder import chains
from anyorder.chains import Dirichlet, Floored, Kernel, PointMass, Reversible, ReversibleBinary
from tests.chains.small import KEY


@pytest.mark.parametrize(("size", "gamma"), [(2, 0.2), (3, 0.2), (4, 0.5)])
def test_floored_prior_satisfies_all_four_assumptions(size, gamma):
    checks = chains.check_first_order(Floored(1, size, gamma), gamma, KEY)
    assert [check.holds for check in checks] == [True] * 4, "\n".join(map(str, checks))


def test_the_checker_says_which_assumption_fails():
    def failing(prior, gamma=0.2):
        return [check.name for check in chains.check_first_order(prior, gamma, KEY) if not check.holds]

    assert failing(Dirichlet(1, 3)) == ["minimum transition probability", "non-trivial mixing"]
    assert failing(Floored(1, 2, 0.2, mixing=False)) == ["non-trivial mixing"]
    one = PointMass(Kernel([[0.8, 0.2], [0.4, 0.6]]))
    assert failing(one) == ["permutation invariance", "uniform expected transition matrix"]
    sticky = Reversible(1, 3)  # stays where it is: invariant under renaming, but its mean is not uniform
    assert "uniform expected transition matrix" in failing(sticky, gamma=0.01)


def second_order(kernel):
    return {check.name: check.holds for check in chains.check_second_order(Kernel(kernel))}


def test_reversible_binary_kernels_meet_the_second_order_assumption_under_its_name_only():
    kernels = np.asarray(jax.vmap(ReversibleBinary().draw)(jax.random.split(KEY, 200)))
    for kernel in kernels:
        found = second_order(kernel)
        assert not found.pop("cyclic shift, as printed")
        assert all(found.values()), found
    flipped = kernels[0][::-1]  # exchanges s_1: reverses the preference
    assert not second_order(flipped)["transition preference"]


def test_kernels_of_the_bag_meet_its_first_part_as_printed():
    for kernel in np.asarray(jax.vmap(chains.BagSymmetric(2, 2).draw)(jax.random.split(KEY, 20))):
        assert second_order(kernel)["cyclic shift, as printed"]


@pytest.mark.parametrize(("order", "size"), [(1, 2), (1, 4), (2, 3), (3, 2)])
def test_reversible_kernels_and_what_the_any_order_assumption_can_mean(order, size):
    for seed in range(3):
        kernel = Kernel(Reversible(order, size).draw(jax.random.key(seed)))
        assert kernel.reversible
        assert kernel.probabilities.min() > 0
        checks = {check.name: check for check in chains.check_any_order(kernel)}
        assert checks["irreducibility and aperiodicity"].holds
        assert checks["time reversibility"].holds
        assert checks["falling return count"].holds
        # Printed, β_m is zero for every m ≥ 2: nothing can satisfy it.
        assert not checks["non-degenerate projection"].holds
        first = order == 1
        assert checks["spectral assumptions: self-adjoint"].holds == first
        if first:
            assert checks["spectral assumptions: positive"].holds
            assert checks["corrected projection"].measured == pytest.approx(1.0)  # Σ_a φ_m(a)² μ(a)


def test_the_second_hop_is_the_probability_after_two_steps_and_not_a_square():
    zero = np.array([[0.1, 0.95], [0.05, 0.9]])  # π(0 | older, newer)
    kernel = Kernel(np.stack([zero, 1 - zero], axis=-1))
    (hop,) = [check for check in chains.check_second_order(kernel) if check.name == "second-hop likelihood"]
    assert hop.measured == pytest.approx((0.1 * 0.1 + 0.9 * 0.95) * 2)  # 0 → 0 and 0 → 1 → 0, and the same of ones
    assert hop.holds


@pytest.mark.parametrize(("order", "size", "count"), [(2, 2, 4), (2, 3, 0), (3, 2, 0)])
def test_positive_spectra_above_order_one_are_as_rare_as_the_page_says(order, size, count):
    """docs/assumptions.md calls them very rare."""
    kernels = np.random.default_rng(0).dirichlet(np.ones(size), (20_000, *[size] * order))
    contexts = size**order
    matrices = np.zeros((len(kernels), contexts, contexts))
    for context in range(contexts):
        first = context * size % contexts
        matrices[:, context, first : first + size] = kernels.reshape(-1, contexts, size)[:, context]
    eigenvalues = np.linalg.eigvals(matrices)
    positive = (np.abs(eigenvalues.imag).max(axis=1) < 1e-9) & (eigenvalues.real.min(axis=1) > 0)
    assert positive.sum() == count
