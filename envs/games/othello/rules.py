"""Othello: eight by eight squares, black moves first, rows of the opponent's discs between two of one's own are turned.

Two masks of 64 squares (`boards.py`), the mover's discs and the opponent's:

        a  b  c  d  e  f  g  h
    1   0  1  2  3  4  5  6  7
    2   8  9 10 11 12 13 14 15     a move is the number of its square, row by row as the text of a position goes,
    3  16 17 18 19 20 21 22 23     or PASS (64), the only legal move of a side that can turn nothing; it is a ply
    4  24 25 26 27 28 29 30 31
    5  32 33 34 35 36 37 38 39     `seat` is part of the state: after a pass the number of discs
    6  40 41 42 43 44 45 46 47     no longer tells whose turn it is
    7  48 49 50 51 52 53 54 55
    8  56 57 58 59 60 61 62 63

The game ends when neither side can move: most discs win, and in the score the empty squares go to the winner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import bit, down, drop_lowest, lowest, popcount, signed
from deltaw.envs.games.othello.boards import CORNERS, flips, mobility, scramble
from deltaw.envs.kernel import kernel

PASS = 64
CELLS = 64
MAX_MOVES = 34
"""33 moves are the most known for any position that can arise"""
START_BLACK, START_WHITE = 1 << 28 | 1 << 35, 1 << 27 | 1 << 36

X_SQUARES = signed(0x0042000000004200)
C_SQUARES = signed(0x4281000000008142)
MIDDLE_OF_EDGES = signed(0x3C0081818181003C)
SECOND_LINES = signed(0x003C424242423C00)
INSIDE = signed(0x00003C3C3C3C0000)
CLASSES = (CORNERS, MIDDLE_OF_EDGES, INSIDE, SECOND_LINES, C_SQUARES, X_SQUARES)
"""Squares from good to bad, as a rule: a corner is never lost; the X and C squares beside it are what gives it away."""


class State(NamedTuple):
    me: int
    opponent: int
    seat: int


@kernel
def initial():
    return State(np.int64(START_BLACK), np.int64(START_WHITE), np.int64(0))


@kernel
def seat(state):
    return state.seat


@kernel
def legal_moves(state, out):
    moves = mobility(state.me, state.opponent)
    n = 0
    for squares in CLASSES:
        part = moves & squares
        while part:
            out[n] = lowest(part)
            part = drop_lowest(part)
            n += 1
    if n == 0:
        out[0] = PASS
        n = 1
    return n


@kernel
def play(state, move):
    if move == PASS:
        return null(state)
    turned = flips(move, state.me, state.opponent)
    return State(state.opponent ^ turned, state.me | turned | bit(move), 1 - state.seat)


@kernel
def outcome(state):
    if mobility(state.me, state.opponent) != 0 or mobility(state.opponent, state.me) != 0:
        return False, np.int64(0)
    difference = popcount(state.me) - popcount(state.opponent)
    return True, np.int64(difference > 0) - np.int64(difference < 0)


@kernel
def score(state):
    """Of a finished game, for the mover: the difference in discs, the empty squares counted as the winner's."""
    return final_score(state.me, state.opponent)


@kernel
def final_score(me, opponent):
    mine, his = popcount(me), popcount(opponent)
    if mine > his:
        return 64 - 2 * his
    if mine < his:
        return 2 * mine - 64
    return np.int64(0)


@kernel
def noisy(state, move):
    """The move takes a corner. As a capture does in chess, that changes material for good: a disc in a corner is never
    turned, it anchors others, and a corner can be had only now and then. How many discs a move turns says nothing of
    the kind: they are turned back and forth until the end."""
    return move != PASS and bit(move) & CORNERS != 0


@kernel
def null(state):
    """The turn passed: the rules' own pass, here also where they do not allow it. In the endgame, where who must move
    often loses by it, pruning by this is unsound."""
    return State(np.int64(state.opponent), np.int64(state.me), 1 - state.seat)


@kernel
def cells(state, out):
    """0 empty, 1 mine, 2 the opponent's."""
    for square in range(CELLS):
        out[square] = (state.me >> square & 1) + 2 * (state.opponent >> square & 1)


@kernel
def key(state):
    """A hash of the boards, 63 bits: all is seen from the mover, whose seat does not matter."""
    return down(scramble(state.me, state.opponent), 1)
