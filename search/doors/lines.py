"""JSON lines over standard input and output, the door for programs (docs/protocol.md)."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from deltaw.envs.cli import Parser
from deltaw.envs.control import Switch
from deltaw.envs.errors import InputError
from deltaw.search.doors.protocol import (
    KEYS,
    LONGEST,
    MOST_BYTES,
    SECONDS,
    Pace,
    Protocol,
    check_keys,
    failure,
    read_request,
    success,
    write_answer,
)
from deltaw.search.doors.thinker import Thinker

STOP, QUIT = "stop", "quit"
LINE_KEYS = KEYS | {STOP: (), QUIT: ()}
MOST_WAITING = 256
"""requests that are read ahead"""
BLOCK = 1 << 16
UNREAD: dict[str, Any] = {"id": None}
"""stands for a line that is no request: its answer has the id null, so that a program can tell it from the others"""

Read = Callable[[], bytes]
"""the next bytes of the input, b"" at its end"""


class Item(NamedTuple):
    """A line that waits to be answered."""

    request: dict[str, Any] | None
    """None: it was no request"""
    do: str | None
    error: str
    """why it cannot be granted, or empty"""
    switch: Switch


class Inbox:
    """Reads requests in a thread of its own, so that `stop` is heard during a search."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._waiting: queue.Queue[Item | None] = queue.Queue(MOST_WAITING)
        self._switches: list[Switch] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, name="deltaw-lines", daemon=True).start()

    def __iter__(self) -> Iterator[Item]:
        """Requests in their order, until `quit` or the end of the input."""
        while (item := self._waiting.get()) is not None:
            yield item
            with self._lock:
                self._switches.remove(item.switch)

    def _listen(self) -> None:
        try:
            for line in split_lines(self._read):
                if line is not None and not line.strip():
                    continue
                item = _item(line)
                self._put(item, stopping=item.do in (STOP, QUIT))
                if item.do == QUIT:
                    break
        except OSError as error:
            print(f"error: cannot read the standard input: {error.strerror}", file=sys.stderr)
        finally:
            self._waiting.put(None)

    def _put(self, item: Item, stopping: bool) -> None:
        with self._lock:
            for switch in self._switches if stopping else ():
                switch.stop()
            self._switches.append(item.switch)
        self._waiting.put(item)


def _item(line: bytes | None) -> Item:
    request = None
    try:
        if line is None:
            raise InputError(f"the request is longer than {MOST_BYTES} bytes")
        request = read_request(line)
        return Item(request, check_keys(request, LINE_KEYS), "", Switch())
    except InputError as error:
        return Item(request, None, str(error), Switch())


def split_lines(read: Read) -> Iterator[bytes | None]:
    """The lines of the input without their ends. A line longer than a request may be is read to its end but not kept,
    and gives None."""
    rest, too_long = b"", False
    while block := read():
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield None if too_long or len(line) > MOST_BYTES else line
            too_long = False
        if len(rest) > MOST_BYTES:
            rest, too_long = b"", True
    if rest or too_long:
        yield None if too_long else rest


def answer(protocol: Protocol, thinker: Thinker, item: Item) -> dict[str, Any]:
    if item.request is None or item.error:
        return failure(item.error, item.request or UNREAD)
    if item.do in (STOP, QUIT):
        return success(item.request)
    return protocol.answer(item.request, thinker, item.switch)


def converse(protocol: Protocol, read: Read, write: Callable[[bytes], object]) -> None:
    """Answers everything that is read."""
    thinker = Thinker()
    for item in Inbox(read):
        write(write_answer(answer(protocol, thinker, item)) + b"\n")


def add_player_options(parse: Parser) -> None:
    """The options that both doors have."""
    parse.add_argument(
        "--player",
        "--evaluator",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="evaluators or baselines by name, or evaluator files; the first of a game is its default "
        "(a game for which none is named: its shipped evaluators and baselines)",
    )
    parse.add_argument(
        "--seconds", type=float, default=SECONDS, help="of a search, unless a request says more or less (%(default)g)"
    )
    parse.add_argument(
        "--longest", type=float, default=LONGEST, help="seconds that a request may ask for at most (%(default)g)"
    )


def pace_of(seconds: float, longest: float) -> Pace:
    """Raises InputError for a time that makes no sense."""
    if not 0.01 <= longest <= 86400:
        raise InputError(f"--longest {longest:g}: it must be a number of seconds from 0.01 to 86400")
    if not 0.01 <= seconds <= longest:
        raise InputError(f"--seconds {seconds:g}: it must be a number from 0.01 to --longest, which is {longest:g}")
    return Pace(seconds, longest)
