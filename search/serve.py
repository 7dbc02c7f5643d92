"""Serve the web board on this machine, and the protocol of docs/protocol.md over HTTP: `deltaw serve`.

    deltaw serve backgammon connect_four othello
    deltaw serve othello --player ntuple mine.safetensors --port 8020 --seconds 2

    GET /         the page, and the few files it needs        POST /api     one JSON object in, one out

`Site` is an ASGI application (Starlette) that uvicorn runs. `Connection` adds what uvicorn lacks: limits on a client's
time and connections.

There is no login and none is pretended: the server listens on 127.0.0.1 unless told otherwise, and there refuses
requests that another site's page makes (Host, Origin and Content-Type are checked). It reads no file but those of
`search/doors/web` and the players named on its command line. Answers are found in pools of threads
(`search/doors/pool.py`), one for searches and one for what takes no time.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from importlib import resources
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.control import Switch
from deltaw.envs.errors import InputError
from deltaw.search.doors.lines import add_player_options, pace_of
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.pool import WAITING, Busy, Pool
from deltaw.search.doors.protocol import MOST_BYTES, SHORTEST, THOUGHTFUL, Protocol, failure, read_request, write_answer
from deltaw.search.doors.thinker import Thinker
from deltaw.search.players.threads import cores

PORT = 8010
API = "/api"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
JSON = "application/json"
HEADERS = {
    "Server": "deltaw",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SINGLE = ("origin", "content-type")
"""headers that may stand in a request once; h11 refuses a second Host, and a second Content-Length that differs"""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
ERRORS = {
    HTTPStatus.NOT_FOUND: "there is no such page; the board is at /",
    HTTPStatus.METHOD_NOT_ALLOWED: f"method not allowed: GET the page, or POST to {API}",
}
CONNECTIONS = 64
"""open at once; one more is told that the server is busy"""
PER_ADDRESS = 16
"""of them for one client"""
IDLE = 60
"""seconds that a connection may say nothing between requests, or take to read an answer"""
DEADLINE = 10
"""seconds for a whole request, head and body, from its first byte on"""
CLOSING = 1
"""seconds to read the last answer before the connection is cut"""
BACKLOG = 128
"""connections that may wait to be taken"""
WHOLE = (h11.DONE, h11.MUST_CLOSE, h11.MIGHT_SWITCH_PROTOCOL)
"""states of a client that has sent a whole request"""
QUICK = 4
"""requests answered at once, besides searches"""


# --- the application --------------------------------------------------------------------------------------------------


def web_pages() -> dict[str, Response]:
    """The files of `search/doors/web` by their paths. They are read once, so no request can name another file."""
    files = sorted((resources.files("deltaw.search.doors") / "web").iterdir(), key=lambda entry: entry.name)
    kinds = {entry: TYPES.get(PurePath(entry.name).suffix) for entry in files}
    pages = {f"/{entry.name}": Response(entry.read_bytes(), media_type=kind) for entry, kind in kinds.items() if kind}
    return {"/": pages["/index.html"]} | pages


class Site:
    """The ASGI application: files by a fixed list, the protocol, and every refusal as JSON."""

    def __init__(self, protocol: Protocol, pool: Pool, host: str, url: str) -> None:
        self.protocol, self.pool, self.url = protocol, pool, url
        self.quick = Pool(QUICK, CONNECTIONS)
        self.is_local = ipaddress.ip_address(host).is_loopback
        self.names = (*LOCAL_NAMES, host)
        self.pages = web_pages()
        self._app = Starlette(
            routes=[
                Route(API, self._api, methods=["POST"]),
                *(Route(path, page, methods=["GET"]) for path, page in self.pages.items()),
            ],
            exception_handlers={HTTPException: refused, ClientDisconnect: unheard, Exception: mistaken},
        )
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._foreign(Headers(scope=scope)) or self._app)(scope, receive, send)

    def _foreign(self, headers: Headers) -> Response | None:
        """A page of another site must not use a person's browser to talk to us: neither from its own address, nor,
        while we are on this machine alone, under a name of its own that leads here (DNS rebinding)."""
        repeated = [name for name in SINGLE if len(headers.getlist(name)) > 1]
        host, origin = headers.get("host", ""), headers.get("origin")
        if repeated:
            return refusal(HTTPStatus.BAD_REQUEST, f"the request has more than one {repeated[0].title()}")
        if self.is_local and _host_name(host) not in self.names:
            return refusal(HTTPStatus.FORBIDDEN, f"this server answers to {self.url} only")
        if origin is not None and origin.partition("://")[2] != host:
            return refusal(HTTPStatus.FORBIDDEN, "pages of other sites may not ask this server")
        return None

    async def _api(self, request: Request) -> Response:
        _check_head(request.headers)
        try:
            asked = read_request(await request.body())
        except InputError as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from None
        thoughtful, switch = asked.get("do") in THOUGHTFUL, Switch()

        def work(thinker: Thinker) -> bytes:
            return write_answer(self.protocol.answer(asked, thinker if thoughtful else None, switch))

        try:
            job = (self.pool if thoughtful else self.quick).submit(work, switch)
        except Busy:
            return reply(
                failure("all searches are taken; try again in a second", asked), HTTPStatus.SERVICE_UNAVAILABLE
            )
        answer, gone = asyncio.wrap_future(job), asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            switch.stop()  # nothing is searched for who is gone
        if not answer.done():
            raise ClientDisconnect
        if answer.cancelled():
            return reply(failure("the server is ending", asked), HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(answer.result(), media_type=JSON)

    def close(self) -> None:
        """Ends all searches; what is asked from now on is not answered."""
        self.pool.close()
        self.quick.close()


def _check_head(headers: Headers) -> None:
    """Refuses a body of another kind, or longer than a request may be, before it is read."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the Content-Type must be {JSON}")
    if "transfer-encoding" in headers or "content-length" not in headers:
        raise HTTPException(HTTPStatus.LENGTH_REQUIRED, "the Content-Length is missing")
    if int(headers["content-length"]) > MOST_BYTES:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is longer than {MOST_BYTES} bytes")


def _host_name(host: str) -> str | None:
    """The name in a Host header, without the port: a tunnel may have another one than we have."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def reply(answer: dict[str, Any], status: int, **headers: str) -> Response:
    return Response(write_answer(answer), status, headers, media_type=JSON)


def refusal(status: int, error: str, **headers: str) -> Response:
    """The answer to a request that gets no further. The connection ends with it, since part of the request may still be
    on its way."""
    return reply(failure(error), status, Connection="close", **headers)


async def refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, ERRORS.get(HTTPStatus(error.status_code), error.detail), **(error.headers or {}))


async def unheard(request: Request, error: Exception) -> Response:
    """The answer to a client that has closed the connection; it is not sent."""
    return Response()


async def mistaken(request: Request, error: Exception) -> Response:
    """The answer where our own code fails; uvicorn prints the error for the person who runs the program."""
    return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: this request met a mistake in the program")


# --- connections ------------------------------------------------------------------------------------------------------


class Connection(H11Protocol):
    """uvicorn's connection, with limits that uvicorn does not have: on the connections of one client, and on a client's
    time.

    A clock runs while we wait for the client: until a request begins, until it is whole, and until the answer has been
    read.
    """

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.owner = owner_of(self.client[0]) if self.client else None
        same = sum(other.owner == self.owner for other in self.connections if isinstance(other, Connection))
        if len(self.connections) > CONNECTIONS or same > PER_ADDRESS:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections; try again")
        else:
            self._within(IDLE, transport.abort)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            late = f"the request took longer than {DEADLINE} seconds"
            self._within(DEADLINE, partial(self._refuse, HTTPStatus.REQUEST_TIMEOUT, late))
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._take_turn()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._take_turn()

    def on_response_complete(self) -> None:
        self._within(IDLE, self.transport.abort)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_clock()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, f"bad request: GET the page, or POST to {API}")

    def shutdown(self) -> None:
        """The server ends: what is being answered may be answered, and nobody is waited for."""
        super().shutdown()
        self._within(CLOSING, self.transport.abort)

    def _take_turn(self) -> None:
        """We no longer wait for the client once a request is whole and what was sent before has been read."""
        if self.conn.their_state in WHOLE and not self.flow.write_paused and not self.transport.is_closing():
            self._stop_clock()

    def _within(self, seconds: float, late: Callable[[], None]) -> None:
        self._stop_clock()
        self._clock = self.loop.call_later(seconds, late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()

    def _refuse(self, status: HTTPStatus, error: str) -> None:
        """Answers what never became a request, and closes the connection."""
        body = write_answer(failure(error))
        headers = {b"content-type": JSON.encode(), b"content-length": b"%d" % len(body), b"connection": b"close"}
        lines = [b"%s: %s" % line for line in (*self.server_state.default_headers, *headers.items())]
        head = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode()), *lines]
        self.transport.write(b"\r\n".join([*head, b"", body]))
        self.transport.close()
        self._within(CLOSING, self.transport.abort)


def owner_of(address: str) -> object:
    """What counts as one client: an IPv4 address, or the first half of an IPv6 address, since a client chooses the
    other half itself."""
    ip = ipaddress.ip_address(address)
    return ip if isinstance(ip, ipaddress.IPv4Address) else ip.ipv4_mapped or int(ip) >> 64


class Server(uvicorn.Server):
    """A site and the socket on which it is asked."""

    def __init__(self, listener: socket.socket, protocol: Protocol, pool: Pool) -> None:
        self.listener = listener
        host, self.port = listener.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self.site = Site(protocol, pool, host, self.url)
        super().__init__(
            uvicorn.Config(
                self.site,
                interface="asgi3",
                lifespan="off",
                loop="asyncio",
                http=Connection,
                ws="none",
                headers=list(HEADERS.items()),
                server_header=False,
                proxy_headers=False,
                log_config=None,
                log_level="error",
                access_log=False,
                backlog=BACKLOG,
                timeout_keep_alive=IDLE,
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves until a signal comes, or `should_exit` is set."""
        super().run(sockets or [self.listener])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.site.close()
        await super().shutdown(sockets)


# --- the command ------------------------------------------------------------------------------------------------------


def warm_up(protocol: Protocol) -> None:
    """Compiles or loads what the first visitor will need, before he comes: first every board, then a search of a moment
    for every game."""
    thinker, places = Thinker(), []
    for name in protocol.offer.games:
        place = {"game": name}
        if protocol.answer({"do": "show", **place})["needs_dice"]:
            rolled = protocol.answer({"do": "roll", "seed": 0, **place})
            place |= {key: rolled[key] for key in ("position", "dice")}
        places.append(place)
    for place in places:
        for do in THOUGHTFUL:
            protocol.answer({"do": do, "seconds": SHORTEST, **place}, thinker)


def parser() -> Parser:
    parse = Parser("deltaw serve", description="A web board: play and analyze in the browser.")
    parse.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(games.names())} (default: all)")
    add_player_options(parse)
    parse.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine)")
    parse.add_argument("--port", type=int, default=PORT, help="0 takes a free one (default: %(default)s)")
    parse.add_argument("--threads", type=int, default=cores(), help="searches at once (default: one a core)")
    return parse


def make_server(protocol: Protocol, host: str, port: int, threads: int, waiting: int = WAITING) -> Server:
    """A server that listens, to be started by `run`. Raises InputError."""
    if not 0 <= port <= 65535:
        raise InputError(f"port {port}: it must be from 0 to 65535")
    if not 1 <= threads <= 256:
        raise InputError(f"--threads {threads}: it must be from 1 to 256")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # only then asyncio sets TCP_NODELAY
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}{advice}") from None
    return Server(listener, protocol, Pool(threads, waiting))


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(argv)
    pace = pace_of(options.seconds, options.longest)
    offered = options.games or [game.name for game in games.load_all()]
    protocol = Protocol(make_offer(offered, options.player), pace)
    server = make_server(protocol, options.host, options.port, options.threads)
    if not server.site.is_local:
        print(f"warning: {server.url} may be reached from other machines, and there is no login", file=sys.stderr)
    print(f"the board is at {server.url}   (Ctrl-C ends)", flush=True)
    threading.Thread(target=warm_up, args=(protocol,), name="deltaw-warm-up", daemon=True).start()
    with server.listener:
        server.run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
