"""The settings of Algorithms 1 and 2, which are also the flags of `anyorder dynamics`. Nothing here imports JAX."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal

from anyorder.errors import check_order, require
from anyorder.io.gates import check_fields, check_memory

if TYPE_CHECKING:
    from anyorder.chains import Prior

#: Algorithm 1 and Algorithm 2.
Algorithm = Literal["two-stage", "preconditioned"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlgorithmSettings:
    """Settings that both algorithms share."""

    length: int = 128
    """T: sequences have T + 1 tokens; preconditioned: 64."""
    rate: float = 5000.0  # gradients are of the size of a_2/(S^k·T)
    """Learning rate η_1 of the steps on p; preconditioned: 20000."""
    steps: int = 400
    """Number T_1 of steps on p."""
    a_2: float = 0.01
    """Value of a_2 while p is learned."""
    batch: int = 128
    """Fresh chains per step; preconditioned: 64."""
    epsilon: float = 1e-3
    """ε of the loss -log(prediction + ε)."""
    gradient: Literal["sampled", "closed"] = "sampled"
    """Gradient of the steps on p: measured on fresh chains, or its closed form for a_2 → 0."""
    seed: int = 0
    """Random seed; equal seeds give equal numbers."""

    def check(self, prior: Prior) -> None:
        """Reject invalid settings."""
        check_fields(self)
        check_order(prior.order, self.length)
        rows = self.length * prior.alphabet_size ** (prior.order + 1)
        about = f"a batch of {self.batch} chains of {self.length} tokens, and {self.steps} steps kept,"
        needed = 8 * self.length**2 + 16 * self.batch * rows + 8 * self.steps * self.length
        check_memory(needed, about, "pass a smaller `length=`, `batch=` or `steps=`")
        for name in ("steps", "batch"):
            require(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}, must be at least 1")
        for name in ("rate", "a_2", "epsilon"):
            value = getattr(self, name)
            require(value > 0 and math.isfinite(value), f"{name} is {value}, must be above 0 and finite")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TwoStage(AlgorithmSettings):
    """Algorithm 1: T_1 steps on p at a small a_2 without norms, then T_2 steps on a_2 with norms."""

    rate_2: float = 10.0
    """Learning rate η_2 of the steps on a_2; two-stage only."""
    steps_2: int = 400
    """Number T_2 of steps on a_2; two-stage only."""

    def check(self, prior: Prior) -> None:
        """Reject invalid settings; the two-stage algorithm is about first-order chains."""
        require(
            prior.order == 1,
            f"the prior has order {prior.order}, the two-stage algorithm applies to order 1; use preconditioned",
        )
        super().check(prior)
        require(self.steps_2 >= 0, f"steps_2 is {self.steps_2}, must be at least 0")
        require(self.rate_2 > 0 and math.isfinite(self.rate_2), f"rate_2 is {self.rate_2}, must be above 0 and finite")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preconditioned(AlgorithmSettings):
    """Algorithm 2: T_1 steps on p with D_t, p_0 = -∞, at a small a_2; the query head is fixed at 1/k each."""

    length: int = 64
    rate: float = 20000.0
    batch: int = 64
    precondition: bool = True
    """Without it, plain gradient descent on the model of Algorithm 2."""
