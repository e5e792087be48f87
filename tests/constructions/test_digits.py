"""Digits as sums of blocks, each block stating whether a number reaches a threshold."""

import itertools

import pytest

from anyorder.constructions.digits import digits, groups, read_so_far, shares


@pytest.mark.parametrize(
    ("order", "heads", "group"), [(1, 1, 1), (5, 1, 2), (6, 1, 3), (5, 2, 2), (7, 3, 1), (4, 4, 2)]
)
def test_every_window_of_zeros_and_ones_is_read_off_its_codes(order, heads, group):
    rounds, found = groups(order, heads, group), digits(order, heads, group)
    for window in itertools.product((0, 1), repeat=order):  # whether the symbol is at offsets 1 … k
        codes = [sum(window[first + i] << i for i in range(count)) for first, count in shares(order, heads)]
        reached = {f"back_{offset + 1}": code for offset, code in enumerate(codes)} if not rounds else {}
        for turn, together in enumerate(rounds):
            for one in together:
                above = sum(worth * reached[block] for block, worth in read_so_far(rounds[:turn], one.head))
                left = codes[one.head] - above
                reached |= {block: int(left >= value << one.low) for value, block in one.blocks().items()}
        read = [sum(factor * reached[block] for block, factor in found[offset]) for offset in range(1, order + 1)]
        assert read == list(window)
