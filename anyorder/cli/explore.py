"""`anyorder explore`: the web explorer."""

from __future__ import annotations

import dataclasses
import webbrowser

from anyorder.cli.command import Command, Outcome
from anyorder.errors import require


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explore(Command):
    """Open a local web page that shows how a model computes its prediction, step by step.

    Examples:
      anyorder explore
      anyorder explore --models runs models --port 0
      anyorder explore --no-browser --json
    """

    models: tuple[str, ...] = ()
    """Folders whose runs and .safetensors models may be opened; nothing outside them is read."""
    host: str = "127.0.0.1"
    """Address to listen on; the default is reachable from this machine only."""
    port: int = 8421
    """Port to listen on; 0 picks a free one."""
    browser: bool = True
    """Open the page in a browser."""

    def run(self) -> Outcome:
        """Open the socket, say where, and serve once that is printed."""
        require(0 <= self.port <= 65535, f"port is {self.port}, must be 0 to 65535; 0 picks a free one")
        from anyorder.training import devices

        devices.prepare(1)
        from anyorder.web.models import Library
        from anyorder.web.server import address, listen, serve

        folders = Library(self.models).roots
        opened = listen(self.host, self.port)
        url = address(self.host, opened)

        def go_on() -> None:
            if self.browser:
                webbrowser.open(url)
            serve(self.models, self.host, opened)

        report = {"url": url, "models": {name: str(path) for name, path in folders.items()}}
        return Outcome(report, f"{url}  (Ctrl-C ends it)", then=go_on)
