"""Alpha-beta with a transposition table: a position that is reached by several orders of moves is searched once
(LECTURE S18, S12).

Promises the same as alpha-beta: with V the minimax value and alpha < beta, it returns v with

    v <= alpha  =>  V <= v        alpha < v < beta  =>  V = v        v >= beta  =>  V >= v

because an entry answers only at the depth at which it was found, and at greater ones where it rests on finished games
alone. What it says besides, the best or refuting move, is tried first at any depth.

Source: R. Greenblatt, D. Eastlake and S. Crocker, "The Greenblatt chess program" (1967); T. Marsland, "A review of
game-tree pruning" (1986).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import OPEN, enter, stopped
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_key, node_moves, node_outcome
from deltaw.search.tree.transposition import (
    LOWER,
    NO_MOVE,
    PROVEN,
    UPPER,
    bound_of,
    entry_bound,
    entry_depth,
    entry_move,
    entry_value,
    find,
    store,
)


@kernel
def alphabeta_table(rules, leaf, visitor, state, depth, alpha, beta, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep; see the inequalities above. Precondition: alpha
    < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    key, opened = node_key(rules, state, 0, stack), stack.control[OPEN]
    row, move = find(stack.table, key), np.int64(NO_MOVE)
    if row >= 0:
        move = entry_move(stack.table, row)
        lower, upper = known_bounds(stack.table, row, depth)
        if (lower > alpha or upper < beta) and entry_depth(stack.table, row) < PROVEN:
            stack.control[OPEN] += 1
        alpha, beta = max(alpha, lower), min(beta, upper)
        if alpha >= beta:  # the table answers: by `upper` where it is what closed the window
            visitor.visit(visitor.memory, state, depth, lower, upper)
            return upper if beta == upper else lower
    moves, mover = stack.moves[depth], rules.seat(state)
    n = node_moves(rules, state, moves, stack)
    bring_forward(moves, n, move)
    best = -np.inf
    for i in range(n):
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        if rules.seat(child) == mover:
            value = alphabeta_table(rules, leaf, visitor, child, depth - 1, bound, beta, stack)
        else:
            value = -alphabeta_table(rules, leaf, visitor, child, depth - 1, -beta, -bound, stack)
        if value > best:
            best, move = value, moves[i]
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    if not stopped(stack.control):
        proven = PROVEN if stack.control[OPEN] == opened else 0
        store(stack.table, key, depth + proven, bound_of(best, alpha, beta), best, move, 0)
    return best


@kernel
def known_bounds(table, row, depth):
    """(lower, upper) of the value at this depth, by an entry; infinite where it says nothing about this depth."""
    found_at = entry_depth(table, row)
    if found_at != depth and not PROVEN <= found_at <= PROVEN + depth:
        return -np.inf, np.inf
    value, bound = entry_value(table, row), entry_bound(table, row)
    return -np.inf if bound == UPPER else value, np.inf if bound == LOWER else value


@kernel
def bring_forward(moves, n, move):
    """`move` before the others of moves[:n], which keep their order; nothing where it is not among them."""
    for i in range(n):
        if moves[i] == move:
            for k in range(i, 0, -1):
                moves[k] = moves[k - 1]
            moves[0] = move
            break


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return alphabeta_table(rules, leaf, visitor, state, depth, alpha, beta, stack)
    return -alphabeta_table(rules, leaf, visitor, state, depth, -beta, -alpha, stack)


ALGORITHM = Algorithm(
    "alphabeta_table",
    "Alpha-beta with table",
    run,
    "alpha-beta that remembers positions and their best moves",
    table=True,
)
