"""Star2: Star1 that first tries one move behind every outcome of the dice (LECTURE S20).

Whoever rolls also moves, so any single move shows what the outcome is worth at least. These lower bounds w, found by a
quick *probing phase*, take the place of the worst outcome L in Star1's windows: often their sum reaches beta and
nothing else need be searched, and otherwise

    A = (alpha - sum - rest U) / p        B = (beta - sum - sum of P x w over the rest) / p

are tighter. Probing pays where the first moves are good ones, and where moves are many; the moves tried are searched
again afterwards.

Promises and precondition are those of Star1:

    v <= alpha  =>  V <= v        alpha < v < beta  =>  V = v        v >= beta  =>  V >= v

Source: B. Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21
(1983).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.star1 import leaf_value, limits
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leave, leave_path, node_outcome, node_results


class Options(NamedTuple):
    """Knobs of Star2."""

    probed: int = 1
    """moves tried behind each outcome; 0: Star1"""


@kernel
def star2(rules, leaf, visitor, state, depth, alpha, beta, options, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep; see the inequalities above. Precondition: alpha
    < beta."""
    if enter(stack.control):
        return 0.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    outcomes, best = rules.num_chance(state), -np.inf
    rows, mover = stack.rows[depth], rules.seat(state)
    if outcomes > 0:
        lowest, highest, slack = limits(rules)
        least, known = stack.scores[depth], lowest  # w of each outcome; sum of P x w over what has not been searched
        for i in range(outcomes):  # probing phase
            rolled, p = rules.chance(state, i)
            least[i], high = lowest, min((beta + slack - known) / p + lowest, highest)
            probed = some_results(rules, rolled, stack.moves[depth], rows, options.probed, stack)
            for k in range(probed):
                child = rules.load(rows[k])
                if least[i] < high and rules.seat(child) == mover:
                    value = star2(rules, leaf, visitor, child, depth - 1, least[i], high, options, stack)
                    least[i] = max(least[i], value)
                elif least[i] < high:
                    value = -star2(rules, leaf, visitor, child, depth - 1, -high, -least[i], options, stack)
                    least[i] = max(least[i], value)
            if probed > 0:
                leave_path(rules, stack)
            known += p * (least[i] - lowest)
        best, rest = 0.0, 1.0
        for i in range(outcomes):  # search phase
            if best + known >= beta + slack:
                best += known
                break
            rolled, p = rules.chance(state, i)
            rest, known = (rest - p, known - p * least[i]) if i + 1 < outcomes else (0.0, 0.0)
            low = (alpha - slack - best - rest * highest) / p
            high = min((beta + slack - best - known) / p, highest)
            value = highest if low >= highest else least[i]
            if max(low, least[i]) < high:
                value = star2(rules, leaf, visitor, rolled, depth, max(low, lowest), high, options, stack)
            best += p * value
            if value <= low:
                best = min(best + rest * highest, alpha)
                break
    else:
        for i in range(node_results(rules, state, stack.moves[depth], rows, stack)):
            child, bound = rules.load(rows[i]), max(alpha, best)
            if rules.seat(child) == mover:
                value = star2(rules, leaf, visitor, child, depth - 1, bound, beta, options, stack)
            else:
                value = -star2(rules, leaf, visitor, child, depth - 1, -beta, -bound, options, stack)
            best = max(best, value)
            if best >= beta:
                break
        leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def some_results(rules, state, moves, rows, most, stack):
    """`node_results` with at most so many moves; none where the game is over, and then the node is not on the path."""
    if most <= 0 or node_outcome(rules, state, stack)[0]:
        return np.int64(0)
    return np.int64(min(most, node_results(rules, state, moves, rows, stack)))


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return star2(rules, leaf, visitor, state, depth, alpha, beta, options, stack)
    return -star2(rules, leaf, visitor, state, depth, -beta, -alpha, options, stack)


ALGORITHM = Algorithm(
    "star2",
    "Star2",
    run,
    "Star1 that first tries one move behind every outcome",
    Options(),
    chance=True,
    rows=True,
    scores=True,
)
