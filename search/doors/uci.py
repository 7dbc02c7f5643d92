"""The Universal Chess Interface, in which graphical programs talk to chess engines (docs/uci.md).

One thread reads lines, so that `stop`, `ponderhit`, `isready` and `quit` are heard during a search; the other one obeys
all other lines in their order. A line that cannot be obeyed is answered with `info string error: ...` and changes
nothing.

The engine is asked level by level, each time with the table of the levels before. So every level can be told, and a
search can end between two levels.

Source: S. Meyer-Kahlen, "UCI protocol" (2006).
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs import games
from deltaw.envs.control import Switch
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Game
from deltaw.envs.games.chess.notation import uci
from deltaw.envs.path import make_path, outcome, reach
from deltaw.envs.texts import whole
from deltaw.search.databases.endings import known_endings
from deltaw.search.databases.polyglot import PolyglotBook, load_polyglot
from deltaw.search.doors.lines import Read, split_lines
from deltaw.search.doors.protocol import MOST_BYTES
from deltaw.search.doors.time_control import Budget, budget
from deltaw.search.evaluators.centipawns import to_centipawns
from deltaw.search.evaluators.named import compiled, find_evaluator
from deltaw.search.tree.algorithm import RootMove, SearchResult
from deltaw.search.tree.engine import DEEP_ENOUGH, Engine
from deltaw.search.tree.transposition import ABOUT, ENTRY_BYTES, entry_move, find, table_key

MEGABYTE = 1 << 20
LONGEST_TIME = 10**12
"""milliseconds; a clock that shows more is a mistake"""
SAMPLE = 1000
"""entries of the table that are looked at to say how full it is"""

EMPTY = "<empty>"
"""how UCI writes a text of no characters"""

HEARD_AT_ONCE = ("stop", "ponderhit")

Write = Callable[[str], object]
"""takes a line; called by two threads"""


# --- options ----------------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """An option that the GUI may set."""

    kind: str
    """spin, check or string, as UCI calls whole numbers, yes or no, and texts"""
    default: Any
    least: int = 0
    most: int = 0

    def told(self, name: str) -> str:
        shown = str(self.default).lower() if self.kind == "check" else self.default
        limits = f" min {self.least} max {self.most}" if self.kind == "spin" else ""
        return f"option name {name} type {self.kind} default {shown}{limits}"

    def read(self, name: str, text: str) -> Any:
        if self.kind == "string":
            return text
        if self.kind == "check":
            if text not in ("true", "false"):
                raise InputError(f"{name} is true or false, not {short(text)}")
            return text == "true"
        return number(name, text, self.least, self.most)


def make_options(game: Game, evaluator: str) -> dict[str, Option]:
    return {
        "Hash": Option("spin", 32, 1, 65536),
        "Threads": Option("spin", 1, 1, 1),
        "MultiPV": Option("spin", 1, 1, game.rules.max_moves),
        "Ponder": Option("check", False),
        "UCI_Chess960": Option("check", False),
        "Move Overhead": Option("spin", 100, 0, 5000),
        "Evaluator": Option("string", evaluator),
        "OwnBook": Option("check", False),
        "BookFile": Option("string", EMPTY),
    }


def number(name: str, text: str, least: int, most: int) -> int:
    try:
        value = whole(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise InputError(f"{name} is a whole number from {least} to {most}, not {short(text)}")
    return value


# --- a search, as both threads see it ---------------------------------------------------------------------------------


class Task:
    """A line to obey. That of a search can be stopped from the moment in which it was read."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.switch = words, Switch()
        self.is_search = words[0] == "go"
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._seconds: float | None = None
        self._begun: float | None = None if "ponder" in words else time.perf_counter()
        self._may_answer = threading.Event()
        if not {"ponder", "infinite"} & set(words):
            self._may_answer.set()

    @property
    def elapsed(self) -> float:
        """Seconds on the own clock, which stands still while the opponent thinks."""
        return 0.0 if self._begun is None else time.perf_counter() - self._begun

    def limit(self, seconds: float) -> None:
        """The search is stopped so long after its beginning."""
        with self._lock:
            self._seconds = seconds
            self._start_timer()

    def ponderhit(self) -> None:
        """The opponent has played the expected move: the own clock runs from now."""
        with self._lock:
            if self._begun is None:
                self._begun = time.perf_counter()
                self._start_timer()
                self._may_answer.set()

    def _start_timer(self) -> None:
        if self._seconds is not None and self._begun is not None:
            self._timer = threading.Timer(max(self._seconds - self.elapsed, 0.0), self.switch.stop)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        self.switch.stop()
        self._may_answer.set()

    def finish(self) -> None:
        """Waits until the answer may be given: not before `stop` or `ponderhit` where the GUI said so."""
        self._may_answer.wait()
        if self._timer is not None:
            self._timer.cancel()


class Limits(NamedTuple):
    """What a `go` line says."""

    depth: int | None = None
    nodes: int | None = None
    movetime: int | None = None
    mate: int | None = None
    wtime: int | None = None
    btime: int | None = None
    winc: int | None = None
    binc: int | None = None
    movestogo: int | None = None
    """times in milliseconds"""
    searchmoves: tuple[str, ...] = ()

    def clock(self, seat: int, overhead: int) -> Budget | None:
        """What the clock of the side to move allows, in seconds."""
        if self.movetime is not None:
            return Budget(float("inf"), self.movetime / 1000)
        left, increment = ((self.wtime, self.winc), (self.btime, self.binc))[seat]
        if left is None:
            return None
        return budget(left / 1000, (increment or 0) / 1000, self.movestogo, overhead / 1000)


LEAST = {"wtime": -LONGEST_TIME, "btime": -LONGEST_TIME, "mate": 1, "depth": 1}
"""clocks may be overdrawn; the others begin at 0"""
MOST = {"depth": DEEP_ENOUGH}


def read_limits(words: list[str]) -> Limits:
    said: dict[str, Any] = {}
    waiting = iter(words)
    for word in waiting:
        if word == "searchmoves":
            said[word] = tuple(waiting)
        elif word in Limits._fields:
            value = number(word, next(waiting, "nothing"), LEAST.get(word, 0), LONGEST_TIME)
            said[word] = min(value, MOST.get(word, value))
        elif word not in ("infinite", "ponder"):
            raise InputError(f"go does not know {short(word)}; it knows infinite, ponder, {', '.join(Limits._fields)}")
    return Limits(**said)


class Position(NamedTuple):
    """A game so far."""

    start: str
    moves: tuple[str, ...]
    state: Any
    path: np.ndarray


# --- the lines ------------------------------------------------------------------------------------------------------


class Inbox:
    """Reads lines in a thread of its own, and obeys at once those that are for the search that runs or waits."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write
        self._waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._searches: list[Task] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, name="deltaw-uci", daemon=True).start()

    def __iter__(self) -> Iterator[Task]:
        """Tasks in their order, until `quit` or the end of the input."""
        while (task := self._waiting.get()) is not None:
            yield task
            with self._lock:
                self._searches = [search for search in self._searches if search is not task]

    def _listen(self) -> None:
        try:
            for line in split_lines(self._read):
                words = (line or b"").decode(errors="replace").split()
                if line is None:
                    self._write(f"info string error: the line is longer than {MOST_BYTES} bytes")
                elif words == ["quit"]:
                    break
                elif words:
                    self._take(words)
        except OSError as error:
            print(f"error: cannot read the standard input: {error.strerror}", file=sys.stderr)
        finally:
            self._take(["stop"])
            self._waiting.put(None)

    def _take(self, words: list[str]) -> None:
        with self._lock:
            searches = list(self._searches)
            if words[0] == "go":
                self._searches.append(task := Task(words))
                self._waiting.put(task)
                return
        if words[0] in HEARD_AT_ONCE:
            for search in searches:
                search.stop() if words[0] == "stop" else search.ponderhit()
        elif words == ["isready"] and searches:
            self._write("readyok")
        else:
            self._waiting.put(Task(words))


def converse(door: UciDoor, read: Read) -> None:
    """Obeys everything that is read."""
    for task in Inbox(read, door.write):
        door.obey(task)


# --- the conversation -------------------------------------------------------------------------------------------------


class UciDoor:
    """Obeys one line after the other. Raises InputError where the evaluator named `evaluator` cannot search."""

    def __init__(self, evaluator: str, write: Write) -> None:
        self.game, self.write = games.load("chess"), write
        self.options = make_options(self.game, evaluator)
        self.values = {name: option.default for name, option in self.options.items()}
        self.engine = self._make_engine(self.values)
        self.position = self._start_of("startpos")
        self._loaded = False
        self._book: PolyglotBook | None = None
        self._random = np.random.default_rng()

    def obey(self, task: Task) -> None:
        name, *words = task.words
        commands: dict[str, Callable[[], object]] = {
            "uci": self._introduce,
            "isready": self._be_ready,
            "ucinewgame": self.engine.forget,
            "setoption": lambda: self._set(words),
            "position": lambda: self._set_up(words),
            "go": lambda: self._go(task, words),
        }
        try:
            if name not in commands:
                raise InputError(f"unknown command {short(name)}; there are {', '.join([*commands, *HEARD_AT_ONCE])}")
            commands[name]()
        except InputError as error:
            self.write(f"info string error: {error}")

    def _introduce(self) -> None:
        self.write("id name deltaw")
        self.write("id author the authors of deltaw")
        for name, option in self.options.items():
            self.write(option.told(name))
        self.write("uciok")

    def _be_ready(self) -> None:
        self._load()
        self.write("readyok")

    def _load(self) -> None:
        """Compiles or loads the kernels, so that no clock runs meanwhile."""
        if not self._loaded:
            self.engine.search(self._start_of("startpos").state, depth=1)
            self._loaded = True

    # --- options

    def _set(self, words: list[str]) -> None:
        if words[:1] != ["name"]:
            raise InputError(f"setoption name NAME value VALUE is right, not {short(' '.join(words))}")
        split = words.index("value") if "value" in words else len(words)
        said, text = " ".join(words[1:split]), " ".join(words[split + 1 :])
        name = next((name for name in self.options if name.lower() == said.lower()), None)
        if name is None:
            raise InputError(f"there is no option {short(said)}; there are {', '.join(self.options)}")
        values = self.values | {name: self.options[name].read(name, text)}
        if values["BookFile"] != self.values["BookFile"]:
            file = values["BookFile"]
            self._book = load_polyglot(file, self.game) if file not in ("", EMPTY) else None
        if any(values[name] != self.values[name] for name in ("Hash", "Evaluator")):
            self.engine, self._loaded = self._make_engine(values), False
        self.values = values

    def _make_engine(self, values: dict[str, Any]) -> Engine:
        entries = values["Hash"] * MEGABYTE // ENTRY_BYTES
        evaluator = compiled(find_evaluator(self.game, values["Evaluator"]))
        return Engine(self.game, evaluator, entries=1 << entries.bit_length() - 1, known=known_endings(self.game))

    # --- the position

    def _start_of(self, text: str) -> Position:
        state = self.game.read_position("start" if text == "startpos" else text.removeprefix("fen "))
        return Position(text, (), state, make_path(self.game.rules))

    def _set_up(self, words: list[str]) -> None:
        """A game that goes on is not played again from its beginning."""
        split = words.index("moves") if "moves" in words else len(words)
        start, moves = " ".join(words[:split]), tuple(words[split + 1 :])
        if start != "startpos" and words[:1] != ["fen"]:
            raise InputError(f"position startpos or position fen FEN is right, not {short(start)}")
        known = self.position
        if start != known.start or known.moves != moves[: len(known.moves)]:
            known = self._start_of(start)
        state, path = known.state, known.path.copy()
        for text in moves[len(known.moves) :]:
            move = self.game.find_move(state, text)
            reach(self.game.rules, path, state)
            state = self.game.unrow(self.game.row(self.game.rules.play(state, move)))
        self.position = Position(start, moves, state, path)

    # --- searching

    def _go(self, task: Task, words: list[str]) -> None:
        limits = read_limits(words)
        state, path = running(self.game, self.position)
        legal = self.game.moves(state)
        wanted = [self.game.find_move(state, text) for text in limits.searchmoves]
        self._load()
        clock = limits.clock(int(state.seat), self.values["Move Overhead"])
        if clock is not None:
            task.limit(clock.hard)
        best = tuple((wanted or legal)[:1])
        if not legal:
            self.write(f"info depth 0 score {'mate 0' if self.game.rules.outcome(state)[1] else 'cp 0'}")
        elif not self.game.rules.outcome(state)[0]:
            booked = self._book_move(state, words)
            best = (booked,) if booked is not None else self._think(task, state, path, limits, clock, wanted) or best
        task.finish()
        texts = [uci(state, move, self.values["UCI_Chess960"]) for move in best[:1]]
        if len(best) > 1:
            after = self.game.unrow(self.game.row(self.game.rules.play(state, best[0])))
            texts += ["ponder", uci(after, best[1], self.values["UCI_Chess960"])]
        self.write(f"bestmove {' '.join(texts) or '(none)'}")

    def _book_move(self, state: Any, words: list[str]) -> int | None:
        """A move of the book, where it is to be used and the GUI wants a move rather than an analysis."""
        if self._book is None or not self.values["OwnBook"] or {"infinite", "searchmoves", "mate"} & set(words):
            return None
        return self._book.pick(state, int(self._random.integers(1 << 62)))

    def _think(
        self, task: Task, state: Any, path: np.ndarray, limits: Limits, clock: Budget | None, wanted: list[int]
    ) -> tuple[int, ...]:
        """The best line of the running game `state`, told level by level; it begins with one of `wanted`, if there are
        any. Empty where there was no time for a level."""
        lines, begun = self.values["MultiPV"], time.perf_counter()
        best: tuple[int, ...] = ()
        with task.switch:
            for found in levels(self.engine, state, path, limits.depth, limits.nodes, full=lines > 1 or bool(wanted)):
                ranked = [
                    move if move.line else move._replace(line=self._known_line(state, move.move, found.depth))
                    for move in best_first(found, wanted)[:lines]
                ]
                if ranked:
                    best = ranked[0].line
                    self._tell(state, found, ranked, time.perf_counter() - begun)
                    if limits.mate is not None and wins_within(ranked[0], limits.mate):
                        break
                if clock is not None and not clock.allows_level(task.elapsed):
                    break
        return best

    def _tell(self, state: Any, found: SearchResult, ranked: list[RootMove], seconds: float) -> None:
        used = int(np.count_nonzero(self.engine.table[:SAMPLE, ABOUT])) * 1000 // min(SAMPLE, len(self.engine.table))
        speed = f"nodes {found.nodes} nps {round(found.nodes / max(seconds, 1e-3))} hashfull {used}"
        for place, move in enumerate(ranked, start=1):
            number = f" multipv {place}" if self.values["MultiPV"] > 1 else ""
            line = " ".join(self._line(state, move.line))
            self.write(
                f"info depth {found.depth}{number} score {score(move)} {speed} time {round(1000 * seconds)} pv {line}"
            )

    def _known_line(self, state: Any, move: int, most: int) -> tuple[int, ...]:
        """At most so many moves from `move` on, as the table remembers them."""
        rules, engine, line = self.game.rules, self.engine, [move]
        while len(line) < most:
            state = rules.play(state, line[-1])
            row = find(engine.table, table_key(rules, state, engine.deep.version))
            if row < 0 or entry_move(engine.table, row) not in self.game.moves(state):
                break
            line.append(int(entry_move(engine.table, row)))
        return tuple(line)

    def _line(self, state: Any, moves: Iterable[int]) -> Iterator[str]:
        for move in moves:
            yield uci(state, move, self.values["UCI_Chess960"])
            state = self.game.unrow(self.game.row(self.game.rules.play(state, move)))


def running(game: Game, position: Position) -> tuple[Any, np.ndarray]:
    """The position that is searched, and its path. Where only a player's claim would end the game, by a repetition or
    by 50 moves, the GUI may want it to go on: it then begins here."""
    state, path = position.state, position.path
    if outcome(game.rules, path, state)[0]:
        return state._replace(clock=0), make_path(game.rules)
    return state, path


def levels(
    engine: Engine, state: Any, path: np.ndarray, depth: int | None, nodes: int | None, *, full: bool
) -> Iterator[SearchResult]:
    """What the engine finds at depth 1, 2 ..., until a limit or the thread's `Switch` ends it, or a greater depth would
    change nothing. `nodes` are those of all levels so far."""
    spent, deepest = 0, 0
    for level in range(1, (depth or DEEP_ENOUGH) + 1):
        left = None if nodes is None else max(nodes - spent, 0)
        found = engine.search(state, depth=level, nodes=left, full=full, path=path)
        spent += found.nodes
        if found.depth >= deepest:  # one that was broken off early knows less than the one before
            deepest = found.depth
            yield found._replace(nodes=spent)
        if not found.complete or found.proven:
            return


def best_first(found: SearchResult, wanted: list[int]) -> list[RootMove]:
    """The moves that have values (those of `wanted`, if there are any); the best one has its line."""
    best = RootMove(found.variation[0], found.value, found.distance, line=found.variation) if found.variation else None
    others = [move for move in found.ranked if best is None or move.move != best.move]
    ranked = ([best] if best is not None else []) + others
    return [move for move in ranked if not wanted or move.move in wanted]


def mate_in(move: RootMove) -> int | None:
    """Moves of the winner to the end of the game, negative where it is lost; None where neither is known."""
    if move.distance is None:
        return None
    return (move.distance + 1) // 2 if (move.value or 0.0) > 0 else -(move.distance // 2)


def wins_within(move: RootMove, moves: int) -> bool:
    mate = mate_in(move)
    return mate is not None and 0 < mate <= moves


def score(move: RootMove) -> str:
    mate = mate_in(move)
    return f"cp {to_centipawns(move.value or 0.0)}" if mate is None else f"mate {mate}"
