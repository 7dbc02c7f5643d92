"""Minimax: two players, one who wants much and one who wants little (LECTURE S2).

    V(s) = utility(s)                       the game is over
         = evaluate(s)                      no depth left (cut-off search, S10)
         = max over moves m of V(play(s, m))    MAX is on turn: the player who is asked at the root
         = min over moves m of V(play(s, m))    MIN is on turn

All values are for MAX. Time O(b^d), memory O(b d). The other searches promise to find the same value.

Source: J. von Neumann, "Zur Theorie der Gesellschaftsspiele" (1928); C. Shannon, "Programming a computer for playing
chess" (1950).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def minimax(rules, leaf, visitor, state, depth, most, stack):
    """Value of `state` for the player in seat `most`, searched `depth` moves deep."""
    if enter(stack.control):
        return 0.0
    sign = 1.0 if rules.seat(state) == most else -1.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return sign * leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves = stack.moves[depth]
    best = -np.inf * sign
    for i in range(node_moves(rules, state, moves, stack)):
        value = minimax(rules, leaf, visitor, rules.play(state, moves[i]), depth - 1, most, stack)
        best = max(best, value) if sign > 0 else min(best, value)
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, sign * best, -np.inf, np.inf)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    return minimax(rules, leaf, visitor, state, depth, me, stack)


ALGORITHM = Algorithm("minimax", "Minimax", run, "every line to the depth, MAX and MIN in turn")
