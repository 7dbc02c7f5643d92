"""What evaluators see of Connect Four: stones, open lines and threats, counted for all lines at once; and a lecture's
points.

Formulas are in bit masks of the layout that `rules.py` draws. "Mine" and "his" are arguments: every count exists for
both sides.
"""

from __future__ import annotations

from deltaw.envs.bits import lowest, popcount
from deltaw.envs.game import FeatureSet
from deltaw.envs.games.connect_four.rules import (
    ACROSS,
    BOARD,
    BOTTOM,
    CELLS,
    EVEN_ROWS,
    FALLING,
    HEIGHT,
    ODD_ROWS,
    RISING,
    ROWS,
    UP,
    seat,
    threats,
)
from deltaw.envs.kernel import kernel

_LEFT = (1 << 4 * HEIGHT) - 1  # lines that leave their column begin in the first four
UP_STARTS = BOTTOM * 0b000111
ACROSS_STARTS = BOARD & _LEFT
FALLING_STARTS = BOTTOM * 0b111000 & _LEFT
RISING_STARTS = BOTTOM * 0b000111 & _LEFT
"""first squares of the lines of each direction"""
STONES, LINES, COUNTS = range(3)
"""spec[0] of the feature sets"""
POINTS_SCALE = 10_000
"""Above every possible sum of points: 45 lines in rows and columns at 100 and 24 diagonals at 200 are 9,300."""


@kernel
def open_lines(mine, his, step, starts):
    """First squares of the lines in one direction that hold exactly (one, two, three) of my stones and none of his:
    four one-bit numbers are added for all lines at once."""
    free = starts & ~(his | his >> step | his >> 2 * step | his >> 3 * step)
    a, b, c, d = mine, mine >> step, mine >> 2 * step, mine >> 3 * step
    odd_ab, both_ab, odd_cd, both_cd = a ^ b, a & b, c ^ d, c & d
    odd = free & (odd_ab ^ odd_cd)
    pair = both_ab | both_cd
    return odd & ~pair, free & (odd_ab & odd_cd | (both_ab ^ both_cd) & ~(odd_ab | odd_cd)), odd & pair


@kernel
def count_lines(mine, his):
    """How many lines hold only my stones: (one, two, three in rows and columns, one, two, three on diagonals)."""
    a1, a2, a3 = open_lines(mine, his, UP, UP_STARTS)
    b1, b2, b3 = open_lines(mine, his, ACROSS, ACROSS_STARTS)
    c1, c2, c3 = open_lines(mine, his, FALLING, FALLING_STARTS)
    d1, d2, d3 = open_lines(mine, his, RISING, RISING_STARTS)
    return (
        popcount(a1) + popcount(b1),
        popcount(a2) + popcount(b2),
        popcount(a3) + popcount(b3),
        popcount(c1) + popcount(d1),
        popcount(c2) + popcount(d2),
        popcount(c3) + popcount(d3),
    )


@kernel
def features(state, spec, index, value):
    """One input a stone: column by column from the bottom, 0..41 mine, 42..83 the opponent's. `lines` adds, 84..89 mine
    and 90..95 the opponent's: lines with only that side's stones, exactly one, two, three of them; threats in the rows
    that side gets in zugzwang, threats in the other rows, and threats that are playable now. `counts` is these alone,
    0..11."""
    opponent = state.me ^ state.all
    n, offset = 0, 0
    if spec[0] != COUNTS:
        n = add_stones(state.me, 0, n, index, value)
        n = add_stones(opponent, CELLS, n, index, value)
        offset = 2 * CELLS
    if spec[0] != STONES:
        first = seat(state) == 0
        n = add_lines(state.me, opponent, ODD_ROWS if first else EVEN_ROWS, offset, n, index, value)
        n = add_lines(opponent, state.me, EVEN_ROWS if first else ODD_ROWS, offset + 6, n, index, value)
    return n


@kernel
def add_stones(stones, offset, n, index, value):
    while stones:
        bit = lowest(stones)
        stones &= stones - 1
        index[n] = offset + bit - bit // HEIGHT  # without the empty top bits
        value[n] = 1.0
        n += 1
    return n


@kernel
def add_lines(mine, his, rows, offset, n, index, value):
    """The six counts of one side, those that are not 0."""
    straight1, straight2, straight3, diagonal1, diagonal2, diagonal3 = count_lines(mine, his)
    squares = threats(mine, mine | his)
    own, now = popcount(squares & rows), popcount(squares & ((mine | his) + BOTTOM))
    lines = straight1 + diagonal1, straight2 + diagonal2, straight3 + diagonal3
    counts = (lines[0], lines[1], lines[2], own, popcount(squares) - own, now)
    for i, count in enumerate(counts):
        index[n] = offset + i
        value[n] = count
        n += count != 0
    return n


@kernel
def points(mine, his):
    """Two in a line 10, two on a diagonal 20, three in a line 100, three on a diagonal 200 (a lecture's evaluation).
    Counted are the lines of four squares, a row's or column's or a diagonal's, that hold exactly two or three of my
    stones and none of his."""
    _, straight2, straight3, _, diagonal2, diagonal3 = count_lines(mine, his)
    return 10 * straight2 + 100 * straight3 + 20 * diagonal2 + 200 * diagonal3


@kernel
def points_1(state):
    """The mover's points alone, in 1/POINTS_SCALE: between 0 and 1. Searched to an even depth, it is the searcher's own
    stones that count."""
    return points(state.me, state.me ^ state.all) / POINTS_SCALE


@kernel
def points_2(state):
    """The mover's points minus the opponent's, in 1/POINTS_SCALE: between -1 and 1, never reaching what a finished game
    is worth."""
    opponent = state.me ^ state.all
    return (points(state.me, opponent) - points(opponent, state.me)) / POINTS_SCALE


SIDES = ("me", "opponent")
CELL_NAMES = [f"{side}_{c}{r}" for side in SIDES for c in "abcdefg" for r in range(1, ROWS + 1)]
COUNT_NAMES = ("lines_1", "lines_2", "lines_3", "threats_own_rows", "threats_other_rows", "threats_now")
LINE_NAMES = [f"{side}_{count}" for side in SIDES for count in COUNT_NAMES]

FEATURE_SETS = {
    "cells": FeatureSet("cells", (STONES,), 84, 42, lambda: CELL_NAMES),
    "lines": FeatureSet("lines", (LINES,), 96, 54, lambda: CELL_NAMES + LINE_NAMES),
    "counts": FeatureSet("counts", (COUNTS,), 12, 12, lambda: LINE_NAMES),
}
