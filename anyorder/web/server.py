"""A server on a socket that is already open: the address is known before the first request."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence

import uvicorn

from anyorder.errors import InputError
from anyorder.web.app import create_app
from anyorder.web.models import Library
from anyorder.web.schema import ViewRequest
from anyorder.web.view import Explorer


def listen(host: str, port: int) -> socket.socket:
    """An open socket, or one line that says what is in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {host} port {port}: {reason}; pass --port 0 for a free one") from None
    return opened


def address(host: str, opened: socket.socket) -> str:
    """Where a browser finds the page."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{opened.getsockname()[1]}/"


def serve(folders: Sequence[str], host: str, opened: socket.socket, *, warm: bool = True) -> None:
    """Answer until interrupted; compile what the first page needs in the meantime."""
    server = uvicorn.Server(uvicorn.Config(create_app(folders, host), log_level="warning", server_header=False))
    if warm:
        threading.Thread(target=warm_up, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[opened])


def warm_up() -> None:
    """Compile the programs of the default view."""
    Explorer(Library()).view(ViewRequest(), lambda: None)
