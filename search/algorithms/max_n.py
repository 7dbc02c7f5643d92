"""Max^n: any number of players, each of whom wants the most for himself (LECTURE S9).

    V(s) = payoffs(s)                           a vector, one number for each player: the game is over
         = what the evaluator thinks of s       no depth left
         = the V(play(s, m)) with the largest entry of the mover, over moves m; the first of equals

With two players and payoffs that add up to 0 this is minimax. With more, which of two equals a player takes may change
what the others get, so the rule for ties is part of the definition, and nothing is pruned. Alliances are not modelled:
they would need entries of one player that depend on another's.

Source: C. Luckhardt and K. Irani, "An algorithmic solution of n-person games", AAAI (1986).

Letters: D depth, P players.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.control import OPEN, enter, supervised
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.algorithm import Algorithm, make_setup
from deltaw.search.tree.stack import leave, leave_path, node_moves, node_outcome


@kernel
def max_n(rules, leaf, visitor, state, depth, vectors, stack):
    """Fills vectors[depth], what `state` is worth to the player in each seat, `depth` moves deep.

    vectors [D + 2, P]: one vector a depth, and the last for payoffs that begin with the mover.
    """
    if enter(stack.control):
        return
    worth, mover = vectors[depth], rules.seat(state)
    over, _ = node_outcome(rules, state, stack)
    if over or depth == 0:
        ordered = vectors[len(vectors) - 1]
        if over:
            ordered[:] = 0.0  # a repetition ends the game in a draw
            if rules.outcome(state)[0]:
                rules.payoffs(state, ordered)
        else:
            stack.control[OPEN] += 1
            leaf.evaluate(rules, leaf.weights, state, stack.work, ordered)
        for i in range(rules.num_players):
            worth[(mover + i) % rules.num_players] = ordered[i]
        visitor.visit(visitor.memory, state, depth, worth[mover], worth[mover])
        return
    moves = stack.moves[depth]
    for i in range(node_moves(rules, state, moves, stack)):
        max_n(rules, leaf, visitor, rules.play(state, moves[i]), depth - 1, vectors, stack)
        if i == 0 or vectors[depth - 1, mover] > worth[mover]:
            for seat in range(rules.num_players):
                worth[seat] = vectors[depth - 1, seat]
    leave_path(rules, stack)
    leave(visitor, stack.control, state, depth, worth[mover], -np.inf, np.inf)


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    vectors = np.empty((depth + 2, rules.num_players))
    max_n(rules, leaf, visitor, state, depth, vectors, stack)
    return vectors[depth, me]


ALGORITHM = Algorithm(
    "max_n",
    "Max^n",
    run,
    "each of any number of players for himself",
    players=(2, 99),
    vectors=True,
)


def payoffs(game: Game, evaluator: Evaluator | Baseline, state: Any, depth: int) -> np.ndarray:
    """What `state`, searched `depth` moves deep, is worth to each player: float64 [num_players], by seat.

    Raises InputError for a bad depth, and where the evaluator does not value a state for everybody.
    """
    setup = make_setup(game, evaluator, ALGORITHM, depth)
    vectors = np.empty((depth + 2, game.rules.num_players))
    arguments = (game.rules, setup.deep.leaf, setup.visitor, state, np.int64(depth), vectors, setup.stack)
    supervised(setup.stack.control, None, max_n, *arguments)
    return vectors[depth].copy()
