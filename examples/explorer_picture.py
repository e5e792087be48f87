"""Photograph the explorer with a Chromium: python examples/explorer_picture.py docs/images/explorer.png

Beside the picture a .txt keeps its state: address, digest of the style sheet, and the words in view. Tests compare it
with the page as it is now.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import shutil
import sys
import threading
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, sync_playwright

from anyorder.io.atomic import whole_file, write_text
from anyorder.web.app import create_app
from anyorder.web.server import address, listen

STATE = ""  # the first view
SIZE = {"width": 1280, "height": 500}
#: Words of the upper three quarters: what is lowest in view depends on the fonts of a machine.
WORDS = """() => {
  const words = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    const seen = box.width && box.height && box.top >= 0 && box.top < 0.75 * innerHeight;
    if (seen && node.parentElement.checkVisibility()) words.push(node.textContent.trim());
  }
  return words.filter(Boolean).join("\\n");
}"""


def take(browser: Browser) -> tuple[bytes, str]:
    """The picture, and its state in words."""
    opened = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(), log_level="warning"))
    serving = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    serving.start()
    try:
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(address("127.0.0.1", opened) + STATE)
        page.wait_for_selector("body[data-state=ready]")
        picture, words = page.screenshot(), page.evaluate(WORDS)
        page.close()
    finally:
        server.should_exit = True
        serving.join()
    style = importlib.resources.files("anyorder.web").joinpath("static", "style.css").read_bytes()
    return picture, f"{STATE}\nstyle {hashlib.sha256(style).hexdigest()[:16]}\n{words}\n"


def main() -> int:
    """Photograph, and keep the state beside the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or len(sys.argv) != 2:
        print(__doc__ if chromium else "no Chromium found; install chromium", file=sys.stderr)
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        picture, state = take(browser)
        browser.close()
    with whole_file(sys.argv[1]) as temporary:
        Path(temporary).write_bytes(picture)
    write_text(Path(sys.argv[1]).with_suffix(".txt"), state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
