"""Memory of the explorer under many different requests: it stays below its bound.

`python -m benchmarks.memory --count 20000` prints the resident size after every 1,000 requests, and the largest size
after any of them. The goal is the bound of the explorer, above which it drops its caches, plus the memory of one
request. It stops after `--minutes` with the figures so far. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import httpx

from anyorder.web.limits import MOST_MEMORY
from benchmarks.measure import Row, show

#: Megabytes: the bound, and the most that one request may add to it.
GOAL = MOST_MEMORY / 1e6 + 64
#: Models that are requested repeatedly, and the share of requests for other models, which must be compiled.
USUAL = ("dyadic", "unrolled", "bayes")
OTHERS = ("k-head", "two-layer", "three-layer", "unrolled-bayes")
ELSEWHERE = 0.02


def resident(process: int) -> float:
    """Megabytes of a process in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024 / 1e6


def ask(client: httpx.Client, chance: random.Random, stored: list[dict]) -> int:
    """Request a view, map or story of a random model on a random sequence, rarely something else; return the status."""
    other = chance.random() < ELSEWHERE
    if other and chance.random() < 0.1:
        run = {"kind": "fresh", "length": chance.choice((16, 32)), "steps": 20}
        return client.post("/api/dynamics", json={"run": run}).status_code
    symbols, length = (chance.choice((3, 4)), chance.choice((24, 250))) if other else (2, chance.choice((60, 120)))
    model = {
        "kind": "construction",
        "name": chance.choice(OTHERS if other else USUAL),
        "order": chance.randint(1, 4 if other else 2),
        "dtype": chance.choice(("float32", "float64")),
        "temperature": 2.0 ** chance.randint(-2, 4),
    }
    if other and chance.random() < 0.1:
        asked = {"model": model, "alphabet_size": symbols, "length": 64, "sequences": 4}
        return client.post("/api/verify", json=asked).status_code
    if other and chance.random() < 0.3:
        entry = chance.choice(stored)
        symbols, length = entry["alphabet_size"], min(length, entry["length"] or length)
        model = {"kind": "stored", "path": entry["path"]}
    text = {"kind": "text", "text": "".join(chance.choices("abcd"[:symbols], k=length))}
    chain = {"kind": "chain", "alphabet_size": symbols, "length": length, "seed": chance.randrange(1000)}
    body = {"model": model, "sequence": chance.choice((text, chain)), "maps": chance.random() < 0.5}
    what = chance.choice(("view", "story", "map"))
    more = {"story": {"position": chance.randrange(length)}, "map": {"map": chance.choice(("pseudo", "difference"))}}
    return client.post(f"/api/{what}", json=body | more.get(what, {})).status_code


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="requests")
    parser.add_argument("--every", type=int, default=1000, help="requests between two lines")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which it stops")
    asked = parser.parse_args()
    words = [sys.executable, "-m", "anyorder", "explore", "--no-browser", "--port", "0", "--json"]
    chance, sizes, failed = random.Random(0), [], 0
    end = time.monotonic() + 60 * asked.minutes
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            with httpx.Client(base_url=url, timeout=300) as client:
                listed = client.get("/api/options").json()["stored"]
                stored = [entry for entry in listed if entry["kind"] == "file"]
                while len(sizes) < asked.count and time.monotonic() < end:
                    failed += ask(client, chance, stored) >= 500
                    sizes.append(resident(server.pid))
                    if len(sizes) % asked.every == 0:
                        last = sizes[-asked.every :]
                        line = f"{len(sizes)} requests: {min(last):.0f} to {max(last):.0f} MB"
                        print(line, file=sys.stderr, flush=True)
        finally:
            server.terminate()
    rows = [Row(f"largest size over {len(sizes)} requests", max(sizes), "MB", f"< {GOAL:.0f}")]
    show("Memory of the explorer", [*rows, Row("responses with a server error", failed, "", "0")])
    return 0 if max(sizes) < GOAL and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
