"""Memory of the explorer under many different requests: it levels off.

`python -m benchmarks.memory --count 20000` prints the resident size after every 1,000 requests. The goal: at the end
within 100 MB of the level after the first 1,000. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import httpx

from benchmarks.measure import Row, show

GOAL = 100.0
#: What a class looks at again and again, and how often it looks at anything else, which is compiled anew.
USUAL = ("dyadic", "unrolled", "bayes")
OTHERS = ("k-head", "two-layer", "three-layer", "unrolled-bayes")
ELSEWHERE = 0.02


def resident(process: int) -> float:
    """Megabytes of a process in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000


def ask(client: httpx.Client, chance: random.Random) -> None:
    """A view or a story of a model by chance, on a text by chance."""
    other = chance.random() < ELSEWHERE
    symbols, length = (chance.choice((3, 4)), chance.choice((24, 250))) if other else (2, chance.choice((60, 120)))
    text = "".join(chance.choices("abcd"[:symbols], k=length))
    model = {
        "kind": "construction",
        "name": chance.choice(OTHERS if other else USUAL),
        "order": chance.randint(1, 4 if other else 2),
        "dtype": chance.choice(("float32", "float64")),
        "temperature": 2.0 ** chance.randint(-2, 4),
    }
    body = {"model": model, "sequence": {"kind": "text", "text": text}, "maps": chance.random() < 0.5}
    if chance.random() < 0.5:
        client.post("/api/view", json=body)
    else:
        client.post("/api/story", json={**body, "position": chance.randrange(len(text))})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="requests")
    parser.add_argument("--level", type=int, default=1000, help="requests after which memory should stay level")
    asked = parser.parse_args()
    words = [sys.executable, "-m", "anyorder", "explore", "--no-browser", "--port", "0", "--json"]
    chance, levels = random.Random(0), {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            with httpx.Client(base_url=url, timeout=300) as client:
                for number in range(1, asked.count + 1):
                    ask(client, chance)
                    if number % asked.level == 0 or number == asked.count:
                        levels[number] = resident(server.pid)
                        print(f"{number} requests: {levels[number]:.0f} MB", file=sys.stderr, flush=True)
        finally:
            server.terminate()
    grown = levels[asked.count] - levels[min(asked.level, asked.count)]
    show("Memory of the explorer", [Row(f"growth after request {asked.level}", grown, "MB", f"< {GOAL:g}")])
    return 0 if grown < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
