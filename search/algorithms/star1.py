"""Star1: alpha-beta that goes on below chance nodes (LECTURE S20).

All values lie between the worst outcome L and the best one U of the game. So when some outcomes of the dice have been
searched, with the sum of P x V so far, and a probability `rest` has not, a chance node is worth between sum + rest L
and sum + rest U: no more of it is searched when that is at most alpha or at least beta, and for the next outcome, of
probability p, the window is

    A = (alpha - sum - rest U) / p        B = (beta - sum - rest L) / p        (rest: without p)

Promises alpha-beta's inequalities, up to rounding (1e-12 of U - L), with V the value of expectiminimax:

    v <= alpha  =>  V <= v        alpha < v < beta  =>  V = v        v >= beta  =>  V >= v

Precondition: the evaluator's values lie between L and U, as outcome units do. Those that do not are brought to the
nearer end, which is then what V means: another value than that of plain expectiminimax, and still a sound one.

Source: B. Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21
(1983).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leave, leave_path, node_outcome, node_results, opinion

SLACK = 1e-12
"""part of U - L by which windows at chance nodes are wider than they need be: rounding (1e-16 a term) never cuts what
ties with the best"""


@kernel
def limits(rules):
    """(L, U, slack)."""
    lowest, highest = np.float64(rules.outcomes[0]), np.float64(rules.outcomes[len(rules.outcomes) - 1])
    return lowest, highest, SLACK * (highest - lowest)


@kernel
def leaf_value(rules, leaf, visitor, state, depth, over, result, stack):
    """The outcome, or the evaluator's opinion between L and U."""
    value = np.float64(result)
    if not over:
        lowest, highest, _ = limits(rules)
        value = min(max(opinion(rules, leaf, state, stack), lowest), highest)
    visitor.visit(visitor.memory, state, depth, value, value)
    return value


@kernel
def star1(rules, leaf, visitor, state, depth, alpha, beta, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep; see the inequalities above. Precondition: alpha
    < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    outcomes, best = rules.num_chance(state), -np.inf
    if outcomes > 0:
        lowest, highest, slack = limits(rules)
        best, rest = 0.0, 1.0
        for i in range(outcomes):
            rolled, p = rules.chance(state, i)
            rest = rest - p if i + 1 < outcomes else 0.0
            low = (alpha - slack - best - rest * highest) / p
            high = (beta + slack - best - rest * lowest) / p
            value = highest if low >= highest else lowest
            if low < highest and high > lowest:
                value = star1(rules, leaf, visitor, rolled, depth, max(low, lowest), min(high, highest), stack)
            best += p * value
            if value <= low:
                best = min(best + rest * highest, alpha)
                break
            if value >= high:
                best = max(best + rest * lowest, beta)
                break
    else:
        rows, mover = stack.rows[depth], rules.seat(state)
        for i in range(node_results(rules, state, stack.moves[depth], rows, stack)):
            child, bound = rules.load(rows[i]), max(alpha, best)
            if rules.seat(child) == mover:
                value = star1(rules, leaf, visitor, child, depth - 1, bound, beta, stack)
            else:
                value = -star1(rules, leaf, visitor, child, depth - 1, -beta, -bound, stack)
            best = max(best, value)
            if best >= beta:
                break
        leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return star1(rules, leaf, visitor, state, depth, alpha, beta, stack)
    return -star1(rules, leaf, visitor, state, depth, -beta, -alpha, stack)


ALGORITHM = Algorithm("star1", "Star1", run, "expectiminimax that prunes below chance nodes", chance=True, rows=True)
