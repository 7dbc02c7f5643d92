"""Alpha-beta with ordered moves: what looks best to the evaluator is searched first (LECTURE S12).

Order changes no value, only how much is cut off: with the best move first everywhere, alpha-beta visits about the
square root of minimax's leaves, with the worst one first as many. The promise is that of
`search/algorithms/alphabeta.py`, to the letter.

The price is one evaluation for every move of a node with two plies or more below it (at the last ply the evaluations
are the search itself). They are not counted as nodes. The other order that the lecture names, by the values of the
previous iteration, is what iterative deepening does at the root (`search/tree/algorithm.py`).

Source: J. Slagle and J. Dixon, "Experiments with some programs that search game trees", Journal of the ACM 16 (1969).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def ordered(rules, leaf, visitor, state, depth, alpha, beta, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep. Precondition: alpha < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[depth], rules.seat(state)
    n = node_moves(rules, state, moves, stack)
    if depth > 1:
        order_moves(rules, leaf, state, moves, stack.scores[depth], n, stack)
    best = -np.inf
    for i in range(n):
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        if rules.seat(child) == mover:
            value = ordered(rules, leaf, visitor, child, depth - 1, bound, beta, stack)
        else:
            value = -ordered(rules, leaf, visitor, child, depth - 1, -beta, -bound, stack)
        best = max(best, value)
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def order_moves(rules, leaf, state, moves, scores, n, stack):
    """Sorts moves[:n] by the static values of their results, best for the mover first; equals stay in the game's
    order."""
    mover = rules.seat(state)
    for i in range(n):
        move = moves[i]
        child = rules.play(state, move)
        over, result = rules.outcome(child)
        score = np.float64(result if over else leaf.evaluate(rules, leaf.weights, child, stack.work))
        if rules.seat(child) != mover:
            score = -score
        place = i
        while place > 0 and scores[place - 1] < score:
            moves[place], scores[place] = moves[place - 1], scores[place - 1]
            place -= 1
        moves[place], scores[place] = move, score


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return ordered(rules, leaf, visitor, state, depth, alpha, beta, stack)
    return -ordered(rules, leaf, visitor, state, depth, -beta, -alpha, stack)


ALGORITHM = Algorithm("ordered", "Ordered alpha-beta", run, "alpha-beta, best-looking moves first", scores=True)
