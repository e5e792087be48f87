"""What the user can mend is an `InputError`: one line that names the value, the limit and the way out."""

from __future__ import annotations


class InputError(ValueError):
    """Input outside what a function accepts; the message is a single line fit to show to a person.

    >>> raise InputError("order is 0, must be at least 1; pass --order 1 or more")
    Traceback (most recent call last):
    anyorder.errors.InputError: order is 0, must be at least 1; pass --order 1 or more
    """


def require(condition: bool, message: str) -> None:
    """Raise `InputError(message)` unless the condition holds.

    >>> require(3 >= 1, "order is 3, must be at least 1")
    """
    if not condition:
        raise InputError(message)
