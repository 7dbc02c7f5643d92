"""The web board's server: files by a fixed list, every refusal as JSON, searches side by side, and browsers that go away."""

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

from search import serve
from search.offer import make_offer
from search.protocol import MOST_BYTES, Pace, Protocol
from search.serve import HEADERS, Server, main, make_server
from search.thinker import Thinker

OFFER = make_offer(["tic_tac_toe", "connect_four"])
PROTOCOL = Protocol(OFFER, Pace(0.05, 60.0))
SHOW = {"do": "show", "game": "tic_tac_toe"}
JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def running(protocol: Protocol = PROTOCOL, **options) -> Iterator[Server]:
    server = make_server(protocol, "127.0.0.1", 0, **{"threads": 2} | options)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        server.pool.close()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as one:
        yield one


def connect(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)


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
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as wire:
        wire.sendall(text)
        wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(65536), b""))


# --- files ----------------------------------------------------------------------------------------------------------------


def test_the_page_and_its_files(server):
    names = sorted(path.name for path in (ROOT / "search" / "web").iterdir() if path.suffix in serve.TYPES)
    assert sorted(server.files) == sorted(["/", *(f"/{name}" for name in names)])
    for path, name in server.files.items():
        status, headers, body = fetch(server, "GET", path)
        assert (status, body) == (200, (ROOT / "search" / "web" / name).read_bytes())
        assert headers["Content-Type"] == serve.TYPES["." + name.rpartition(".")[2]]
        assert all(headers[key] == value for key, value in HEADERS.items())
    assert fetch(server, "GET", "/?anything=1")[0] == 200
    assert fetch(server, "HEAD", "/")[2] == b""


@pytest.mark.parametrize(
    "path",
    [
        "/protocol.py", "/../protocol.py", "/..%2fprotocol.py", "/%2e%2e/protocol.py", "/web/index.html", "//etc/passwd",
        "/index.html/", "/./index.html", "/index.html%00", "/.index.html", "/etc/passwd", "/checkpoints/README.md", "*",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server, path):
    status, headers, body = fetch(server, "GET", path)
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(body) == {"ok": False, "error": "there is no such page; the board is at /"}
    assert all(headers[key] == value for key, value in HEADERS.items())


# --- the protocol ---------------------------------------------------------------------------------------------------------


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
            JSON | {"Origin": f"http://127.0.0.1:{server.server_port}"},
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
        ("OPTIONS", "/api", {"Origin": "http://evil.example"}, None, 405, "method not allowed"),
        ("POST", "/", JSON, BODY, 404, "nothing to POST to but /api"),
        ("POST", "/api", {}, BODY, 415, "the Content-Type must be application/json"),
        ("POST", "/api", {"Content-Type": "text/plain"}, BODY, 415, "the Content-Type"),
        ("POST", "/api", {"Content-Type": "application/x-www-form-urlencoded"}, BODY, 415, "the Content-Type"),
        ("POST", "/api", JSON | {"Content-Length": str(MOST_BYTES + 1)}, BODY, 413, "longer than 65536 bytes"),
        ("POST", "/api", JSON | {"Content-Length": "9" * 30}, BODY, 413, "longer than"),
        ("POST", "/api", JSON | {"Content-Length": "-1"}, BODY, 411, "Content-Length"),
        ("POST", "/api", JSON | {"Transfer-Encoding": "chunked"}, BODY, 411, "Content-Length"),
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


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % i for i in range(200)) + b"\r\n", b"431"),
        (
            b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
            b"400",
        ),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nGET", b"200"),
    ],
)
def test_broken_heads(server, text, status):
    answer = raw(server, text)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1  # and the connection is closed
    assert b"Traceback" not in answer


def test_silence_and_sudden_ends_do_no_harm(server, capsys):
    for text in (b"", b"GET", b"POST /api HTTP/1.1\r\n"):
        assert b"200" not in raw(server, text)
    assert ask(server, **SHOW)[1]["ok"]
    assert capsys.readouterr().err == ""


# --- searches -------------------------------------------------------------------------------------------------------------


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
        while len(server.pool._switches) < 2:
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
        while not server.pool._switches:
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
        while len(server.pool._switches) < 2:
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


def test_a_job_that_cannot_be_stopped_does_not_keep_the_program():
    code = """
import threading
from search.control import Switch
from search.pool import Pool
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


# --- the command ----------------------------------------------------------------------------------------------------------


def test_the_program_serves_and_ends_at_ctrl_c():
    program = subprocess.Popen(
        [sys.executable, "-m", "search.serve", "tic_tac_toe", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    url = program.stdout.readline().split()[4]
    assert b"<html" in urllib.request.urlopen(url, timeout=60).read()
    request = urllib.request.Request(url + "api", b'{"do":"choose","game":"tic_tac_toe","depth":2}', JSON)
    assert json.loads(urllib.request.urlopen(request, timeout=60).read())["ok"]
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130
    assert [line for line in program.stderr if not line.startswith("compiling")] == []


def interrupted(self: Server) -> None:
    raise KeyboardInterrupt


def test_other_machines_are_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(Server, "serve_forever", interrupted)
    monkeypatch.setattr(serve, "warm_up", lambda protocol: None)
    status, out, err = call(main, ["nim", "--port", "0", "--host", "0.0.0.0"], capsys)
    assert (status, out[:30]) == (130, "the board is at http://0.0.0.0")
    assert err.startswith("warning: http://0.0.0.0:")
    assert err.endswith("may be reached from other machines, and there is no login\n")
    assert call(main, ["nim", "--port", "0", "--host", "localhost"], capsys)[2] == ""


def test_on_other_machines_only_the_own_page_may_ask():
    with running() as server:
        server.is_local = False
        assert fetch(server, "POST", "/api", BODY, JSON | {"Host": "box:80", "Origin": "http://box:80"})[0] == 200
        assert fetch(server, "POST", "/api", BODY, JSON | {"Host": "box:80", "Origin": "http://evil.example"})[0] == 403


def test_a_port_that_is_taken(server, capsys):
    assert_one_line(
        main, f"nim --port {server.server_port}", "Address already in use; choose another with --port", capsys
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("chess", "unknown game 'chess'"),
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
