"""The line protocol: order, `stop` in the middle of a search, long and broken lines, and the program as others start
it."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest
from command_lines import assert_one_line
from conftest import ROOT

from deltaw.search.doors.lines import Inbox, converse, split_lines
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import MOST_BYTES, Pace, Protocol
from deltaw.search.lines import main

PROTOCOL = Protocol(make_offer(["tic_tac_toe", "connect_four"]), Pace(1.0, 60.0))


def blocks(*parts: bytes):
    """A source that gives `parts` and then its end."""
    waiting = iter(parts)
    return lambda: next(waiting, b"")


def talk(*requests: dict | bytes) -> list[dict]:
    """The answers to lines that are all there at once."""
    lines = [request if isinstance(request, bytes) else json.dumps(request).encode() for request in requests]
    answers: list[dict] = []
    converse(PROTOCOL, blocks(b"\n".join(lines)), lambda line: answers.append(json.loads(line)))
    return answers


class Wire:
    """A conversation with a program that runs in a thread."""

    def __init__(self) -> None:
        self._requests: queue.Queue[bytes] = queue.Queue()
        self._answers: queue.Queue[bytes] = queue.Queue()
        self.thread = threading.Thread(target=converse, args=(PROTOCOL, self._requests.get, self._answers.put))
        self.thread.start()

    def send(self, **request) -> None:
        self._requests.put(json.dumps(request).encode() + b"\n")

    def receive(self) -> dict:
        return json.loads(self._answers.get(timeout=60))

    def end(self) -> None:
        self._requests.put(b"")
        self.thread.join(60)
        assert not self.thread.is_alive()


# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([], []),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\nc", b"\n", b"d"], [b"ab", b"c", b"d"]),
        ([b"x" * MOST_BYTES + b"\n"], [b"x" * MOST_BYTES]),
        ([b"x" * MOST_BYTES, b"x\na"], [None, b"a"]),
        ([b"x" * 50_000] * 5 + [b"\na\n"], [None, b"a"]),
        ([b"x" * 50_000] * 5, [None]),
    ],
)
def test_lines_are_split_and_long_ones_dropped(parts, lines):
    assert list(split_lines(blocks(*parts))) == lines


def test_answers_come_in_order_and_bad_lines_do_no_harm():
    answers = talk(
        {"do": "show", "game": "tic_tac_toe", "id": 1},
        b"",
        b"   \r",
        b"nonsense",
        b"x" * (MOST_BYTES + 1),
        {"do": "dance", "id": "any thing"},
        {"do": "choose", "game": "tic_tac_toe", "position": "XX-OO----", "depth": 3, "id": None},
        {"do": "quit", "id": 5, "why": 1},
        {"do": "info", "id": 6},
    )
    assert [answer.get("id") for answer in answers] == [1, None, None, "any thing", None, 5, 6]
    assert [answer["ok"] for answer in answers] == [True, False, False, False, True, False, True]
    assert "is not JSON" in answers[1]["error"]
    assert "id" in answers[1]
    assert "longer than 65536 bytes" in answers[2]["error"]
    assert answers[3]["error"].endswith(
        "it is one of: info, show, roll, move, write, read, replay, analyze, choose, stop, quit"
    )
    assert answers[4]["move"] == "c1"
    assert answers[5]["error"] == "quit takes no 'why'; it takes: nothing"


def test_ids_that_cannot_be_given_back_are_refused_and_the_door_stays_open():
    nested = b'{"do": "info", "id": ' + b"[" * 1000 + b"]" * 1000 + b"}"
    dice = b'{"do": "show", "game": "tic_tac_toe", "dice": ' + b"[" * 1000 + b"]" * 1000 + b', "id": 1}'
    answers = talk(b'{"do": "info", "id": 1e999}', nested, dice, {"do": "info", "id": [1]}, {"do": "info", "id": 2})
    assert [(answer["ok"], answer["id"]) for answer in answers] == [(False, None)] * 4 + [(True, 2)]
    reasons = [
        "no finite number",
        "nested more than 32 levels",
        "nested more than 32 levels",
        '"id" is [1]; it must be',
    ]
    assert all(reason in answer["error"] for reason, answer in zip(reasons, answers, strict=False))


def test_quit_is_the_last():
    assert talk({"do": "info"}, {"do": "quit", "id": 2}, {"do": "info"})[1:] == [{"ok": True, "id": 2}]


def test_stop_ends_a_search_that_runs():
    wire = Wire()
    wire.send(do="choose", game="connect_four", depth=1)  # compiles
    assert wire.receive()["ok"]
    wire.send(do="choose", game="connect_four", seconds=60, id=1)
    wire.send(do="show", game="connect_four", id=2)
    time.sleep(0.2)
    start = time.perf_counter()
    wire.send(do="stop", id=3)
    answers = [wire.receive() for _ in range(3)]
    assert time.perf_counter() - start < 30  # of the 60 that it was allowed
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[0]["move"] in "1234567"
    assert answers[0]["seconds"] < 30
    assert answers[2] == {"ok": True, "id": 3}
    wire.send(do="choose", game="connect_four", depth=2)
    assert wire.receive()["depth"] == 2  # what comes after `stop` is not stopped
    wire.end()


def test_stop_reaches_searches_that_have_not_begun():
    search = {"do": "analyze", "game": "connect_four", "seconds": 60}
    start = time.perf_counter()
    answers = talk(search, search, {"do": "stop"})
    assert time.perf_counter() - start < 60
    assert [answer["ok"] for answer in answers] == [True] * 3
    assert all(answer["ranked"] for answer in answers[:2])


def test_an_input_that_breaks_ends_the_program(capsys):
    def broken() -> bytes:
        raise OSError(5, "Input/output error")

    assert list(Inbox(broken)) == []
    assert capsys.readouterr().err == "error: cannot read the standard input: Input/output error\n"


# --- the program ------------------------------------------------------------------------------------------------------


def start(*arguments: str) -> subprocess.Popen:
    """`deltaw lines`, which hears Ctrl-C even where its parent ignores it."""
    return subprocess.Popen(
        [sys.executable, "-m", "deltaw.search.lines", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def complaints(program: subprocess.Popen) -> bytes:
    return b"".join(line for line in program.stderr if not line.startswith(b"compiling"))


def test_ctrl_c_in_the_middle_of_a_search():
    program = start("tic_tac_toe", "connect_four", "--longest", "600")
    program.stdin.write(b'{"do":"choose","game":"connect_four","depth":1}\n')
    program.stdin.flush()
    assert json.loads(program.stdout.readline())["ok"]
    program.stdin.write(b'{"do":"choose","game":"connect_four","seconds":600}\n')
    program.stdin.flush()
    time.sleep(0.3)
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130
    assert complaints(program) == b""


def test_a_reader_that_goes_away_is_no_error():
    program = start("tic_tac_toe")
    program.stdout.close()
    program.stdin.write(b'{"do":"info"}\n' * 3)
    program.stdin.flush()  # and stays open: the program ends by itself
    assert program.wait(60) == 0
    assert complaints(program) == b""


def test_the_example_client_plays_a_whole_game():
    client = str(ROOT / "docs" / "examples" / "client.py")
    done = subprocess.run([sys.executable, client, "tic_tac_toe"], cwd=ROOT, capture_output=True, text=True, check=True)
    moves = [line for line in done.stdout.splitlines() if line.startswith("player")]
    assert len(moves) == 9
    assert done.stdout.endswith("points: [0.0, 0.0]\n")  # two good players draw
    failed = subprocess.run([sys.executable, client, "shogi"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == "error: the program has ended"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the following arguments are required: GAME"),
        ("shogi", "unknown game 'shogi'"),
        ("nim --player network", "no evaluator 'network' for nim"),
        ("nim --seconds 20", "--seconds 20: it must be a number from 0.01 to --longest, which is 10"),
        ("nim --seconds nan", "--seconds nan"),
        ("nim --longest inf", "--longest inf"),
        ("nim --port 3", "unrecognized arguments: --port"),
    ],
)
def test_bad_command_lines(arguments, message, capsys):
    assert_one_line(main, arguments, message, capsys)
