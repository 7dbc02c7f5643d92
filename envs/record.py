"""Whole games as data and as files: where a game began, and everything that happened after that.

    read_games(game, path), write_games(game, path, records)      the ending of the file's name says how it is written
    replay(game, record)                                          every position with what happened there

Every game has JSON lines (`.jsonl`), one game a line:

    {"game": "backgammon", "players": ["network", "pubeval"], "start": "start", "steps": ["31", "8/5 6/5", ...],
     "payoffs": [1, -1]}

`steps` are chance outcomes and moves as they come, each in the game's notation: the position says which of the two is
due. Players and payoffs are in the order of turns: first whoever is first to move. A game that was not finished has
null payoffs. Formats of a game's own community are in `Game.files`, such as backgammon's `.mat`.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import START, Game, GameFile
from deltaw.envs.path import expand, is_forbidden, make_path, reach
from deltaw.envs.texts import read_json
from deltaw.envs.turn import after_chance, end, payoffs_by_seat

JSON_LINES = ".jsonl"


class Event(NamedTuple):
    """What happened in one position."""

    is_chance: bool
    code: int
    """number of the chance outcome (as `pick_chance` of `envs/turn.py` picks it), or move code"""


class Course(NamedTuple):
    """A game so far. Never changed: `follow` makes another."""

    state: Any
    plies: int
    """moves made"""
    path: np.ndarray
    """see `envs/path.py`"""
    events: tuple[Event, ...] = ()


class GameRecord(NamedTuple):
    """One game. P players."""

    start: Any
    """State before the first event"""
    players: tuple[str, ...]
    """names [P] in the order of turns, whoever moves first being the first"""
    events: tuple[Event, ...]
    payoffs: tuple[float, ...] | None
    """[P] in the same order, in outcome units; None: not finished"""
    notes: tuple[str, ...] = ()
    """what a file said besides and is not kept, such as a doubling cube"""


# --- what happened ------------------------------------------------------------------------------------------------


def plain_state(game: Game, state: Any) -> Any:
    """The state with Python integers: kernels return others."""
    return game.state(*(int(field) for field in state))


def initial_state(game: Game) -> Any:
    return plain_state(game, game.rules.initial())


def after(game: Game, state: Any, event: Event) -> Any:
    """The position that follows."""
    if event.is_chance:
        return plain_state(game, after_chance(game.rules, state, event.code))
    return plain_state(game, game.rules.play(state, event.code))


def begin(game: Game, start: Any) -> Course:
    """A game that begins in this position."""
    return Course(start, 0, make_path(game.rules))


def follow(game: Game, course: Course, event: Event) -> Course:
    """The game after one more event."""
    state, events = after(game, course.state, event), (*course.events, event)
    if event.is_chance:
        return course._replace(state=state, events=events)
    path = course.path.copy()
    reach(game.rules, path, course.state)
    return Course(state, course.plies + 1, path, events)


def moves_of(game: Game, course: Course) -> list[int]:
    """Codes of the legal moves with distinct results, in the game's order."""
    codes, rows = game.buffers()
    return [int(code) for code in codes[: expand(game.rules, course.path, course.state, codes, rows)]]


def is_over(game: Game, course: Course) -> bool:
    return bool(end(game.rules, course.path, course.state, course.plies)[0])


def replay(game: Game, record: GameRecord) -> Iterator[tuple[Any, Event]]:
    """(position, what happened there) of every event, in order."""
    state = record.start
    for event in record.events:
        yield state, event
        state = after(game, state, event)


def course_of(game: Game, start: Any, events: Iterable[Event]) -> Course:
    """The game that these events make of its start."""
    return functools.reduce(functools.partial(follow, game), events, begin(game, start))


def final_state(game: Game, record: GameRecord) -> Any:
    return course_of(game, record.start, record.events).state


def turn_of(game: Game, start: Any, state: Any) -> int:
    """Whose turn `state` is, counted from whoever moves first in `start`: an index of `GameRecord.players`."""
    return (int(game.rules.seat(state)) - int(game.rules.seat(start))) % game.rules.num_players


def payoffs_of(game: Game, start: Any, course: Course) -> tuple[float, ...] | None:
    """What the game is worth to each player, in the order of turns from `start`; None while it is on."""
    if not is_over(game, course):
        return None
    out = np.empty(game.rules.num_players)
    payoffs_by_seat(game.rules, course.state, out)
    first = int(game.rules.seat(start))
    return tuple(float(out[(first + i) % len(out)]) + 0.0 for i in range(len(out)))


def event_text(game: Game, state: Any, event: Event) -> str:
    """The event in the game's notation."""
    return game.chance_text(state, event.code) if event.is_chance else game.move_text(state, event.code)


def read_event(game: Game, course: Course, text: str) -> Event:
    """The chance outcome or the legal move that a text names; raises InputError."""
    if is_over(game, course):
        raise InputError(f"{text!r} comes after the end of the game")
    if game.rules.num_chance(course.state) > 0:
        return Event(True, game.find_chance(course.state, text))
    move = game.find_move(course.state, text)
    if is_forbidden(game.rules, course.path, game.rules.play(course.state, move)):
        raise InputError(f"{text!r} leads to a position that has occurred before, which is forbidden")
    return Event(False, move)


# --- JSON lines ---------------------------------------------------------------------------------------------------


def write_json_lines(game: Game, records: Sequence[GameRecord]) -> str:
    return "".join(json.dumps(_as_json(game, record)) + "\n" for record in records)


def _as_json(game: Game, record: GameRecord) -> dict[str, Any]:
    begins = record.start == initial_state(game)
    payoffs = None if record.payoffs is None else [int(x) if x == int(x) else x for x in record.payoffs]
    return {
        "game": game.name,
        "players": list(record.players),
        "start": START if begins else game.format(record.start),
        "steps": [event_text(game, state, event) for state, event in replay(game, record)],
        "payoffs": payoffs,
    }


def read_json_lines(game: Game, text: str) -> list[GameRecord]:
    """Every line that is not blank; raises InputError with the number of the game and of the step."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [_from_json(game, line, f"game {number}") for number, line in enumerate(lines, start=1)]


def _from_json(game: Game, line: str, where: str) -> GameRecord:
    try:
        fields = read_json(line)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if not isinstance(fields, dict) or fields.get("game") != game.name:
        raise InputError(f'{where}: no object with "game": "{game.name}"')
    players, steps = (_texts(fields, name, where) for name in ("players", "steps"))
    if len(players) != game.rules.num_players:
        raise InputError(f"{where}: {len(players)} players; {game.name} has {game.rules.num_players}")
    start = _start(game, fields.get("start", START), where)
    course = begin(game, start)
    for number, step in enumerate(steps, start=1):
        try:
            course = follow(game, course, read_event(game, course, step))
        except InputError as error:
            raise InputError(f"{where}, step {number}: {error}") from None
    payoffs = payoffs_of(game, start, course) or _payoffs(game, fields.get("payoffs"), where)
    return GameRecord(start, tuple(players), course.events, payoffs)


def _texts(fields: dict[str, Any], name: str, where: str) -> list[str]:
    texts = fields.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f'{where}: "{name}" must be a list of texts')
    return texts


def _start(game: Game, text: Any, where: str) -> Any:
    if not isinstance(text, str):
        raise InputError(f'{where}: "start" must be a position, a text')
    try:
        return game.read_position(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _payoffs(game: Game, numbers: Any, where: str) -> tuple[float, ...] | None:
    """Of a game that ended before the rules end it: a resignation."""
    if numbers is None:
        return None
    fit = isinstance(numbers, list) and len(numbers) == game.rules.num_players
    if not fit or not all(isinstance(x, int | float) for x in numbers):
        raise InputError(f'{where}: "payoffs" must be {game.rules.num_players} numbers, or null')
    return tuple(float(x) for x in numbers)


# --- transcripts: one game a line, moves only ---------------------------------------------------------------------


def write_lines(game: Game, records: Sequence[GameRecord], line_of: Callable[[list[int]], str]) -> str:
    """One line a game by `line_of`, from the codes of its moves; raises InputError for a game that begins elsewhere."""
    for number, record in enumerate(records, start=1):
        if record.start != initial_state(game):
            raise InputError(f"game {number} begins at {game.format(record.start)}: only {JSON_LINES} can hold that")
    return "".join(line_of([event.code for event in record.events]) + "\n" for record in records)


def read_lines(game: Game, text: str, moves_of: Callable[[str], list[int]]) -> list[GameRecord]:
    """Every line that is not blank, by `moves_of`, which gives the codes of its legal moves and raises InputError."""
    records = []
    for number, line in enumerate((line for line in text.splitlines() if line.strip()), start=1):
        try:
            events = tuple(Event(False, code) for code in moves_of(line))
        except InputError as error:
            raise InputError(f"game {number}: {error}") from None
        unnamed = tuple(f"player {i + 1}" for i in range(game.rules.num_players))
        course = course_of(game, initial_state(game), events)
        records.append(GameRecord(initial_state(game), unnamed, events, payoffs_of(game, initial_state(game), course)))
    return records


# --- files --------------------------------------------------------------------------------------------------------


def formats(game: Game) -> dict[str, GameFile]:
    """Ending of a file's name -> format."""
    return {JSON_LINES: GameFile("one game a line, as JSON", read_json_lines, write_json_lines), **game.files}


def find_format(game: Game, path: str | Path) -> GameFile:
    """The format that the ending of `path` names; raises InputError with those that there are."""
    known, ending = formats(game), Path(path).suffix.lower()
    if ending not in known:
        raise InputError(f"{path}: games of {game.name} are kept in files that end with {', '.join(known)}")
    return known[ending]


def read_games(game: Game, path: str | Path) -> list[GameRecord]:
    """The games of a file; raises InputError that names the file, the game and the move."""
    form = find_format(game, path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        records = form.read(game, text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not records:
        raise InputError(f"{path} holds no game")
    return records


def check_new(game: Game, path: str | Path) -> None:
    """InputError where games could not be written to `path`, or something is there already."""
    find_format(game, path)
    if not os.path.isdir(Path(path).absolute().parent):
        raise InputError(f"cannot write {path}: there is no folder {Path(path).parent}")
    try:
        exists = Path(path).exists()
        _beside(path).exists()
    except OSError as error:  # a name that is too long
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    if exists:
        raise InputError(f"{path} exists already: name another file")


def write_games(game: Game, path: str | Path, records: Iterable[GameRecord]) -> None:
    """Write the games, replacing the file at once; raises InputError."""
    text = find_format(game, path).write(game, list(records))
    beside = _beside(path)
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def _beside(path: str | Path) -> Path:
    """Where a file is written before it takes its name."""
    return Path(f"{path}.part")
