"""SCOUT: before a move is evaluated, a test asks whether it can be better at all (LECTURE S6).

    EVAL(s)      the minimax value: that of the first move, then of every other one for which TEST says that it beats
                 the best so far
    TEST(s, x)   whether the value is > x (or >= x), without finding it: one move suffices for a yes, or one reply for
                 a no

EVAL equals minimax on every position. TEST looks at no more leaves than alpha-beta with a null window; a move that
passes is searched twice.

Source: J. Pearl, "SCOUT: a simple game-searching algorithm with proven optimal properties", AAAI (1980).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


@kernel
def evaluated(rules, leaf, visitor, state, depth, most, stack):
    """EVAL: value of `state` for the player in seat `most`, MAX, searched `depth` moves deep."""
    if enter(stack.control):
        return 0.0
    sign = 1.0 if rules.seat(state) == most else -1.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return sign * leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves = stack.moves[depth]
    n = node_moves(rules, state, moves, stack)
    best = evaluated(rules, leaf, visitor, rules.play(state, moves[0]), depth - 1, most, stack)
    for i in range(1, n):
        child = rules.play(state, moves[i])
        # MAX wants more than the best so far; MIN wants less: not at least as much.
        greater = exceeds(rules, leaf, visitor, child, depth - 1, best, sign > 0, most, stack)
        if greater == (sign > 0):
            best = evaluated(rules, leaf, visitor, child, depth - 1, most, stack)
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, sign * best, -np.inf, np.inf)
    return best


@kernel
def exceeds(rules, leaf, visitor, state, depth, x, strict, most, stack):
    """TEST: whether the value of `state` for MAX, `depth` moves deep, is > x (`strict`) or >= x."""
    if enter(stack.control):
        return False
    sign = 1.0 if rules.seat(state) == most else -1.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        value = leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
        return sign * value > x if strict else sign * value >= x
    moves = stack.moves[depth]
    wanted = sign > 0  # MAX needs one move that says yes, MIN one that says no
    found = not wanted
    for i in range(node_moves(rules, state, moves, stack)):
        child = rules.play(state, moves[i])
        if exceeds(rules, leaf, visitor, child, depth - 1, x, strict, most, stack) == wanted:
            found = wanted
            break
    leave_path(rules, stack)
    if found == wanted:  # the mover reaches x
        leave(visitor, stack.control, state, depth, sign * x, -np.inf, sign * x)
    else:
        leave(visitor, stack.control, state, depth, sign * x, sign * x, np.inf)
    return found


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    return evaluated(rules, leaf, visitor, state, depth, me, stack)


ALGORITHM = Algorithm("scout", "SCOUT", run, "tests whether a move is better before it evaluates it")
