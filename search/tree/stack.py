"""The things that every recursive search carries along: scratch memory for each ply, the control array, and a visitor
for learners that use the tree.

Letters: D deepest depth, M most moves of a decision, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs import path as paths
from deltaw.envs.bits import mix
from deltaw.envs.control import OPEN, PATH, stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.tree.transposition import table_key

DEEPEST = 1000
"""plies; a recursion of this depth still fits the machine's stack"""


class Stack(NamedTuple):
    """Scratch memory of one search. A field that a search does not use may be the empty tuple, which costs nothing to
    pass on."""

    moves: np.ndarray
    """int64 [D + 1, M]: each depth has its own moves"""
    rows: Any
    """int64 [D + 1, M, W]: results of the moves, for searches that call `expand`"""
    scores: Any
    """float64 [D + 1, M]: for searches that order their moves"""
    table: Any
    """transposition table, see `search/tree/transposition.py`"""
    control: np.ndarray
    """int64 [6 + P]: see `envs/control.py`; its end is the path (`envs/path.py`) to the node that is searched"""
    work: Any
    """the evaluator's scratch memory"""
    memory: Any = ()
    """what an algorithm's own `memory` made"""


class Visitor(NamedTuple):
    """An observer that is shown every node that a search has finished: for search-bootstrapped learning, tests and
    drawings."""

    visit: Any
    """visit(memory, state, depth, lower, upper): `lower` <= value <= `upper` has been proven of the node searched
    `depth` deep (of the node, not of the window: infinite where nothing is known). Called when the node is left, leaves
    included."""
    memory: Any


@kernel
def _look_away(memory, state, depth, lower, upper):
    pass


NOBODY = Visitor(_look_away, ())


@kernel
def path_in(control):
    return control[control[PATH] :]


@kernel
def node_outcome(rules, state, stack):
    """(whether the game is over at this node, its value for the mover), by a repetition too."""
    if rules.repetition != 0:
        return paths.outcome(rules, path_in(stack.control), state)
    return rules.outcome(state)


# A node joins the path with its moves. `stack` is anything that has `control`, such as the engine's memory.


@kernel
def node_moves(rules, state, moves, stack):
    """Writes the moves of a node to `moves` [M] and returns how many there are; the node joins the path until
    `leave_path`."""
    if rules.repetition == 0:
        return rules.legal_moves(state, moves)
    n = paths.legal_moves(rules, path_in(stack.control), state, moves)
    paths.reach(rules, path_in(stack.control), state)
    return n


@kernel
def node_noisy_moves(rules, state, moves, stack):
    """`node_moves` of the noisy moves alone."""
    if rules.repetition == 0:
        return rules.noisy_moves(state, moves)
    n = paths.noisy_moves(rules, path_in(stack.control), state, moves)
    paths.reach(rules, path_in(stack.control), state)
    return n


@kernel
def node_results(rules, state, moves, rows, stack):
    """`node_moves` with distinct results, which go to `rows` [M, W]."""
    if rules.repetition == 0:
        return rules.expand(state, moves, rows)
    n = paths.expand(rules, path_in(stack.control), state, moves, rows)
    paths.reach(rules, path_in(stack.control), state)
    return n


@kernel
def leave_path(rules, stack):
    """The last node whose moves were taken leaves the path."""
    if rules.repetition != 0:
        paths.step_back(rules, path_in(stack.control))


@kernel
def node_key(rules, state, version, stack):
    """`table_key`, from another path that matters a different one: for searches that promise the exact value."""
    key = table_key(rules, state, version)
    if rules.repetition != 0:
        key = np.int64(mix(np.uint64(key ^ paths.past_key(rules, path_in(stack.control), state))) >> np.uint64(1))
    return key


@kernel
def opinion(rules, leaf, state, stack):
    """The evaluator's value of `state`, which proves nothing: control[OPEN] counts it. Precondition: the game is on."""
    stack.control[OPEN] += 1
    return np.float64(leaf.evaluate(rules, leaf.weights, state, stack.work))


@kernel
def leaf_value(rules, leaf, visitor, state, depth, over, result, stack):
    """Value of a node that is not searched further: the outcome where the game is `over`, else the evaluator's
    opinion."""
    value = np.float64(result) if over else opinion(rules, leaf, state, stack)
    visitor.visit(visitor.memory, state, depth, value, value)
    return value


@kernel
def leave(visitor, control, state, depth, value, alpha, beta):
    """A node is left: the visitor hears what a fail-soft search with this window has proven of it; nothing after a
    stop."""
    if not stopped(control):
        lower = value if value > alpha else -np.inf
        upper = value if value < beta else np.inf
        visitor.visit(visitor.memory, state, depth, lower, upper)


def make_stack(
    game: Game,
    depth: int,
    control: np.ndarray,
    work: Any,
    *,
    rows: bool = False,
    scores: bool = False,
    table: Any = (),
    memory: Any = (),
) -> Stack:
    """Memory for a search of so many plies. Raises InputError for a depth below 0 or beyond `DEEPEST`."""
    check_depth(depth)
    rules = game.rules
    control = np.concatenate([control[: PATH + 1], paths.make_path(rules, depth + 1)])
    most = max(rules.max_moves, rules.max_chance)
    return Stack(
        np.empty((depth + 1, most), np.int64),
        np.empty((depth + 1, most, rules.width), np.int64) if rows else (),
        np.empty((depth + 1, most)) if scores else (),
        table,
        control,
        work,
        memory,
    )


def check_depth(depth: int) -> None:
    if depth < 0:
        raise InputError(f"depth {depth} is negative; it counts moves")
    if depth > DEEPEST:
        raise InputError(f"depth {depth} is too deep: at most {DEEPEST}")
