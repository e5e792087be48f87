"""Record results of the paper's budget in the repository, and write the parts of the docs that show them.

anyorder reproduce grid --budget paper --out OUT   # hours; resumes where it stopped
python -m benchmarks.results OUT                   # OUT's numbers and figures to results/<paper>, and the pages
python -m benchmarks.results OUT depth bits        # first runs these in OUT, with the judged preset of two_can alone
python -m benchmarks.results                       # the pages alone

Recorded rows of presets that OUT lacks are kept below the new ones; the file states their origin.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from pathlib import Path

from anyorder.errors import require
from anyorder.io.atomic import Row, write_json, write_text
from anyorder.papers import results
from anyorder.papers.experiment import SEEDS, Task
from anyorder.papers.registry import chosen, papers
from anyorder.papers.runner import run_all
from anyorder.papers.two_can.printed import JUDGED
from anyorder.report.figures import draw
from anyorder.report.reproduce import section
from anyorder.report.style import write_figure
from benchmarks.pages.recorded import on_pages, read_recorded, recorded_file, typed_tables
from benchmarks.pages.results import regenerated

DOCS = Path(__file__).parents[1] / "docs"


def run(out: Path, ids: tuple[str, ...]) -> None:
    """Run experiments at the paper's budget, those of `two_can` with the judged preset alone."""
    experiments = chosen(ids)
    presets = None if any("/" in one.id for one in experiments) else (JUDGED,)
    for ran in run_all(experiments, out, Task("paper", SEEDS["paper"], presets=presets)):
        require(ran.failure is None, f"{ran.experiment.id} failed: {ran.failure}; see error.txt in {out}")
        section(out, ran)


def record(out: Path) -> None:
    """Keep the numbers and figures of a finished reproduction at the paper's budget."""
    for id, shown in on_pages().items():
        found = read_recorded(id, out)
        if found is None:
            continue
        require(found["budget"] == "paper", f"{out}/{id}.json is of budget {found['budget']}, must be of paper")
        whole, file = merged(found, read_recorded(id)), recorded_file(id)
        folder = file.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, whole)
        for name in found["figures"]:
            shutil.copyfile(out / id / f"{name}.png", folder / f"{name}.png")
        if shown.charts is not None:
            for name, figure in shown.charts(typed_tables(whole)).items():
                write_figure(draw(figure), folder / f"{name}.png")
        print(f"recorded {id}")


def merged(new: Row, old: Row | None) -> Row:
    """A new record, followed by rows of an older record for other presets; missing columns are null.

    `earlier` describes the runs behind the older rows. Figures that the new record lacks are kept.
    """
    if old is None:
        return new
    ran = {row.get("preset") for table in new["tables"].values() for row in table["rows"]}
    tables, kept = {}, set()
    for name, table in new["tables"].items():
        recorded = old["tables"].get(name, {"rows": []})["rows"]
        others = [row for row in recorded if "preset" in row and row["preset"] not in ran]
        kept |= {row["preset"] for row in others}
        rows = [*table["rows"], *others]
        columns = dict.fromkeys(column for row in rows for column in row)
        tables[name] = table | {"rows": [{column: row.get(column) for column in columns} for row in rows]}
    if not kept:
        return new
    before = old.get("earlier", [])
    listed = {name for one in before for name in one["presets"]}
    about = {"presets": sorted(kept - listed), **{key: old[key] for key in ("minutes", "versions", "notes")}}
    earlier = [
        one | {"presets": [name for name in one["presets"] if name in kept]}
        for one in (about, *before)
        if kept & set(one["presets"])
    ]
    figures = old["figures"] | new["figures"]
    stated = new["verdict"] or old["verdict"]
    typed = itertools.chain(*typed_tables({"tables": tables}).values())
    judged = stated and results.verdict(typed, new["preset"], stated["rule"])
    return new | {"tables": tables, "figures": figures, "verdict": judged, "earlier": earlier}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        if sys.argv[2:]:
            run(Path(sys.argv[1]), tuple(sys.argv[2:]))
        record(Path(sys.argv[1]))
    for name in ("reproduce", *filter(None, (paper.page for paper in papers().values()))):
        page = DOCS / f"{name}.md"
        write_text(page, regenerated(page.read_text(encoding="utf-8")))
