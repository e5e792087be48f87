"""Tests of anyorder, and how its annotations are checked in them."""

import functools

import beartype


def checked(function):
    """The function with beartype around it from its first call on: most functions are not called by each worker."""
    made = []

    @functools.wraps(function)
    def call(*words, **named):
        if not made:
            made.append(beartype.beartype(function))
        return made[0](*words, **named)

    return call
