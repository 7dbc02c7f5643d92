"""N-tuple networks at play: the tables' sum of one position, and of its siblings by the few cells in which they differ.

A move changes a handful of cells, and only the tuples that contain one of them look up another entry. So a *base*
position is kept, with the entry and the weight of every placement: the position before the move, the turn passed, where
the game knows how to pass it, else the first of the siblings. (Connect Four, 70 tuples of 8 cells: 48 of 140 look-ups a
move.)

Sums are in float64, of float32 weights: whichever way a value is found, it differs in the last digits of a double at
most.

Letters: P placements, C cells of the board, I pairs of a cell and a placement that contains it.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.tuples import active_entries, num_placements, tables
from deltaw.search.evaluators.leaf import FORGOTTEN, TANH

PENDING, KNOWN = 1, 0
"""slot[2], where the base is not FORGOTTEN: its cells alone are known; all of it is"""


class TupleWork(NamedTuple):
    """Scratch memory of one thread."""

    chances: np.ndarray
    """float32 [1]: the output"""
    slot: np.ndarray
    """int64 [4]: unused; seat to move in the base; what is known of the base; number of this evaluation"""
    total: np.ndarray
    """float64 [1]: the base's sum"""
    base: np.ndarray
    """int64 [C]: its cells"""
    cells: np.ndarray
    """int64 [C]: of the position that is evaluated"""
    entry: np.ndarray
    """int32 [2, P]: of the base, and of the position"""
    weight: np.ndarray
    """float32 [P]: of the base's entries"""
    seen: np.ndarray
    """int64 [P]: number of the evaluation that last looked at a placement"""
    touched: np.ndarray
    """int32 [P]: placements with a changed cell"""
    begin: np.ndarray
    """int32 [C + 1]: cell c is in the pairs begin[c] .. begin[c + 1]"""
    pairs: np.ndarray
    """int32 [2, I]: placement, and what a step of the cell's value adds to its entry"""


def make_tuple_work(weights: Any, game: Game) -> TupleWork:
    """Scratch memory for evaluating with these weights."""
    spec = tuple(weights.spec.tolist())
    cells, placements = game.rules.num_cells, num_placements(spec)
    begin, pairs = _incidence(spec, cells)
    return TupleWork(
        chances=np.zeros(1, np.float32),
        slot=np.array([0, 0, FORGOTTEN, 0], np.int64),
        total=np.zeros(1),
        base=np.zeros(cells, np.int64),
        cells=np.zeros(cells, np.int64),
        entry=np.zeros((2, placements), np.int32),
        weight=np.zeros(placements, np.float32),
        seen=np.full(placements, -1, np.int64),
        touched=np.zeros(placements, np.int32),
        begin=begin,
        pairs=pairs,
    )


@functools.lru_cache(maxsize=8)
def _incidence(spec: tuple[int, ...], cells: int) -> tuple[np.ndarray, np.ndarray]:
    """(begin, pairs) of TupleWork."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(cells)]
    placements = itertools.chain.from_iterable(table.placements for table in tables(spec))
    for p, placement in enumerate(placements):
        for k, cell in enumerate(placement):
            found[cell].append((p, spec[1] ** (len(placement) - 1 - k)))
    begin = np.cumsum([0, *map(len, found)]).astype(np.int32)
    pairs = np.array(list(itertools.chain.from_iterable(found)), np.int32)
    return begin, np.ascontiguousarray(pairs.T)


# --- compiled -----------------------------------------------------------------------------------------------------


@kernel
def expect_children(rules, weights, state, work):
    """The results of moves from `state` are evaluated next: remember it, the turn passed, as their base."""
    rules.tuple_cells(rules.null(state), work.base)
    work.slot[2] = PENDING


@kernel
def evaluate_tuples(rules, weights, state, work):
    over, result = rules.outcome(state)
    if over:
        work.chances[0] = result
        return np.float64(result)
    seat = rules.seat(state)
    rules.tuple_cells(state, work.cells)
    if work.slot[2] == PENDING:
        settle_base(weights, seat, work)
    if work.slot[2] != KNOWN or work.slot[1] != seat or 4 * changed_cells(work) > len(work.cells):
        work.base[:] = work.cells
        settle_base(weights, seat, work)
        total = work.total[0]
    else:
        total = changed_sum(weights, work)
    value = weights.scale * math.tanh(total) if weights.head == TANH else total
    work.chances[0] = value
    return value


@kernel
def settle_base(weights, seat, work):
    """Entries, weights and sum of the base."""
    n = active_entries(work.base, weights.spec, seat, work.entry[0])
    first = weights.first
    total = np.float64(first[len(first) - 1, 0])
    for p in range(n):
        weight = first[work.entry[0, p], 0]
        work.weight[p] = weight
        total += weight
    work.total[0], work.slot[1], work.slot[2] = total, seat, KNOWN


@kernel
def changed_cells(work):
    n = 0
    for cell in range(len(work.cells)):
        n += work.cells[cell] != work.base[cell]
    return n


@kernel
def changed_sum(weights, work):
    """The position's sum: the base's, with another entry where a cell changed."""
    now = work.slot[3]
    work.slot[3] += 1
    total, touched = work.total[0], 0
    for cell in range(len(work.cells)):
        step = work.cells[cell] - work.base[cell]
        if step != 0:
            for i in range(work.begin[cell], work.begin[cell + 1]):
                p = work.pairs[0, i]
                if work.seen[p] != now:
                    work.seen[p] = now
                    work.touched[touched] = p
                    touched += 1
                    work.entry[1, p] = work.entry[0, p]
                work.entry[1, p] += step * work.pairs[1, i]
    for k in range(touched):
        p = work.touched[k]
        total += weights.first[work.entry[1, p], 0] - work.weight[p]
    return total
