"""Which of the paper's assumptions a prior meets, and by how much it misses the others."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from anyorder.chains import (
    Check,
    Kernel,
    Prior,
    ReversibleBinary,
    check_any_order,
    check_first_order,
    check_second_order,
)


def conditions(prior: Prior, gamma: float, key: PRNGKeyArray, *, count: int = 16) -> list[Check]:
    """The assumptions of App. C for order one, of App. D for higher orders on `count` kernels of the prior.

    For several kernels `measured` is that of the worst one, and the detail says how many fail.

    >>> from anyorder.chains import Floored
    >>> all(check.holds for check in conditions(Floored(1, 3, gamma=0.2), 0.2, jax.random.key(0)))
    True
    """
    if prior.order == 1:
        return check_first_order(prior, gamma, key)
    kernels = np.asarray(jax.jit(jax.vmap(lambda key: prior.draw(key)))(jax.random.split(key, count)))
    if prior.order == 2 and prior.alphabet_size == 2:
        newest_first = isinstance(prior, ReversibleBinary) and prior.newest_first
        checked = [check_second_order(Kernel(kernel), newest_first) for kernel in kernels]
    else:
        checked = [check_any_order(Kernel(kernel)) for kernel in kernels]
    return [_worst(same) for same in zip(*checked, strict=True)]


def _worst(same: tuple[Check, ...]) -> Check:
    """One check of many kernels as one: that of the kernel furthest beyond the limit, if any fails."""
    failing = [check for check in same if not check.holds]
    # The side of the limit that is right is the one where the kernels that hold are; distance ranks the others.
    worst = max(failing, key=lambda check: abs(check.measured - check.limit)) if failing else same[0]
    return worst._replace(detail=f"{worst.detail}; fails for {len(failing)} of {len(same)} kernels")
