"""Expectiminimax, the textbook recursion: minimax with chance nodes. Without chance it is minimax (in its negamax form).

    V(s) = outcome(s)                                  the game is over
         = evaluate(s)                                 no depth left
         = sum over i of P(i) V(chance(s, i))          chance node
         = max over moves m of +-V(play(s, m))         decision; minus exactly when `seat` changes

Depth counts moves. A chance node costs no depth, so a limit never falls between the dice and the move behind them. Values are exact to the
last rounding: nothing is pruned. Searches that prune, and `search/plies.py`, which does two plies in batches, must agree with this file.

Source: D. Michie, "Game-playing and game-learning automata" (1966); S. Russell and P. Norvig, Artificial Intelligence, "Stochastic games".

Letters: D depth in moves, M most moves of a decision, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from envs.errors import InputError
from envs.game import Game
from envs.kernel import kernel
from search.leaf import Leaf, Work, forget, make_work


class Stack(NamedTuple):
    """Scratch memory of one search: each ply has its own moves."""

    moves: np.ndarray
    """int64 [D, M]"""
    rows: np.ndarray
    """int64 [D, M, W]"""
    nodes: np.ndarray
    """int64 [1]: states visited, chance nodes included"""
    work: Work


class Searched(NamedTuple):
    """What a search to a fixed depth found."""

    value: float
    """for the mover"""
    moves: tuple[int, ...]
    """all moves tied for best, in the game's order; none at a chance node or with depth 0"""
    nodes: int


def make_stack(leaf: Leaf, game: Game, depth: int) -> Stack:
    rules = game.rules
    return Stack(
        np.empty((depth, rules.max_moves), np.int64),
        np.empty((depth, rules.max_moves, rules.width), np.int64),
        np.zeros(1, np.int64),
        make_work(leaf, game),
    )


@kernel
def expectiminimax(rules, leaf, state, depth, stack):
    """Value of `state` for its mover, `depth` moves deep. From outside, `depth` must be an int64 (numba issue 6061).

    Precondition: 0 <= depth <= D, and depth >= 1 where `state` is a decision behind a chance node.
    """
    stack.nodes[0] += 1
    over, result = rules.outcome(state)
    if over:
        return np.float64(result)
    if depth == 0:
        return np.float64(leaf.evaluate(rules, leaf.weights, state, stack.work))
    outcomes = rules.num_chance(state)
    if outcomes > 0:
        total = np.float64(0.0)
        for i in range(outcomes):
            rolled, probability = rules.chance(state, i)
            total += probability * expectiminimax(rules, leaf, rolled, depth, stack)
        return total
    ply = depth - 1
    n = rules.expand(state, stack.moves[ply], stack.rows[ply])
    mover = rules.seat(state)
    best = -np.inf
    forget(stack.work)  # so that a value does not depend on what was evaluated before this decision
    for i in range(n):
        child = rules.load(stack.rows[ply, i])
        value = expectiminimax(rules, leaf, child, depth - 1, stack)
        best = max(best, value if rules.seat(child) == mover else -value)
    return best


@kernel
def expectiminimax_moves(rules, leaf, state, depth, stack, values):
    """Values [M] of each move of the decision `state`, for its mover, `depth` >= 1 moves deep; returns their number."""
    ply = depth - 1
    n = rules.expand(state, stack.moves[ply], stack.rows[ply])
    mover = rules.seat(state)
    stack.nodes[0] += 1
    forget(stack.work)
    for i in range(n):
        child = rules.load(stack.rows[ply, i])
        value = expectiminimax(rules, leaf, child, depth - 1, stack)
        values[i] = value if rules.seat(child) == mover else -value
    return n


def search(game: Game, leaf: Leaf, state: Any, depth: int) -> Searched:
    """Expectiminimax of `state`, `depth` moves deep. Raises InputError for a negative depth."""
    if depth < 0:
        raise InputError(f"depth {depth} is negative; it counts moves")
    rules, stack = game.rules, make_stack(leaf, game, depth)
    if depth == 0 or rules.outcome(state)[0] or rules.num_chance(state) > 0:
        value = expectiminimax(rules, leaf, state, np.int64(depth), stack)
        return Searched(float(value), (), int(stack.nodes[0]))
    values = np.empty(rules.max_moves)
    n = expectiminimax_moves(rules, leaf, state, np.int64(depth), stack, values)
    best = values[:n].max()
    moves = tuple(int(stack.moves[depth - 1, i]) for i in range(n) if values[i] == best)
    return Searched(float(best), moves, int(stack.nodes[0]))
