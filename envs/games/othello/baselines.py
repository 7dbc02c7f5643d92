"""Handmade players of Othello, from the literature and from a lecture."""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount
from deltaw.envs.game import Baseline
from deltaw.envs.games.othello.boards import CORNERS, mobility
from deltaw.envs.games.othello.rules import PASS
from deltaw.envs.kernel import kernel

_QUARTER = (
    (1.00, -0.25, 0.10, 0.05),
    (-0.25, -0.25, 0.01, 0.01),
    (0.10, 0.01, 0.05, 0.02),
    (0.05, 0.01, 0.02, 0.01),
)
SQUARE_WEIGHTS = np.array([_QUARTER[min(s // 8, 7 - s // 8)][min(s % 8, 7 - s % 8)] for s in range(64)])
"""[64]. T. Yoshioka, S. Ishii and M. Ito, "Strategy acquisition for the game Othello based on reinforcement learning"
(1999); the standard opponent of later work, as of S. Lucas and T. Runarsson, "Temporal difference learning versus
co-evolution for acquiring Othello position evaluation" (2006), and M. van der Ree and M. Wiering, "Reinforcement
learning in the game of Othello" (2013)."""
WEIGHT_SCALE = 9.0
"""above every sum of weights: the absolute values of all 64 add up to 8.76"""

CORNER, CORNER_IN_REACH = 10, 6
"""what a corner held, and one that a side could take, counts in moves"""
MOBILITY_SCALE = 100.0
"""above every sum: 33 moves, and 4 corners at 10 or at 6"""


@kernel
def positional(state):
    """Weights of my discs' squares minus those of the opponent's, scaled to stay between -1 and 1."""
    total = 0.0
    mine, his = state.me, state.opponent
    while mine:
        total += SQUARE_WEIGHTS[lowest(mine)]
        mine = drop_lowest(mine)
    while his:
        total -= SQUARE_WEIGHTS[lowest(his)]
        his = drop_lowest(his)
    return total / WEIGHT_SCALE


@kernel
def mobile(state):
    """My moves minus the opponent's, as if he were on turn, with corners held and corners in reach, scaled to stay
    between -1 and 1: a lecture's criteria of a move (below), as far as they show in the position after it."""
    mine, his = mobility(state.me, state.opponent), mobility(state.opponent, state.me)
    value = lead(mine, his) + CORNER_IN_REACH * lead(mine & CORNERS, his & CORNERS)
    return (value + CORNER * lead(state.me & CORNERS, state.opponent & CORNERS)) / MOBILITY_SCALE


@kernel
def lead(mine, his):
    return popcount(mine) - popcount(his)


@kernel
def by_criteria(parent, move, child):
    """The criteria that a lecture lists for a move, each with a weight: a corner taken 10, the opponent loses the right
    to move 5, every move more than the opponent's 1, every disc turned 0.1 (it breaks ties; many discs are no advantage
    before the end)."""
    corner = move != PASS and bit(move) & CORNERS != 0
    turned = popcount(child.opponent) - popcount(parent.me) - (move != PASS)
    passes = mobility(child.me, child.opponent) == 0
    moves = lead(mobility(child.opponent, child.me), mobility(child.me, child.opponent))
    return 10.0 * corner + 5.0 * passes + moves + 0.1 * turned


BASELINES = {
    "positional": Baseline("positional", "value", positional, "weighted squares: the literature's standard opponent"),
    "mobility": Baseline("mobility", "value", mobile, "moves and corners, mine minus his"),
    "criteria": Baseline("criteria", "rank", by_criteria, "corner taken, opponent must pass, mobility, discs turned"),
}
