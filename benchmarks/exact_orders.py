"""Measure the largest exact order of every construction in every dtype, and the required orders of `unrolled`.

python -m benchmarks.exact_orders                      # everything: most of an hour
python -m benchmarks.exact_orders dyadic bayes         # some constructions
python -m benchmarks.exact_orders unrolled --write     # record the measurements
python -m benchmarks.exact_orders --missing --write    # only missing entries, recorded one by one
python -m benchmarks.exact_orders --must-hold          # every order of the table below, on S = 2, 4, 16
python -m benchmarks.exact_orders --docs               # rewrite the tables of the docs
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from anyorder.constructions import CONSTRUCTIONS
from anyorder.constructions.exact_orders import PATH, label, measure, resolution, worst_error
from anyorder.io.atomic import write_json
from anyorder.io.numerics import DTYPES
from benchmarks.measure import Row, show
from benchmarks.pages.tables import regenerated

#: Construction, options, dtype, orders, largest error, at 1,024 tokens.
MUST_HOLD = (
    ("unrolled", {}, "float32", range(1, 23), 1e-6),
    ("unrolled", {}, "float64", range(1, 52), 1e-9),
    ("unrolled", {}, "float16", range(9, 10), resolution("float16")),
    ("unrolled", {}, "bfloat16", range(6, 7), resolution("bfloat16")),
    ("unrolled", {"heads": 2}, "float32", range(44, 45), 1e-6),
    ("unrolled", {"heads": 4}, "float32", range(88, 89), 1e-6),
    ("unrolled", {"heads": 4}, "bfloat16", range(24, 25), resolution("bfloat16")),
    ("unrolled", {"heads": 8}, "bfloat16", range(48, 49), resolution("bfloat16")),
    ("unrolled-bayes", {}, "float32", range(1, 23), 1e-6),
    ("unrolled-bayes", {}, "float64", range(1, 52), 1e-9),
)


def must_hold() -> None:
    rows, broken = [], []
    for name, options, dtype, orders, limit in MUST_HOLD:
        found = {
            (order, symbols): worst_error(name, order, symbols, 1024, dtype, **options)
            for order in orders
            for symbols in (2, 4, 16)
        }
        what = f"{label(CONSTRUCTIONS[name], options)}, {dtype}, orders {orders[0]} to {orders[-1]}"
        rows.append(Row(what, max(found.values()), f"worst error, at most {limit:g}"))
        broken += [f"{what}: order {order}, S = {s}: {error:g}" for (order, s), error in found.items() if error > limit]
        print(rows[-1], flush=True)
    show("Worst error on hard sequences of 1,024 tokens, S = 2, 4, 16", rows)
    if broken:
        sys.exit("\n".join(broken))


def main() -> None:
    words = sys.argv[1:]
    if "--must-hold" in words:
        must_hold()
        return
    if "--docs" in words:
        for page in Path("docs").glob("*.md"):
            page.write_text(regenerated(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    chosen = [word for word in words if not word.startswith("-")] or list(CONSTRUCTIONS)
    rows = []
    table: dict[str, dict] = json.loads(PATH.read_text(encoding="utf-8"))
    kept = json.dumps(table)
    for entry in map(CONSTRUCTIONS.__getitem__, chosen):
        for options in ({}, *entry.variants):
            name = label(entry, options)
            known = table.pop(name, {}) if "--missing" in words else {}
            table[name] = known
            for dtype in (dtype for dtype in DTYPES if dtype not in known):
                found = measure(entry.name, dtype, **options)
                table[name][dtype] = dataclasses.asdict(found)
                rows.append(Row(f"{name} {dtype}", found.exact, f"exact, {found.resolved} resolved of {found.tried}"))
                print(rows[-1], flush=True)
                if "--write" in words:
                    write_json(PATH, table)
    show("Largest order with an error of at most 1e-5", rows)
    if "--write" not in words and json.dumps(table) != kept:
        sys.exit("the recorded table differs; record this one with --write")


if __name__ == "__main__":
    main()
