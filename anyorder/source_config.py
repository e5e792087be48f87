"""A source in plain values: flags of commands and JSON of runs. Nothing here imports JAX."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from anyorder.errors import require

if TYPE_CHECKING:
    from anyorder.chains import Prior, Source


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Where sequences come from, but for their length."""

    order: int = 2
    """Order k: how many past tokens the next one depends on."""
    alphabet_size: int = 2
    """Number of symbols S."""
    prior: Literal["dirichlet", "floored", "reversible"] = "dirichlet"
    """Where kernels come from: Dirichlet rows, rows with a floor, or reversible kernels."""
    concentration: float = 1.0
    """Dirichlet parameter of each row; 1 is uniform on the simplex."""
    gamma: float = 0.2
    """Floor of the floored prior: every transition has probability at least γ/S."""
    start: Literal["uniform", "stationary"] = "uniform"
    """Distribution of the first k tokens."""
    token_noise: float = 0.0
    """Probability with which each token is replaced by a different one."""
    transition_noise: float = 0.0
    """Weight of a fresh random kernel in every step."""

    def source_of(self, length: int, *, per_kernel: int = 1, prior: Prior | None = None) -> Source:
        """The source of sequences of this many tokens; another prior may take the place of the named one.

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
            sizes = self.order, self.alphabet_size
            prior = chains.named_prior(self.prior, *sizes, gamma=self.gamma, concentration=self.concentration)
        return chains.Source(prior, length, noise, self.start, per_kernel)
