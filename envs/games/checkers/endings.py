"""Checkers with few pieces, numbered for databases without gaps.

A slice is the four counts of the mover's men and kings and the opponent's. Its positions are numbered by the sets of
squares (`envs/combinations.py`) of

    the mover's men on his first row (0-3), the opponent's last one, where the opponent can have no men
    the mover's other men, on 4-27
    the opponent's men, on the squares of 4-31 that are left
    the mover's kings, on the squares that are left, and the opponent's

Chinook's databases number positions likewise: R. Lake, J. Schaeffer, P. Lu, "Solving large retrograde analysis problems
using a network of workstations" (1994).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.combinations import BINOMIAL, rank, unrank
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Slices
from deltaw.envs.games.checkers.rules import BOARD, LAST_ROW, State
from deltaw.envs.kernel import kernel
from deltaw.envs.texts import whole

FIRST_ROW = 0xF
INNER = BOARD ^ FIRST_ROW ^ LAST_ROW
"""where men of both sides can stand"""
MOST_PIECES = 8
"""of both sides: what Chinook had"""


@kernel
def slice_of(state):
    men, kings = popcount(state.me & ~state.kings), popcount(state.me & state.kings)
    his_men, his_kings = popcount(state.opponent & ~state.kings), popcount(state.opponent & state.kings)
    if men + kings == 0 or his_men + his_kings == 0:
        return np.int64(-1)
    return code_of(men, kings, his_men, his_kings)


@kernel
def code_of(men, kings, his_men, his_kings):
    """The more pieces, the greater."""
    return men | kings << 4 | his_men << 8 | his_kings << 12 | (men + kings + his_men + his_kings) << 16


@kernel
def counts_of(code):
    """(men, kings, the opponent's men, his kings)."""
    return code & 15, code >> 4 & 15, code >> 8 & 15, code >> 12 & 15


@kernel
def ways_of_men(men, his_men, back):
    """Ways to place the men of both sides, `back` of the mover's on his first row."""
    inner = men - back
    if inner < 0 or back > 4:
        return np.int64(0)
    return BINOMIAL[4, back] * BINOMIAL[24, inner] * BINOMIAL[28 - inner, his_men]


@kernel
def index(state):
    men, his_men = state.me & ~state.kings, state.opponent & ~state.kings
    count, his_count = popcount(men), popcount(his_men)
    back, inner = men & FIRST_ROW, men & ~FIRST_ROW
    number = rank(back, FIRST_ROW) * BINOMIAL[24, popcount(inner)] + rank(inner, INNER)
    below = (INNER | LAST_ROW) & ~inner
    number = number * BINOMIAL[popcount(below), his_count] + rank(his_men, below)
    for fewer in range(popcount(back)):
        number += ways_of_men(count, his_count, fewer)
    free, kings = BOARD & ~(men | his_men), state.me & state.kings
    number = number * BINOMIAL[popcount(free), popcount(kings)] + rank(kings, free)
    free, kings = free & ~kings, state.opponent & state.kings
    return number * BINOMIAL[popcount(free), popcount(kings)] + rank(kings, free)


@kernel
def position(code, number):
    count, kings_count, his_count, his_kings_count = counts_of(code)
    squares = 32 - count - his_count
    his_ways = BINOMIAL[squares - kings_count, his_kings_count]
    ways = BINOMIAL[squares, kings_count] * his_ways
    number, rest = number // ways, number % ways
    back = np.int64(0)
    while number >= ways_of_men(count, his_count, back):
        number -= ways_of_men(count, his_count, back)
        back += 1
    below = BINOMIAL[28 - count + back, his_count]
    both, his_number = number // below, number % below
    inner_ways = BINOMIAL[24, count - back]
    inner = unrank(both % inner_ways, count - back, INNER)
    men = inner | unrank(both // inner_ways, back, FIRST_ROW)
    his_men = unrank(his_number, his_count, (INNER | LAST_ROW) & ~inner)
    free = BOARD & ~(men | his_men)
    kings = unrank(rest // his_ways, kings_count, free)
    his_kings = unrank(rest % his_ways, his_kings_count, free & ~kings)
    return True, State(men | kings, his_men | his_kings, kings | his_kings, np.int64(0), np.int64(0))


def size(code: int) -> int:
    men, kings, his_men, his_kings = counts_of(code)
    if not (men + kings and his_men + his_kings and men + kings + his_men + his_kings == code >> 16 <= MOST_PIECES):
        return 0
    ways = sum(int(ways_of_men(men, his_men, back)) for back in range(5))
    free = 32 - men - his_men
    return ways * int(BINOMIAL[free, kings]) * int(BINOMIAL[free - kings, his_kings])


def name(code: int) -> str:
    men, kings, his_men, his_kings = counts_of(code)
    return f"{men}+{kings}-{his_men}+{his_kings}"


def following(code: int) -> list[int]:
    """A man may become a king, and any of the opponent's pieces may be captured, but the last ones end the game."""
    men, kings, his_men, his_kings = counts_of(code)
    return [
        int(code_of(his_left, his_kings_left, men - promoted, kings + promoted))
        for promoted in range(min(men, 1) + 1)
        for his_left in range(his_men + 1)
        for his_kings_left in range(his_kings + 1)
        if his_left + his_kings_left > 0
    ]


def read(text: str) -> list[int]:
    """All slices with so many pieces."""
    try:
        pieces = whole(text)
    except ValueError:
        pieces = 0
    if not 2 <= pieces <= MOST_PIECES:
        raise InputError(f"pieces: a number from 2 to {MOST_PIECES} is right, not {short(text)}")
    return [
        int(code_of(men, mine - men, his_men, pieces - mine - his_men))
        for mine in range(1, pieces)
        for men in range(mine + 1)
        for his_men in range(pieces - mine + 1)
    ]


SLICES = Slices(slice_of, index, position, size, name, following, read, "how many, such as 4")
