"""Heuristic continuation: chosen leaves only are deepened (LECTURE S15).

A leaf that a noisy move has just led to (the game's own mark, `Rules.noisy`: the king is in check, a pawn is about to
queen) is no place to evaluate: the search goes on there by `extra_plies` full-width moves, at most `times` times in one
line.

    C(s, 0, t) = C(s, extra_plies, t - 1)  the move that led to s is noisy and t > 0
               = evaluate(s)               otherwise
    C(s, d, t) = max over moves m of C(play(s, m), d - 1, t)

**Promise.** Every line is searched to the depth, and chosen ones by `extra_plies` x `times` further; the value is
that of minimax on the tree so extended, with fail-soft windows. With extra_plies = 0 or times = 0, or in a game without
noisy moves, it is minimax.

**Where it errs.** It sees a threat only where the game marks the move that makes it, and its own leaves have a horizon
again.

Source: the lecture; C. Shannon, "Programming a computer for playing chess" (1950), whose type B strategy follows
forceful variations further than others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import NOISY, enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


class Options(NamedTuple):
    extra_plies: int = 2
    """how much deeper a chosen leaf is searched; 0: not at all"""
    times: int = 1
    """how often one line may be continued"""


@kernel
def continuation(rules, leaf, visitor, state, depth, left, noisy, alpha, beta, options, stack):
    """Bound of C(state, depth, left) for the mover; `noisy`: the move that led here is. Precondition: alpha < beta.

    depth + left x extra_plies counts down by one each ply, a continuation included: it is the row of the stack.
    """
    if enter(stack.control):
        return 0.0
    if depth == 0 and noisy and left > 0:
        depth, left = np.int64(options.extra_plies), left - 1
    row = depth + left * options.extra_plies
    nominal = row - options.times * options.extra_plies
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, nominal, over, result, stack)
    moves, mover = stack.moves[row], rules.seat(state)
    best = -np.inf
    for i in range(node_moves(rules, state, moves, stack)):
        child, bound, loud = rules.play(state, moves[i]), max(alpha, best), bool(rules.noisy(state, moves[i]))
        if rules.seat(child) == mover:
            value = continuation(rules, leaf, visitor, child, depth - 1, left, loud, bound, beta, options, stack)
        else:
            value = -continuation(rules, leaf, visitor, child, depth - 1, left, loud, -beta, -bound, options, stack)
        best = max(best, value)
        if best >= beta:
            break
    leave_path(rules, stack)
    leave(visitor, stack.control, state, nominal, best, alpha, beta)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    left, noisy = np.int64(options.times), bool(stack.control[NOISY] != 0)
    if rules.seat(state) == me:
        return continuation(rules, leaf, visitor, state, depth, left, noisy, alpha, beta, options, stack)
    return -continuation(rules, leaf, visitor, state, depth, left, noisy, -beta, -alpha, options, stack)


def check(options: Options) -> None:
    if options.extra_plies < 0 or options.times < 0:
        raise InputError(f"{options.extra_plies} extra plies, {options.times} times; neither may be negative")


ALGORITHM = Algorithm(
    "heuristic_continuation",
    "Heuristic continuation",
    run,
    "alpha-beta that goes on where a noisy move led to the leaf",
    options=Options(),
    exact=False,
    check=check,
    extra=lambda options: options.extra_plies * options.times,
)
