"""A few constructions, each at an order that shows what it can do, with error and bound."""

from __future__ import annotations

from collections.abc import Iterator

from anyorder.constructions.verify import Verification, verify

#: Construction, order, alphabet size, dtype.
SHOWN = (
    ("two-layer", 3, 2, "float64"),
    ("dyadic", 10, 4, "float32"),
    ("attention-only", 6, 2, "float32"),
    ("unrolled", 20, 2, "float32"),
    ("unrolled-bayes", 12, 2, "float32"),
)


def certified(*, length: int = 256, sequences: int = 4, seed: int = 0) -> Iterator[Verification]:
    """Verify every construction of `SHOWN`, one after the other."""
    for name, order, alphabet_size, dtype in SHOWN:
        yield verify(
            name,
            order=order,
            alphabet_size=alphabet_size,
            length=length,
            dtype=dtype,
            sequences=sequences,
            seed=seed,
        )
