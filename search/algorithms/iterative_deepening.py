"""Iterative deepening, descent by levels: depth 1, then 2, and so on, each level led by the moves that were best in the
one before (LECTURE S11, S12).

One run at depth d is the levels 1 to d; its value is that of alpha-beta at depth d, with the same inequalities. The
shallow levels cost little, 1/(b - 1) of the last one where every node has b children, and give back more by the order
of moves that they leave in the table. Where the time is limited, the answer is that of the last level that was
completed (`search` of `search/tree/algorithm.py`).

Source: D. Slate and L. Atkin, "Chess 4.5 - the Northwestern University chess program" (1977); R. Korf, "Depth-first
iterative-deepening" (1985).
"""

from __future__ import annotations

from deltaw.envs.control import OPEN, stopped
from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.alphabeta_table import alphabeta_table
from deltaw.search.tree.algorithm import Algorithm


@kernel
def iterative_deepening(rules, leaf, visitor, state, depth, alpha, beta, options, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep, as alpha-beta gives it."""
    value, opened = 0.0, stack.control[OPEN]
    for level in range(min(depth, 1), depth + 1):
        stack.control[OPEN] = opened  # only the last level counts
        value = alphabeta_table(rules, leaf, visitor, state, level, alpha, beta, stack)
        if stopped(stack.control):
            break
    return value


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return iterative_deepening(rules, leaf, visitor, state, depth, alpha, beta, options, stack)
    return -iterative_deepening(rules, leaf, visitor, state, depth, -beta, -alpha, options, stack)


ALGORITHM = Algorithm(
    "iterative_deepening",
    "Iterative deepening",
    run,
    "level by level, the best moves of one level first in the next",
    table=True,
)
