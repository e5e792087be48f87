"""The config of a source: plain values for flags of commands and JSON of runs. Nothing here imports JAX."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from anyorder.errors import require
from anyorder.io.plugins import Registry

if TYPE_CHECKING:
    from anyorder.chains import Prior, Source


def _prior_name(variable: str, value: object) -> str | None:
    """The `name` defined by the class itself, not an inherited one."""
    if not isinstance(value, type):
        return None
    from anyorder.chains.priors import Prior

    own = vars(value).get("name")
    return own if issubclass(value, Prior) and isinstance(own, str) else None


#: Every prior: name → class or factory.
PRIORS: Registry[Callable[..., Prior]] = Registry(
    "prior",
    {
        "dirichlet": "anyorder.chains.priors:Dirichlet",
        "floored": "anyorder.chains.priors:Floored",
        "reversible": "anyorder.chains.priors:Reversible",
        "reversible-binary": "anyorder.chains.priors:ReversibleBinary",
        "reversible-binary-newest": "anyorder.chains.priors:NEWEST_FIRST",
        "bag-symmetric": "anyorder.chains.shared_rows:BagSymmetric",
        "order-mixture": "anyorder.chains.shared_rows:OrderMixture",
        "tree": "anyorder.chains.shared_rows:Tree",
        "pool": "anyorder.chains.pool:Pool",
        "doubly-stochastic": "anyorder.chains.doubly_stochastic:DoublyStochastic",
        "recall": "anyorder.chains.process:Recall",
    },
    _prior_name,
)


#: Fields of `SourceConfig` that only some priors have.
OF_A_PRIOR = ("concentration", "gamma", "min_order", "max_order", "depth", "chains", "pool_seed")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """The config of a source of sequences, without their length."""

    order: int = 2
    """Order k: number of past tokens that the next one depends on. The priors order-mixture and tree set it."""
    alphabet_size: int = 2
    """Number of symbols S."""
    prior: Annotated[str, PRIORS] = "dirichlet"
    """The prior over kernels, in the order listed: Dirichlet rows; rows with a floor; reversible kernels; binary
    kernels of order 2 that satisfy the second-order assumption with contexts read oldest or newest token first; kernels
    that depend on the bag of the last k tokens; kernels of a random order; random context trees; a finite pool of
    kernels; doubly stochastic kernels; and key-value recall, which has no kernels."""
    concentration: float = 1.0
    """Dirichlet parameter of each row; 1 is uniform on the simplex."""
    gamma: float = 0.2
    """Floor of the floored prior: every transition has probability at least γ/S."""
    min_order: int = 1
    """Smallest order of the prior order-mixture."""
    max_order: int = 3
    """Largest order of the prior order-mixture, which draws the order of each kernel uniformly."""
    depth: int = 3
    """Largest depth of the prior tree: each node above it is a leaf with probability ½."""
    chains: int = 16
    """Number of kernels in the prior pool."""
    pool_seed: int = 0
    """Seed of the kernels of the prior pool."""
    start: Literal["uniform", "stationary"] = "uniform"
    """Distribution of the first k tokens."""
    token_noise: float = 0.0
    """Probability with which each token is replaced by a different one."""
    transition_noise: float = 0.0
    """Weight of a random kernel that is drawn anew at every step."""

    @property
    def window(self) -> int:
        """Tokens that the next one may depend on: the order, or the largest order that the prior draws.

        >>> SourceConfig(prior="tree", depth=4).window
        4
        """
        return {"order-mixture": self.max_order, "tree": self.depth}.get(self.prior, self.order)

    def check_window(self) -> None:
        """Reject an order given together with a prior that has its own."""
        own = self.window
        require(self.order == own, f"order is {self.order}, the prior {self.prior} has {own}; drop `order=`")

    def source_of(self, length: int, *, per_kernel: int = 1, prior: Prior | None = None) -> Source:
        """The source with sequences of this many tokens; `prior` replaces the named prior.

        >>> SourceConfig(order=3, token_noise=0.1).source_of(9).noise
        TokenNoise(probability=0.1)
        """
        from anyorder import chains

        require(
            not (self.token_noise and self.transition_noise),
            f"token noise {self.token_noise} and transition noise {self.transition_noise} together; "
            "choose one kind of noise",
        )
        noise: chains.Noise | None = None
        if self.token_noise:
            noise = chains.TokenNoise(self.token_noise)
        elif self.transition_noise:
            noise = chains.TransitionNoise(self.transition_noise)
        if prior is None:
            own = {name: getattr(self, name) for name in OF_A_PRIOR}
            prior = chains.named_prior(self.prior, self.order, self.alphabet_size, **own)
        return chains.Source(prior, length, noise, self.start, per_kernel)
