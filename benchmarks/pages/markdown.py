"""Markdown tables, and docs pages with parts generated from registries and recorded results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence


def as_markdown(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    >>> print(as_markdown(("name", "d"), [("`bigram`", "3S")]))
    | name | d |
    |---|---|
    | `bigram` | 3S |
    """
    head, *body = (f"| {' | '.join(cells)} |" for cells in (headings, *rows))
    return "\n".join([head, "|" + "---|" * len(headings), *body])


def rewritten(page: str, kind: str, write: Callable[[str], str]) -> str:
    r"""A page with every part between `<!-- KIND: NAME -->` and `<!-- end -->` replaced, by name.

    >>> rewritten("<!-- table: sizes -->\nold\n<!-- end -->", "table", lambda name: f"new {name}")
    '<!-- table: sizes -->\nnew sizes\n<!-- end -->'
    """
    return re.sub(
        rf"(<!-- {kind}: (\w+) -->\n).*?(?=<!-- end -->)",
        lambda found: f"{found[1]}{write(found[2])}\n",
        page,
        flags=re.DOTALL,
    )
