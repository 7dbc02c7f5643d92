"""Connect Four: seven columns, six rows, four in a line wins.

Two bit masks with seven bits a column, the top one of which stays empty (Pascal Pons' layout,
http://blog.gamesolver.org):

     6 13 20 27 34 41 48      always 0: shifts by 1, 7, 6 and 8 never run from one column into the next
    ---------------------
     5 12 19 26 33 40 47
     4 11 18 25 32 39 46
     3 10 17 24 31 38 45      `me` holds the mover's stones, `all` the stones of both, so that
     2  9 16 23 30 37 44      all + BOTTOM has one bit a column: the next stone's place
     1  8 15 22 29 36 43
     0  7 14 21 28 35 42      a move is the number of the column, 0..6

A *line* of four is one of 69: 24 in rows, 21 in columns, 24 on diagonals. A *threat* of a side is an empty square that
would complete a line.

**Zugzwang decides most games.** Threats are rarely playable at once: who must at last fill the square below one loses
by it. With nothing else to play, the first player gets the odd rows (1, 3, 5 from below) and the second the even ones,
so a threat is worth most in the owner's rows. Hence the features count threats by row, and hence `null` (the turn
passed) is a lie where few columns are left: having to move can be what loses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.kernel import kernel

COLUMNS, ROWS = 7, 6
CELLS = COLUMNS * ROWS
HEIGHT = ROWS + 1
"""bits a column"""
BOTTOM = sum(1 << HEIGHT * column for column in range(COLUMNS))
"""the lowest square of every column"""
BOARD = BOTTOM * (2**ROWS - 1)
ODD_ROWS, EVEN_ROWS = BOTTOM * 0b010101, BOTTOM * 0b101010
"""rows 1, 3, 5 and rows 2, 4, 6, counted from below"""
CENTRE_FIRST = (3, 2, 4, 1, 5, 0, 6)
UP, ACROSS, FALLING, RISING = 1, HEIGHT, HEIGHT - 1, HEIGHT + 1
"""distance of neighbouring bits in a line"""


class State(NamedTuple):
    me: int
    all: int


@kernel
def initial():
    return State(np.int64(0), np.int64(0))


@kernel
def seat(state):
    return popcount(state.all) & 1


@kernel
def legal_moves(state, out):
    """Columns that are not full, the centre first."""
    n = 0
    for column in CENTRE_FIRST:
        out[n] = column
        n += 1 - (state.all >> (HEIGHT * column + ROWS - 1) & 1)
    return n


@kernel
def play(state, move):
    """Adding to the lowest square of a column carries to the first empty one."""
    return State(state.me ^ state.all, state.all | (state.all + (np.int64(1) << HEIGHT * move)))


@kernel
def has_four(stones):
    pairs = stones & stones >> UP
    if pairs & pairs >> 2 * UP:
        return True
    pairs = stones & stones >> ACROSS
    if pairs & pairs >> 2 * ACROSS:
        return True
    pairs = stones & stones >> FALLING
    if pairs & pairs >> 2 * FALLING:
        return True
    pairs = stones & stones >> RISING
    return pairs & pairs >> 2 * RISING != 0


@kernel
def outcome(state):
    """Over when the opponent has just completed a line, or the board is full."""
    if has_four(state.me ^ state.all):
        return True, np.int64(-1)
    return state.all == BOARD, np.int64(0)


@kernel
def score(state):
    """Of a finished game, for the mover: 0 for a draw, else 22 minus the winner's stones, as a loss: from -18 (the
    fastest) to -1."""
    opponent = state.me ^ state.all
    return popcount(opponent) - 22 if has_four(opponent) else np.int64(0)


@kernel
def threats(stones, taken):
    """Empty squares, playable or not, that would complete a line of `stones`; `taken` are the stones of both sides."""
    found = stones << 1 & stones << 2 & stones << 3
    found |= ends_and_gaps(stones, ACROSS) | ends_and_gaps(stones, FALLING) | ends_and_gaps(stones, RISING)
    return found & (BOARD ^ taken)


@kernel
def ends_and_gaps(stones, step):
    """The four ways to complete a line in one direction: .xxx x.xx xx.x xxx."""
    above = stones << step & stones << 2 * step
    below = stones >> step & stones >> 2 * step
    return above & stones << 3 * step | above & stones >> step | below & stones << step | below & stones >> 3 * step


@kernel
def noisy(state, move):
    """The move completes four, or takes the square that would give the opponent four."""
    stone = (state.all + (np.int64(1) << HEIGHT * move)) & ~state.all
    return stone & (threats(state.me, state.all) | threats(state.me ^ state.all, state.all)) != 0


@kernel
def null(state):
    """The turn passed: the other side's view of the same stones. `seat` follows from the number of stones and does not
    notice: who passes flips the value himself. Beware of zugzwang (above) when pruning by it."""
    return State(state.me ^ state.all, np.int64(state.all))


@kernel
def cells(state, out):
    """0 empty, 1 mine, 2 the opponent's; row by row from the bottom, each from the left."""
    for cell in range(CELLS):
        bit = HEIGHT * (cell % COLUMNS) + cell // COLUMNS
        out[cell] = 2 * (state.all >> bit & 1) - (state.me >> bit & 1)


@kernel
def tuple_cells(state, out):
    """The cells, but 3 where the next stone of a column would come to stand."""
    next_stones = (state.all + BOTTOM) & BOARD
    for row in range(ROWS):
        for column in range(COLUMNS):
            bit = HEIGHT * column + row
            stone = 2 * (state.all >> bit & 1) - (state.me >> bit & 1)
            out[COLUMNS * row + column] = stone + 3 * (next_stones >> bit & 1)


@kernel
def key(state):
    """Pons' key, 49 bits: a column with h stones holds 2^h - 1 + the mover's bits, and those ranges do not overlap."""
    return state.me + state.all
