"""Connect Four as text: the moves as columns, or the board, in the ways that are in use.

4453                            the columns played, 1 to 7 (Pons' solver and test sets, Tromp's Fhourstones)
-------/.../---X--- or lines    six rows from the top, of X (who moved first), O and - (or . or _; spaces between stones
                                do not count): what bitbully and OpenSpiel print
b,b,b,b,b,b,x,o,b ...           42 squares from the bottom of the left column upwards (Tromp's 8-ply positions at UCI);
                                the class that ends a line of that file may stay
0,0,0,1,2 ...                   42 squares row by row from the top, 1 who moved first, 2 the other (Kaggle's ConnectX)
"""

from __future__ import annotations

from deltaw.envs.errors import InputError
from deltaw.envs.game import GameFile
from deltaw.envs.games.connect_four.rules import BOTTOM, CELLS, COLUMNS, HEIGHT, ROWS, State, has_four
from deltaw.envs.record import read_lines, write_lines

UCI_CLASSES = ("win", "loss", "draw")
FORMS = (
    "moves as columns, such as 4453, six rows of X, O and - joined by /, or 42 squares x, o, b or 1, 2, 0 with commas"
)


def parse(text: str) -> State:
    """The position in any of the forms above; the counts say whose turn it is. Raises InputError, as for a board no
    game can show by its counts, floating stones or lines; whether some order of moves leads there is not asked."""
    text = text.strip()
    if text and text.isascii() and text.isdigit():
        return _parse_moves(text)
    if "," in text:
        return _parse_squares(text)
    if "/" in text or "\n" in text:
        return _parse_board(text)
    raise InputError(f"{_shown(text)} is no position: {FORMS}")


def _shown(text: str) -> str:
    """A text of several lines on one."""
    return repr("/".join(line.strip() for line in text.splitlines()))


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
    lines = text.upper().replace(".", "-").replace("_", "-").replace("\n", "/").split("/")
    rows = ["".join(line.split()) for line in lines]
    text = "/".join(rows)
    if len(rows) != ROWS or any(len(row) != COLUMNS or set(row) - set("XO-") for row in rows):
        raise InputError(f"{text!r} is no position: {ROWS} rows of {COLUMNS}, of X, O and -, joined by /")
    return _from_rows(rows)


def _parse_squares(text: str) -> State:
    """42 squares with commas between them, in Tromp's order or Kaggle's: their letters say which."""
    squares = [square.strip(" []") for square in text.lower().split(",")]
    if len(squares) == CELLS + 1 and squares[-1] in UCI_CLASSES:
        squares.pop()
    by_columns, by_rows = set(squares) <= set("xob"), set(squares) <= set("012")
    if len(squares) != CELLS or not (by_columns or by_rows):
        strange = next((square for square in squares if square not in tuple("xob012")), None)
        found = f"{len(squares)} squares" if strange is None else f"{strange!r} on a square"
        mixed = " of both alphabets" if strange is None and len(squares) == CELLS else ""
        raise InputError(
            f"{_shown(text)} is no position: {found}{mixed}; {CELLS} of x, o, b, or {CELLS} of 0, 1, 2, are right"
        )
    if by_rows:
        board = "".join("-XO"[int(square)] for square in squares)
        return _from_rows([board[row : row + COLUMNS] for row in range(0, CELLS, COLUMNS)])
    board = "".join(squares).upper().replace("B", "-")
    return _from_rows([board[row::ROWS] for row in reversed(range(ROWS))])


def _from_rows(rows: list[str]) -> State:
    """The state of six rows of X, O and -, from the top."""
    text = "/".join(rows)
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


def format_uci(state: State) -> str:
    """42 of x, o, b, column by column from the bottom, as Tromp's positions at UCI: without the class."""
    rows = format_state(state).lower().replace("-", "b").split("/")
    return ",".join(row[column] for column in range(COLUMNS) for row in reversed(rows))


def format_kaggle(state: State) -> str:
    """42 of 0, 1, 2, row by row from the top, as Kaggle's ConnectX has its boards."""
    return ",".join(str("-XO".index(square)) for square in format_state(state).replace("/", ""))


def first_player(state: State) -> int:
    """The stones of the player who moved first."""
    return state.me if state.all.bit_count() % 2 == 0 else state.me ^ state.all


def move_text(state: State, move: int) -> str:
    """The column, counted from 1."""
    return str(move + 1)


def read_columns(text: str) -> list[int]:
    """Moves of the columns played from the empty board; raises InputError as `parse` does."""
    text = "".join(text.split())
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{text!r} are no moves: columns, such as 4453, are right")
    _parse_moves(text)
    return [int(digit) - 1 for digit in text]


def write_columns(moves: list[int]) -> str:
    return "".join(str(move + 1) for move in moves)


LINES = GameFile(
    "one game a line, as the columns played: 4453",
    lambda game, text: read_lines(game, text, read_columns),
    lambda game, records: write_lines(game, records, write_columns),
)
