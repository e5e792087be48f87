"""A server on a socket that is already open: the address is known before the first request."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType

import uvicorn

from anyorder.errors import InputError
from anyorder.io.gates import gated
from anyorder.web.app import create_app
from anyorder.web.schema import Tour

#: Seconds that open requests may take to end after Ctrl-C.
GRACE = 0.5


@gated
def listen(host: str, port: int) -> socket.socket:
    """An open socket, or an `InputError` with the reason."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm, which delays small responses, only if the protocol is given.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {host} port {port}: {reason}; pass `port=0` for a free one") from None
    return opened


def address(host: str, opened: socket.socket) -> str:
    """The URL of the page."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{opened.getsockname()[1]}/"


class Server(uvicorn.Server):
    """A server that cancels its computations as soon as it is stopped."""

    #: Ctrl-C is how a server ends; any other signal is an interruption.
    interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Close the pools of work, so that open requests are answered and the connections can end.

        Only the first signal stops the server, within `GRACE`: uvicorn logs a traceback if a second one ends it early.
        """
        state = self.config.app.state  # type: ignore[union-attr]
        state.quick.close()
        state.long.close()
        self.interrupted |= sig != signal.SIGINT
        if not self.should_exit:
            super().handle_exit(sig, frame)


def serve(folders: Sequence[str], host: str, opened: socket.socket, tour: Tour | None = None) -> None:
    """Serve until Ctrl-C, or until SIGTERM, which exits; the first page is compiled in the background."""
    app = create_app(folders, host, tour, warm=True)
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    config.timeout_graceful_shutdown = GRACE  # type: ignore[assignment]  # a fraction of a second works too
    server = Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[opened])
    if server.interrupted:
        print("anyorder: terminated; no file is incomplete", file=sys.stderr, flush=True)
    code = 128 + signal.SIGTERM if server.interrupted else 0
    if app.state.quick.taken or app.state.long.taken:
        # A compiled call cannot be interrupted, and Python would wait for its thread. No file is open for writing.
        sys.stdout.flush()
        os._exit(code)
    if code:
        sys.exit(code)
