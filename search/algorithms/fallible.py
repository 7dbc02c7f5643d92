"""Fallible opponent: probabilities on the opponent's moves too, and hope for a mistake (LECTURE S21).

The opponent plays his best reply with probability p and one of the n - 1 others, evenly, with probability 1 - p; an
only reply for certain. For me

    F(s) = max over moves m of F(play(s, m))                      I am on turn
         = p x min + (1 - p) / (n - 1) x (sum - min)              he is: min and sum over his n replies, by their F
         = sum of P(i) x F(chance(s, i))                          dice
         = utility(s) or evaluate(s)                              at the end, or at the cut-off

Replies are counted by their results: two codes for the same result are one reply.

**Promise.** F, exactly, whatever the window: an average needs exact values, so nothing is cut off. The smaller p, the
larger F: it is never less than minimax (expectiminimax), and equal at p = 1.

**Where it errs.** Against an opponent who makes no mistakes it gives away what minimax would have kept: at p < 1 a move
may be preferred that loses to the best reply.

Source: the lecture; P. Jansen, "Problematic positions and speculative play" (1990).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import enter
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_outcome, node_results


class Options(NamedTuple):
    p: float = 0.8
    """probability that the opponent finds his best reply"""


@kernel
def fallible(rules, leaf, visitor, state, depth, me, options, stack):
    """F(state) for the player in seat `me`, `depth` moves deep."""
    if enter(stack.control):
        return 0.0
    sign = 1.0 if rules.seat(state) == me else -1.0
    over, result = node_outcome(rules, state, stack)
    if over or depth == 0:
        return sign * leaf_value(rules, leaf, visitor, state, depth, over, result, stack)
    if rules.num_chance(state) > 0:
        value = 0.0
        for i in range(rules.num_chance(state)):
            child, probability = rules.chance(state, i)
            value += probability * fallible(rules, leaf, visitor, child, depth, me, options, stack)
    else:
        rows = stack.rows[depth]
        n = node_results(rules, state, stack.moves[depth], rows, stack)
        best, others = -np.inf, 0.0  # for the mover
        for i in range(n):
            child = rules.load(rows[i])
            value = sign * fallible(rules, leaf, visitor, child, depth - 1, me, options, stack)
            others += min(best, value) if i > 0 else 0.0
            best = max(best, value)
        leave_path(rules, stack)
        value = sign * (best if sign > 0 or n == 1 else options.p * best + (1.0 - options.p) * others / (n - 1))
    leave(visitor, stack.control, state, depth, sign * value, -np.inf, np.inf)
    return value


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    return fallible(rules, leaf, visitor, state, depth, me, options, stack)


def check(options: Options) -> None:
    if not 0 <= options.p <= 1:
        raise InputError(f"p = {options.p} is no probability: from 0 to 1")


ALGORITHM = Algorithm(
    "fallible",
    "Fallible opponent",
    run,
    "the opponent finds his best reply with probability p only",
    options=Options(),
    exact=False,
    chance=True,
    rows=True,
    check=check,
)
