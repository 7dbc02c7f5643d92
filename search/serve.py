"""The door for people: a web board on this machine, and the protocol of docs/protocol.md over HTTP.

    python -m search.serve backgammon connect_four othello
    python -m search.serve othello --player ntuple mine.safetensors --port 8020 --seconds 2

    GET /         the page, and the few files it needs        POST /api     one JSON object in, one out

Python's standard library alone. There is no login and none is pretended: the server listens on 127.0.0.1 unless told otherwise, and there refuses
requests that another site's page makes (Host, Origin and Content-Type are checked). It reads no file but those of `search/web` and the players named
on its command line. Searches run in a pool of threads (`search/pool.py`); what takes no time is answered beside them.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import select
import socket
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from envs import games
from envs.cli import Parser, guarded
from envs.errors import InputError
from search.control import Switch
from search.lines import add_player_options, pace_of
from search.offer import make_offer
from search.players import cores
from search.pool import WAITING, Busy, Pool
from search.protocol import MOST_BYTES, SHORTEST, THOUGHTFUL, Protocol, failure, read_request, write_answer
from search.thinker import Thinker

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
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NO_HEADERS: dict[str, str] = {}
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
CONNECTIONS = 64
"""open at once; one more is told that the server is busy"""
IDLE = 60.0
"""seconds that a connection may say nothing, or take over a request"""
LOOK = 0.1
"""seconds between looks whether who waits for a search is still there"""


def web_files() -> dict[str, str]:
    """Paths that are served and the names of their files in `search/web`: the list is made once, so no request can name another file."""
    folder = resources.files("search") / "web"
    names = [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
    known = {f"/{name}": name for name in sorted(names) if _suffix(name) in TYPES}
    return known | ({"/": "index.html"} if "index.html" in names else {})


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


class Server(ThreadingHTTPServer):
    """One process: a thread for every connection, a pool for searches."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], protocol: Protocol, pool: Pool) -> None:
        self.protocol, self.pool, self.files = protocol, pool, web_files()
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)
        self.is_local = ipaddress.ip_address(str(self.server_address[0])).is_loopback

    @property
    def url(self) -> str:
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def server_bind(self) -> None:  # the original also asks the name service who we are, which can take seconds
        socket.socket.bind(self.socket, self.server_address)  # type: ignore[arg-type]
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.sendall(_bare(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections; try again"))
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is nothing to report."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _bare(status: HTTPStatus, error: str) -> bytes:
    body = write_answer(failure(error))
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode("ascii") + body


class Refused(Exception):
    """A request that gets no further: an HTTP status and one line."""

    def __init__(self, status: HTTPStatus, error: str, **headers: str) -> None:
        self.status, self.error, self.headers = status, error, headers


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "deltaw", ""
    timeout = IDLE
    wbufsize = -1  # head and body leave together: in two packets the second would wait for an acknowledgement
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is logged."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses (methods, malformed heads) is answered as JSON too."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        self.request_version = self.protocol_version  # not that of a head that could not be read
        headers = {"Allow": "GET, HEAD, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        self._send_failure(Refused(status, f"{status.phrase.lower()}: GET the page, or POST to {API}", **headers))

    # --- methods

    def do_GET(self) -> None:
        self._guarded(self._file)

    def do_HEAD(self) -> None:
        self._guarded(self._file)

    def do_POST(self) -> None:
        self._guarded(self._api)

    def _guarded(self, work: Any) -> None:
        try:
            self._check_origin()
            work()
        except Refused as refused:
            self._send_failure(refused)

    def _check_origin(self) -> None:
        """A page of another site must not use a person's browser to talk to us: neither from its own address, nor, while we are on this machine
        alone, under a name of its own that leads here (DNS rebinding)."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        self.close_connection, close = True, self.close_connection
        if self.server.is_local and _host_name(host) not in (*LOCAL_NAMES, str(self.server.server_address[0])):
            raise Refused(HTTPStatus.FORBIDDEN, f"this server answers to {self.server.url} only")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites may not ask this server")
        self.close_connection = close

    def _file(self) -> None:
        path = urlsplit(self.path).path
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # nobody reads a body that does not belong here
        if path == API:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"POST to {API}", Allow="POST")
        name = self.server.files.get(path)
        if name is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page; the board is at /")
        self._send(HTTPStatus.OK, TYPES[_suffix(name)], (resources.files("search") / "web" / name).read_bytes())

    # --- the protocol

    def _api(self) -> None:
        if urlsplit(self.path).path != API:
            self.close_connection = True
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing to POST to but {API}")
        body = self._body()
        try:
            request = read_request(body)
        except InputError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
        status, answer = self._answer(request)
        self._send(status, JSON, write_answer(answer))

    def _body(self) -> bytes:
        """The request's body, once its head has been found right; what is left unread closes the connection."""
        self.close_connection, close = True, self.close_connection
        if self.headers.get_content_type() != JSON or "Content-Type" not in self.headers:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the Content-Type must be {JSON}")
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the Content-Length is missing")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is longer than {MOST_BYTES} bytes")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request ended too early")
        self.close_connection = close
        return body

    def _answer(self, request: dict[str, Any]) -> tuple[HTTPStatus, dict[str, Any]]:
        protocol, switch = self.server.protocol, Switch()
        if request.get("do") not in THOUGHTFUL:
            return HTTPStatus.OK, protocol.answer(request)
        try:
            job = self.server.pool.submit(lambda thinker: protocol.answer(request, thinker, switch), switch)
        except Busy:
            return HTTPStatus.SERVICE_UNAVAILABLE, failure("all searches are taken; try again in a second", request)
        while True:
            try:
                return HTTPStatus.OK, job.result(LOOK)
            except TimeoutError:
                if self._gone():
                    switch.stop()
                    raise ConnectionAbortedError from None
            except CancelledError:
                return HTTPStatus.SERVICE_UNAVAILABLE, failure("the server is ending", request)

    def _gone(self) -> bool:
        """Whether who asked has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    # --- sending

    def _send_failure(self, refused: Refused) -> None:
        self._send(refused.status, JSON, write_answer(failure(refused.error)), refused.headers)

    def _send(self, status: HTTPStatus, kind: str, body: bytes, headers: dict[str, str] = NO_HEADERS) -> None:
        self.send_response(status)
        more = {"Connection": "close"} if self.close_connection else {}
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            **HEADERS,
            **headers,
            **more,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def handle_expect_100(self) -> bool:
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on


def _host_name(host: str) -> str | None:
    """The name in a Host header, without the port: a tunnel may have another one than we have."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


# --- the command --------------------------------------------------------------------------------------------------------------


def warm_up(protocol: Protocol) -> None:
    """Compiles or loads what the first visitor will need, before he comes: first every board, then a search of a moment for every game."""
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
    parse = Parser("python -m search.serve", description="A web board: play and analyze in the browser.")
    parse.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(games.names())} (default: all)")
    add_player_options(parse)
    parse.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine)")
    parse.add_argument("--port", type=int, default=PORT, help="0 takes a free one (default: %(default)s)")
    parse.add_argument("--threads", type=int, default=cores(), help="searches at once (default: one a core)")
    return parse


def make_server(protocol: Protocol, host: str, port: int, threads: int, waiting: int = WAITING) -> Server:
    """A server that listens, to be started by `serve_forever`. Raises InputError."""
    if not 0 <= port <= 65535:
        raise InputError(f"port {port}: it must be from 0 to 65535")
    if not 1 <= threads <= 256:
        raise InputError(f"--threads {threads}: it must be from 1 to 256")
    try:
        return Server((host, port), protocol, Pool(threads, waiting))
    except OSError as error:
        advice = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}{advice}") from None


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(argv)
    pace = pace_of(options.seconds, options.longest)
    offered = options.games or [game.name for game in games.load_all()]
    protocol = Protocol(make_offer(offered, options.player), pace)
    server = make_server(protocol, options.host, options.port, options.threads)
    if not server.is_local:
        print(f"warning: {server.url} may be reached from other machines, and there is no login", file=sys.stderr)
    print(f"the board is at {server.url}   (Ctrl-C ends)", flush=True)
    threading.Thread(target=warm_up, args=(protocol,), name="deltaw-warm-up", daemon=True).start()
    try:
        server.serve_forever()
    finally:
        server.server_close()
        server.pool.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
