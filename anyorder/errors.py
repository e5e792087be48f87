"""Errors that the user can correct: `InputError`, one line that names the value, the limit and a remedy.

Messages show options as Python arguments in backquotes: `name=value`, or `name=` where any value will do. The command
line rewrites them as flags (`in_flags`).
"""

from __future__ import annotations

import contextlib
import difflib
import math
import numbers
import re
from collections.abc import Iterable


class InputError(ValueError):
    """Invalid input; the message is a single line to show to the user.

    >>> raise InputError("order is 0, must be at least 1; pass `order=1` or more")
    Traceback (most recent call last):
    anyorder.errors.InputError: order is 0, must be at least 1; pass `order=1` or more
    """


def in_flags(message: str) -> str:
    """A message with its Python options rewritten as command-line flags.

    >>> in_flags("pass `alphabet_size=2` or more, `tied=False`, `force=True`, or a smaller `batch=`")
    'pass --alphabet-size 2 or more, --no-tied, --force, or a smaller --batch'
    """

    def flag(option: re.Match) -> str:
        name, value = option[1].replace("_", "-"), option[2]
        if value in ("True", "False"):
            return f"--{name}" if value == "True" else f"--no-{name}"
        return f"--{name} {value}".rstrip()

    return re.sub(r"`([a-z]\w*)=([^`]*)`", flag, message)


def require(condition: bool, message: str) -> None:
    """Raise `InputError(message)` unless the condition holds."""
    if not condition:
        raise InputError(message)


def in_one_line(message: str) -> str:
    """A message with line breaks and other unprintable characters, as in file names, escaped.

    >>> print(in_one_line("no file a\\nb"))
    no file a\\nb
    """
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in message)


def in_a_line(error: BaseException) -> str:
    """An exception for a list of failures: its type, and the first line of its message.

    >>> in_a_line(RuntimeError("no memory\\nfor it")), in_a_line(KeyError())
    ('RuntimeError: no memory', 'KeyError: no message')
    """
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}"


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest name, or a list of all names.

    >>> nearest("verfy", ["verify", "train"]), nearest("x", ["verify", "train"])
    ('did you mean verify?', 'choose from verify, train')
    """
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"


def shown(value: object) -> str:
    """A value as short text on one line, for a message.

    >>> shown("a" * 100), shown(10**5000), shown([1.5])
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaa…", 'about 10^5000', '[1.5]')
    """
    if isinstance(value, int) and abs(value) >= 10**24:  # Python refuses to print more than a few thousand digits
        return f"about {'-' * (value < 0)}10^{int(value.bit_length() * math.log10(2))}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign `__repr__` may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:29] + "…"


def is_whole(value: object) -> bool:
    """Whether a value is an integer of Python or NumPy; booleans and arrays are not.

    >>> is_whole(2), is_whole(2.0), is_whole("2"), is_whole(True)
    (True, False, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_number(name: str, value: object) -> float:
    """A real number of Python or NumPy as a float; booleans, NaN, fractions and numbers beyond floats are rejected.

    >>> as_number("kappa", 3)
    3.0
    """
    number = math.nan
    fraction = isinstance(value, numbers.Rational) and not isinstance(value, numbers.Integral)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and not fraction:
        with contextlib.suppress(OverflowError):
            number = float(value)
    require(not math.isnan(number), f"{name} is {shown(value)}, must be a number")
    return number


def check_whole(**values: object) -> None:
    """Reject values that are not integers.

    >>> check_whole(order=2, alphabet_size=2.5)
    Traceback (most recent call last):
    anyorder.errors.InputError: alphabet size is 2.5, must be a whole number
    """
    for name, value in values.items():
        require(is_whole(value), f"{name.replace('_', ' ')} is {shown(value)}, must be a whole number")


def check_seed(seed: int, name: str = "seed") -> None:
    """Reject seeds that are not 63-bit integers.

    >>> check_seed(-1)
    Traceback (most recent call last):
    anyorder.errors.InputError: seed is -1, must be 0 to 9223372036854775807; `seed=0` is usual
    """
    words = name.replace("_", " ")
    check_whole(**{name: seed})
    require(0 <= seed < 2**63, f"{words} is {shown(seed)}, must be 0 to {2**63 - 1}; `{name}=0` is usual")


def check_order(order: int, length: int | None = None) -> None:
    """Reject orders below one and, given a length, sequences too short for a full context.

    >>> check_order(3, length=3)
    Traceback (most recent call last):
    anyorder.errors.InputError: order is 3, must be smaller than the length 3; lower the order or lengthen the sequence
    """
    check_whole(order=order)
    require(order >= 1, f"order is {shown(order)}, must be at least 1; pass `order=1` or more")
    if length is not None:
        check_whole(length=length)
        way_out = f"must be smaller than the length {shown(length)}; lower the order or lengthen the sequence"
        require(length > order, f"order is {shown(order)}, {way_out}")
