"""A position as programs and pages receive it: by seats, as a text that reads back exactly, with every legal move.

States are seen from the side to move; here everything is turned to the seats. The text of a position says whose turn it
is, but it never holds the dice, which have a key of their own. If a game's own notation does not say whose turn it is
(a Position ID of backgammon), a number after it names the seat: `4HPwATDgc/ABMA 2` is the second player's turn. A start
that differs from the same position later in a game is written `start`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import START, Game
from deltaw.envs.turn import payoffs_by_seat

SEAT_NAMES = ("first player", "second player", "third player", "fourth player", "fifth player", "sixth player")
BACKGAMMON = "backgammon"
POINTS, BAR, OFF = 24, 24, 25
"""backgammon's cells of one side: 24 points from that side's own end, the bar, and checkers borne off"""

Cells = list[int] | dict[str, list[int]] | None


class Position(NamedTuple):
    """A state, and how it came about."""

    state: Any
    """with the dice, where they have been rolled"""
    text: str
    """the position without dice"""
    dice: str | None


# --- text -------------------------------------------------------------------------------------------------------------


def python_state(game: Game, state: Any) -> Any:
    """The state with Python integers, even if it came from a kernel."""
    return game.unrow(game.row(state))


def initial(game: Game) -> Any:
    return python_state(game, game.rules.initial())


def read(game: Game, text: str, dice: str | None = None) -> Position:
    """The position that `text` describes, after the roll `dice`; raises InputError."""
    state = _parse(game, text.strip())
    if dice is None:
        return position(game, state)
    if game.rules.max_chance == 0:
        raise InputError(f"{game.name} has no dice, but {dice!r} were given")
    if game.rules.num_chance(state) == 0:
        raise InputError(f"no dice are due in {text.strip()!r}")
    return rolled(game, state, game.find_chance(state, dice))


def rolled(game: Game, state: Any, chance: int) -> Position:
    """`state` after its chance outcome number `chance`."""
    after = python_state(game, game.rules.chance(state, chance)[0])
    return Position(after, text_of(game, state), game.chance_text(state, chance))


def position(game: Game, state: Any) -> Position:
    """`state` with its texts. The dice are separated from the rest if the rest can be written without them."""
    text = text_of(game, state)
    before = _parse(game, text)
    if before == state:
        return Position(state, text, None)
    for i in range(game.rules.num_chance(before)):
        if python_state(game, game.rules.chance(before, i)[0]) == state:
            return Position(state, text, game.chance_text(before, i))
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
    return "grid" if game.board and game.kinds == 1 else "other"


def board_of(game: Game) -> dict[str, Any] | None:
    """Rows, columns, and whether pieces fall, where the first row of cells is the lowest."""
    if game.board is None or kind_of(game) != "grid":
        return None
    return {"rows": game.board[0], "columns": game.board[1], "falls": game.falls}


def cells_of(game: Game, state: Any) -> Cells:
    """The board by seats. Grid: 0 empty, 1 the first player's, 2 the second's ... in the order of `Rules.cells`.

    Backgammon: `points` [26], at 1..24 seat 0's points with his checkers counted positive and seat 1's negative; `bar`
    and `off` [seat 0, seat 1]. None where a board has no such view.
    """
    kind, seat = kind_of(game), int(game.rules.seat(state))
    if kind == "other":
        return None
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


def clicked(before: Cells, after: Cells, mark: int) -> int | None:
    """The one cell that was empty before a move and holds `mark` after it, where a person would click; None if there is
    not exactly one."""
    if not isinstance(before, list) or not isinstance(after, list):
        return None
    filled = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old == 0 and new == mark]
    return filled[0] if len(filled) == 1 else None


# --- everything -------------------------------------------------------------------------------------------------------


def show(game: Game, shown: Position) -> dict[str, Any]:
    """What every answer about a position says (docs/protocol.md)."""
    rules, state = game.rules, shown.state
    over, result = rules.outcome(state)
    needs_dice = not over and rules.num_chance(state) > 0
    cells = cells_of(game, state)
    answer = {
        "position": shown.text,
        "seat": int(rules.seat(state)),
        "over": bool(over),
        "result": float(result) if over else None,
        "dice": shown.dice,
        "needs_dice": bool(needs_dice),
        "cells": cells,
        "text": game.ansi(state),
        "moves": [] if over or needs_dice else [_move(game, state, cells, move) for move in game.moves(state)],
    }
    return answer | ({"payoffs": payoffs(game, state)} if over else {})


def _move(game: Game, state: Any, cells: Cells, move: int) -> dict[str, Any]:
    after = python_state(game, game.rules.play(state, move))
    cells_after = cells_of(game, after)
    return {
        "move": game.move_text(state, move),
        "position": text_of(game, after),
        "cells": cells_after,
        "at": clicked(cells, cells_after, int(game.rules.seat(state)) + 1),
    }


def payoffs(game: Game, state: Any) -> list[float]:
    """What a finished game is worth to the player in each seat."""
    out = np.empty(game.rules.num_players)
    payoffs_by_seat(game.rules, state, out)
    return [float(worth) + 0.0 for worth in out]  # no -0.0
