"""The documentation: plain Markdown that builds into a site, install lines that work, an up-to-date README."""

import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest
from markdown_it import MarkdownIt

from anyorder.papers.registry import EXPERIMENTS, ledgers
from tests.web.conftest import browser  # noqa: F401

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md")), *sorted((ROOT / "joss").glob("*.md"))]
WRITTEN = [
    *PAGES,
    *(path for folder in ("anyorder", "docs", "examples", "tests", "benchmarks") for path in (ROOT / folder).rglob("*")
      if path.suffix in (".py", ".ipynb", ".html", ".js") and "_build" not in path.parts),
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation as Sphinx builds it, without a warning."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(folder)]
    result = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr[-2000:]
    return folder


@pytest.mark.slow
def test_the_site_needs_no_network_and_has_every_page(site):
    assert "What One Cannot, Two Can" in (site / "references.html").read_text(encoding="utf-8")
    pages = " ".join(page.read_text(encoding="utf-8") for page in site.glob("*.html"))
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', pages) == []
    assert "A test that can fail" in (site / "contributing.html").read_text(encoding="utf-8")
    assert "Unreleased" in (site / "changelog.html").read_text(encoding="utf-8")
    reference = (site / "api.html").read_text(encoding="utf-8")
    for name in ("anyorder.probe", "anyorder.sample"):
        assert f'id="{name}"' in reference
    assert "Tell the order" in reference or "order of induction" in reference
    contents = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f'href="{page.stem}.html"' in contents or page.stem == "index", page


@pytest.mark.slow
def test_the_site_sets_formulas_and_finds_the_induction_head(site, browser):  # noqa: F811
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    formulas = {path: path.read_text(encoding="utf-8").count("<math") for path in site.glob("*.html")}
    most = max(formulas, key=formulas.get)
    assert formulas[most] >= 3
    page.goto(most.as_uri())
    assert all(box["height"] > 8 for box in page.evaluate(
        "() => [...document.querySelectorAll('article math')].map(one => one.getBoundingClientRect().toJSON())"
    ))  # fmt: skip
    assert "$" not in re.sub(r"<(pre|code).*?</\1>", "", (site / "idea.html").read_text(encoding="utf-8"), flags=re.S)
    page.goto((site / "search.html").as_uri() + "?q=induction+head")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("idea" in title.lower() or "glossary" in title.lower() for title in found), found
    for name in ("install", "training", "text"):  # code wraps and is not cut off
        page.goto((site / f"{name}.html").as_uri())
        cut = page.evaluate(
            "() => [...document.querySelectorAll('article pre')].map(one => one.scrollWidth - one.clientWidth)"
        )
        assert max(cut, default=0) <= 1, name
    page.close()


@pytest.mark.parametrize(
    ("text", "typeset"),
    [
        ("v_n + e_{x_n} ≤ 2^m", "$v_{n}$ + $e_{x_n}$ ≤ $2^{m}$"),
        ("2^-b, 2^(1-b) and S^(S^k)(S - 1)", "$2^{-b}$, $2^{1-b}$ and $S^{S^k}$(S - 1)"),
        ("`v_n`, $v_n$, x_mean, [p](a_b.md) and W_mlp", "`v_n`, $v_n$, x_mean, [p](a_b.md) and W_mlp"),
        ("# S^k\n\n```\nS^k\n```", "# S^k\n\n```\nS^k\n```"),
    ],
)
def test_scripts_in_running_text_are_typeset(text, typeset):
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["_typeset"](text) == typeset


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_plain_markdown(page):
    text = re.sub(
        r"```.*?```", lambda block: block[0].split("\n")[0], page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert not re.search(r"^```\{|^\((\w|-)+\)=$|^: ", text, flags=re.MULTILINE)
    assert not re.search(r"\{(ref|doc|term|math|image)\}`", text)
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", re.sub(r"`[^`\n]*`", "", text)):
        assert (page.parent / target).exists(), target


def test_install_lines_work_in_a_clone():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = 0
    for path in WRITTEN:
        for line in re.findall(r"pip install\b[^\n]*", path.read_text(encoding="utf-8")):
            if path.name in ("test_docs.py", "CONTRIBUTING.md"):
                continue
            found += 1
            assert not re.match(r"pip install (-\S+ )*['\"]?anyorder\b", line), f"{path}: {line}"
            assert set(re.findall(r"\.\[(\w+)\]", line)) <= set(extras), f"{path}: {line}"
    assert found > 10


def test_the_address_is_one_setting(tmp_path):
    names = ("README.md", "CITATION.cff", "pyproject.toml")
    for name in names:
        shutil.copy(ROOT / name, tmp_path / name)
    setting = runpy.run_path(str(ROOT / ".ci" / "address.py"))["main"]
    for url in ("https://host.example/one", "https://host.example/two"):
        setting(tmp_path, url)
        for name in names:
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert text.count(url) == 1
            assert "<address" not in text
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["urls"] == {"Repository": url}
    assert f"{url} anyorder && cd anyorder" in (tmp_path / "README.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="must begin with https://"):
        setting(tmp_path, "two")


def test_the_article_cites_what_its_bibliography_has():
    text = (ROOT / "joss" / "paper.md").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "joss" / "paper.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)
    cited = set(re.findall(r"@(\w+\d{4})\b", text))
    assert len(keys) == len(set(keys))
    assert cited == set(keys)
    required = ("Summary", "Statement of need", "State of the field", "Software design", "Research impact statement")
    for heading in (*required, "Acknowledgements", "References"):
        assert f"\n# {heading}\n" in text
    assert 750 <= len(text.split("---")[2].split()) <= 1750  # the limits of the journal
    experiments, claims = (int(re.search(rf"more than (\d+) {one}", text)[1]) for one in ("experiments", "claims"))
    assert experiments < len(EXPERIMENTS)
    assert claims < sum(len(ledger.claims) for ledger in ledgers().values())
    assert "name: The anyorder developers" in text
    assert "name: The anyorder developers" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_picture_of_the_readme_shows_the_page_of_today(browser):  # noqa: F811
    _, state = runpy.run_path(str(ROOT / "examples" / "explorer_picture.py"))["take"](browser)
    kept = (ROOT / "docs" / "images" / "explorer.txt").read_text(encoding="utf-8")
    assert state == kept, "the explorer has changed: make picture"


@pytest.mark.slow
def test_the_readme_fits_two_screens(browser, tmp_path):  # noqa: F811
    """Two screens of 1920 × 1080, at the width and with the sizes of type that code hosts have."""
    style = (
        "body{font:16px/1.5 sans-serif;width:916px;margin:32px auto} h1,h2{margin:24px 0 16px;padding-bottom:.3em}"
        "p,pre,table,blockquote{margin:0 0 16px} img{max-width:100%} pre{font-size:85%;line-height:1.45;padding:16px}"
        "td,th{padding:6px 13px}"
    )
    text = MarkdownIt("commonmark").enable("table").render((ROOT / "README.md").read_text(encoding="utf-8"))
    file = tmp_path / "readme.html"
    file.write_text(
        f'<meta charset="utf-8"><base href="{ROOT.as_uri()}/"><style>{style}</style>{text}', encoding="utf-8"
    )
    page = browser.new_page(viewport={"width": 1012, "height": 1080})
    page.goto(file.as_uri())
    assert page.evaluate("document.images[0].naturalWidth") > 0
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 1080
    cut = page.evaluate("[...document.querySelectorAll('pre')].map(one => one.scrollWidth - one.clientWidth)")
    assert max(cut) <= 0
    page.close()


def test_the_paper_is_named_with_its_authors():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any("What One Cannot, Two Can" in line for line in readme.splitlines())
    for author in ("Ekbote", "Makkuva", "Bondaschi", "Rajaraman", "Gastpar", "Lee", "Liang"):
        assert author in readme
    assert "openreview.net/forum?id=nYg6Qzm5xS" in readme
