"""Quiescence search: only quiet positions are evaluated; noisy moves are followed beyond the cut-off (LECTURE S13).

    Q(s, 0) = evaluate(s)
    Q(s, k) = max of evaluate(s) and, over the noisy moves m, of Q(play(s, m), k - 1)    the mover stands pat or goes on

and at the cut-off alpha-beta takes Q(s, quiet_plies) for evaluate(s). The game says which moves are noisy
(`Rules.noisy`: captures, say).

**Promise.** The value is that of minimax on the tree so extended, with fail-soft windows. At the cut-off it is at least
the static value for whoever is on turn there; a line ends where no noisy move is left, where the mover would rather
stand pat, or after `quiet_plies` of them. With quiet_plies = 0, or in a game without noisy moves, it is minimax.

**Where it errs.** Standing pat supposes that some quiet move keeps what the position is worth. Where every quiet move
loses (zugzwang, a threat that must be parried) the static value is too good, and a quiet refutation just beyond the
cut-off is not seen at all.

Source: C. Shannon, "Programming a computer for playing chess" (1950), section 4; D. Beal, "A generalised quiescence
search algorithm" (1990).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome, opinion


class Options(NamedTuple):
    quiet_plies: int = 8
    """longest line of noisy moves beyond the cut-off; 0: none"""


@kernel
def quiescence(rules, leaf, visitor, state, row, alpha, beta, options, stack):
    """Bound of the value of `state` for its mover, `row` - quiet_plies moves before the cut-off. Precondition: alpha <
    beta, row >= 0. Of the options only quiet_plies is read.

    A line counts `row` down to 0, so that plies beyond the cut-off have rows of the stack as well; the visitor is told
    depths below 0 there.
    """
    if enter(stack.control):
        return 0.0
    depth = row - options.quiet_plies
    over, result = node_outcome(rules, state, stack)
    if over or row == 0:
        return leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    best = -np.inf
    if depth <= 0:
        best = opinion(rules, leaf, state, stack)
    moves, mover = stack.moves[row], rules.seat(state)
    for i in range(node_moves(rules, state, moves, stack)):
        if best >= beta:
            break
        if depth <= 0 and not rules.noisy(state, moves[i]):
            continue
        child, bound = rules.play(state, moves[i]), max(alpha, best)
        if rules.seat(child) == mover:
            value = quiescence(rules, leaf, visitor, child, row - 1, bound, beta, options, stack)
        else:
            value = -quiescence(rules, leaf, visitor, child, row - 1, -beta, -bound, options, stack)
        best = max(best, value)
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, best, alpha, beta)
    return best


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    row = depth + options.quiet_plies
    if rules.seat(state) == me:
        return quiescence(rules, leaf, visitor, state, row, alpha, beta, options, stack)
    return -quiescence(rules, leaf, visitor, state, row, -beta, -alpha, options, stack)


def check(options: Any) -> None:
    """Of any options with quiet_plies."""
    if options.quiet_plies < 0:
        raise InputError(f"{options.quiet_plies} plies of quiescence; 0 is none")


ALGORITHM = Algorithm(
    "quiescence",
    "Quiescence search",
    run,
    "alpha-beta that plays out noisy moves before it evaluates",
    options=Options(),
    exact=False,
    check=check,
    extra=lambda options: options.quiet_plies,
)
