"""Sets of squares by number: the combinatorial number system.

The sets of k of n squares have the numbers 0 .. C(n, k) - 1. A set whose squares have the places p1 < p2 < ... < pk
among the n is number C(p1, 1) + C(p2, 2) + ... + C(pk, k).

Source: D. E. Knuth, The Art of Computer Programming 4A, 7.2.1.3.
"""

from __future__ import annotations

import math

import numpy as np

from deltaw.envs.bits import bit, difference, drop_lowest, highest, lowest, popcount
from deltaw.envs.kernel import kernel

MOST_CHOSEN = 12
"""greatest k"""
BINOMIAL = np.array([[math.comb(n, k) for k in range(MOST_CHOSEN + 1)] for n in range(65)], np.int64)
"""[n, k]"""


@kernel
def rank(chosen, squares):
    """The number of the set `chosen` among the sets of so many of `squares`, both of them masks."""
    number, k = np.int64(0), 0
    while chosen:
        k += 1
        before = difference(bit(lowest(chosen)), 1)
        number += BINOMIAL[popcount(squares & before), k]
        chosen = drop_lowest(chosen)
    return number


@kernel
def unrank(number, k, squares):
    """The set of k of `squares` with this number."""
    chosen, place = np.int64(0), popcount(squares)
    while k > 0:
        square = bit(highest(squares))
        squares ^= square
        place -= 1
        if BINOMIAL[place, k] <= number:
            number -= BINOMIAL[place, k]
            chosen |= square
            k -= 1
    return chosen
