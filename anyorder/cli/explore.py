"""`anyorder explore`: the web explorer."""

from __future__ import annotations

import webbrowser
from typing import Annotated

from anyorder import web
from anyorder.cli.command import Command, Outcome, facts, progress
from anyorder.errors import require
from anyorder.io.gates import Gate
from anyorder.training import devices


class Explore(Command):
    """Open a local web page that shows how a model computes its prediction, step by step.

    Examples:
      anyorder explore
      anyorder explore --models runs models --port 0
      anyorder explore --no-browser --json
      anyorder explore --export page --tour lesson.md
    """

    next = "anyorder probe construction:unrolled --order 3 --alphabet-size 4"
    models: Annotated[tuple[str, ...], Gate("read")] = ()
    """Folders whose runs and .safetensors models may be opened; nothing outside them is read."""
    host: str = "127.0.0.1"
    """Address to listen on; the default is reachable from this machine only."""
    port: int = 8421
    """Port to listen on; 0 picks a free one."""
    browser: bool = True
    """Open the page in a browser."""
    export: Annotated[str | None, Gate("fill")] = None
    """Write the page to this folder instead, as plain files that need no server; open index.html there."""
    tour: Annotated[str | None, Gate("read")] = None
    """Open the page with your own guided tour, .md or .json; docs/teaching.md shows how to write one."""

    def run(self) -> Outcome:
        """Open the socket, print the address, then serve; or write the folder."""
        return self._serve() if self.export is None else self._export(self.export)

    def _export(self, folder: str) -> Outcome:
        require(not self.models, "an exported page has the model of the package only; leave out `models`")
        with progress() as bars:
            task = bars.add_task("exporting")
            tour = None if self.tour is None else web.read_tour(self.tour)
            made = web.export.export(
                folder, tour, watch=lambda done, total: bars.update(task, completed=done, total=total)
            )
        found = facts(made, "files", "bytes", "constructions")
        report = {"index": str(made.index), **found, "tour": None if tour is None else tour.name}
        return Outcome(report, f"{made.index}  ({made.bytes / 1e6:.1f} MB; open it in a browser, no server is needed)")

    def _serve(self) -> Outcome:
        require(0 <= self.port <= 65535, f"port is {self.port}, must be 0 to 65535; 0 picks a free one")
        devices.prepare()
        from anyorder.web.library import Library

        library = Library(self.models)
        tour = None if self.tour is None else web.tours.check_tour(web.read_tour(self.tour), library)
        opened = web.listen(self.host, self.port)
        url = web.server.address(self.host, opened)

        def go_on() -> None:
            if self.browser:
                webbrowser.open(url)
            web.serve(self.models, self.host, opened, tour)

        report = {"url": url, "models": {name: str(path) for name, path in library.roots.items()}}
        return Outcome(report, f"{url}  (Ctrl-C ends it)", then=go_on)
