"""Null-move pruning: if even a free move does not help the opponent, this line is good enough (LECTURE S17).

With d moves left and a finite bound beta the mover first passes (`Rules.null`). If the position is still worth beta or
more after a search that is `reduction` plies shallower, moving is taken to be worth as much, and the node is cut off.
Not

    twice in a row, which would be the same position, shallower;
    where the game allows no pass (a king in check) or no more than `reduction` moves are left;
    where beta is the game's largest outcome: a pass proves no win.

A node so cut off returns beta and no more, so that nothing of the shallower search is passed on as a value.

**The guard.** In zugzwang passing is better than every move, and the rule errs. With `guard` a pass that reaches beta
is verified: the position itself, no pass at its root, is searched `reduction` plies shallower and must reach beta as
well. What the guard sees is as shallow as that.

**Promise.** The inequalities of alpha-beta hold wherever this does: no pass that reaches beta at the reduced depth
(and, with the guard, a reduced search that does) stands where no move would reach it. That is the null-move
observation, true wherever having the move is no disadvantage and the plies saved hide nothing. With reduction >= depth,
or in a game without passes, it is alpha-beta. The visitor is told nothing about nodes cut off by a pass, and everything
above them rests on the observation.

Source: C. Donninger, "Null move and deep search: selective-search heuristics for obtuse chess programs", ICCA Journal
16 (1993); the guard: O. David-Tabibi and N. Netanyahu, "Verified null-move pruning", ICGA Journal 25 (2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import OPEN, enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome

MAY_PASS, NO_PASS = np.int64(0), np.int64(1)


class Options(NamedTuple):
    reduction: int = 2
    """plies by which the search after a pass is shallower than that after a move"""
    guard: int = 1
    """1: what a pass promises is verified; 0: it is believed"""


@kernel
def null_move(rules, leaf, visitor, state, depth, turn, alpha, beta, options, stack):
    """Bound of the value of `state` for its mover; `turn`: MAY_PASS or NO_PASS. Precondition: alpha < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[depth], rules.seat(state)
    if turn == MAY_PASS and may_pass(rules, state, depth, beta, options):
        left, below = depth - options.reduction, np.nextafter(beta, -np.inf)
        after = rules.null(state)
        value = -null_move(rules, leaf, visitor, after, left - 1, NO_PASS, -beta, -below, options, stack)
        if value >= beta and options.guard != 0:
            value = null_move(rules, leaf, visitor, state, left, NO_PASS, below, beta, options, stack)
        if value >= beta:
            stack.control[OPEN] += 1
            leave(visitor, stack.control, state, depth, beta, beta, beta)  # nothing is proven
            return beta
    best = -np.inf
    for i in range(node_moves(rules, state, moves, stack)):
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        if rules.seat(child) == mover:
            value = null_move(rules, leaf, visitor, child, depth - 1, MAY_PASS, bound, beta, options, stack)
        else:
            value = -null_move(rules, leaf, visitor, child, depth - 1, MAY_PASS, -beta, -bound, options, stack)
        best = max(best, value)
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def may_pass(rules, state, depth, beta, options):
    """Whether a pass is worth trying: there is one, it saves plies, and beta is no proven win."""
    top = rules.outcomes[len(rules.outcomes) - 1]
    return depth > options.reduction and -np.inf < beta < top and rules.null(state) != state


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return null_move(rules, leaf, visitor, state, depth, MAY_PASS, alpha, beta, options, stack)
    return -null_move(rules, leaf, visitor, state, depth, MAY_PASS, -beta, -alpha, options, stack)


def check(options: Options) -> None:
    if options.reduction < 0:
        raise InputError(f"a reduction of {options.reduction} plies is negative")
    if options.guard not in (0, 1):
        raise InputError(f"guard {options.guard}; 1 verifies what a pass promises, 0 believes it")


ALGORITHM = Algorithm(
    "null_move",
    "Null-move pruning",
    run,
    "alpha-beta that cuts off where even a pass is good enough",
    options=Options(),
    exact=False,
    check=check,
)
