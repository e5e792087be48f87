"""`anyorder explore`: its address, its exports, and its refusals."""

import json
import signal
import subprocess
import sys

import httpx
import pytest

from anyorder.web import export as exports
from anyorder.web.server import listen


@pytest.mark.slow
def test_explore_says_where_it_listens_serves_and_ends_with_ctrl_c(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    words = [
        sys.executable,
        "-m",
        "anyorder",
        "explore",
        "--no-browser",
        "--port",
        "0",
        "--json",
        "--models",
        str(folder),
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        report = json.loads(process.stdout.readline())
        assert report["url"].startswith("http://127.0.0.1:")
        assert report["models"] == {"models": str(folder)}
        assert "anyorder" in httpx.get(report["url"], timeout=30).text
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, error) == (0, "", "")


def test_explore_refuses_what_it_cannot_do(run, tmp_path):
    taken = listen("127.0.0.1", 0)
    for words, message in (
        (["--models", str(tmp_path / "absent")], "is not a folder"),
        (["--port", "70000"], "port is 70000"),
        (["--port", str(taken.getsockname()[1])], "--port 0"),
    ):
        code, out, error = run("explore", "--no-browser", *words)
        assert (code, out) == (2, "")
        assert message in error
        assert error.count("\n") == 1
    taken.close()


@pytest.mark.slow
def test_explore_exports_with_a_tour(run, tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "CONSTRUCTIONS", {"dyadic": exports.CONSTRUCTIONS["dyadic"]})
    monkeypatch.setattr(exports, "construction_data", lambda entry, orders, sizes: {"orders": {}})
    monkeypatch.setattr(exports, "check_exported", lambda *given: None)  # of nothing that is exported here
    (tmp_path / "lesson.md").write_text("# A lesson\n## One\n`order=2`\nLook.\n", encoding="utf-8")
    words = ("explore", "--export", tmp_path / "page", "--tour", tmp_path / "lesson.md", "--json")
    for _ in range(2):  # writing over an export of one's own is fine
        code, out, _ = run(*words)
        assert code == 0
    report = json.loads(out)
    assert report["index"] == str(tmp_path / "page" / "index.html")
    assert (report["tour"], report["constructions"]) == ("lesson", ["dyadic"])
    data = (tmp_path / "page" / "data.js").read_text(encoding="utf-8")
    assert '"opening":"lesson"' in data


def test_explore_refuses_a_tour_that_is_none(run, tmp_path):
    (tmp_path / "a.md").write_text("# A\n", encoding="utf-8")
    code, out, error = run("explore", "--export", tmp_path / "page", "--tour", tmp_path / "a.md")
    assert (code, out) == (2, "")
    assert "has no stops" in error
    (tmp_path / "a.md").write_text("# A\n## B\n`text=abab&order=1&position=99`\nLook.\n", encoding="utf-8")
    for words in (("--export", tmp_path / "page"), ("--no-browser", "--port", 0)):
        code, out, error = run("explore", *words, "--tour", tmp_path / "a.md")
        assert (code, out) == (2, "")
        assert "a, stop 1: position is 99, the sequence has positions 0 to 3" in error
    assert not (tmp_path / "page").exists()
    code, _, error = run("explore", "--export", tmp_path, "--json")
    assert code == 2
    assert "already contains other files" in error
