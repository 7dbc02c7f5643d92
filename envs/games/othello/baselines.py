"""Handmade players of Othello, from the literature and from a lecture."""

from __future__ import annotations

import numpy as np

from envs.bits import lowest, popcount
from envs.game import Baseline
from envs.games.othello.boards import CORNERS, bit, drop_lowest, mobility
from envs.games.othello.rules import PASS
from envs.kernel import kernel

_QUARTER = (
    (1.00, -0.25, 0.10, 0.05),
    (-0.25, -0.25, 0.01, 0.01),
    (0.10, 0.01, 0.05, 0.02),
    (0.05, 0.01, 0.02, 0.01),
)
SQUARE_WEIGHTS = np.array([_QUARTER[min(s // 8, 7 - s // 8)][min(s % 8, 7 - s % 8)] for s in range(64)])
"""[64]. T. Yoshioka, S. Ishii and M. Ito, "Strategy acquisition for the game Othello based on reinforcement learning" (1999); the standard opponent of
later work: S. Lucas and T. Runarsson, "Temporal difference learning versus co-evolution for acquiring Othello position evaluation" (2006), M. van
der Ree and M. Wiering, "Reinforcement learning in the game of Othello" (2013)."""
WEIGHT_SCALE = 9.0
"""above every sum of weights: the absolute values of all 64 add up to 8.76"""

CORNER_MOVES = 10
"""moves that a corner is worth"""
MOBILITY_SCALE = 80.0
"""above every sum: 4 corners at 10, and 33 moves"""


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
    """My moves minus the opponent's, as if he were on turn, and ten for a corner, scaled to stay between -1 and 1."""
    corners = popcount(state.me & CORNERS) - popcount(state.opponent & CORNERS)
    return (CORNER_MOVES * corners + lead_in_moves(state.me, state.opponent)) / MOBILITY_SCALE


@kernel
def lead_in_moves(me, opponent):
    return popcount(mobility(me, opponent)) - popcount(mobility(opponent, me))


@kernel
def by_criteria(parent, move, child):
    """The criteria that a lecture lists for a move, each with a weight: a corner taken 10, the opponent loses the right to move 5, every move
    more than the opponent's 1, every disc turned 0.1 (it breaks ties; many discs are no advantage before the end)."""
    corner = move != PASS and bit(move) & CORNERS != 0
    turned = popcount(child.opponent) - popcount(parent.me) - (move != PASS)
    passes = mobility(child.me, child.opponent) == 0
    return 10.0 * corner + 5.0 * passes + lead_in_moves(child.opponent, child.me) + 0.1 * turned


BASELINES = {
    "positional": Baseline("positional", "value", positional, "weighted squares: the literature's standard opponent"),
    "mobility": Baseline("mobility", "value", mobile, "moves and corners, mine minus his"),
    "criteria": Baseline("criteria", "rank", by_criteria, "corner taken, opponent must pass, mobility, discs turned"),
}
