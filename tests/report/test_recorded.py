"""The page of what is recorded."""

import pathlib
import re

from anyorder.experiments import recorded
from anyorder.experiments.registry import EXPERIMENTS
from anyorder.report.recorded import RECORDED, markdown, regenerated


def test_only_what_the_page_shows_is_recorded():
    assert {path.stem for path in recorded.FOLDER.glob("*.json")} <= set(RECORDED) <= set(EXPERIMENTS)


def test_the_page_is_made_from_the_files():
    written = (pathlib.Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert regenerated(written) == written, "python -m benchmarks.results"
    assert set(re.findall(r"<!-- part: (\w+) -->", written)) == {"experiments", "recorded", "differences"}
    emptied = re.sub(r"(<!-- part: \w+ -->\n).*?(?=<!-- end -->)", r"\1", written, flags=re.DOTALL)
    assert len(emptied) < len(written) / 2
    assert regenerated(emptied) == written


def test_every_column_of_a_record_is_shown():
    """Only the deviation and the seeds of a mean have no column of their own, and what no row has."""
    for id in RECORDED:
        found = recorded.read_recorded(id)
        for table in found["tables"].values() if found else ():
            rows = table["rows"]
            shown = [cell.strip() for cell in markdown(rows).splitlines()[0].strip("|").split("|")]
            for column in rows[0]:
                stem, _, end = column.rpartition("_")
                if any(row[column] is not None for row in rows):
                    in_mean = end in ("std", "seeds") and f"{stem}_mean" in rows[0]
                    assert (stem if stem and (in_mean or end == "mean") else column).replace("_", " ") in shown, (
                        id,
                        column,
                    )
            for named in re.findall("`(\\w+)`", table["caption"]):
                assert named.replace("_", " ") in shown, (id, named)
