"""Small tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping


def as_html(caption: str, fields: Mapping[str, object]) -> str:
    """A small table for notebooks: a caption, then names and values.

    >>> as_html("A", {"b_c": 0.5})
    '<table><caption>A</caption><tr><th>b c</th><td>0.5</td></tr></table>'
    """

    def cell(value: object) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name}: {cell(inner)}" for name, inner in value.items()) or "–"
        if isinstance(value, tuple | list):
            return ", ".join(map(cell, value)) or "–"
        return f"{value:.4g}" if isinstance(value, float) else "–" if value is None else html.escape(str(value))

    rows = "".join(
        f"<tr><th>{name.replace('_', ' ')}</th><td>{cell(value)}</td></tr>" for name, value in fields.items()
    )
    return f"<table><caption>{html.escape(caption)}</caption>{rows}</table>"
