"""The engine's root: descent by levels (iterative deepening) with aspiration windows over `search/tree/engine_node.py`.

Each level searches the moves of the root in the order that the last one left, the best first. A level that a limit
breaks off is used as far as it was searched: its first move was the last level's best, so a move found after it can
only be better.

Letters: P plies, M most moves of a decision, W integers a state.

Source: D. Slate and L. Atkin, "Chess 4.5 - the Northwestern University chess program" (1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import OPEN, stopped
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.tree.engine_node import (
    extension,
    horizon,
    is_certain,
    is_settled,
    keep_line,
    line_start,
    search_node,
)
from deltaw.search.tree.stack import node_results


class Root(NamedTuple):
    """The moves of the root, as the levels go on ordering them."""

    moves: np.ndarray
    """int64 [M]"""
    rows: np.ndarray
    """int64 [M, W]: the states behind them"""
    values: np.ndarray
    """float64 [M]: of the last completed level; within `TIED` of the best: exact, else an upper bound, unless `full`"""
    order: np.ndarray
    """int64 [M]: indices, most promising first"""
    found: np.ndarray
    """int64 [5]: see DEPTH .. PARTIAL below"""
    line: np.ndarray
    """int64 [P + 1]: the best line, its length first"""


DEPTH, BEST, PROVEN, MOVES, PARTIAL = range(5)
"""Root.found: last level completed; index of the best move; whether the value is proven; number of moves; whether the
next level was broken off and its best move taken"""


@kernel
def search_child(rules, leaf, visitor, options, state, depth, alpha, beta, memory):
    """A node one move away from the root."""
    first, depth = np.int64(1), depth + extension(rules, options, state)
    if depth <= 0:
        return horizon(rules, leaf, visitor, options, state, alpha, beta, first, memory)
    return search_node(rules, leaf, visitor, options, state, depth, alpha, beta, first, np.int64(1), memory)


@kernel
def search_level(rules, leaf, visitor, options, state, depth, alpha, beta, memory, root, values):
    """One level in one window: values[:n] of the root moves; returns (value, index of the best move, moves searched).
    Fail-soft."""
    mover, n = rules.seat(state), root.found[MOVES]
    best, best_index = -np.inf, np.int64(-1)
    memory.frames[0, line_start(rules)] = 0
    for k in range(n):
        i = root.order[k]
        child = rules.load(root.rows[i])
        turned = rules.seat(child) != mover
        bound = (
            -np.inf
            if options.full != 0
            else max(alpha, np.nextafter(best - TIED, -np.inf) if options.ties != 0 else best)
        )
        narrow = k > 0 and options.full == 0
        while True:
            high = np.nextafter(bound, np.inf) if narrow else beta
            a, b = (-high, -bound) if turned else (bound, high)
            value = search_child(rules, leaf, visitor, options, child, depth - 1, a, b, memory)
            value = -value if turned else value
            if not (narrow and bound < value < beta):
                break
            narrow = False
        if stopped(memory.control):
            return best, best_index, k
        values[i] = value
        if value > best:
            best, best_index = value, i
            keep_line(rules, memory.frames, 0, root.moves[i])
        if value >= beta:
            return best, best_index, k + 1
    return best, best_index, n


@kernel
def answer_level(rules, memory, root, depth, best_index):
    """The level's answer becomes the root's; its best move goes to the front of the order."""
    root.found[DEPTH], root.found[BEST] = depth, best_index
    start = line_start(rules)
    length = memory.frames[0, start]
    root.line[: length + 1] = memory.frames[0, start : start + length + 1]
    place = 0
    while root.order[place] != best_index:
        place += 1
    for j in range(place, 0, -1):
        root.order[j] = root.order[j - 1]
    root.order[0] = best_index


@kernel
def think(rules, leaf, visitor, options, state, depth, memory, root, values):
    """Descends by levels from 1 to `depth` until a limit, a proof or the depth ends it; the answer is in `root`, values
    [M] is scratch.

    Precondition: `state` is a decision, and the path in memory.control leads to it. If even level 1 was not finished,
    found[DEPTH] is 0 and found[BEST] the game's first move.
    """
    control = memory.control
    n = node_results(rules, state, root.moves, root.rows, memory)
    root.found[:] = 0
    root.found[MOVES] = n
    root.values[:] = -np.inf
    root.line[0] = 0
    for i in range(n):
        root.order[i] = i
    value = 0.0
    for level in range(1, depth + 1):
        alpha, beta = -np.inf, np.inf
        if level > 1 and options.full == 0 and not is_certain(rules, options, value):
            alpha, beta = value - options.aspiration, value + options.aspiration
        while True:
            opened = control[OPEN]
            value, best, searched = search_level(
                rules, leaf, visitor, options, state, level, alpha, beta, memory, root, values
            )
            if stopped(control) or alpha < value < beta:
                break
            alpha, beta = (-np.inf, beta) if value <= alpha else (alpha, np.inf)  # the window was wrong on this side
        if stopped(control):
            if (
                searched > 0 and value > alpha
            ):  # the first move was the last level's best: what came after can only be better
                answer_level(rules, memory, root, root.found[DEPTH], best)
                root.found[PARTIAL] = 1
                root.values[best] = value
            return
        root.values[:n] = values[:n]
        answer_level(rules, memory, root, level, best)
        root.found[PROVEN] = control[OPEN] == opened
        known = root.found[PROVEN] or (is_certain(rules, options, value) and options.full == 0)
        if options.deeper != 0 and known and is_settled(rules, options, value, level):
            return
