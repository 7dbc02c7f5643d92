"""Masks of the chess board: which squares a man attacks.

A mask has a1 = bit 0, b1 = 1 .. h8 = 63, a file to the right is +1 and a rank up is +8; `envs/bits.py` says what a mask
of 64 squares must obey.

A slider sees along a line up to the next man on each side, that man included. `seen` finds both in one subtraction
(obstruction difference, <https://www.chessprogramming.org/Obstruction_Difference>): subtracting the nearest man below
from the men above flips every bit from the one to the nearest man above.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, difference, down, highest, signed, up
from deltaw.envs.kernel import kernel

FILE_A, FILE_H = signed(0x0101010101010101), signed(0x8080808080808080)
NOT_A, NOT_H = ~FILE_A, ~FILE_H
NOT_AB, NOT_GH = signed(0xFCFCFCFCFCFCFCFC), signed(0x3F3F3F3F3F3F3F3F)
RANK_1, RANK_3, RANK_8 = 0xFF, 0xFF0000, signed(0xFF00000000000000)
DARK = signed(0xAA55AA55AA55AA55)

RANK, FILE, DIAGONAL, ANTIDIAGONAL = range(4)
STEPS = ((1, 0), (0, 1), (1, 1), (-1, 1))
"""(files, ranks) of a step towards higher bits, on each of the four lines"""


def ray(square: int, files: int, ranks: int) -> int:
    """The squares beyond `square` in one direction."""
    file, rank, mask = square % 8 + files, square // 8 + ranks, 0
    while 0 <= file < 8 and 0 <= rank < 8:
        mask |= 1 << (file + 8 * rank)
        file, rank = file + files, rank + ranks
    return signed(mask)


ABOVE = np.array([[ray(square, *step) for square in range(64)] for step in STEPS])
"""int64 [4, 64]: on each line, the squares on the side of the higher bits"""
BELOW = np.array([[ray(square, -f, -r) for square in range(64)] for f, r in STEPS])


@kernel
def seen(line, square, occupied):
    """The squares that a slider on `square` attacks along one line."""
    below, above = BELOW[line, square], ABOVE[line, square]
    man_below = bit(highest(occupied & below | 1))
    men_above = occupied & above
    return (men_above ^ difference(men_above, man_below)) & (below | above)


@kernel
def rook_attacks(square, occupied):
    return seen(RANK, square, occupied) | seen(FILE, square, occupied)


@kernel
def bishop_attacks(square, occupied):
    return seen(DIAGONAL, square, occupied) | seen(ANTIDIAGONAL, square, occupied)


@kernel
def knight_attacks(knights):
    """The squares that any of the knights attacks."""
    one, two = down(knights & NOT_A, 1) | up(knights & NOT_H, 1), down(knights & NOT_AB, 2) | up(knights & NOT_GH, 2)
    return up(one, 16) | down(one, 16) | up(two, 8) | down(two, 8)


@kernel
def king_attacks(king):
    row = king | down(king & NOT_A, 1) | up(king & NOT_H, 1)
    return (row | up(row, 8) | down(row, 8)) & ~king


@kernel
def pawn_attacks(pawns):
    """The squares that pawns moving up attack."""
    return up(pawns & NOT_A, 7) | up(pawns & NOT_H, 9)


@kernel
def attacks_of_pawns_down(pawns):
    """The squares that pawns moving down attack; also the squares from which pawns moving up attack these."""
    return down(pawns & NOT_H, 7) | down(pawns & NOT_A, 9)


@kernel
def between(square, other):
    """The squares strictly between two on one line; none for two that share no line."""
    low, high = min(square, other), max(square, other)
    mask = np.int64(0)
    for line in range(4):
        mask |= ABOVE[line, low] & BELOW[line, high]
    return mask


@kernel
def line_through(square, other):
    """All squares of the line through two, `square` excepted; none for two that share no line."""
    mask, there = np.int64(0), bit(other)
    for line in range(4):
        squares = ABOVE[line, square] | BELOW[line, square]
        if squares & there:
            mask |= squares
    return mask


@kernel
def span(square, other):
    """The squares from one to the other, both included, of two on one rank."""
    return between(square, other) | bit(square) | bit(other)
