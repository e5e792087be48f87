"""The time of `anyorder train` to the floor, and the final gaps: the whole command on free cores, then many seeds.

    python -m benchmarks.floor FOLDER          # about half an hour on two cores; resumes where it stopped
    python -m benchmarks.floor FOLDER --record # writes finished results to results/own/floor.json

Seconds are the wall time of the whole command, once with an empty cache of compiled programs and once with a full one.
Gaps are those of a run with more seeds. Run by name, not by `python -m benchmarks`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from anyorder.io.atomic import read_json, write_json
from anyorder.training.folder import SUMMARY, begun

RECORDED = Path(__file__).parents[1] / "results" / "own" / "floor.json"
TIMES = "times.json"


class Row(NamedTuple):
    """Flags of `anyorder train`, its seeds while it is timed, and the goals."""

    flags: str
    within: float
    seconds: float | None = None
    timed: int = 3
    seeds: int = 12


#: Rows by name, cheap ones first.
ROWS = {
    "order 1": Row("--order 1", 0.0005),
    "order 2": Row("--order 2", 0.0005, 11),
    "order 3, T = 64": Row("--order 3 --length 64", 0.0005, 25),
    "order 4, T = 128": Row("--order 4 --length 128", 0.0008, 120, timed=1, seeds=6),
}


def _train(words: str, cache: Path) -> float:
    """Wall time of `anyorder train`, in a new process."""
    environment = {**os.environ, "ANYORDER_CACHE": str(cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "anyorder", "train", *words.split()],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def _place(folder: Path, name: str) -> Path:
    return folder / name.replace(", ", "-").replace(" ", "")


def run(folder: Path) -> None:
    """Time every command without a time, and train the unfinished seeds of every row."""
    for name, row in ROWS.items():
        place = _place(folder, name)
        place.mkdir(parents=True, exist_ok=True)
        if not (place / TIMES).exists():
            with tempfile.TemporaryDirectory(dir=place) as fresh:
                words = f"{row.flags} --seeds {row.timed} --out {fresh}"
                empty, full = (_train(f"{words}/{state}", Path(fresh) / "cache") for state in ("empty", "full"))
            write_json(place / TIMES, {"seconds": round(full, 1), "seconds_empty_cache": round(empty, 1)})
            print(name, read_json(place / TIMES, "times"), flush=True)
        out = place / "seeds"
        if not (out / SUMMARY).exists():
            fresh_run = f"{row.flags} --seeds {row.seeds} --out {out}"
            _train(f"--resume {out}" if begun(out) else fresh_run, folder / "cache")


def record(folder: Path) -> None:
    """Write the times and gaps of all finished rows."""
    found = read_json(RECORDED, "recorded times and gaps") if RECORDED.exists() else {}
    for name, row in ROWS.items():
        place = _place(folder, name)
        if (place / "seeds" / SUMMARY).exists():
            models = read_json(place / "seeds" / SUMMARY, "a finished run")["models"]
            found[name] = {
                "command": f"anyorder train {row.flags} --seeds {row.timed}",
                **read_json(place / TIMES, "times"),
                "goal_seconds": row.seconds,
                "within": row.within,
                "seeds": [model["seed"] for model in models],
                "gaps": [round(model["gap"], 6) for model in models],
                "error": max(round(model["gap_error"], 6) for model in models),
            }
    write_json(RECORDED, found)


if __name__ == "__main__":
    (record if "--record" in sys.argv else run)(Path(sys.argv[1]))
