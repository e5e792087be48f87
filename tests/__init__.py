"""Tests of anyorder, and the checks of its annotations in them."""

import functools

import beartype


def checked(function):
    """Wrap a function with beartype at its first call: most functions are not called by every worker."""
    made = []

    @functools.wraps(function)
    def call(*words, **named):
        if not made:
            made.append(beartype.beartype(function))
        return made[0](*words, **named)

    return call
