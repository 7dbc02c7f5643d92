"""Connect Four as text: the moves as columns, or the board."""

from __future__ import annotations

from envs.errors import InputError
from envs.games.connect_four.rules import BOTTOM, COLUMNS, HEIGHT, ROWS, State, has_four


def parse(text: str) -> State:
    """The moves from the empty board, as columns 1 to 7, such as `4453`; or the board, six rows from the top joined by `/`, each of seven
    X (who moved first), O and -: the counts say whose turn it is. Raises InputError, as for a board no game can show by its
    counts, floating stones or lines; whether some order of moves leads there is not asked."""
    text = text.strip()
    if text and text.isascii() and text.isdigit():
        return _parse_moves(text)
    if "/" in text:
        return _parse_board(text)
    raise InputError(f"{text!r} is no position: moves as columns, such as 4453, or six rows of X, O and - joined by /")


def _parse_moves(text: str) -> State:
    me = taken = 0
    for ply, digit in enumerate(text, start=1):
        column, place = int(digit) - 1, f"move {ply} of {text!r}"
        if not 0 <= column < COLUMNS:
            raise InputError(f"{place} is {digit}: columns are 1 to {COLUMNS}")
        if has_four(me ^ taken):
            raise InputError(f"{place} comes after the end: move {ply - 1} completed four")
        if taken >> (HEIGHT * column + ROWS - 1) & 1:
            raise InputError(f"{place} is {digit}: that column is full")
        me, taken = me ^ taken, taken | (taken + (1 << HEIGHT * column))
    return State(me, taken)


def _parse_board(text: str) -> State:
    rows = text.upper().replace(".", "-").split("/")
    if len(rows) != ROWS or any(len(row) != COLUMNS or set(row) - set("XO-") for row in rows):
        raise InputError(f"{text!r} is no position: {ROWS} rows of {COLUMNS}, of X, O and -, joined by /")
    x, o = (_mask(rows, player) for player in "XO")
    taken, surplus = x | o, x.bit_count() - o.bit_count()
    if surplus not in (0, 1):
        raise InputError(f"{text!r} has {x.bit_count()} X and {o.bit_count()} O: X has as many as O, or one more")
    floating = taken & (taken + BOTTOM)
    if floating:
        column = (floating.bit_length() - 1) // HEIGHT + 1
        raise InputError(f"{text!r} has a stone above an empty square in column {column}")
    state = State(x, taken) if surplus == 0 else State(o, taken)
    _check_ending(text, state, "XO" if surplus == 0 else "OX")
    return state


def _mask(rows: list[str], player: str) -> int:
    """The player's stones; `rows` from the top."""
    places = ((HEIGHT * column + ROWS - 1 - i, row[column]) for i, row in enumerate(rows) for column in range(COLUMNS))
    return sum(1 << bit for bit, square in places if square == player)


def _check_ending(text: str, state: State, names: str) -> None:
    """Refuses lines of four that no last move completed."""
    opponent = state.me ^ state.all
    if has_four(state.me):
        raise InputError(f"{text!r}: {names[0]} has four although the last move was {names[1]}'s")
    last = opponent & (state.all + BOTTOM) >> 1  # his stones that lie on top
    taken_back = (opponent ^ 1 << HEIGHT * column + row for column in range(COLUMNS) for row in range(ROWS))
    if has_four(opponent) and all(has_four(before) for before in taken_back if opponent & ~before & last):
        raise InputError(f"{text!r}: no single last move of {names[1]} completed these lines of four")


def format_state(state: State) -> str:
    """The board as `parse` reads it; the order of the moves is lost."""
    first = first_player(state)
    names = ["X" if first >> bit & 1 else "O" if state.all >> bit & 1 else "-" for bit in range(COLUMNS * HEIGHT)]
    return "/".join("".join(names[row::HEIGHT]) for row in reversed(range(ROWS)))


def first_player(state: State) -> int:
    """The stones of the player who moved first."""
    return state.me if state.all.bit_count() % 2 == 0 else state.me ^ state.all


def move_text(state: State, move: int) -> str:
    """The column, counted from 1."""
    return str(move + 1)
