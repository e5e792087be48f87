"""A running explorer, and a real Chromium for the tests of the page."""

from __future__ import annotations

import os
import shutil

import filelock
import httpx
import pytest

from anyorder.web.export import export
from tests.web import exploring

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        reason = "no Chromium found: install chromium to test the page"
        if os.environ.get("ANYORDER_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """An exported explorer: the constructions of the tours, at some orders and sizes; one for all workers."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "site"
    with filelock.FileLock(shared / "site.lock"):
        if not folder.exists():
            names = ["unrolled", "dyadic", "two-layer", "two-head", "k-head", "attention-only", "bayes"]
            names += ["convolution", "recurrent", "recurrent-bayes", "one-layer"]
            export(shared / "site.part", names=names, orders=(1, 2, 3, 5), sizes=(2, 5, 6, 8))
            (shared / "site.part").rename(folder)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a running explorer."""
    with exploring.explorer([exploring.fill(tmp_path_factory.mktemp("page"))]) as (url, _):
        yield f"{url}/"


@pytest.fixture(scope="module", params=["server", "static"])
def address(request):
    """The page from a server, and from a file."""
    if request.param == "server":
        return request.getfixturevalue("server")
    return f"file://{request.getfixturevalue('site')}/index.html"


@pytest.fixture
def page(browser):
    """A page that fails the test on any console message, and on any request to another host."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    said = []
    opened.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if foreign(request.url) else None)
    opened.said = said
    yield opened
    opened.close()
    # A refused request is a message on the page; Chromium notes it in the console by itself.
    assert [line for line in said if "the server responded with a status of 4" not in line] == []


def foreign(url):
    return not url.startswith(("http://127.0.0.1:", "file:///", "data:", "blob:", "about:blank"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a model file, a run, a trajectory, and a file that must not be read."""
    return exploring.fill(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="session")
def client(folder):
    """A client of a running explorer over that folder."""
    with exploring.explorer([folder]) as (url, _), httpx.Client(base_url=url, timeout=60) as opened:
        yield opened
