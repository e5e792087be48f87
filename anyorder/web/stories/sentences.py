"""What is the case at one position, in one sentence."""

from __future__ import annotations

from anyorder.web.story import Look


def window_here(look: Look) -> str:
    """The k tokens before n."""
    n, k = look.position, look.order
    if n == 0:
        return "Nothing stands before position 0, so it can only attend to itself."
    short = "" if n >= k else f" Only {n} of {k} tokens are there: this key has no full window and must not match."
    return f"Before position {n}: {look.word(n - k, n - 1)}.{short}"


def recent_here(look: Look) -> str:
    """The k tokens up to n."""
    n, k = look.position, look.order
    if n < k - 1:
        return f"Up to position {n} there are {n + 1} of {k} tokens: no window yet, and no promise."
    return f"The last {k} tokens up to position {n}: {look.word(n - k + 1, n)}."


def oldest_here(look: Look) -> str:
    """The token at offset k."""
    n, k = look.position, look.order
    if n < k:
        return f"Position {n} has no token at offset {k}."
    return f"The token at offset {k} is x_{n - k} = {look.name(n - k)}: the one bar above the line."


def matches_here(look: Look) -> str:
    """Where the window was seen before."""
    if look.position < look.order - 1:
        return f"With fewer than {look.order} tokens there is nothing to look for."
    found = look.matches
    context = look.word(look.position - look.order + 1, look.position)
    if not found:
        return f"{context} has not been seen before: nothing matches, and attention goes to the largest score left."
    places = ", ".join(map(str, found[:12])) + (" and later ones" if len(found) > 12 else "")
    return f"{context} stands right before {len(found)} position{'s' * (len(found) > 1)}: {places}."


def counts_here(look: Look) -> str:
    """What stood at the matches."""
    if not look.matches:
        return "No count: 0/0 in the k-gram (Definition 2 leaves it open)."
    names = [look.name(match) for match in look.matches]
    counted = ", ".join(f"{name} {names.count(name)}×" for name in dict.fromkeys(names))
    return f"What stood there: {counted}, of {len(names)}."


def smoothed_here(look: Look) -> str:
    """The same with a sink."""
    beta, size = look.seen.opened.beta, look.seen.alphabet_size
    return f"{counts_here(look)} The sink adds β = {beta:g} to each of {size} symbols."
