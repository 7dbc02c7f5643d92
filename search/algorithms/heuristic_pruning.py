"""Heuristic pruning: of every node only the children that look best are searched, and fewer of them the worse the node
looks (LECTURE S16).

    Factor(node) = Factor(parent) - Rank(node)

A node searches its Factor(node) best-looking moves. The moves of a node are ranked 1, 2, 3 ... by the static values of
their results, best for the mover first, equals in the game's order; so the k-th best child gets k fewer children than
its parent may have. A node with no factor left is evaluated, like a leaf. The state a search starts from has the factor
of the options; under `search` of `search/tree/algorithm.py` these are the results of the root's moves, all of which are
looked at.

With `quiet_plies` noisy moves are played out at the cut-off, all of them (`search/algorithms/quiescence.py`). The two
together are what C. Shannon called a program of type B: it looks at plausible moves only and follows them to quiet
positions.

**Promise.** The value is that of minimax on the tree so thinned, with fail-soft windows. With factor >= depth x most
moves of a position, and quiet_plies = 0, nothing is thinned and it is minimax. At most C(factor, k) nodes are k moves
away from the start, those of quiescence not counted: as many as there are ways to choose k ranks.

**Where it errs.** A move whose point shows only later (a sacrifice) ranks low and is never seen, be it mine or the
opponent's, so the value may be wrong in either direction.

Source: the lecture. R. Greenblatt, D. Eastlake and S. Crocker, "The Greenblatt chess program" (1967), look at fewer
plausible moves the deeper they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import OPEN, enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.ordered import order_moves
from deltaw.search.algorithms.quiescence import check as quiescence_check
from deltaw.search.algorithms.quiescence import quiescence
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


class Options(NamedTuple):
    factor: int = 12
    """most moves that are searched where a search starts"""
    quiet_plies: int = 0
    """longest line of noisy moves beyond the cut-off; 0: none"""


@kernel
def pruning(rules, leaf, visitor, state, depth, factor, alpha, beta, options, stack):
    """Bound of the value of `state`, a node with this factor, for its mover. Precondition: alpha < beta."""
    row, is_last = depth + options.quiet_plies, depth == 0 or factor <= 0
    if is_last and options.quiet_plies > 0:
        start = np.int64(options.quiet_plies)
        return quiescence(rules, leaf, visitor, state, start, alpha, beta, options, stack)
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or is_last:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[row], rules.seat(state)
    n = node_moves(rules, state, moves, stack)
    order_moves(rules, leaf, state, moves, stack.scores[row], n, stack)
    best = -np.inf
    for i in range(min(n, factor)):
        child, bound, rank = rules.play(state, moves[i]), max(alpha, best), i + 1
        if rules.seat(child) == mover:
            value = pruning(rules, leaf, visitor, child, depth - 1, factor - rank, bound, beta, options, stack)
        else:
            value = -pruning(rules, leaf, visitor, child, depth - 1, factor - rank, -beta, -bound, options, stack)
        best = max(best, value)
        if best >= beta:
            break
    if best < beta and factor < n:
        stack.control[OPEN] += 1
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    factor = np.int64(options.factor)
    if rules.seat(state) == me:
        return pruning(rules, leaf, visitor, state, depth, factor, alpha, beta, options, stack)
    return -pruning(rules, leaf, visitor, state, depth, factor, -beta, -alpha, options, stack)


def check(options: Options) -> None:
    if options.factor < 1:
        raise InputError(f"a factor of {options.factor}; at least one move must be searched")
    quiescence_check(options)


ALGORITHM = Algorithm(
    "heuristic_pruning",
    "Heuristic pruning",
    run,
    "alpha-beta on the best-looking moves alone, the fewer the worse the node looks",
    options=Options(),
    exact=False,
    scores=True,
    check=check,
    extra=lambda options: options.quiet_plies,
)
