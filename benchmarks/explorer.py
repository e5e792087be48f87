"""Response times of a warm explorer over HTTP: a click on a position, another temperature, a key.

The goal is 200 ms for T ≤ 512, and 300 ms for the first view of the page. The first request of a shape compiles; its
time is shown and compared with a warm request.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import statistics
import threading
import time
from collections.abc import Iterator

import httpx
import numpy as np
import uvicorn

from anyorder.web.app import create_app
from anyorder.web.server import listen
from benchmarks.measure import Row, show

GOAL, FIRST_VIEW = 200.0, 300.0
REPEATS = 15


def main() -> None:
    rows = []
    with serving() as url, httpx.Client(base_url=url, timeout=120) as client:
        for name, order, length in (("dyadic", 3, 64), ("dyadic", 3, 512), ("k-head", 4, 256), ("bayes", 2, 256)):
            rows += measured(client, name, order, length)
        rows += in_browser(url)
    show("The explorer, S = 4, float64: milliseconds from request to answer", rows)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    opened = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(warm=True), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{opened.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def measured(client: httpx.Client, name: str, order: int, length: int) -> list[Row]:
    rng = np.random.default_rng(length)
    text = "".join(rng.choice(list("abcd"), length))

    def view(text: str = text, temperature: float = 1.0) -> float:
        model = {"kind": "construction", "name": name, "order": order, "temperature": temperature}
        body = {"model": model, "sequence": {"kind": "text", "text": text}, "maps": False}  # as the page asks
        return timed(client, "/api/view", body)

    def click(position: int) -> float:
        model = {"kind": "construction", "name": name, "order": order}
        body = {"model": model, "sequence": {"kind": "text", "text": text}, "position": position}
        return timed(client, "/api/story", body)

    first = view()
    click(length // 2)
    view(temperature=1.5)
    clicks = [click(position) for position in rng.choice(length, REPEATS).tolist()]
    temperatures = [view(temperature=2.0 + step) for step in range(REPEATS)]
    typed = [view(text=text[:-step]) for step in range(1, REPEATS + 1)]
    what = f"{name}, k = {order}, T = {length}"
    rows = []
    for action, times in (("click on a position", clicks), ("temperature", temperatures), ("typing", typed)):
        rows.append(Row(f"{what}: {action}, median", statistics.median(times), "ms", f"below {GOAL:g}"))
        rows.append(Row(f"{what}: {action}, worst of {len(times)}", max(times), "ms"))
    rows.append(Row(f"{what}: first view over a warm one", first / statistics.median(temperatures), "×"))
    return rows


#: From the start of the navigation to the first view, drawn.
LOADED = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  while (document.body.dataset.state !== "ready") await frame();
  await frame();
  return performance.now();
}"""
#: Click on a position; the time until the page shows its proof and the next frame is drawn.
CLICK = """async (position) => {
  const frame = () => new Promise(requestAnimationFrame), start = performance.now();
  document.querySelector(`#tokens [data-position="${position}"]`).click();
  while (document.body.dataset.state !== "ready") await frame();
  await frame();
  return performance.now() - start;
}"""


def in_browser(url: str, length: int = 256) -> list[Row]:
    """The first view and clicks in a real page, drawing included, where there is a Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return []
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(1)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        loads = []
        for _ in range(REPEATS + 1):  # the first one compiles
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(url, wait_until="commit")
            loads.append(page.evaluate(LOADED))
            page.close()
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url}/#model=dyadic&order=3&text={''.join(rng.choice(list('abcd'), length))}")
        page.wait_for_selector("body[data-state=ready]")
        positions = rng.choice(length, REPEATS + 1, replace=False).tolist()
        times = [page.evaluate(CLICK, position) for position in positions][1:]
        browser.close()
    what, first = (
        f"dyadic, k = 3, T = {length}: click in Chromium, drawn",
        "first view after the page loads, warm server",
    )
    return [
        Row(f"{first}, median", statistics.median(loads[1:]), "ms", f"below {FIRST_VIEW:g}"),
        Row(f"{first}, worst of {REPEATS}", max(loads[1:]), "ms"),
        Row(f"{what}, median", statistics.median(times), "ms", f"below {GOAL:g}"),
        Row(f"{what}, worst of {len(times)}", max(times), "ms"),
    ]


def timed(client: httpx.Client, path: str, body: dict) -> float:
    start = time.perf_counter()
    client.post(path, json=body).raise_for_status()
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
