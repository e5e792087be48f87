"""Requests that are invalid, too large or from another origin, and the files of the page."""

import json
import pathlib
import re

import pytest
from fastapi.testclient import TestClient

from anyorder.report.style import COLOURS
from anyorder.web import app as web_app
from anyorder.web import limits
from anyorder.web.app import create_app
from tests.web.exploring import body, refused

STATIC = pathlib.Path(web_app.STATIC)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"model": {"kind": "construction", "name": "tryadic"}}, "no construction 'tryadic'"),
        ({"model": {"kind": "construction", "name": "bigram", "order": 2}}, "is for order 1"),
        ({"model": {"kind": "construction", "order": "2"}}, "order is '2', must be a whole number"),
        ({"model": {"kind": "construction", "order": 2.5}}, "order is 2.5, must be a whole number"),
        ({"model": {"kind": "construction", "order": 0}}, "order is 0, must be at least 1"),
        ({"model": {"kind": "construction", "dtype": "f"}}, "dtype is 'f', must be 'bfloat16', 'float16', 'float32'"),
        ({"model": {"kind": "construction", "temperature": "a"}}, "temperature is 'a', must be a number"),
        ({"model": {"kind": "construction", "gated": 1}}, "gated is 1"),
        ({"model": {"kind": "elsewhere"}}, "model is {'kind': 'elsewhere'}, its 'kind' must be one of 'construction'"),
        ({"model": {"order": 2}}, "model is {'order': 2}, must have a field 'kind'"),
        ({"model": {"kind": "stored", "path": 3}}, "path is 3, must be text"),
        ({"model": {"kind": "stored"}}, "path is missing, must be given"),
        ({"model": {"kind": "stored", "path": "a", "beta": 0}}, "beta is 0, must be above 0"),
        ({"model": None}, "model is None, must be a JSON object"),
        ({"maps": 1}, "maps is 1, must be true or false"),
        ({"sequence": {"kind": "text", "text": ""}}, "text is '', must have at least 1 characters"),
        ({"sequence": {"kind": "text", "text": "a" * 513}}, "must have at most 512 characters"),
        ({"unknown": 1}, "unknown is 1, a field that is not known here"),
        ([], "body is [], must be a JSON object"),
        ({"model": {"kind": "construction", "order": 4}, "sequence": {"kind": "text", "text": "abba"}}, "be smaller"),
        ({"model": {"kind": "construction", "alphabet_size": 2}}, "the sequence has 8 symbols, the model has 2"),
        ({"sequence": {"kind": "chain", "token_noise": 0.1, "transition_noise": 0.1}}, "together"),
        ({"sequence": {"kind": "chain", "length": 2}}, "order is 2, must be smaller than the length 2"),
    ],
)  # fmt: skip
def test_wrong_requests_are_one_line(client, asked, message):
    assert message in refused(client.post("/api/view", json=asked))


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"null", b"\xff\xfe", b"NaN", b'{"model": {"kind": "construction", "beta": NaN}}', b"[" * 3000],
)
def test_bodies_that_are_no_request_are_refused(client, raw):
    refused(client.post("/api/view", content=raw, headers={"content-type": "application/json"}))
    refused(client.post("/api/view", content=raw, headers={"content-type": "text/plain"}))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"model": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", "nested too deeply"),
        (b'{"model": ' + b"9" * 5000 + b"}", "thousands of digits"),
    ],
)
def test_bodies_that_python_cannot_read_are_bad_requests(client, raw, message):
    response = client.post("/api/view", content=raw, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert message in refused(response)
    assert client.put("/api/view", content=raw).status_code == 405


def test_oversized_bodies_are_refused_with_and_without_a_length(client):
    large = json.dumps(body("a" * (limits.MOST_BODY + 1))).encode()
    for content in (large, iter([large[:40000], large[40000:]])):
        response = client.post("/api/view", content=content, headers={"content-type": "application/json"})
        assert response.status_code == 413
        refused(response)
        assert response.json()["limit"]["limit"] == limits.MOST_BODY


def test_foreign_hosts_and_origins_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "localhost:1"}).status_code == 200
    assert client.get("/", headers={"host": "[fe80::1%evil.example]"}).status_code == 421
    own = client.base_url.netloc.decode()
    for origin in (
        f"x://{own}",
        f"://{own}",
        "http://evil.example",
        "http://[",
        "http://]:x",
        "null",
        "",
        "http://evil.example@localhost",
    ):
        foreign = client.post("/api/view", json=body(), headers={"origin": origin})
        assert foreign.status_code == 403
        refused(foreign)


def test_names_of_files_do_not_break_the_line_of_a_refusal(tmp_path):
    (tmp_path / "a\nb.safetensors").write_text("")
    with TestClient(create_app([tmp_path]), base_url="http://localhost") as client:
        path = f"{tmp_path.name}/a\nb.safetensors"
        response = client.post("/api/view", json={"model": {"kind": "stored", "path": path}})
    assert r"a\nb.safetensors" in refused(response)


def test_the_page_is_served_whole_and_from_here_alone(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    sources = {"index.html", "main.js"}
    for html in STATIC.glob("*.html"):
        sources |= set(re.findall(r'(?:src|href)="([\w.]+\.(?:html|js|css|svg))"', html.read_text(encoding="utf-8")))
    for script in STATIC.glob("*.js"):
        sources |= set(re.findall(r'from "\./([\w]+\.js)"', script.read_text(encoding="utf-8")))
    assert sources - {"data.js", "explorer.js"} == {path.name for path in STATIC.iterdir()}
    script = client.get("/explorer.js").raise_for_status()
    assert script.headers["content-type"].startswith("text/javascript")
    assert all(f'modules["static/{path.name}"] =' in script.text for path in STATIC.glob("*.js"))
    for path in STATIC.iterdir():
        text = client.get(f"/{path.name}").raise_for_status().text
        # Names of XML, and the paper's address in its BibTeX, are text: nothing is loaded from there.
        assert not re.findall(r"https?://(?!www\.w3\.org/|openreview\.net/forum)", text), path.name
    for path in ("/absent", "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/static/../../limits.py"):
        refused(client.get(path))
    style = (STATIC / "style.css").read_text(encoding="utf-8").upper()
    assert all(colour.upper() in style for colour in COLOURS)
