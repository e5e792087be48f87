"""Draw a view of the explorer into a PNG, with nothing but a Chromium: python examples/explorer_picture.py OUT.png"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading

import uvicorn

from anyorder.io.atomic import whole_file
from anyorder.web.app import create_app
from anyorder.web.server import address, listen

STATE = "#page=model&model=dyadic&order=2&step=4&text=abba+had+a+banana+bar+and+a+barbarian+band"


def main() -> int:
    """Start an explorer on a free port, photograph it, end."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or len(sys.argv) != 2:
        print(__doc__ if chromium else "no Chromium found; install chromium", file=sys.stderr)
        return 2
    opened = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(), log_level="warning"))
    threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True).start()
    url = address("127.0.0.1", opened) + STATE
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
    with tempfile.TemporaryDirectory() as profile, whole_file(sys.argv[1]) as picture:
        view = [f"--screenshot={picture}", "--window-size=1280,1180", "--virtual-time-budget=60000"]
        subprocess.run([chromium, *flags, f"--user-data-dir={profile}", *view, url], check=True, capture_output=True)
    server.should_exit = True
    return 0


if __name__ == "__main__":
    sys.exit(main())
