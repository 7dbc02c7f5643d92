"""Expectiminimax, the textbook recursion: minimax with chance nodes (LECTURE S20). Without chance it is minimax.

    V(s) = outcome(s)                                  the game is over
         = evaluate(s)                                 no depth left
         = sum over i of P(i) V(chance(s, i))          chance node
         = max over moves m of +-V(play(s, m))         decision; minus exactly when `seat` changes

Depth counts moves. A chance node costs no depth, so a limit never falls between the dice and the move behind them.
Values are exact to the last rounding: nothing is pruned. Searches that prune, and `search/players/plies.py`, which does
two plies in batches, must agree with this file.

Source: D. Michie, "Game-playing and game-learning automata" (1966); S. Russell and P. Norvig, Artificial Intelligence,
"Stochastic games".
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_outcome, node_results


@kernel
def expectiminimax(rules, leaf, visitor, state, depth, stack):
    """Value of `state` for its mover, `depth` moves deep. Precondition: depth >= 1 where `state` is a decision behind a
    chance node."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    outcomes, best = rules.num_chance(state), -np.inf
    if outcomes > 0:
        best = 0.0
        for i in range(outcomes):
            rolled, probability = rules.chance(state, i)
            best += probability * expectiminimax(rules, leaf, visitor, rolled, depth, stack)
    else:
        rows, mover = stack.rows[depth], rules.seat(state)
        for i in range(node_results(rules, state, stack.moves[depth], rows, stack)):
            child = rules.load(rows[i])
            value = expectiminimax(rules, leaf, visitor, child, depth - 1, stack)
            best = max(best, value if rules.seat(child) == mover else -value)
        leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, -np.inf, np.inf)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    value = expectiminimax(rules, leaf, visitor, state, depth, stack)
    return value if rules.seat(state) == me else -value


ALGORITHM = Algorithm(
    "expectiminimax", "Expectiminimax", run, "minimax with chance nodes, nothing pruned", chance=True, rows=True
)
