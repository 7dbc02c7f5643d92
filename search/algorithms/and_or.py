"""AND/OR graph solving: what can be forced? (LECTURE S1)

To bring about "I get at least x" a player needs one good move at his own nodes (OR) and an answer to every move of his
opponent (AND). Nodes are labelled from the leaves up,

    YES    it can be forced           OR: some successor is YES       AND: every successor is
    NO     it can be prevented        OR: every successor is NO       AND: some successor is
    MAYBE  the depth limit hides it   otherwise

and as NO < MAYBE < YES, OR is a maximum and AND a minimum. A finished game is YES or NO, a node at the depth limit
MAYBE: the evaluator proves nothing. Positions that are reached in several ways are one node of the graph, kept in the
table.

Promises, by asking for one outcome class after the other: lower <= V <= upper, where V is the worth of the game if both
play on perfectly, without a limit. `prove` gives the two. As an algorithm among the others it answers lower = upper = V
where they meet, and otherwise the evaluator's opinion, brought between them. So it equals minimax wherever the depth
reaches all ends of the game, and does not elsewhere.

Source: N. Nilsson, "Searching problem-solving and game-playing trees for minimal cost solutions" (1968); A. Martelli
and U. Montanari, "Additive AND/OR graphs" (1973).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.control import NODES, Stopped, enter, make_control, stopped, supervised
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm, find_algorithm
from deltaw.search.tree.stack import NOBODY, leave_path, make_stack, node_key, node_moves, node_outcome, opinion
from deltaw.search.tree.transposition import (
    EXACT,
    NO_MOVE,
    entry_depth,
    entry_value,
    find,
    make_table,
    store,
)

NO, MAYBE, YES = -1, 0, 1


@kernel
def label(rules, visitor, state, depth, goal, most, stack):
    """Whether the player in seat `most` can force the outcome number `goal` or a better one, within `depth` moves: YES,
    NO or MAYBE."""
    if enter(stack.control):
        return np.int64(MAYBE)
    own = rules.seat(state) == most
    over, result = node_outcome(rules, state, stack)
    if over:
        return at_the_end(rules, visitor, state, depth, result, own, goal)
    if depth == 0:
        visitor.visit(visitor.memory, state, depth, -np.inf, np.inf)
        return np.int64(MAYBE)
    key = node_key(rules, state, mix(np.uint64(2 * goal + own)), stack)  # mixed, or it would look like another position
    row = find(stack.table, key)
    if row >= 0 and answers(stack.table, row, depth):
        found = np.int64(entry_value(stack.table, row))
        tell(rules, visitor, state, depth, goal, own, found, stack.control)
        return found
    enough = np.int64(YES if own else NO)
    found = -enough
    moves = stack.moves[depth]
    for i in range(node_moves(rules, state, moves, stack)):
        below = label(rules, visitor, rules.play(state, moves[i]), depth - 1, goal, most, stack)
        found = max(found, below) if own else min(found, below)
        if found == enough:
            break
    leave_path(rules, stack)
    tell(rules, visitor, state, depth, goal, own, found, stack.control)
    if not stopped(stack.control):
        store(stack.table, key, depth, EXACT, np.float64(found), np.int64(NO_MOVE), 0)
    return found


@kernel
def at_the_end(rules, visitor, state, depth, result, own, goal):
    visitor.visit(visitor.memory, state, depth, np.float64(result), np.float64(result))
    worth = result if own else -result
    return np.int64(YES if worth >= rules.outcomes[goal] else NO)


@kernel
def answers(table, row, depth):
    """What was proven in fewer moves is proven; what remained open with more remains open. So a label is always that of
    the tree `depth` deep."""
    found_at = entry_depth(table, row)
    if entry_value(table, row) == MAYBE:
        return found_at >= depth
    return found_at <= depth


@kernel
def tell(rules, visitor, state, depth, goal, own, found, control):
    """The visitor hears what a label means for the mover."""
    lower, upper = -np.inf, np.inf
    if found == YES:
        lower = np.float64(rules.outcomes[goal])
    elif found == NO:
        upper = np.float64(rules.outcomes[goal - 1])
    if not stopped(control):
        visitor.visit(visitor.memory, state, depth, lower if own else -upper, upper if own else -lower)


@kernel
def proven(rules, visitor, state, depth, most, stack):
    """(lower, upper): the best outcome that the player in seat `most` can force within `depth` moves, and the best that
    nobody can deny him."""
    lower, upper = 0, len(rules.outcomes) - 1
    for goal in range(len(rules.outcomes) - 1, 0, -1):
        found = label(rules, visitor, state, depth, goal, most, stack)
        if found == YES:
            lower = goal
            break
        if found == NO:
            upper = goal - 1
    return np.float64(rules.outcomes[lower]), np.float64(rules.outcomes[upper])


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    lower, upper = proven(rules, visitor, state, depth, me, stack)
    if lower == upper:
        return lower
    value = opinion(rules, leaf, state, stack)
    return min(max(value if rules.seat(state) == me else -value, lower), upper)


ALGORITHM = Algorithm(
    "and_or",
    "AND/OR solving",
    run,
    "what can be forced, by finished games alone",
    exact=False,
    table=True,
)


class Proof(NamedTuple):
    """What has been proven of a position, for its mover."""

    lower: int
    """the best outcome that he can force"""
    upper: int
    """the best outcome that nobody can deny him; equal to `lower` where the position is solved"""
    nodes: int


def prove(game: Game, state: Any, depth: int, *, nodes: int | None = None, table: Any = None) -> Proof:
    """What the mover of `state` can force within `depth` moves, by AND/OR solving.

    Raises InputError for a bad depth and for games with chance or more than two players, Stopped at the node limit.
    """
    find_algorithm(ALGORITHM.name, game)
    stack = make_stack(game, depth, make_control(nodes), (), table=make_table() if table is None else table)
    most = np.int64(game.rules.seat(state))
    lower, upper = supervised(stack.control, None, proven, game.rules, NOBODY, state, np.int64(depth), most, stack)
    if stopped(stack.control):
        raise Stopped(f"stopped after {stack.control[NODES]} nodes")
    return Proof(int(lower), int(upper), int(stack.control[NODES]))
