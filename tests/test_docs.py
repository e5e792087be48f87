"""The documentation site builds without a warning, and every page of `docs/` can be reached from its contents."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parent.parent


def test_the_site_builds_without_a_warning(tmp_path):
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(tmp_path)]
    result = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr[-2000:]
    assert "What One Cannot, Two Can" in (tmp_path / "references.html").read_text(encoding="utf-8")
    assert (tmp_path / "searchindex.js").exists()
    pages = " ".join(page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html"))
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', pages)
    assert loaded == []  # no network is needed to read it


def test_the_paper_is_named_with_its_authors():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any("What One Cannot, Two Can" in line for line in readme.splitlines())
    for author in ("Ekbote", "Makkuva", "Bondaschi", "Rajaraman", "Gastpar", "Lee", "Liang"):
        assert author in readme
    assert "openreview.net/forum?id=nYg6Qzm5xS" in readme


def test_the_table_of_mixers_is_what_is_on_record():
    root = pathlib.Path(__file__).parents[1]
    page = (root / "docs" / "training.md").read_text(encoding="utf-8")
    recorded = json.loads((root / "results" / "own" / "mixers.json").read_text(encoding="utf-8"))
    for name, row in recorded.items():
        assert len(row["gaps"]) == 5
        assert f"| {name} | {min(row['gaps']):.4f} to {max(row['gaps']):.4f} | {row['goal']} |" in page
        sign, goal = row["goal"][0], row["goal"][2:]
        assert sign not in "≤≥" or all(gap <= float(goal) if sign == "≤" else gap >= float(goal) for gap in row["gaps"])
