"""The last empty squares of Othello, where nine of ten of a solver's nodes are: no table, no lists, hardly an ordering.

`alpha` stands for the null window (alpha, alpha + 1) everywhere in the solver, and results are fail-soft: a score >
alpha is a lower bound of the true one, a score <= alpha an upper bound. Scores are disc differences for the mover, the
empty squares going to the winner.

**Parity.** Who moves last in a region gains by it. Squares in quadrants with an odd number of empty squares are tried
first; `odd` is the mask of these quadrants, and a move changes it by one exclusive or. (Found in every strong program,
as in Gunnar Andersson's Zebra.)
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount, signed
from deltaw.envs.control import NODES
from deltaw.envs.games.othello.boards import flips, mobility
from deltaw.envs.games.othello.rules import final_score
from deltaw.envs.kernel import kernel

NONE = -128
"""below every score"""
QUADRANTS = tuple(signed(0x0F0F0F0F << corner) for corner in (0, 4, 32, 36))
QUADRANT = np.array([QUADRANTS[(square % 8) // 4 + 2 * (square // 32)] for square in range(64)], np.int64)
"""[64]: a square's quadrant"""
MOST_FEW = 6
"""empty squares up to which `last_few` beats a search with lists and table (5 to 7 take the same time)"""


@kernel
def odd_quadrants(empty):
    """The quadrants with an odd number of empty squares, as a mask."""
    odd = np.int64(0)
    for quadrant in QUADRANTS:
        if popcount(empty & quadrant) & 1:
            odd |= quadrant
    return odd


@kernel
def last_one(me, opponent, square, alpha):
    """Score with one empty square: his reply is looked at only if passing would keep the score above alpha."""
    discs = popcount(me)
    turned = flips(square, me, opponent)
    if turned:
        return 2 * (discs + popcount(turned)) - 62
    score = 2 * discs - (62 if discs >= 32 else 64)
    if score <= alpha:
        return score
    turned = flips(square, opponent, me)
    return 2 * (discs - popcount(turned)) - 64 if turned else score


@kernel
def last_squares(me, opponent, empty, odd, alpha, passed, control):
    """Score with two to four empty squares, the mask `empty`: trying a move costs less than finding out which are
    legal. `passed`: 1 if the opponent could not move, else 0 (int64)."""
    control[NODES] += 1
    best = np.int64(NONE)
    first = empty & odd
    for part in (first, empty ^ first):
        while part:
            square = lowest(part)
            part = drop_lowest(part)
            turned = flips(square, me, opponent)
            if turned:
                his, mine, rest = opponent ^ turned, me | turned | bit(square), empty ^ bit(square)
                if drop_lowest(rest) == 0:
                    score = -last_one(his, mine, lowest(rest), -alpha - 1)
                else:
                    below = odd ^ QUADRANT[square]
                    score = -last_squares(his, mine, rest, below, -alpha - 1, np.int64(0), control)
                best = max(best, score)
                if best > alpha:
                    return best
    if best != NONE:
        return best
    if passed:
        return final_score(me, opponent)
    return -last_squares(opponent, me, empty, odd, -alpha - 1, np.int64(1), control)


@kernel
def last_few(me, opponent, odd, alpha, empties, control):
    """Score with five or more empty squares, their number `empties`."""
    control[NODES] += 1
    moves = mobility(me, opponent)
    if moves == 0:
        if mobility(opponent, me) == 0:
            return final_score(me, opponent)
        return -last_few(opponent, me, odd, -alpha - 1, empties, control)
    best = np.int64(NONE)
    first = moves & odd
    for part in (first, moves ^ first):
        while part:
            square = lowest(part)
            part = drop_lowest(part)
            turned = flips(square, me, opponent)
            his, mine, below = opponent ^ turned, me | turned | bit(square), odd ^ QUADRANT[square]
            if empties == 5:
                score = -last_squares(his, mine, ~(his | mine), below, -alpha - 1, np.int64(0), control)
            else:
                score = -last_few(his, mine, below, -alpha - 1, empties - 1, control)
            best = max(best, score)
            if best > alpha:
                return best
    return best
