"""Singular extension: a move that is clearly better than all others is followed one ply deeper, beyond the cut-off
(LECTURE S14).

A move is *singular* when searches of reduced depth find it better than every other move of its position by more than
`margin`; an only move always is, for a finite margin. With d moves left to the cut-off and e extensions left in the
line, and r(m) the value of the move m by plain alpha-beta max(0, d - 1 - reduction) moves deep,

    S(s, d, e) = max over moves m of S(play(s, m), d - 1, e), but S(play(s, m), d, e - 1) for a singular one    d > 0
    S(s, 0, e) = max of S(play(s, m), 0, e - 1) and r of the second best move                           m is singular
               = evaluate(s)                                                                   there is no such move
    S(s, d, 0) = the value of alpha-beta

So beyond the cut-off the search has one branch: quiescence with b = 1, but the evaluator picks the move, not a mark of
the game.

**Promise.** Every line is searched at least as deep as by alpha-beta, and by at most `extensions` plies deeper; the
value is that of minimax on the tree so extended, with fail-soft windows. With extensions = 0 or margin = inf it is
minimax.

**Where it errs.** Whether a move stands out is decided by a shallower search, which can be wrong both ways; and where
two replies are equally strong neither is singular, so the threat they carry stays beyond the horizon. The visitor hears
nothing of the reduced searches.

Source: T. Anantharaman, M. Campbell and F. Hsu, "Singular extensions: adding selectivity to brute-force searching",
Artificial Intelligence 43 (1990). There, principal variations are tested by null windows and results kept in a table;
here every node is tested, afresh.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import OPEN, enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.alphabeta import alphabeta
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import NOBODY, leave, leave_path, node_moves, node_outcome, opinion

NO_MOVE = -1


class Options(NamedTuple):
    margin: float = 0.5
    """how much better than all others a singular move must be, in outcome units; inf: none is"""
    reduction: int = 2
    """plies by which the searches that look for it are shallower"""
    extensions: int = 4
    """most extensions in one line"""


@kernel
def singular_extension(rules, leaf, visitor, state, depth, left, alpha, beta, options, stack):
    """Bound of S(state, depth, left) for the mover. Precondition: alpha < beta.

    depth + left counts down by one each ply: it is the row of the stack, and tells the visitor how many moves the plain
    search would go on.
    """
    if enter(stack.control):
        return 0.0
    row, opened = depth + left, stack.control[OPEN]
    over, result = node_outcome(rules, state, stack)
    inner = not over and row > 0
    n = node_moves(rules, state, stack.moves[row], stack) if inner else 0
    singular, second = find_singular(rules, leaf, state, n if left > 0 else 0, depth, row, options, stack)
    if depth > 0:  # what decides how deep a move is searched is no part of the value
        stack.control[OPEN] = opened
    if over or (depth == 0 and singular == NO_MOVE):
        if inner:
            leave_path(rules, stack)
        value = np.float64(result) if over else opinion(rules, leaf, state, stack)
        leave(visitor, stack.control, state, row - options.extensions, value, -np.inf, np.inf)
        return value
    moves, mover = stack.moves[row], rules.seat(state)
    best = second if depth == 0 else -np.inf
    for i in range(n):
        if best >= beta:
            break
        if depth == 0 and i != singular:
            continue
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        deep, more = (depth, left - 1) if i == singular else (depth - 1, left)
        if rules.seat(child) == mover:
            value = singular_extension(rules, leaf, visitor, child, deep, more, bound, beta, options, stack)
        else:
            value = -singular_extension(rules, leaf, visitor, child, deep, more, -beta, -bound, options, stack)
        best = max(best, value)
    if inner:
        leave_path(rules, stack)
    leave(visitor, stack.control, state, row - options.extensions, best, alpha, beta)
    return best


@kernel
def find_singular(rules, leaf, state, n, depth, row, options, stack):
    """(index of the singular one of the first n moves in this row or NO_MOVE, r of the second best move or -inf)."""
    mover, moves = rules.seat(state), stack.moves[row]
    reduced = max(np.int64(0), depth - 1 - options.reduction)
    first, second, index = -np.inf, -np.inf, np.int64(NO_MOVE)
    for i in range(n):
        child = rules.play(state, moves[i])
        if rules.seat(child) == mover:
            value = alphabeta(rules, leaf, stack.memory, child, reduced, second, np.inf, stack)
        else:
            value = -alphabeta(rules, leaf, stack.memory, child, reduced, -np.inf, -second, stack)
        if value > first:
            first, second, index = value, first, np.int64(i)
        else:
            second = max(second, value)
    return index if first - second > options.margin else np.int64(NO_MOVE), second


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    left = np.int64(options.extensions)
    if rules.seat(state) == me:
        return singular_extension(rules, leaf, visitor, state, depth, left, alpha, beta, options, stack)
    return -singular_extension(rules, leaf, visitor, state, depth, left, -beta, -alpha, options, stack)


def check(options: Options) -> None:
    if not options.margin >= 0:
        raise InputError(f"a margin of {options.margin}; 0 or more is needed")
    if options.reduction < 0 or options.extensions < 0:
        raise InputError(
            f"a reduction of {options.reduction} and {options.extensions} extensions; neither may be negative"
        )


ALGORITHM = Algorithm(
    "singular_extension",
    "Singular extension",
    run,
    "alpha-beta that follows a clearly best move one ply deeper",
    options=Options(),
    exact=False,
    check=check,
    extra=lambda options: options.extensions,
    # who hears of the reduced searches; a kernel that named him could not be cached
    memory=lambda game, depth, nodes: NOBODY,
)
