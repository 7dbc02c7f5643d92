"""The web board's server: files by a fixed list, every refusal as JSON, searches side by side, and browsers that go
away."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest
from command_lines import assert_one_line, call
from conftest import ROOT

from deltaw.search import serve
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import MOST_BYTES, Pace, Protocol
from deltaw.search.doors.thinker import Thinker
from deltaw.search.serve import HEADERS, Server, main, make_server

OFFER = make_offer(["tic_tac_toe", "connect_four"])
PROTOCOL = Protocol(OFFER, Pace(0.05, 60.0))
SHOW = {"do": "show", "game": "tic_tac_toe"}
JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def running(protocol: Protocol = PROTOCOL, **options) -> Iterator[Server]:
    server = make_server(protocol, "127.0.0.1", 0, **{"threads": 2} | options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as one:
        yield one


def connect(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)


def fetch(server: Server, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None):
    """(status, headers, body) of a request on a connection of its own."""
    connection = connect(server)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    found = response.status, response.headers, response.read()
    connection.close()
    return found


def ask(server: Server, **request) -> tuple[int, dict]:
    status, _, body = fetch(server, "POST", "/api", json.dumps(request).encode(), JSON)
    return status, json.loads(body)


def raw(server: Server, text: bytes) -> bytes:
    """All that comes back to these bytes until the server closes the connection."""
    with wire_to(server) as wire:
        wire.sendall(text)
        return rest_of(wire)


def wire_to(server: Server, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(source, 0))


def rest_of(wire: socket.socket) -> bytes:
    """What the server sends until it closes the connection, even before it has read everything."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while block := wire.recv(65536):
            received += block
    return received


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_page_and_its_files(server):
    files = [path for path in (ROOT / "search" / "doors" / "web").iterdir() if path.suffix in serve.TYPES]
    expected = {f"/{file.name}": file for file in files} | {"/": ROOT / "search" / "doors" / "web" / "index.html"}
    assert set(server.site.pages) == set(expected)
    for path, file in expected.items():
        status, headers, body = fetch(server, "GET", path)
        assert (status, body) == (200, file.read_bytes())
        assert headers["Content-Type"] == serve.TYPES[file.suffix]
        assert all(headers[key] == value for key, value in HEADERS.items())
    assert fetch(server, "GET", "/?anything=1")[0] == 200
    assert fetch(server, "HEAD", "/")[2] == b""


@pytest.mark.parametrize(
    "path",
    [
        "/protocol.py", "/../protocol.py", "/..%2fprotocol.py", "/%2e%2e/protocol.py", "/web/index.html",
        "//etc/passwd", "/index.html/", "/./index.html", "/index.html%00", "/.index.html", "/etc/passwd",
        "/checkpoints/README.md", "*",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server, path):
    status, headers, body = fetch(server, "GET", path)
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(body) == {"ok": False, "error": "there is no such page; the board is at /"}
    assert all(headers[key] == value for key, value in HEADERS.items())


# --- the protocol -----------------------------------------------------------------------------------------------------


def test_answers_are_the_protocols():
    with running() as server:
        for request in (
            {"do": "info", "id": 1},
            SHOW,
            {"do": "move", "game": "connect_four", "move": "4"},
            {"do": "move", "game": "connect_four", "move": "9"},
            {"do": "stop"},
            {"do": "choose", "game": "tic_tac_toe", "position": "XX-OO----", "depth": 2},
            {"do": "analyze", "game": "tic_tac_toe", "position": "XX-OO----", "player": "criteria"},
        ):
            status, answer = ask(server, **request)
            expected = json.loads(json.dumps(PROTOCOL.answer(request, Thinker())))
            assert status == 200
            assert answer | {"seconds": 0} == expected | {"seconds": 0}


def test_one_connection_many_requests(server):
    connection = connect(server)
    for number in range(3):
        connection.request(
            "POST",
            "/api",
            json.dumps(SHOW | {"id": number}),
            JSON | {"Origin": f"http://127.0.0.1:{server.port}"},
        )
        response = connection.getresponse()
        assert json.loads(response.read())["id"] == number
        assert response.headers["Connection"] is None
    connection.close()


BODY = json.dumps(SHOW).encode()


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "message"),
    [
        ("GET", "/api", {}, None, 405, "POST to /api"),
        ("PUT", "/api", JSON, BODY, 405, "method not allowed"),
        ("DELETE", "/", {}, None, 405, "method not allowed"),
        ("OPTIONS", "/api", {}, None, 405, "method not allowed"),
        ("OPTIONS", "/api", {"Origin": "http://evil.example"}, None, 403, "pages of other sites"),
        ("POST", "/", JSON, BODY, 405, "GET the page, or POST to /api"),
        ("POST", "/nothing", JSON, BODY, 404, "there is no such page"),
        ("POST", "/api", {}, BODY, 415, "the Content-Type must be application/json"),
        ("POST", "/api", {"Content-Type": "text/plain"}, BODY, 415, "the Content-Type"),
        ("POST", "/api", {"Content-Type": "application/x-www-form-urlencoded"}, BODY, 415, "the Content-Type"),
        ("POST", "/api", JSON | {"Content-Length": str(MOST_BYTES + 1)}, BODY, 413, "longer than 65536 bytes"),
        ("POST", "/api", JSON | {"Content-Length": "9" * 20}, BODY, 413, "longer than"),
        ("POST", "/api", JSON | {"Content-Length": "9" * 30}, BODY, 400, "bad request"),
        ("POST", "/api", JSON | {"Content-Length": "-1"}, BODY, 400, "bad request"),
        ("POST", "/api", JSON, b"{", 400, "is not JSON"),
        ("POST", "/api", JSON, b"[]", 400, "is no object"),
        ("POST", "/api", JSON, b"", 400, "is not JSON"),
        ("POST", "/api", JSON | {"Host": "evil.example"}, BODY, 403, "this server answers to http://127.0.0.1:"),
        ("POST", "/api", JSON | {"Host": "127.0.0.1.evil.example:8010"}, BODY, 403, "this server answers to"),
        ("GET", "/", {"Host": "evil.example:8010"}, None, 403, "this server answers to"),
        ("GET", "/", {"Host": ""}, None, 403, "this server answers to"),
        ("GET", "/", {"Host": "[::1"}, None, 403, "this server answers to"),
        ("POST", "/api", JSON | {"Origin": "http://evil.example"}, BODY, 403, "pages of other sites"),
        ("POST", "/api", JSON | {"Origin": "null"}, BODY, 403, "pages of other sites"),
        ("POST", "/api", JSON | {"Origin": "http://127.0.0.1:1"}, BODY, 403, "pages of other sites"),
    ],
)
def test_refusals_are_json(server, method, path, headers, body, status, message):
    found, answered, text = fetch(server, method, path, body, headers)
    assert found == status
    answer = json.loads(text)
    assert set(answer) == {"ok", "error"}
    assert message in answer["error"]
    assert answered["Content-Type"] == "application/json"
    assert answered["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answered
    assert ask(server, **SHOW)[1]["ok"]


@pytest.mark.parametrize("host", ["localhost:8010", "127.0.0.1", "[::1]:9000", "LOCALHOST:1"])
def test_names_of_this_machine(server, host):
    assert fetch(server, "POST", "/api", BODY, JSON | {"Host": host, "Origin": f"http://{host}"})[0] == 200


POST = b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no Host
        (b"GET / HTTP/9.9\r\n\r\n", b"403"),
        (b"GET /" + b"x" * 20_000, b"400"),  # no end
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 5_000, b"400"),
        (POST + b"Content-Length: 2\r\nHost: localhost\r\n\r\n{}", b"400"),
        (POST + b"Content-Length: 2\r\nContent-Type: application/json\r\n\r\n{}", b"400"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"400"),
        (POST + b"Content-Length: 2\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n\r\n{}", b"400"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n{}\r\n", b"400"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"411"),
        (POST + b"\r\n", b"411"),
    ],
)
def test_broken_heads(server, text, status):
    answer = raw(server, text)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1  # and the connection is closed
    head, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)["ok"] is False
    assert b"content-security-policy" in head.lower()


def test_a_body_that_does_not_belong_there_is_no_request(server):
    body = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    first = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    second = b"GET /icon.svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw(server, first + body + second)
    assert answer.count(b"HTTP/1.1 200 OK") == answer.count(b"HTTP/1.1") == 2


def test_silence_and_sudden_ends_do_no_harm(server, capsys):
    for text in (b"", b"GET", b"POST /api HTTP/1.1\r\n", POST + b"Content-Length: 9\r\n\r\n{"):
        with wire_to(server) as wire:
            wire.sendall(text)
            wire.shutdown(socket.SHUT_WR)
            assert rest_of(wire) == b""
    assert ask(server, **SHOW)[1]["ok"]
    assert capsys.readouterr().err == ""


# --- searches ---------------------------------------------------------------------------------------------------------


class Held(Protocol):
    """A protocol whose searches wait: for each other, or until they are let go."""

    def __init__(self, parties: int) -> None:
        super().__init__(OFFER)
        self.barrier = threading.Barrier(parties)

    def answer(self, request, thinker=None, switch=None):
        if thinker is not None:
            self.barrier.wait(60)
        return super().answer(request, thinker, switch)


CHOOSE = {"do": "choose", "game": "tic_tac_toe", "player": "criteria"}


def in_thread(answers: list, server: Server, **request) -> threading.Thread:
    thread = threading.Thread(target=lambda: answers.append(ask(server, **request)))
    thread.start()
    return thread


def test_two_browsers_search_side_by_side_and_a_third_is_shown_a_position():
    answers: list = []
    with running(Held(3), threads=3) as server:
        threads = [in_thread(answers, server, **CHOOSE) for _ in range(2)]
        assert ask(server, **SHOW)[1]["ok"]  # while the two wait for each other and for a third
        assert fetch(server, "GET", "/")[0] == 200
        assert answers == []
        assert ask(server, **CHOOSE)[1]["move"] == "b2"
        for thread in threads:
            thread.join(60)
    assert [(status, answer["move"]) for status, answer in answers] == [(200, "b2")] * 2


def test_too_many_searches_are_told_so_and_room_comes_back():
    answers: list = []
    protocol = Held(2)
    with running(protocol, threads=1, waiting=1) as server:
        threads = [in_thread(answers, server, **CHOOSE) for _ in range(2)]
        while len(server.site.pool._switches) < 2:
            time.sleep(0.01)
        status, answer = ask(server, **CHOOSE, id=9)
        assert (status, answer) == (
            503,
            {"ok": False, "error": "all searches are taken; try again in a second", "id": 9},
        )
        assert ask(server, **SHOW)[0] == 200
        for _ in threads:
            protocol.barrier.wait(60)
        for thread in threads:
            thread.join(60)
        assert [status for status, _ in answers] == [200, 200]
        last = in_thread(answers, server, **CHOOSE)
        protocol.barrier.wait(60)
        last.join(60)
    assert [status for status, _ in answers] == [200] * 3


def test_a_closed_tab_ends_its_search(capsys):
    with running(threads=1) as server:
        ask(server, do="choose", game="connect_four", depth=1)  # compiles
        connection = connect(server)
        connection.request("POST", "/api", json.dumps({"do": "analyze", "game": "connect_four", "seconds": 60}), JSON)
        while not server.site.pool._switches:
            time.sleep(0.01)
        start = time.perf_counter()
        connection.close()
        assert ask(server, do="choose", game="connect_four", depth=1)[1]["ok"]  # by the same thread
        assert time.perf_counter() - start < 50
    assert capsys.readouterr().err == ""


def test_a_server_that_ends_stops_its_searches():
    answers: list = []
    with running(threads=1) as server:
        ask(server, do="choose", game="connect_four", depth=1)
        request = {"do": "choose", "game": "connect_four", "seconds": 60}
        threads = [in_thread(answers, server, **request) for _ in range(2)]
        while len(server.site.pool._switches) < 2:
            time.sleep(0.01)
        start = time.perf_counter()
    for thread in threads:
        thread.join(60)
    assert time.perf_counter() - start < 50
    assert {status for status, _ in answers} <= {200, 503}
    assert len(answers) == 2


def test_too_many_connections(monkeypatch):
    monkeypatch.setattr(serve, "CONNECTIONS", 2)
    with running() as server:
        held = [connect(server) for _ in range(2)]
        for connection in held:
            connection.request("GET", "/")
            connection.getresponse().read()
        status, _, body = fetch(server, "GET", "/")
        assert (status, json.loads(body)["error"]) == (503, "too many connections; try again")
        held[0].close()
        held[1].request("GET", "/")
        assert held[1].getresponse().status == 200


def test_one_client_cannot_keep_the_others_out(monkeypatch):
    monkeypatch.setattr(serve, "PER_ADDRESS", 2)
    with running() as server, wire_to(server) as first, wire_to(server), wire_to(server) as third:
        assert rest_of(third).startswith(b"HTTP/1.1 503")
        with wire_to(server, "127.0.0.2") as other:
            other.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert rest_of(other).startswith(b"HTTP/1.1 200")
        first.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert rest_of(first).startswith(b"HTTP/1.1 200")


def test_what_counts_as_one_client():
    assert serve.owner_of("192.0.2.1") == serve.owner_of("::ffff:192.0.2.1") != serve.owner_of("::ffff:192.0.2.2")
    assert serve.owner_of("2001:db8::1") == serve.owner_of("2001:db8::ffff:1") != serve.owner_of("2001:db8:0:1::1")


@pytest.mark.parametrize("beginning", [b"G", POST, POST + b"Content-Length: 1000\r\n\r\n{"])
def test_slow_senders_are_cut_off(monkeypatch, beginning):
    """However often they say something."""
    monkeypatch.setattr(serve, "DEADLINE", 0.3)
    with running() as server, wire_to(server) as wire:
        wire.sendall(beginning)
        wire.settimeout(0.05)
        for _ in range(400):
            try:
                answer = wire.recv(65536)
                break
            except TimeoutError:
                wire.sendall(b"a")
        wire.settimeout(60)
        answer += rest_of(wire)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "the request took longer than 0.3 seconds"


def test_a_search_may_take_longer_than_its_request(monkeypatch):
    monkeypatch.setattr(serve, "DEADLINE", 0.2)
    monkeypatch.setattr(serve, "IDLE", 0.2)
    protocol = Held(2)
    with running(protocol) as server, wire_to(server) as wire:
        body = json.dumps(CHOOSE).encode()
        upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"  # a client that offers another protocol is whole as well
        wire.sendall(POST + upgrade + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(0.6)
        protocol.barrier.wait(60)
        assert rest_of(wire).startswith(b"HTTP/1.1 200")  # and the silent connection is closed


def test_who_does_not_read_is_cut_off(monkeypatch):
    monkeypatch.setattr(serve, "IDLE", 0.3)
    with running() as server, wire_to(server) as wire:
        asking = threading.Thread(target=flood, args=(wire,))
        asking.start()
        while not (waiting := server.server_state.connections):
            time.sleep(0.01)
        while waiting:
            time.sleep(0.01)
        asking.join(60)
        assert not asking.is_alive()


def flood(wire: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            wire.sendall(b"GET /backgammon.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)


def test_mistakes_in_the_program_are_answered(caplog):
    """What the protocol cannot write, for one: numbers beyond any float."""
    with running() as server:
        _, _, body = fetch(server, "POST", "/api", b'{"do": "info", "id": 1e999}', JSON)
        assert json.loads(body)["ok"] is False
        server.site.protocol = None
        status, headers, body = fetch(server, "POST", "/api", BODY, JSON)
        assert (status, headers["Content-Type"]) == (500, "application/json")
        assert "internal error" in json.loads(body)["error"]
    assert "AttributeError" in caplog.text


def test_a_job_that_cannot_be_stopped_does_not_keep_the_program():
    code = """
import threading
from deltaw.envs.control import Switch
from deltaw.search.doors.pool import Pool
begun = threading.Event()
Pool(1).submit(lambda thinker: (begun.set(), threading.Event().wait()), Switch())
begun.wait()
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_the_warm_up_covers_every_game(monkeypatch):
    asked: list[tuple[str, str, bool]] = []
    protocol = Protocol(make_offer(["backgammon", "tic_tac_toe_three", "nim", "trees_chance"]))
    original = protocol.answer

    def answer(request, thinker=None, switch=None):
        answered = original(request, thinker, switch)
        asked.append((request["game"], request["do"], answered["ok"]))
        return answered

    monkeypatch.setattr(protocol, "answer", answer)
    serve.warm_up(protocol)
    assert {game for game, do, ok in asked if do == "choose" and ok} >= {"backgammon", "tic_tac_toe_three", "nim"}
    assert all(ok for _, _, ok in asked)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_the_program_serves_and_ends(ending, status):
    """Whatever is going on: a search of ten minutes gives the best it has, and nobody waits for who sends slowly."""
    program = subprocess.Popen(
        [sys.executable, "-m", "deltaw.search.serve", "tic_tac_toe", "connect_four", "--port", "0", "--longest", "600"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    answers: list[dict] = []

    def asked(text: bytes) -> dict:
        return json.load(urllib.request.urlopen(urllib.request.Request(url + "api", text, JSON), timeout=120))

    try:
        url = program.stdout.readline().split()[4]
        assert b"<html" in urllib.request.urlopen(url, timeout=60).read()
        assert asked(b'{"do":"choose","game":"tic_tac_toe","depth":2}')["ok"]
        assert asked(b'{"do":"choose","game":"connect_four","depth":2}')["ok"]  # compiles
        long = b'{"do":"choose","game":"connect_four","seconds":600}'
        search = threading.Thread(target=lambda: answers.append(asked(long)))
        search.start()
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2].strip("/")))) as slow:
            slow.sendall(POST + b"Content-Length: 1000\r\n\r\n{")
            time.sleep(0.5)
            program.send_signal(ending)
            assert program.wait(60) == status
        search.join(60)
        assert [answer["ok"] for answer in answers] == [True]
        assert [line for line in program.stderr if not line.startswith("compiling")] == []
    finally:
        program.kill()


def interrupted(self: Server, sockets=None) -> None:
    raise KeyboardInterrupt


def test_other_machines_are_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(Server, "run", interrupted)
    monkeypatch.setattr(serve, "warm_up", lambda protocol: None)
    status, out, err = call(main, ["nim", "--port", "0", "--host", "0.0.0.0"], capsys)
    assert (status, out[:30]) == (130, "the board is at http://0.0.0.0")
    assert err.startswith("warning: http://0.0.0.0:")
    assert err.endswith("may be reached from other machines, and there is no login\n")
    assert call(main, ["nim", "--port", "0", "--host", "localhost"], capsys)[2] == ""


def test_on_other_machines_only_the_own_page_may_ask():
    with running() as server:
        server.site.is_local = False
        assert fetch(server, "POST", "/api", BODY, JSON | {"Host": "box:80", "Origin": "http://box:80"})[0] == 200
        assert fetch(server, "POST", "/api", BODY, JSON | {"Host": "box:80", "Origin": "http://evil.example"})[0] == 403


def test_a_port_that_is_taken(server, capsys):
    assert_one_line(main, f"nim --port {server.port}", "Address already in use; choose another with --port", capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("shogi", "unknown game 'shogi'"),
        ("nim --port 70000", "port 70000: it must be from 0 to 65535"),
        ("nim --port x", "invalid int value: 'x'"),
        ("nim --port 0 --threads 0", "--threads 0: it must be from 1 to 256"),
        ("nim --port 0 --host nowhere.invalid", "cannot listen on nowhere.invalid, port 0"),
        ("nim --player lost.safetensors", "there is no evaluator file lost.safetensors"),
        ("nim --seconds 0", "--seconds 0: it must be a number from 0.01"),
    ],
)
def test_bad_command_lines(arguments, message, capsys):
    assert_one_line(main, arguments, message, capsys)
