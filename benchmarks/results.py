"""Record results of the paper's budget in the repository, and write the parts of docs/reproduce.md that show them.

anyorder reproduce depth bits --budget paper --out OUT   # hours; goes on where it stopped
python -m benchmarks.results OUT                         # OUT's numbers and figures to results/paper, and the page
python -m benchmarks.results                             # the page alone
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from anyorder.errors import require
from anyorder.io.atomic import write_text
from anyorder.papers import results
from anyorder.papers.registry import RECORDED
from anyorder.report.docs import regenerated

PAGE = Path(__file__).parents[1] / "docs" / "reproduce.md"


def record(out: Path) -> None:
    """Copy what a finished reproduction at the paper's budget has to show."""
    for id in RECORDED:
        found = results.read_recorded(id, out)
        if found is None:
            continue
        require(found["budget"] == "paper", f"{out}/{id}.json is of budget {found['budget']}, must be of paper")
        results.FOLDER.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out / f"{id}.json", results.FOLDER / f"{id}.json")
        (results.FOLDER / id).mkdir(exist_ok=True)
        for name in found["figures"]:
            shutil.copyfile(out / id / f"{name}.png", results.FOLDER / id / f"{name}.png")
        print(f"recorded {id}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(Path(sys.argv[1]))
    write_text(PAGE, regenerated(PAGE.read_text(encoding="utf-8")))
