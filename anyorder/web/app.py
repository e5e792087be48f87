"""The application: the API, the page, and a guard between them and the network.

Every error response is a `Problem`: one line and the limit. The guard checks the Host header, so that no foreign site
can reach a local server under its own name (DNS rebinding), the Origin of requests that change or compute
something, and the size of bodies; its headers let the page load nothing from other sites. Starlette's
`TrustedHostMiddleware` has a fixed list of names, but a server on 0.0.0.0 answers under every address of its machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyorder.errors import InputError, in_one_line, shown
from anyorder.io.gates import gated
from anyorder.web import api, limits, schema
from anyorder.web.bundle import bundle
from anyorder.web.films import film
from anyorder.web.jobs import Cancelled, CheckCancelled, Work
from anyorder.web.library import Library
from anyorder.web.view import Explorer

STATIC = Path(__file__).with_name("static")
#: The de facto status code for "client closed request".
CLOSED = 499

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@gated
def create_app(
    folders: Sequence[str | Path] = (), host: str = "127.0.0.1", tour: schema.Tour | None = None, *, warm: bool = False
) -> FastAPI:
    """The application over some folders of models, opening with a tour if one is given.

    With `warm` it computes the first view in advance, and sends it with the page.

    >>> sorted(create_app().openapi()["paths"])
    ['/api/dynamics', '/api/map', '/api/options', '/api/probe', '/api/probes', '/api/story', '/api/verify', '/api/view']
    """
    explorer = Explorer(Library(folders), tour)
    first = schema.StoryRequest(position=len(schema.EXAMPLE) - 3, maps=False)
    opening: dict[str, BaseModel] = {}
    quick = Work("views", limits.QUICK, limits.QUICK_WAITING)
    long = Work("long computations", limits.LONG, limits.LONG_WAITING)

    def prepare(check: CheckCancelled) -> None:
        opening.update(view=explorer.view(first, check), story=api.story_at(explorer, first, check))
        long.begin(lambda check: film(schema.DynamicsRequest(), explorer.library, check))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if warm:
            quick.begin(lambda check: api.choices(explorer))
            quick.begin(prepare)
        yield
        quick.close()
        long.close()

    app = FastAPI(
        title="anyorder explorer",
        description="Transformers that compute the conditional k-gram, seen from inside.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.include_router(api.routes(explorer, quick, long))

    @app.get("/explorer.js", include_in_schema=False)
    async def script() -> Response:
        return Response(bundle(STATIC.parent, "static/main.js"), media_type="text/javascript")

    @app.get("/data.js", include_in_schema=False)
    async def data(request: Request) -> Response:
        def run(check: CheckCancelled) -> bytes:
            held = {"options": api.choices(explorer), "first": opening or None}
            return b"globalThis.anyorderData = " + to_json(held, inf_nan_mode="null")

        return Response(await quick.do(request, run), media_type="text/javascript")

    app.mount("/", StaticFiles(directory=STATIC, html=True))
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(InputError)(lambda request, error: _refused(error))
    app.exception_handler(Cancelled)(lambda request, error: Response(status_code=CLOSED))
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(Exception)(_broken)
    app.add_middleware(Guard, host=host)
    app.state.quick, app.state.long = quick, long
    return app


def problem(status: int, error: str, limit: limits.Limit | None = None) -> JSONResponse:
    """An error response; values that JSON cannot represent exactly become text."""
    if limit is not None and isinstance(limit.value, int | float) and not abs(limit.value) < 2**53:
        limit = dataclasses.replace(limit, value=str(limit.value)[:40])
    return JSONResponse(schema.Problem(error=in_one_line(error), limit=limit).model_dump(), status)


def _invalid(request: Request, error: RequestValidationError) -> Response:
    """The first error of pydantic as one line, with the limit if one was exceeded."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(422, "the body is not valid JSON; see /api/openapi.json")
    name = str(first["loc"][-1])
    given, context = first.get("input"), first.get("ctx", {})
    if isinstance(context.get("error"), InputError):
        return _refused(context["error"])
    limit, value = None, given if isinstance(given, int | float) and not isinstance(given, bool) else None
    for key in ("le", "ge", "lt", "gt", "max_length", "min_length"):
        if key in context:
            value = len(given) if "length" in key and isinstance(given, str) else value
            limit = limits.Limit(name, value, context[key])
    said = "missing" if first["type"] == "missing" else shown(given)
    return problem(422, f"{shown(name)[1:-1]} is {said}, {schema.complaint(first)}", limit)


def _refused(error: InputError) -> JSONResponse:
    response = problem(getattr(error, "status", 422), str(error), getattr(error, "limit", None))
    if response.status_code == 429:
        response.headers["retry-after"] = "1"
    return response


def _http(request: Request, error: HTTPException) -> Response:
    if isinstance(error.__cause__, InputError):  # rejected while the body was read
        return _refused(error.__cause__)
    status, said = error.status_code, str(error.detail).lower()
    if status == 400:
        return problem(400, "the body is nested too deeply, or contains a number of thousands of digits; shorten it")
    # The page is mounted at the root, so it also receives API paths with other methods.
    described = request.app.openapi()["paths"].get(request.url.path, {})
    if described and request.method.lower() not in described:
        status, said = 405, "method not allowed"
    response = problem(status, f"{request.method} {shown(request.url.path)}: {said}")
    if status == 405:
        response.headers["allow"] = ", ".join(described).upper() or "GET, HEAD"
    return response


def _broken(request: Request, error: Exception) -> Response:
    logging.getLogger("anyorder.web").error("%s failed", request.url.path, exc_info=error)
    return problem(500, f"the explorer failed on this request ({type(error).__name__}); its log has the details")


class Guard:
    """Host, origin and size of every request; headers of every response."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app = app
        self.names = {"localhost", host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent, most = 0, limits.MOST_BODY
        refusal = self._refusal(scope, Headers(scope=scope))

        async def limited() -> Message:
            nonlocal sent
            message = await receive()
            sent += len(message.get("body", b""))
            limits.at_most(most, sent, "body", f"the body has more than {most} bytes; shorten it", status=413)
            return message

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await (refusal or self.app)(scope, limited, marked)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        name = host_name(headers.get("host", ""))
        if not self.known(name):
            return problem(421, f"host is {shown(name)}, this explorer answers to localhost; use its own address")
        origin = headers.get("origin")
        own = [f"{scheme}://{headers.get('host')}" for scheme in ("http", "https")]
        if origin is not None and scope["method"] != "GET" and origin not in own:
            return problem(403, f"origin is {shown(origin)}; only the explorer's own page may send this request")
        return None

    def known(self, name: str) -> bool:
        """Whether a host is a name of this machine, or an address: a foreign site reaches us only under its name.

        >>> guard = Guard(lambda scope, receive, send: None, "127.0.0.1")
        >>> guard.known("127.0.0.1"), guard.known("localhost"), guard.known("evil.example")
        (True, True, False)
        """
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return "%" not in name  # the zone of an address is local to a machine


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets.

    >>> host_name("localhost:8000"), host_name("[::1]:8000")
    ('localhost', '::1')
    """
    name = header.rpartition("]")[0].lstrip("[") if header.startswith("[") else header.partition(":")[0]
    return name.lower()
