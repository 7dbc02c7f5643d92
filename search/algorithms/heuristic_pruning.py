"""Heuristic pruning: of every node only the children that look best are searched, and fewer of them the worse the node
looks (LECTURE S16).

    Factor(node) = Factor(parent) - Rank(node)

A node searches its Factor(node) best-looking moves. The moves of a node are ranked 1, 2, 3 ... by the static values of
their results, best for the mover first, equals in the game's order; so the k-th best child gets k fewer children than
its parent may have. A node with no factor left is evaluated, like a leaf. The state a search starts from has the factor
of the options; under `search` of `search/tree/algorithm.py` these are the results of the root's moves, all of which are
looked at.

**Promise.** The value is that of minimax on the tree so thinned, with fail-soft windows. With factor >= depth x most
moves of a position nothing is thinned and it is minimax. At most C(factor, k) nodes are k moves away from the start: as
many as there are ways to choose k ranks.

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
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome


class Options(NamedTuple):
    factor: int = 12
    """most moves that are searched where a search starts"""


@kernel
def pruning(rules, leaf, visitor, state, depth, factor, alpha, beta, stack):
    """Bound of the value of `state`, a node with this factor, for its mover. Precondition: alpha < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0 or factor <= 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    moves, mover = stack.moves[depth], rules.seat(state)
    n = node_moves(rules, state, moves, stack)
    order_moves(rules, leaf, state, moves, stack.scores[depth], n, stack)
    best = -np.inf
    for i in range(min(n, factor)):
        child, bound, rank = rules.play(state, moves[i]), max(alpha, best), i + 1
        if rules.seat(child) == mover:
            value = pruning(rules, leaf, visitor, child, depth - 1, factor - rank, bound, beta, stack)
        else:
            value = -pruning(rules, leaf, visitor, child, depth - 1, factor - rank, -beta, -bound, stack)
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
        return pruning(rules, leaf, visitor, state, depth, factor, alpha, beta, stack)
    return -pruning(rules, leaf, visitor, state, depth, factor, -beta, -alpha, stack)


def check(options: Options) -> None:
    if options.factor < 1:
        raise InputError(f"a factor of {options.factor}; at least one move must be searched")


ALGORITHM = Algorithm(
    "heuristic_pruning",
    "Heuristic pruning",
    run,
    "alpha-beta on the best-looking moves alone, the fewer the worse the node looks",
    options=Options(),
    exact=False,
    scores=True,
    check=check,
)
