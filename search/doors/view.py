"""A position as programs and pages receive it: by seats, as a text that reads back exactly, with every legal move.

States are seen from the side to move; here everything is turned to the seats. The text of a position says whose turn it
is, but it never holds the dice, which have a key of their own. If a game's own notation does not say whose turn it is
(a Position ID of backgammon), a number after it names the seat: `4HPwATDgc/ABMA 2` is the second player's turn. A start
that differs from the same position later in a game is written `start`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import START, Game
from deltaw.envs.path import is_drawn
from deltaw.envs.record import Course, Event, begin, follow, moves_of, read_event
from deltaw.envs.turn import end, payoffs_by_seat

SEAT_NAMES = ("first player", "second player", "third player", "fourth player", "fifth player", "sixth player")
BACKGAMMON = "backgammon"
POINTS, BAR, OFF = 24, 24, 25
"""backgammon's cells of one side: 24 points from that side's own end, the bar, and checkers borne off"""

Cells = list[int] | dict[str, list[int]] | None


class Position(NamedTuple):
    """A state, and how it came about."""

    course: Course
    """the game as far as it is known"""
    text: str
    """the position without dice"""
    dice: str | None

    @property
    def state(self) -> Any:
        """With the dice, where they have been rolled."""
        return self.course.state


# --- text -------------------------------------------------------------------------------------------------------------


def python_state(game: Game, state: Any) -> Any:
    """The state with Python integers, even if it came from a kernel."""
    return game.unrow(game.row(state))


def initial(game: Game) -> Any:
    return python_state(game, game.rules.initial())


def read(game: Game, text: str, steps: Sequence[str] = (), dice: str | None = None) -> Position:
    """The position that `steps`, moves and rolls as they came, and the roll `dice` lead to from the position that
    `text` describes; raises InputError."""
    *_, (before, course) = _courses(game, text, steps)
    if dice is not None:
        if game.rules.max_chance == 0:
            raise InputError(f"{game.name} has no dice, but {dice!r} were given")
        if game.rules.num_chance(course.state) == 0:
            raise InputError(f"no dice are due in {text.strip()!r}")
        before, course = course, follow(game, course, Event(True, game.find_chance(course.state, dice)))
    return _located(game, before, course)


def replay(game: Game, text: str, steps: Sequence[str]) -> list[Position]:
    """The position that `text` describes, and those after each of the steps; raises InputError."""
    return [_located(game, before, course) for before, course in _courses(game, text, steps)]


def _courses(game: Game, text: str, steps: Sequence[str]) -> Iterator[tuple[Course, Course]]:
    """The game before and after each step; at the beginning they are the same."""
    before = course = begin(game, _parse(game, text.strip()))
    yield before, course
    for number, step in enumerate(steps, start=1):
        try:
            before, course = course, follow(game, course, read_event(game, course, step))
        except InputError as error:
            raise InputError(f"step {number}: {error}") from None
        yield before, course


def after(game: Game, course: Course, event: Event) -> Position:
    """The position that follows in a game."""
    return _located(game, course, follow(game, course, event))


def position(game: Game, state: Any) -> Position:
    """`state`, in which a game begins, with its texts. The dice are separated from the rest if the rest can be written
    without them."""
    course = begin(game, state)
    return _located(game, course, course)


def _located(game: Game, previous: Course, course: Course) -> Position:
    if course.events and course.events[-1].is_chance:
        return Position(course, text_of(game, previous.state), game.chance_text(previous.state, course.events[-1].code))
    state, text = course.state, text_of(game, course.state)
    before = _parse(game, text)
    if before == state:
        return Position(course, text, None)
    for i in range(game.rules.num_chance(before)):
        if python_state(game, game.rules.chance(before, i)[0]) == state:
            return Position(course, text, game.chance_text(before, i))
    raise InputError(f"{text!r} does not describe this position of {game.name} completely")


def text_of(game: Game, state: Any) -> str:
    """Text that `read` reads back as `state`, dice aside."""
    text = game.format(state)
    before = game.parse(text)
    if before == state or not hasattr(state, "seat"):
        return text
    if state == initial(game):
        return START
    return text if before.seat == state.seat else f"{text} {state.seat + 1}"


def _parse(game: Game, text: str) -> Any:
    front = re.fullmatch(r"(\S+) ([1-9])", text)
    if front and "seat" in game.state._fields:  # type: ignore[attr-defined]
        state, seat = game.parse(front[1]), int(front[2]) - 1
        if seat < game.rules.num_players and state.seat != seat and not _says_seat(game, state, seat):
            return game.playable(state._replace(seat=seat))
    return game.read_position(text)


def _says_seat(game: Game, state: Any, seat: int) -> bool:
    """Whether the game's own notation tells seats apart."""
    return game.format(state) != game.format(state._replace(seat=seat))


# --- the board --------------------------------------------------------------------------------------------------------


def kind_of(game: Game) -> str:
    """How a board is drawn: "grid" (rows and columns of cells, which say whose piece lies there), "backgammon", or
    "other" (as text)."""
    if game.name == BACKGAMMON:
        return BACKGAMMON
    return "grid" if game.board or game.pieces else "other"


def board_of(game: Game) -> dict[str, Any] | None:
    """Rows, columns, and whether pieces fall, where the first row of cells is the lowest."""
    board = game.pieces.board if game.pieces else game.board
    if board is None or kind_of(game) != "grid":
        return None
    return {"rows": board[0], "columns": board[1], "falls": game.falls}


def cell_values(game: Game) -> list[str]:
    """What the numbers of a grid's cells mean."""
    if kind_of(game) != "grid":
        return []
    seats = SEAT_NAMES[: game.rules.num_players]
    kinds = game.pieces.shapes if game.pieces else ("",)
    return ["empty", *(f"{seat}'s {kind}" if kind else seat for kind in kinds for seat in seats)]


def cells_of(game: Game, state: Any) -> Cells:
    """The board by seats. Grid: 0 empty, 1 the first player's, 2 the second's ... in the order of `Rules.cells`, or of
    `Pieces.cells` where a side has several kinds.

    Backgammon: `points` [26], at 1..24 seat 0's points with his checkers counted positive and seat 1's negative; `bar`
    and `off` [seat 0, seat 1]. None where a board has no such view.
    """
    kind, seat = kind_of(game), int(game.rules.seat(state))
    if kind == "other":
        return None
    if game.pieces:
        return game.pieces.cells(state)
    cells = np.empty(game.rules.num_cells, np.int64)
    game.rules.cells(state, cells)
    if kind == BACKGAMMON:
        return _points(cells.tolist(), seat)
    if game.turned and seat == 1:
        cells = cells[::-1]
    players = game.rules.num_players
    return [(cell - 1 + seat) % players + 1 if cell else 0 for cell in cells.tolist()]


def _points(cells: list[int], seat: int) -> dict[str, list[int]]:
    mover, opponent = cells[:26], cells[26:]
    first, second = (mover, opponent) if seat == 0 else (opponent, mover)
    points = [first[p] - second[POINTS - 1 - p] for p in range(POINTS)]
    return {"points": [0, *points, 0], "bar": [first[BAR], second[BAR]], "off": [first[OFF], second[OFF]]}


def clicks_of(game: Game, state: Any, move: int, before: Cells, after: Cells) -> list[list[int]]:
    """The ways to make a move by clicking cells. Where a side has one kind of piece: the cell that was empty before and
    is the mover's afterwards, and before it the one that he left; no way if there is not exactly one."""
    if game.pieces:
        return game.pieces.clicks(state, move)
    if not isinstance(before, list) or not isinstance(after, list):
        return []
    mark = int(game.rules.seat(state)) + 1
    cells = list(enumerate(zip(before, after, strict=True)))
    left = [i for i, (old, new) in cells if old == mark != new]
    filled = [i for i, (old, new) in cells if old != mark == new]
    filled = [i for i in filled if before[i] == 0] or filled
    return [[*left, *filled]] if len(filled) == 1 and len(left) < 2 else []


# --- everything -------------------------------------------------------------------------------------------------------


def show(game: Game, shown: Position) -> dict[str, Any]:
    """What every answer about a position says (docs/protocol.md)."""
    answer, state = look(game, shown), shown.state
    decides = not (answer["over"] or answer["needs_dice"])
    moves = moves_of(game, shown.course) if decides else []
    return answer | {"moves": [_move(game, state, answer["cells"], move) for move in moves]}


def look(game: Game, shown: Position) -> dict[str, Any]:
    """The same without the moves."""
    rules, course, state = game.rules, shown.course, shown.state
    over, result = outcome(game, course)
    answer = {
        "position": shown.text,
        "seat": int(rules.seat(state)),
        "over": over,
        "result": result if over else None,
        "repeated": bool(is_drawn(rules, course.path, state)),
        "dice": shown.dice,
        "needs_dice": bool(not over and rules.num_chance(state) > 0),
        "cells": cells_of(game, state),
        "text": game.ansi(state),
    }
    return answer | ({"payoffs": payoffs(game, state)} if over else {})


def _move(game: Game, state: Any, cells: Cells, move: int) -> dict[str, Any]:
    after = python_state(game, game.rules.play(state, move))
    cells_after = cells_of(game, after)
    return {
        "move": game.move_text(state, move),
        "position": text_of(game, after),
        "cells": cells_after,
        "clicks": clicks_of(game, state, move, cells, cells_after),
    }


def outcome(game: Game, course: Course) -> tuple[bool, float]:
    """Whether the game is over, and what it is then worth to the side to move."""
    over, value = end(game.rules, course.path, course.state, course.plies)
    return bool(over), float(value)


def payoffs(game: Game, state: Any) -> list[float]:
    """What a finished game is worth to the player in each seat."""
    out = np.empty(game.rules.num_players)
    payoffs_by_seat(game.rules, state, out)
    return [float(worth) + 0.0 for worth in out]  # no -0.0
