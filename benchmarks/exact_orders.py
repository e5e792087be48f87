"""Measure the largest exact order of every construction in every dtype, and compare with the table on file.

python -m benchmarks.exact_orders            # some minutes
python -m benchmarks.exact_orders --write    # keep what was measured
"""

from __future__ import annotations

import dataclasses
import json
import sys

from anyorder.constructions import CONSTRUCTIONS
from anyorder.constructions.exact_orders import PATH, measure
from anyorder.files import write_json
from anyorder.numerics import DTYPES
from benchmarks.measure import Row, show


def main() -> None:
    rows = []
    table: dict[str, dict] = {}
    for name in CONSTRUCTIONS:
        table[name] = {}
        for dtype in DTYPES:
            found = measure(name, dtype)
            table[name][dtype] = dataclasses.asdict(found)
            rows.append(Row(f"{name} {dtype}", found.exact, f"exact, {found.resolved} resolved of {found.tried}"))
    show("Largest order with an error of at most 1e-5", rows)
    if "--write" in sys.argv[1:]:
        write_json(PATH, table)
    elif table != json.loads(PATH.read_text(encoding="utf-8")):
        sys.exit("the table on file differs; keep this one with --write")


if __name__ == "__main__":
    main()
