"""One sequence of tokens: integers below the size of the alphabet, or a string over an alphabet."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer

from anyorder.errors import InputError, check_order, require, shown
from anyorder.io import numerics as numerics  # 64-bit numbers
from anyorder.io.gates import check_memory, check_number

LARGEST_ALPHABET = 1 << 16

#: Accepted forms of one sequence; a string needs its alphabet.
Tokens = Integer[Array, "length"] | Integer[np.ndarray, "length"] | Sequence[int] | str


def as_tokens(
    tokens: object, order: int | None, alphabet_size: int, *, alphabet: str | None = None
) -> Int[Array, "length"]:
    """Convert `Tokens` to an array of int32; rejected unless they are one sequence over the alphabet.

    With an order the sequence must be longer than it, without one it must have a token. The characters of a string are
    numbered by their places in `alphabet`.

    >>> as_tokens("abba", None, 2, alphabet="ab").tolist()
    [0, 1, 1, 0]
    """
    check_number("alphabet_size", alphabet_size)
    check_unmasked("tokens", tokens)
    array = spelled(tokens, alphabet) if isinstance(tokens, str) else tokens
    try:
        array = array if isinstance(array, jax.Array) else np.asarray(array)
    except ValueError:  # rows of different lengths
        raise InputError(
            f"tokens are a {type(tokens).__name__} of parts that differ in shape, must be one sequence (length,)"
            + ("; pass `chains.tokens[0]`" if hasattr(tokens, "tokens") else "")
        ) from None
    require(array.ndim > 0, f"tokens are of type {type(tokens).__name__}, must be one sequence of integers")
    require(array.ndim == 1, f"tokens have shape {array.shape}, must be one sequence (length,); use vmap for more")
    require(len(array) > 0, "the sequence is empty; give at least one token")
    require(
        jnp.issubdtype(array.dtype, jnp.integer),
        f"tokens have dtype {array.dtype}, must be integers; convert them first",
    )
    if order is not None:
        check_order(order, len(array))
    if not isinstance(array, jax.core.Tracer):
        check_tokens(np.asarray(array), alphabet_size)
    return jnp.asarray(array, jnp.int32)


def nan_outside(
    tokens: object, rows: Float[Array, "length columns"], alphabet_size: int
) -> Float[Array, "length columns"]:
    """The rows, with NaN from the first token on that is outside the alphabet.

    Tokens inside a compiled or mapped function are unknown when it is traced and cannot be rejected there; known ones
    have been checked.
    """
    if not isinstance(tokens, jax.core.Tracer):
        return rows
    outside = (tokens < 0) | (tokens >= alphabet_size)
    return jnp.where(jax.lax.cummax(outside.astype(jnp.int32))[:, None] > 0, jnp.nan, rows)


def check_unmasked(name: str, given: object) -> None:
    """Reject masked arrays, because masks would be ignored."""
    masked = isinstance(given, np.ma.MaskedArray)
    require(not masked, f"{name} are a masked array; drop the masked entries, or give its .data")


def with_size(
    tokens: object, order: int | None, alphabet_size: int | None, alphabet: str | None
) -> tuple[Int[Array, "length"], int]:
    """The sequence converted by `as_tokens`, and the size of the alphabet, implied by `alphabet` if given.

    The alphabet "auto" is the characters of the text by first appearance, as on the command line.

    >>> found, size = with_size("cab", 1, None, "auto")
    >>> found.tolist(), size
    ([0, 1, 2], 3)
    """
    if alphabet == "auto" and isinstance(tokens, str):
        alphabet = "".join(dict.fromkeys(tokens))
    size = size_of(alphabet_size, alphabet)
    found = as_tokens(tokens, order, size, alphabet=alphabet)
    pairs = f"{len(found):,} tokens, of which all pairs of positions are compared,"
    check_memory(6 * len(found) ** 2, pairs, "shorten the sequence, or use estimators.StreamingEstimator")
    return found, size


def size_of(alphabet_size: int | None, alphabet: str | None) -> int:
    """The size of the alphabet: as given, or the number of its characters; both must agree.

    >>> size_of(None, "abc")
    3
    """
    if alphabet is not None:
        require(isinstance(alphabet, str), f"the alphabet is {shown(alphabet)}, must be a text of its characters")
        have = f"the alphabet {alphabet!r} has {len(alphabet)} characters"
        require(
            alphabet_size in (None, len(alphabet)), f"alphabet size is {alphabet_size}, {have}; drop one of the two"
        )
        return len(alphabet)
    if alphabet_size is None:
        raise InputError("the alphabet is not given; pass its size with `alphabet_size=`, or `alphabet=`")
    return alphabet_size


def check_tokens(tokens: np.ndarray, alphabet_size: int, source: str = "the sequence", begin: int = 0) -> None:
    """Reject tokens outside 0 … alphabet_size - 1, naming the first such; `begin` is the position of `tokens[0]`.

    >>> check_tokens(np.array([0, 1, 5]), 2)
    Traceback (most recent call last):
    anyorder.errors.InputError: the sequence has token 5 at position 2, must be 0 to 1; raise the alphabet size to 6
    """
    outside = np.flatnonzero((tokens < 0) | (tokens >= alphabet_size))
    if outside.size:
        position, token = int(outside[0]), int(tokens[outside[0]])
        way_out = f"raise the alphabet size to {int(tokens.max()) + 1}"
        raise InputError(
            f"{source} has token {token} at position {begin + position}, must be 0 to {alphabet_size - 1}; "
            + (way_out if tokens.min() >= 0 else "correct the input")
        )


def check_characters(alphabet: str) -> None:
    """Reject an alphabet with fewer than two characters, or with one of them twice."""
    repeated = [character for character in alphabet if alphabet.count(character) > 1]
    require(not repeated, f"the alphabet {alphabet!r} repeats {(repeated or [''])[0]!r}; give each character once")
    require(len(alphabet) >= 2, f"the alphabet {alphabet!r} has {len(alphabet)} characters, must be at least 2")


def numbered(text: str, alphabet: str, source: str = "the sequence", begin: int = 0) -> Int[np.ndarray, "length"]:
    """The place of each character in the alphabet; unknown characters are rejected with their position.

    >>> numbered("abba", "ba").tolist()
    [1, 0, 0, 1]
    """
    # Undecodable bytes of a command line are lone surrogates.
    codes, known = (np.frombuffer(one.encode("utf-32-le", "surrogatepass"), np.uint32) for one in (text, alphabet))
    order = np.argsort(known)
    places = order[np.minimum(np.searchsorted(known[order], codes), known.size - 1)]
    unknown = np.flatnonzero(known[places] != codes)
    if unknown.size:
        first = unknown[0]
        raise InputError(
            f"{source} has character {text[first]!r} at position {begin + first}, not in the alphabet {alphabet!r}; "
            "add it"
        )
    return places


def spelled(text: str, alphabet: str | None) -> Int[np.ndarray, "length"]:
    """The characters of a text as numbers, after checking the alphabet."""
    if alphabet is None:
        raise InputError("the sequence is a string and has no alphabet; give its characters in order with `alphabet=`")
    check_characters(alphabet)
    return numbered(text, alphabet)
