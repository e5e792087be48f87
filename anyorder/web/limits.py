"""Limits on one request. Requests beyond them get a 4xx response that names the limit."""

from __future__ import annotations

import dataclasses

from anyorder.errors import InputError

#: Tokens of a sequence: a map has the square of this size, and clicks should be answered at once.
MOST_TOKENS = 512
#: Symbols of an alphabet: each has its own bar.
MOST_SYMBOLS = 64
#: Order of a model, and of a sampled chain.
MOST_ORDER = 16
#: Entries of the kernel of a sampled chain.
MOST_KERNEL = 1 << 20
#: Temperature, as a multiple of the certified one.
COLDEST, WARMEST = 2.0**-6, 2.0**20
#: Side of the largest matrix, enough for `one-layer` at order 2 on the example, and the dimension of `associative`.
MOST_WIDTH, MOST_DIMENSION = 1536, 2048
#: Sequences of one verification.
MOST_SEQUENCES = 32
#: Fresh runs of an algorithm: length, steps of each stage, contexts, frames sent, and offsets shown.
MOST_LENGTH, MOST_STEPS, MOST_CONTEXTS, MOST_FRAMES, MOST_OFFSETS = 256, 1000, 64, 200, 64
#: Bytes of a request's body, and of a model's file.
MOST_BODY, MOST_FILE = 1 << 16, 1 << 26
#: Bytes of a listed result of the probe, which is read completely: about 1,500 heads.
MOST_LISTED_PROBE = 4_000_000
#: Requests computed at once, and requests waiting: for views and clicks, then for slow ones.
QUICK, QUICK_WAITING = 2, 256
LONG, LONG_WAITING = 2, 16
#: Seconds that a request waits before it is answered 429.
LONGEST_WAIT = 20.0
#: Bytes of cached models and traces, so that a click on a position needs no forward pass.
KEPT_BYTES = 1 << 26
#: Resident bytes of the process above which cached results and compiled programs are dropped, and the further growth
#: after which they are dropped again if other data stays that large.
MOST_MEMORY, MOST_GROWTH = 768 << 20, 128 << 20
#: Shapes of models whose compiled programs are kept if the memory of the process is unknown.
MOST_PROGRAMS = 32
#: Lengths are rounded up to a multiple of this for the model, so that not every typed character compiles a program.
PADDING = 32


def padded(length: int) -> int:
    """The padded length with which a model is run: it is causal, so padding after the sequence changes nothing.

    >>> padded(1), padded(32), padded(33)
    (32, 32, 64)
    """
    return -(-length // PADDING) * PADDING


@dataclasses.dataclass(frozen=True)
class Limit:
    """The limit that a request exceeds."""

    name: str
    value: float | int | str | None
    limit: float | int | str


class BeyondLimit(InputError):
    """A request beyond a limit; has the limit, and the status code of the response."""

    def __init__(self, message: str, limit: Limit, *, status: int = 422) -> None:
        super().__init__(message)
        self.limit, self.status = limit, status


def at_most(limit: int | float, value: int | float, name: str, message: str, *, status: int = 422) -> None:
    """Reject a value above its limit.

    >>> at_most(3, 5, "order", "order is 5, at most 3 are taken; lower it")
    Traceback (most recent call last):
    anyorder.web.limits.BeyondLimit: order is 5, at most 3 are taken; lower it
    """
    if value > limit:
        raise BeyondLimit(message, Limit(name, value, limit), status=status)
