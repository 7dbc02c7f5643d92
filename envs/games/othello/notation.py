"""Othello as text: positions as boards or as the moves that lead to them; moves as `d3`.

---...---OX------XO---...--- X   64 squares row by row and the side to move, as endgame collections (FFO) and Edax write
                                 them; * (NBoard), B and W, and . for an empty square are read as well, and a comment
                                 after ; or %
f5d6c3d3c4                       the moves from the start, with or without spaces; passes need not be written
"""

from __future__ import annotations

import re

import numpy as np

from deltaw.envs.bits import FULL, signed
from deltaw.envs.errors import InputError, short
from deltaw.envs.games.othello.rules import MAX_MOVES, PASS, State, initial, legal_moves, outcome, play

START = "---------------------------OX------XO---------------------------"
CENTRE = (27, 28, 35, 36)
PASSES = ("pass", "--", "pa", "ps")
EXAMPLE = f"{START} X"


LETTERS = str.maketrans({".": "-", "*": "X", "B": "X", "W": "O"})
"""other names of X (black), O and the empty square"""


def parse(text: str) -> State:
    """64 of X (black), O and -, a1 b1 .. h1, a2 .. h8, then X or O to move, after a space or not; or the moves from the
    start. Raises InputError, as for an empty square in the centre, where no game leaves one. Whether some order of
    moves leads to a board is not asked."""
    word = "".join(text.split()).lower()
    if re.match(r"[a-h][1-8]", word):
        return play_transcript(word)[0]
    board = "".join(re.split("[;%]", text, maxsplit=1)[0].split()).upper().translate(LETTERS)
    if len(board) != 65:
        raise InputError(
            f"{text!r} is no position: {len(board)} characters instead of 64 squares and X or O to move, as {EXAMPLE}; "
            "or moves, as f5d6c3"
        )
    squares, side = board[:64], board[64]
    strange = next((character for character in squares if character not in "XO-"), None)
    if strange is not None:
        raise InputError(f"{text!r} has {strange!r} on a square: X, O or - is right")
    if side not in "XO":
        raise InputError(f"{text!r} ends with {side!r}: X or O is to move")
    hole = next((square for square in CENTRE if squares[square] == "-"), None)
    if hole is not None:
        raise InputError(f"{text!r} has no disc on {square_name(hole)}: the four squares of the centre are never empty")
    x, o = (signed(sum(1 << i for i, c in enumerate(squares) if c == player)) for player in "XO")
    return State(x, o, 0) if side == "X" else State(o, x, 1)


def format_state(state: State) -> str:
    return f"{squares_of(state)} {side_to_move(state)}"


def squares_of(state: State) -> str:
    """The 64 squares as X, O and -."""
    x, o = black_and_white(state)
    return "".join("X" if x >> i & 1 else "O" if o >> i & 1 else "-" for i in range(64))


def black_and_white(state: State) -> tuple[int, int]:
    """The discs of X and of O, as masks without sign."""
    me, opponent = int(state.me) & FULL, int(state.opponent) & FULL
    return (me, opponent) if state.seat == 0 else (opponent, me)


def side_to_move(state: State) -> str:
    return "XO"[int(state.seat)]


def square_name(square: int) -> str:
    return "abcdefgh"[square % 8] + str(square // 8 + 1)


def move_text(state: State, move: int) -> str:
    """`d3`, or `pass`."""
    return "pass" if move == PASS else square_name(int(move))


def moves_of(state: State) -> list[int]:
    out = np.empty(MAX_MOVES, np.int64)
    return [int(move) for move in out[: legal_moves(state, out)]]


def read_move(state: State, text: str) -> int:
    """The legal move that was written: a square in either case, or `pass`, `--`, `pa`, `ps`. Raises InputError with the
    legal ones."""
    legal, word = moves_of(state), text.strip().lower()
    for move in legal:
        if word == move_text(state, move) or (move == PASS and word in PASSES):
            return move
    raise InputError(
        f"{text.strip()!r} is not a legal move here; legal: {', '.join(move_text(state, m) for m in legal)}"
    )


# --- transcripts ----------------------------------------------------------------------------------------------------


def play_transcript(text: str) -> tuple[State, list[int]]:
    """The position after the moves from the start, and all moves with the passes between them. `text` is squares one
    after the other, in either case, spaces or not; passes may be written or left out. Raises InputError with the number
    of the bad move."""
    word = "".join(text.split()).lower()
    places = re.findall(r"[a-h][1-8]|pass|pa|ps|--", word)
    if "".join(places) != word:
        at = next((i for i in range(len(places)) if not word.startswith("".join(places[: i + 1]))), len(places))
        rest = word[len("".join(places[:at])) :][:6]
        raise InputError(f"move {at + 1} of {short(word)} is no square: {rest!r}; moves are f5, d6 ... or pass")
    state, moves = initial(), []
    for number, place in enumerate(places, start=1):
        where = f"move {number} of {short(word)}"
        if outcome(state)[0]:
            raise InputError(f"{where} comes after the end of the game")
        if moves_of(state) == [PASS] and place not in PASSES:
            moves.append(PASS)
            state = play(state, PASS)
        try:
            moves.append(read_move(state, place))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        state = play(state, moves[-1])
    return State(*(int(field) for field in state)), moves


def write_transcript(moves: list[int]) -> str:
    """`f5d6c3`: the squares one after the other; passes are left out, as they can be seen from the position."""
    return "".join(square_name(move) for move in moves if move != PASS)
