"""Shorten the recorded probe of SmolLM2 to the file that ships with the explorer: python examples/shipped_heads.py"""

from __future__ import annotations

import json
from pathlib import Path

from anyorder.io.atomic import write_text
from anyorder.web.library import PROBE, SHIPPED
from anyorder.web.probe import ProbeView

RECORD = Path(__file__).parent.parent / "results" / "probe" / "smollm2.json"
TITLE = "SmolLM2-135M-Instruct"
#: Heads whose maps are kept, those with the largest contrast first.
MAPS = 6


def shortened(record: Path = RECORD) -> dict[str, object]:
    """The fields that the page shows, three digits each; profiles and scores only of heads that compare something."""
    found = ProbeView.model_validate_json(record.read_text(encoding="utf-8"))
    for head in found.heads:
        if head.kind == "none":
            head.scores = {}
    if found.maps is not None:
        found.maps.heads = found.maps.heads[:MAPS]
    return {**rounded(found.model_dump()), "model": TITLE}


def rounded(value: object) -> object:
    """The same with three digits in every fraction."""
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    write_text(SHIPPED / PROBE, json.dumps(shortened(), separators=(",", ":")) + "\n")
