"""The documentation site builds without a warning, and every page of `docs/` can be reached from its contents."""

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
