"""Chess with few men, numbered for databases.

A slice is the men of both sides, the mover's first: KQ v K. A position is turned or mirrored until the mover's king
stands on a1, b1, c1, d1, b2, c2, d2, c3, d3 or d4, the opponent's not above the diagonal if it is on it; with pawns,
mirrored until the mover's king is on one of the files a to d. It is numbered by the two kings, which leaves 462 pairs
without pawns and 1806 with them, and then by the squares of each kind of men (`envs/combinations.py`), pawns being on
48 squares, others on 64. Numbers at which two men share a square, or the opponent is in check, are no positions.

Castling and en passant are not numbered. En passant needs pawns of both sides, whose slices are therefore left out.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount
from deltaw.envs.combinations import BINOMIAL, rank, unrank
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Slices
from deltaw.envs.games.chess.rules import State, in_check, mirrored
from deltaw.envs.kernel import kernel

LETTERS = "PNBRQ"
KINDS = len(LETTERS)
PROMOTED = "NBRQ"
MOST_MEN = 6
"""of both sides, kings included"""
PAWN_SQUARES = 0x00FFFFFFFFFFFF00
ALL_SQUARES = -1


def _turns() -> np.ndarray:
    """int64 [8, 64]: where a square goes: each of the four reflections, then the same across the diagonal."""
    squares = np.arange(64)
    flips = [squares, squares ^ 7, squares ^ 56, squares ^ 63]
    return np.array(flips + [(flip & 7) << 3 | flip >> 3 for flip in flips])


TURNS = _turns()
FLIPS_OF_FILES = (0, 1)
"""the turns that pawns allow"""


def _pairs(pawns: bool) -> tuple[np.ndarray, np.ndarray]:
    """(int64 [64 x 64]: 8 x number of the pair + turn, for the mover's king and the opponent's, -1 for kings side by
    side; int64 [pairs]: 64 x square of the mover's king + square of the opponent's)."""
    pairs, numbered = np.full(64 * 64, -1), list[int]()
    for both in range(64 * 64):
        mine, his = divmod(both, 64)
        apart = max(abs((mine & 7) - (his & 7)), abs((mine >> 3) - (his >> 3))) > 1
        if apart and _is_first(mine, his, pawns):
            numbered.append(both)
    place = {both: number for number, both in enumerate(numbered)}
    for both in range(64 * 64):
        for turn in FLIPS_OF_FILES if pawns else range(len(TURNS)):
            turned = int(TURNS[turn, both >> 6]) << 6 | int(TURNS[turn, both & 63])
            if turned in place:
                pairs[both] = place[turned] << 3 | turn
                break
    return pairs, np.array(numbered)


def _is_first(mine: int, his: int, pawns: bool) -> bool:
    """Whether the kings stand as every position is turned."""
    if pawns:
        return mine & 7 < 4
    above = his >> 3 > his & 7
    return mine & 7 < 4 and mine >> 3 <= mine & 7 and not (mine >> 3 == mine & 7 and above)


PAIRS, KINGS = zip(_pairs(False), _pairs(True), strict=True)


@kernel
def mask_of(state, kind):
    if kind == 0:
        return state.pawns
    if kind == 1:
        return state.knights
    if kind == 2:
        return state.bishops
    return state.rooks if kind == 3 else state.queens


@kernel
def slice_of(state):
    if state.castling | state.en_passant:
        return np.int64(-1)
    code, men = np.int64(0), np.int64(0)
    for kind in range(KINDS):
        mine, his = popcount(mask_of(state, kind) & state.me), popcount(mask_of(state, kind) & state.opponent)
        code |= mine << 4 * kind | his << 4 * (KINDS + kind)
        men += mine + his
    return code | men << 8 * KINDS


@kernel
def count_in(code, kind, side):
    """Men of a kind, of the mover (side 0) or of the opponent (1)."""
    return code >> 4 * (KINDS * side + kind) & 15


@kernel
def has_pawns(code):
    return count_in(code, 0, 0) + count_in(code, 0, 1) > 0


@kernel
def turned(men, turn):
    """The squares where a turn of the board brings `men`."""
    there = np.int64(0)
    while men:
        there |= bit(TURNS[turn, lowest(men)])
        men = drop_lowest(men)
    return there


@kernel
def index(state):
    kings = lowest(state.kings & state.me) << 6 | lowest(state.kings & state.opponent)
    pair = PAIRS[1][kings] if state.pawns else PAIRS[0][kings]
    number, turn = pair >> 3, pair & 7
    for kind in range(KINDS):
        squares = PAWN_SQUARES if kind == 0 else ALL_SQUARES
        for side in range(2):
            men = mask_of(state, kind) & (state.me if side == 0 else state.opponent)
            if men:
                number *= BINOMIAL[popcount(squares), popcount(men)]
                number += rank(turned(men, turn), squares)
    return number


@kernel
def position(code, number):
    me, opponent = np.int64(0), np.int64(0)
    pawns, knights, bishops, rooks, queens = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    exists = True
    for i in range(2 * KINDS):
        kind, side = KINDS - 1 - i // 2, 1 - i % 2
        count = count_in(code, kind, side)
        if count == 0:
            continue
        squares = np.int64(PAWN_SQUARES) if kind == 0 else np.int64(ALL_SQUARES)
        ways = BINOMIAL[popcount(squares), count]
        men = unrank(number % ways, count, squares)
        number //= ways
        exists &= men & (me | opponent) == 0
        me, opponent = (me | men, opponent) if side == 0 else (me, opponent | men)
        pawns |= men if kind == 0 else 0
        knights |= men if kind == 1 else 0
        bishops |= men if kind == 2 else 0
        rooks |= men if kind == 3 else 0
        queens |= men if kind == 4 else 0
    kings = KINGS[1][number] if has_pawns(code) else KINGS[0][number]
    king, his_king = bit(kings >> 6), bit(kings & 63)
    exists &= (king | his_king) & (me | opponent) == 0
    none, one = np.int64(0), np.int64(1)
    both = king | his_king
    state = State(
        me | king, opponent | his_king, pawns, knights, bishops, rooks, queens, both, none, none, none, one, none
    )
    return exists and not in_check(mirrored(state, none)), state


# --- slices by name ---------------------------------------------------------------------------------------------------


def size(code: int) -> int:
    if code != code_of(*men_of(code)) or code >> 8 * KINDS > MOST_MEN - 2:
        return 0
    pairs = len(KINGS[has_pawns(code)])
    for kind in range(KINDS):
        for side in range(2):
            pairs *= int(BINOMIAL[48 if kind == 0 else 64, count_in(code, kind, side)])
    return pairs


def men_of(code: int) -> tuple[str, str]:
    """The mover's men and the opponent's, without kings."""
    mine, his = ("".join(LETTERS[k] * int(count_in(code, k, side)) for k in reversed(range(KINDS))) for side in (0, 1))
    return mine, his


def code_of(mine: str, his: str) -> int:
    counts = [men.count(letter) for men in (mine, his) for letter in LETTERS]
    return sum(count << 4 * i for i, count in enumerate(counts)) | sum(counts) << 8 * KINDS


def name(code: int) -> str:
    mine, his = men_of(code)
    return f"K{mine}-K{his}"


def can_mate(mine: str, his: str) -> bool:
    """Whether these men can mate, wherever they stand."""
    return mine + his not in ("", "N", "B")


def following(code: int) -> list[int]:
    """A pawn may become a piece, and one of the opponent's men may be captured."""
    mine, his = men_of(code)
    mine_after = [mine] + [mine.replace("P", letter, 1) for letter in PROMOTED if "P" in mine]
    his_after = [his] + [his.replace(letter, "", 1) for letter in set(his)]
    return sorted({code_of(b, a) for a in mine_after for b in his_after if can_mate(a, b)})


def read(text: str) -> list[int]:
    """The slices of names such as KQK and KPK, with commas between them."""
    return [_read_one(word) for word in text.upper().split(",")]


def _read_one(word: str) -> int:
    parts = word.split("K")
    sides = parts[1:]
    if parts[0] or len(sides) != 2 or set(sides[0] + sides[1]) - set(LETTERS):
        raise InputError(f"pieces: {short(word)} is no ending; the men of one side and then the other's, such as KRK")
    if len(sides[0] + sides[1]) + 2 > MOST_MEN:
        raise InputError(f"pieces: {short(word)} has more than {MOST_MEN} men")
    if "P" in sides[0] and "P" in sides[1]:
        raise InputError(f"pieces: {short(word)} has pawns of both sides; en passant is not in the databases")
    if not can_mate(*sides):
        raise InputError(f"pieces: {short(word)} is always drawn")
    return code_of(*sides)


SLICES = Slices(slice_of, index, position, size, name, following, read, "such as KQK, or KPK,KBNK")
