"""NegaScout, or principal variation search: the first move with the full window, the others only asked whether they are
better (LECTURE S5).

Promises the same as alpha-beta: with V the minimax value and alpha < beta, it returns v with

    v <= alpha  =>  V <= v        alpha < v < beta  =>  V = v        v >= beta  =>  V >= v

A move after the first is searched with a null window, (bound, the next number above it): one that fails high is
searched again. In chess this saves about 10 % of the nodes of alpha-beta; where the first move is seldom best it costs
more than it saves.

Source: A. Reinefeld, "An improvement to the Scout tree search algorithm", ICCA Journal 6 (1983).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def negascout(rules, leaf, visitor, state, depth, alpha, beta, stack):
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
        same = rules.seat(child) == mover
        # The first move has the whole window, the others one with no number inside.
        above = beta if i == 0 else np.nextafter(bound, np.inf)
        if same:
            value = negascout(rules, leaf, visitor, child, depth - 1, bound, above, stack)
        else:
            value = -negascout(rules, leaf, visitor, child, depth - 1, -above, -bound, stack)
        if above <= value < beta and not failed_high_exactly(depth, same):
            if same:
                value = negascout(rules, leaf, visitor, child, depth - 1, value, beta, stack)
            else:
                value = -negascout(rules, leaf, visitor, child, depth - 1, -beta, -value, stack)
        best = max(best, value)
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def failed_high_exactly(depth, same):
    """Whether a move of a node `depth` above the leaves is worth just what a null window below it gave: it is a leaf
    itself, or the opponent has compared all his replies, which are leaves. Then nothing need be searched again
    (Reinefeld)."""
    return depth == 1 or (depth == 2 and not same)


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return negascout(rules, leaf, visitor, state, depth, alpha, beta, stack)
    return -negascout(rules, leaf, visitor, state, depth, -beta, -alpha, stack)


ALGORITHM = Algorithm("negascout", "NegaScout", run, "alpha-beta that asks of all moves but the first only: better?")
