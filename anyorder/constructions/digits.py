"""The digits of `unrolled`: the offsets of each head, and the groups in which the MLP reads the digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np


@dataclasses.dataclass(frozen=True)
class Group:
    """Digits `low` + 1 … `high` of the code of one head, read at once; its offsets begin at `offset` + 1."""

    head: int
    offset: int
    low: int
    high: int

    def blocks(self) -> dict[int, str]:
        """A block for every value τ that the digits can reach; a single digit is the token at its offset."""
        if self.high - self.low == 1:
            return {1: f"back_{self.offset + self.high}"}
        span = f"{self.offset + self.low + 1}_{self.offset + self.high}"
        return {value: f"reach_{span}_{value}" for value in range(1, 2 ** (self.high - self.low))}

    def digits(self) -> Iterator[tuple[int, list[tuple[str, float]]]]:
        """Each offset of the group with its token as a sum of blocks: a digit changes at thresholds of the value."""
        for place in range(self.high - self.low):
            changes = {value: (value >> place & 1) - (value - 1 >> place & 1) for value in self.blocks()}
            yield (
                self.offset + self.low + place + 1,
                [(block, float(changes[value])) for value, block in self.blocks().items() if changes[value]],
            )


def shares(order: int, heads: int) -> list[tuple[int, int]]:
    """The offsets of each head, as (the offset before its first, their number).

    >>> shares(5, 2)
    [(0, 3), (3, 2)]
    """
    parts = np.array_split(np.arange(1, order + 1), heads)
    return [(int(part[0]) - 1, len(part)) for part in parts]


def groups(order: int, heads: int, group: int) -> list[list[Group]]:
    """The groups of digits read together, from the top digits down; none if every code is a single digit."""
    own = shares(order, heads)
    if own[0][1] == 1:
        return []
    rounds: list[list[Group]] = [[] for _ in range(-(-own[0][1] // group))]
    for head, (offset, count) in enumerate(own):
        for turn, high in enumerate(range(count, 0, -group)):
            rounds[turn].append(Group(head, offset, max(high - group, 0), high))
    return rounds


def read_so_far(rounds: list[list[Group]], head: int) -> list[tuple[str, float]]:
    """The blocks that these rounds decode from the code of a head, each with its weight in the code."""
    own = [one for together in rounds for one in together if one.head == head]
    return [(block, 2.0**one.low) for one in own for block in one.blocks().values()]


def digits(order: int, heads: int, group: int) -> dict[int, list[tuple[str, float]]]:
    """The token at each offset, as a sum of blocks."""
    plain = {j: [(f"back_{j}", 1.0)] for j in range(1, order + 1)}
    return plain | dict(digit for together in groups(order, heads, group) for one in together for digit in one.digits())
