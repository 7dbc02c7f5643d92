"""Negamax: minimax with one rule for both sides (LECTURE S3), since min(a, b) = -max(-a, -b).

Values are for whoever is on turn, and flip exactly when the turn changes. This is the plain search that every exact one
is tested against.

Source: D. Knuth and R. Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6 (1975).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def negamax(rules, leaf, visitor, state, depth, stack):
    """Value of `state` for its mover, searched `depth` moves deep."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[depth], rules.seat(state)
    best = -np.inf
    for i in range(node_moves(rules, state, moves, stack)):
        child = rules.play(state, moves[i])
        value = negamax(rules, leaf, visitor, child, depth - 1, stack)
        best = max(best, value if rules.seat(child) == mover else -value)
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, -np.inf, np.inf)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    value = negamax(rules, leaf, visitor, state, depth, stack)
    return value if rules.seat(state) == me else -value


ALGORITHM = Algorithm("negamax", "Negamax", run, "minimax with one rule for both sides")
