"""What is the case at one position, in a sentence, and the positions that the sentence speaks of."""

from __future__ import annotations

from anyorder.constructions import steps
from anyorder.web.traced import TracedPosition


def here(look: TracedPosition, about: steps.Here) -> str:
    """What is the case at this position, in one sentence."""
    n, k, found = look.position, look.order, look.matches
    match about:
        case "window" if n == 0:
            return "Nothing stands before position 0, so it can only attend to itself."
        case "window":
            short = f" Only {n} of {k} tokens are there: this key has no full window and must not match."
            return f"Before position {n}: {look.word(n - k, n - 1)}.{short * (n < k)}"
        case "recent" if n < k - 1:
            return f"Up to position {n} there are {n + 1} of {k} tokens: no window yet, and no promise."
        case "recent":
            return f"The last {k} tokens up to position {n}: {look.word(n - k + 1, n)}."
        case "oldest" if n < k:
            return f"Position {n} has no token at offset {k}."
        case "oldest":
            return f"The token at offset {k} is x_{n - k} = {look.name(n - k)}: the one bar above the line."
        case "matches" if n < k - 1:
            return f"With fewer than {k} tokens there is nothing to look for."
        case "matches" if not found:
            context = look.word(n - k + 1, n)
            return f"{context} has not been seen before: nothing matches, and attention goes to the largest score left."
        case "matches":
            places = ", ".join(map(str, found[:12])) + (" and later ones" if len(found) > 12 else "")
            many = f"{len(found)} position{'s' * (len(found) > 1)}"
            return f"{look.word(n - k + 1, n)} stands right before {many}: {places}."
        case "counts" if not found:
            return "No count: 0/0 in the k-gram (Definition 2 leaves it open)."
        case "counts":
            names = [look.name(match) for match in found]
            counted = ", ".join(f"{name} {names.count(name)}×" for name in dict.fromkeys(names))
            return f"What stood there: {counted}, of {len(names)}."
        case "smoothed":
            beta, size = look.traced.opened.beta, look.traced.alphabet_size
            return f"{here(look, 'counts')} The sink adds β = {beta:g} to each of {size} symbols."
    return ""


def about(look: TracedPosition, kind: steps.Here) -> list[int]:
    """The positions that a step speaks of."""
    n, k = look.position, look.order
    match kind:
        case "window":
            return list(range(max(n - k, 0), n))
        case "oldest":
            return [n - k] if n >= k else []
        case "counts" | "smoothed":
            return look.matches
    return list(range(n - k + 1, n + 1)) if n >= k - 1 else []
