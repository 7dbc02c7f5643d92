"""MTD(f): the value is closed in by null windows alone, from a first guess f (LECTURE S8).

Every call of alpha-beta with memory asks whether the value is at least some number, and its answer is the next number
to ask about, until the bounds meet. The value is minimax's; with a window (alpha, beta) the answers stop as soon as
they lie outside, with alpha-beta's inequalities:

    v <= alpha  =>  V <= v        alpha < v < beta  =>  V = v        v >= beta  =>  V >= v

The better the guess, the fewer the calls: a search of the same position at another depth has left one in the table.
Values that come in many small steps need more calls than a coarse evaluator's.

Source: A. Plaat, J. Schaeffer, W. Pijls and A. de Bruin, "Best-first fixed-depth minimax algorithms", Artificial
Intelligence 87 (1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import stopped
from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.alphabeta_table import alphabeta_table
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import node_key
from deltaw.search.tree.transposition import entry_value, find


class Options(NamedTuple):
    """Knobs of MTD(f)."""

    guess: float = 0.0
    """f, for the mover in outcome units, where the table knows nothing of the position"""


@kernel
def mtdf(rules, leaf, visitor, state, depth, alpha, beta, options, stack):
    """Bound of the value of `state` for its mover, `depth` moves deep; see the inequalities above. Precondition: alpha
    < beta."""
    lower, upper = -np.inf, np.inf
    value = min(max(first_guess(rules, state, options, stack), alpha), beta)
    while lower < upper and lower < beta and upper > alpha:
        above = np.nextafter(value, np.inf) if value == lower else value
        below = np.nextafter(above, -np.inf)
        value = alphabeta_table(rules, leaf, visitor, state, depth, below, above, stack)
        if stopped(stack.control):
            break
        if value >= above:
            lower = value
        else:
            upper = value
    return value


@kernel
def first_guess(rules, state, options, stack):
    row = find(stack.table, node_key(rules, state, 0, stack))
    return entry_value(stack.table, row) if row >= 0 else np.float64(options.guess)


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    if rules.seat(state) == me:
        return mtdf(rules, leaf, visitor, state, depth, alpha, beta, options, stack)
    return -mtdf(rules, leaf, visitor, state, depth, -beta, -alpha, options, stack)


ALGORITHM = Algorithm(
    "mtdf",
    "MTD(f)",
    run,
    "null windows alone, from a first guess, with memory",
    Options(),
    table=True,
)
