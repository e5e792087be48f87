"""Gaps to the floor of models with different mixers, taps, positions and depths, five seeds each.

    python -m benchmarks.mixers FOLDER          # hours on a busy machine; resumes where it stopped
    python -m benchmarks.mixers FOLDER --record # writes finished results to results/own/mixers.json

Every row is a run folder under FOLDER. Run by name, not by `python -m benchmarks`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from anyorder.io.atomic import read_json, write_json
from anyorder.training import config_text
from anyorder.training.config import Config, preset
from anyorder.training.folder import SUMMARY, begun

SEEDS = 5
RECORDED = Path(__file__).parents[1] / "results" / "own" / "mixers.json"


class Row(NamedTuple):
    """A run, with the claim about its gap to the floor."""

    config: Config
    goal: str


def _mamba(order: int, **changes: object) -> Config:
    return preset(mixer="mamba", layers=1, order=order, length=64 if order == 3 else 32, seeds=SEEDS, **changes)


#: Rows by name, cheap ones first.
ROWS = {
    **{f"mamba, order {k}, {k + 1} taps": Row(_mamba(k), "≤ 0.0015") for k in (1, 2)},
    **{f"mamba, order {k}, {k} tap{'s' * (k > 1)}": Row(_mamba(k, taps=k), "≥ 0.01") for k in (1, 2)},
    "attention, rotary positions, order 2": Row(preset(rotary_positions=True, seeds=SEEDS), "≤ 0.001"),
    **{f"decay one, order {k}, {k + 1} taps": Row(_mamba(k, decay="one"), "measured") for k in (1, 2)},
    "convolution and attention, one layer, order 2": Row(
        preset(mixer="convolution", layers=1, seeds=SEEDS), "measured"
    ),
    "mamba, order 3, 4 taps": Row(_mamba(3), "≤ 0.0015"),
    "mamba, order 3, 3 taps": Row(_mamba(3, taps=3), "≥ 0.01"),
    "decay one, order 3, 4 taps": Row(_mamba(3, decay="one"), "measured"),
    "attention, six layers, order 3": Row(
        preset(layers=6, order=3, length=64, seeds=SEEDS, targets="exact"), "≤ 0.001"
    ),
}


def _place(folder: Path, name: str) -> Path:
    return folder / name.replace(", ", "-").replace(" ", "-")


def run(folder: Path) -> None:
    """Train every unfinished row from its last checkpoint."""
    from anyorder.training import devices, train

    devices.prepare()
    for name, row in ROWS.items():
        place = _place(folder, name)
        if not (place / SUMMARY).exists():
            done = train(row.config, place, resume=begun(place), progress=False)
            print(name, [round(model.gap or 0, 5) for model in done.summary.models], row.goal, flush=True)


def record(folder: Path) -> None:
    """Write the gaps of all finished rows; earlier records of other rows are kept."""
    found = read_json(RECORDED, "recorded gaps") if RECORDED.exists() else {}
    for name, row in ROWS.items():
        place = _place(folder, name) / SUMMARY
        if place.exists():
            models = read_json(place, "a finished run")["models"]
            found[name] = {
                "command": config_text.command(row.config),
                "goal": row.goal,
                "gaps": [round(model["gap"], 6) for model in models],
                "error": max(round(model["gap_error"], 6) for model in models),
            }
    write_json(RECORDED, found)


if __name__ == "__main__":
    (record if "--record" in sys.argv else run)(Path(sys.argv[1]))
