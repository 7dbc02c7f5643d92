"""What a search has proven, node by node: a visitor that remembers positions and their bounds, each once.

    lower <= value of `state`, searched `depth` plies deep <= upper

A search comes to a position by several orders of moves, and again with wider windows; all of its bounds are proven, so
the tightest of each side count. The memory is bounded: once it is full, further nodes are counted and not kept.

Letters: R room for nodes, W integers a state.

Source: J. Veness, D. Silver, W. Uther and A. Blair, "Bootstrapping from game tree search" (2009), algorithm 2, where
the transposition table is this memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.tree.stack import Visitor

LOWER, UPPER = 0, 1
"""columns of Nodes.bounds"""
KEPT, DROPPED, SEARCH, LEAST = 0, 1, 2, 3
"""Nodes.counts: nodes kept; nodes that found no room; number of the search, which tells its buckets from earlier ones;
shallowest depth to be kept"""
_PLACE = (1 << 32) - 1


class Nodes(NamedTuple):
    """The nodes of one search."""

    rows: np.ndarray
    """int64 [R, W]"""
    depth: np.ndarray
    """int64 [R]"""
    bounds: np.ndarray
    """float64 [R, 2]"""
    buckets: np.ndarray
    """int64 [2 R or more, a power of two]: (number of the search) 2^32 + node, found by the node's hash"""
    counts: np.ndarray
    """int64 [4], see above"""


def make_nodes(game: Game, room: int, least: int) -> Nodes:
    """Room for so many nodes, which are kept if they were searched at least `least` plies deep."""
    return Nodes(
        np.zeros((room, game.rules.width), np.int64),
        np.zeros(room, np.int64),
        np.zeros((room, 2)),
        np.zeros(1 << (2 * room - 1).bit_length(), np.int64),
        np.array([0, 0, 0, least], np.int64),
    )


@kernel
def begin_nodes(nodes):
    """Forgets all nodes, for a new search."""
    nodes.counts[KEPT] = 0
    nodes.counts[DROPPED] = 0
    nodes.counts[SEARCH] += 1


@kernel
def bucket_of(nodes, state, depth):
    """The bucket of this node, or the empty one where it would go."""
    word = mix(np.uint64(depth))
    for i in range(len(state)):
        word = mix(word ^ np.uint64(state[i]))
    most = len(nodes.buckets) - 1
    bucket = np.int64(word >> np.uint64(1)) & most
    while nodes.buckets[bucket] >> 32 == nodes.counts[SEARCH]:
        place = nodes.buckets[bucket] & _PLACE
        same = nodes.depth[place] == depth
        for i in range(len(state)):
            same = same and nodes.rows[place, i] == state[i]
        if same:
            break
        bucket = (bucket + 1) & most
    return bucket


@kernel
def keep_node(nodes, state, depth, lower, upper):
    """Remembers the node, or tightens what is known of it."""
    counts = nodes.counts
    if depth < counts[LEAST] or (lower == -np.inf and upper == np.inf):
        return
    bucket = bucket_of(nodes, state, depth)
    if nodes.buckets[bucket] >> 32 == counts[SEARCH]:
        place = nodes.buckets[bucket] & _PLACE
        nodes.bounds[place, LOWER] = max(nodes.bounds[place, LOWER], lower)
        nodes.bounds[place, UPPER] = min(nodes.bounds[place, UPPER], upper)
        return
    place = counts[KEPT]
    if place == len(nodes.rows):
        counts[DROPPED] += 1
        return
    counts[KEPT] += 1
    nodes.buckets[bucket] = counts[SEARCH] << 32 | place
    nodes.depth[place] = depth
    nodes.bounds[place, LOWER] = lower
    nodes.bounds[place, UPPER] = upper
    for i in range(len(state)):
        nodes.rows[place, i] = state[i]


def keeper(nodes: Nodes) -> Visitor:
    """The visitor that keeps nodes here."""
    return Visitor(keep_node, nodes)
