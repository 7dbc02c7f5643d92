"""Alpha-beta: lines that cannot matter are not searched (LECTURE S4), fail-soft.

Let V be the minimax value. A search with the window (alpha, beta), alpha < beta, returns v with

    v <= alpha         =>  V <= v       nobody will come here: the mover has better elsewhere
    alpha < v < beta   =>  V  = v
    v >= beta          =>  V >= v       nobody will come here: the opponent avoids it

With best moves first it visits b^ceil(d/2) + b^floor(d/2) - 1 leaves instead of b^d; in random order about b^(3d/4).

Source: D. Knuth and R. Moore, "An analysis of alpha-beta pruning" (1975); fail-soft: J. Fishburn, "Another optimization
of alpha-beta search" (1983).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def alphabeta(rules, leaf, visitor, state, depth, alpha, beta, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep; see the inequalities above. Precondition: alpha
    < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[depth], rules.seat(state)
    best = -np.inf
    for i in range(node_moves(rules, state, moves, stack)):
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        if rules.seat(child) == mover:
            value = alphabeta(rules, leaf, visitor, child, depth - 1, bound, beta, stack)
        else:
            value = -alphabeta(rules, leaf, visitor, child, depth - 1, -beta, -bound, stack)
        best = max(best, value)
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return alphabeta(rules, leaf, visitor, state, depth, alpha, beta, stack)
    return -alphabeta(rules, leaf, visitor, state, depth, -beta, -alpha, stack)


ALGORITHM = Algorithm("alphabeta", "Alpha-beta", run, "minimax without the lines that cannot matter")
