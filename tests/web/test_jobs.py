"""Long work: bounded, cancelled, and not blocking other requests."""

import concurrent.futures
import importlib
import threading
import time
from collections import Counter

import httpx
import pytest

from anyorder.web import limits, view
from anyorder.web.library import Library
from tests.web import exploring
from tests.web.exploring import body


@pytest.mark.slow
def test_long_work_is_bounded_cancelled_and_blocks_nobody(monkeypatch):
    monkeypatch.setattr(limits, "LONG", 1)
    monkeypatch.setattr(limits, "LONG_WAITING", 0)
    asked = {"model": {"kind": "construction", "name": "dyadic"}, "length": 512, "sequences": 32}
    with exploring.explorer() as (url, app), httpx.Client(base_url=url, timeout=60) as client:
        client.post("/api/verify", json={**asked, "sequences": 1}).raise_for_status()  # compiled
        steps, go_on = [], threading.Event()
        # The first of the 32 sequences is made to wait, so that what follows does not depend on the machine.
        verification = importlib.import_module("anyorder.constructions.verify")
        real = verification.errors

        def slow(*arguments, **options):
            steps.append(1)
            go_on.wait(20)
            return real(*arguments, **options)

        monkeypatch.setattr(verification, "errors", slow)

        def leave():
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{url}/api/verify", json=asked, timeout=3.0)

        client_that_leaves = threading.Thread(target=leave)
        client_that_leaves.start()
        while not steps:
            time.sleep(0.01)
        busy = client.post("/api/verify", json=asked)
        assert busy.status_code == 429
        assert busy.json()["limit"] == {"name": "long computations", "value": 1, "limit": 1}
        assert busy.headers["retry-after"] == "1"
        assert client.post("/api/view", json=body()).status_code == 200
        client_that_leaves.join()
        time.sleep(0.3)
        go_on.set()
        deadline = time.monotonic() + 10
        while app.state.long.taken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert app.state.long.taken == 0
        assert len(steps) < 3
        monkeypatch.setattr(verification, "errors", real)
        found = client.post("/api/verify", json={**asked, "sequences": 4}).raise_for_status().json()
        assert found["passed"]
        assert found["max_error"] <= found["bound"]
        assert found["positions_checked"] > 1000


@pytest.mark.slow
def test_many_requests_at_once_wait_for_their_turn(client):
    with concurrent.futures.ThreadPoolExecutor(100) as threads:
        answers = list(threads.map(lambda _: client.get("/api/options").status_code, range(200)))
    assert Counter(answers) == {200: 200}


@pytest.mark.slow
def test_a_request_that_waits_too_long_is_told_so(monkeypatch):
    monkeypatch.setattr(limits, "QUICK", 1)
    monkeypatch.setattr(limits, "LONGEST_WAIT", 0.3)
    with exploring.explorer() as (url, app), httpx.Client(base_url=url, timeout=60) as client:
        go_on = threading.Event()
        app.state.quick.begin(lambda check: go_on.wait(20))
        begun = time.monotonic()
        busy = client.get("/api/options")
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
        assert busy.json()["error"] == "views that are being computed or wait: 1; try again in a moment"
        assert 0.3 <= time.monotonic() - begun < 5
        go_on.set()
        assert client.get("/api/options").status_code == 200


def test_what_is_kept_goes_when_the_process_is_too_large(monkeypatch):
    explorer, size = view.Explorer(Library()), limits.MOST_MEMORY
    monkeypatch.setattr(view, "resident", lambda: size)
    explorer._kept["one"] = None
    explorer.tidy()
    assert explorer._kept
    size += 1
    explorer.tidy()
    assert not explorer._kept
    explorer._kept["one"] = None
    explorer.tidy()  # other data takes that much: dropping caches again would not help
    assert explorer._kept
    size += limits.MOST_GROWTH + 1
    explorer.tidy()
    assert not explorer._kept


def test_the_memory_of_this_process_is_known():
    grown = view.resident()
    assert not grown or 10**7 < grown < 10**11
