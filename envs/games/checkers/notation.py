"""Checkers as text, as PDN writes it (Portable Draughts Notation).

    B:W18,24,K27:B12,K16   the side to move, then the squares of both sides in any order, kings with K; :H12 may follow,
                           the plies since a capture or a move of a man. 21-32 is read as all squares from 21 to 32
    11-15                  a step
    22x15x8                two jumps; 22x8 is read where it is clear, and - for x

Black begins on the squares 1 to 12 and moves first; square 1 is on White's last row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from deltaw.envs.errors import InputError, short
from deltaw.envs.games.checkers.rules import (
    DIRECTIONS,
    DRAWN_AFTER,
    MAX_MOVES,
    MOST_PIECES,
    SQUARES,
    State,
    legal_moves,
    length,
    noisy,
    play,
    step,
)

COLOURS = ("Black", "White")
"""by seat"""
LETTERS = "BW"
EXAMPLE = "B:W18,24,K27:B12,K16"


# --- positions --------------------------------------------------------------------------------------------------------


def parse(text: str) -> State:
    """Raises InputError, as for a man on his last row, where he would be a king."""
    word = re.sub(r"[\s.\"]+", "", text).upper()
    side, *fields = word.split(":")
    pieces: dict[str, dict[int, bool]] = {}
    clock = 0
    for field in fields:
        if field[:1] in ("B", "W") and field[0] not in pieces:
            pieces[field[0]] = _squares(field[1:], text)
        elif re.fullmatch(r"H\d{1,3}", field):
            clock = int(field[1:])
        elif not re.fullmatch(r"F\d{1,4}", field):
            raise InputError(f"{short(text)} is no position: {short(field)} is no part of one such as {EXAMPLE}")
    if side not in ("B", "W") or len(pieces) < 2:
        raise InputError(
            f"{short(text)} is no position: the side to move and the squares of W and of B are right, as {EXAMPLE}"
        )
    _check(pieces, clock, text)
    seat = LETTERS.index(side)
    me, opponent = (_mask(pieces[LETTERS[owner]], seat) for owner in (seat, 1 - seat))
    kings = _mask({n: True for squares in pieces.values() for n, king in squares.items() if king}, seat)
    return State(me, opponent, kings, clock, seat)


def _squares(text: str, whole: str) -> dict[int, bool]:
    """Number of the square -> whether a king stands there."""
    found: dict[int, bool] = {}
    for word in text.split(",") if text else ():
        parts = re.fullmatch(r"(K?)(\d{1,2})(?:-(\d{1,2}))?", word)
        first, last = (int(parts[2]), int(parts[3] or parts[2])) if parts else (0, 0)
        if parts is None or not 1 <= first <= last <= SQUARES:
            raise InputError(
                f"{short(whole)} is no position: {short(word)} is no square; 1 to 32 are right, K for a king"
            )
        for number in range(first, last + 1):
            if number in found:
                raise InputError(f"{short(whole)} is no position: square {number} is named twice")
            found[number] = bool(parts[1])
    return found


def _check(pieces: dict[str, dict[int, bool]], clock: int, text: str) -> None:
    both = pieces["B"].keys() & pieces["W"].keys()
    if both:
        raise InputError(f"{short(text)} is no position: both sides are on square {min(both)}")
    for letter, last_row in (("B", range(29, 33)), ("W", range(1, 5))):
        colour, squares = COLOURS[LETTERS.index(letter)], pieces[letter]
        if len(squares) > MOST_PIECES:
            raise InputError(
                f"{short(text)} is no position: {colour} has {len(squares)} pieces; {MOST_PIECES} are the most"
            )
        man = next((number for number in last_row if squares.get(number) is False), None)
        if man is not None:
            raise InputError(
                f"{short(text)} is no position: {colour}'s man on {man} is on his last row; write K{man} for a king"
            )
    if clock > DRAWN_AFTER:
        raise InputError(
            f"{short(text)} is no position: H{clock} plies without progress; the game is drawn after {DRAWN_AFTER}"
        )


def _mask(numbers: dict[int, bool], seat: int) -> int:
    return sum(1 << square_of(number, seat) for number in numbers)


def square_of(number: int, seat: int) -> int:
    """The square with this number, as `seat` sees it."""
    return number - 1 if seat == 0 else SQUARES - number


def number_of(square: int, seat: int) -> int:
    """What people call a square of the mover in `seat`."""
    return square + 1 if seat == 0 else SQUARES - square


def format_state(state: State) -> str:
    clock = f":H{int(state.clock)}" if state.clock else ""
    sides = (f"{letter}{','.join(_names(state, LETTERS.index(letter)))}" for letter in "WB")
    return f"{LETTERS[int(state.seat)]}:{':'.join(sides)}{clock}"


def _names(state: State, seat: int) -> Iterator[str]:
    for number, piece in enumerate(pieces_of(state), start=1):
        if piece and (piece - 1) % 2 == seat:
            yield f"K{number}" if piece > 2 else f"{number}"


def pieces_of(state: State) -> list[int]:
    """What stands on the squares 1 to 32: 0 nothing, 1 Black's man, 2 White's, 3 Black's king, 4 White's."""
    seat, found = int(state.seat), []
    for number in range(1, SQUARES + 1):
        square = square_of(number, seat)
        mine, his = int(state.me) >> square & 1, int(state.opponent) >> square & 1
        owner = seat if mine else 1 - seat
        found.append(1 + owner + 2 * (int(state.kings) >> square & 1) if mine or his else 0)
    return found


# --- moves ------------------------------------------------------------------------------------------------------------


def path_of(state: State, move: int) -> list[int]:
    """Numbers of the squares that a move touches, the first and the last included."""
    here = 1 << (move & 31)
    path = [here]
    for i in range(length(move)):
        direction = move >> DIRECTIONS + 2 * i & 3
        here = int(step(here, direction))
        if here & int(state.opponent):
            here = int(step(here, direction))
        path.append(here)
    return [number_of(square.bit_length() - 1, int(state.seat)) for square in path]


def clicks(state: State, move: int) -> list[list[int]]:
    """The paths of all moves with this result, in numbers of squares less one: a king may go around a square of men
    either way."""
    after, path = play(state, move), path_of(state, move)
    others = (path_of(state, other) for other in moves_of(state) if other != move and play(state, other) == after)
    return [[number - 1 for number in way] for way in (path, *others)]


def move_text(state: State, move: int) -> str:
    return ("x" if noisy(state, move) else "-").join(map(str, path_of(state, int(move))))


def read_move(state: State, text: str) -> int:
    """The legal move that was written, with all squares of its jumps or with the first and the last. Raises InputError
    with the legal ones, or with those that could be meant."""
    word = re.sub(r"[!?*]+$", "", text.strip())
    numbers = [int(part) for part in re.findall(r"\d{1,2}", word)] if _MOVE.fullmatch(word) else []
    kept: dict[tuple[int, ...], int] = {}  # result -> the first way to it, which is the one that `expand` gives
    meant: dict[int, None] = {}
    for move in moves_of(state):
        first = kept.setdefault(tuple(int(field) for field in play(state, move)), move)
        path = path_of(state, move)
        if numbers == path:
            return first
        if numbers == [path[0], path[-1]]:
            meant[first] = None
    if len(meant) == 1:
        return next(iter(meant))
    some = ", ".join(move_text(state, move) for move in (meant or kept.values()))
    if meant:
        raise InputError(f"{short(text.strip())} can be {some}: write which")
    raise InputError(f"{short(text.strip())} is not a legal move here; legal: {some or 'none'}")


_MOVE = re.compile(r"\d{1,2}([-xX:]\d{1,2})+")


def moves_of(state: State) -> list[int]:
    """All legal moves, different ways to the same result included."""
    out = np.empty(MAX_MOVES, np.int64)
    return [int(move) for move in out[: legal_moves(state, out)]]
