"""Retrograde analysis: every position that can be reached is solved, backwards from the ends of the game.

    1  explore     all positions that can be reached from the roots, each once; successors are kept as indices
    2  reverse     lists of successors become lists of predecessors
    3  propagate   values go backwards from finished games, in the order of their distance. A position is won as soon as
                   one of its moves reaches a position that is lost for the opponent; so a win gets the fewest plies. It
                   is lost when all of its moves are known to reach positions that are won for the opponent; so a loss
                   gets the most plies
    4  the rest    can avoid every end of the game: these positions are draws

Cycles need no special treatment, and neither do moves that keep the turn, because an edge knows whether the seat
changes at it. If a game can be won by 1, 2 or 3, the largest wins are propagated first. A position that is not yet
decided then still has all of its moves except those that lose more.

Sources: T. Ströhlein, Untersuchungen über kombinatorische Spiele (1970); K. Thompson, "Retrograde analysis of certain
endgames", ICCA Journal 9 (1986); R. Lake, J. Schaeffer, P. Lu, "Solving large retrograde analysis problems using a
network of workstations" (1994).

The analysis sees only what the state says. It does not see a limit of `max_plies`, nor repetitions; but positions from
which the game could go on for ever are draws here anyway.

Letters: N positions, E edges, W integers a state, S symmetries, C cells, M most moves of a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.databases.database import ENDGAME, NO_DISTANCE, OUTCOME, Database, make_database
from deltaw.search.databases.symmetry import canonical_key, symmetries_of

MOST_POSITIONS = 20_000_000
"""unless the caller allows more: about 4 GB at 8 moves a position"""
CHUNK = 20_000
"""positions expanded in one call of a kernel: well below a second"""
UNKNOWN = -32768
STATES, EXPANDED, EDGES = 0, 1, 2
GOING_ON, NEEDS_STATES, NEEDS_EDGES, COLLISION = 0, 1, 2, 3


class Graph(NamedTuple):
    """Positions found so far. N and E are the capacities here; `counts` says how much of them is used."""

    rows: np.ndarray
    """int64 [N, W]"""
    keys: np.ndarray
    """int64 [N]"""
    slots: np.ndarray
    """int32 [a power of two >= 2 N]: hash table of indices + 1, open addressing; 0: empty"""
    first: np.ndarray
    """int64 [N + 1]: where a position's edges begin"""
    children: np.ndarray
    """int32 [E]: 2 x index of the successor, + 1 where the seat stays"""
    values: np.ndarray
    """int16 [N]: for the mover; UNKNOWN until it is solved"""
    counts: np.ndarray
    """int64 [3]: positions, positions expanded, edges"""


class Scratch(NamedTuple):
    moves: np.ndarray
    """int64 [M]"""
    rows: np.ndarray
    """int64 [M, W]"""
    board: np.ndarray
    """int64 [C]"""


class Solved(NamedTuple):
    """Every position reachable from the roots, in the order in which they were found."""

    rows: np.ndarray
    """int64 [N, W]: one position of each class"""
    keys: np.ndarray
    """int64 [N]"""
    values: np.ndarray
    """int16 [N]: outcome for the mover under best play"""
    distances: np.ndarray
    """int16 [N]: plies to the end, a win in the fewest, a loss in the most; -1: a draw that is not the end of the
    game"""


# --- 1: explore -------------------------------------------------------------------------------------------------------


@kernel
def add_state(rules, symmetries, graph, row, board):
    """Index of the state `row`, entered if it is new; -1 if its key belongs to another state."""
    key = canonical_key(rules, symmetries, rules.load(row), board)
    mask = len(graph.slots) - 1
    slot = np.int64(mix(np.uint64(key)) >> np.uint64(1)) & mask
    while graph.slots[slot] != 0:
        index = np.int64(graph.slots[slot] - 1)
        if graph.keys[index] == key:
            if len(symmetries) == 0:
                for i in range(len(row)):
                    if graph.rows[index, i] != row[i]:
                        return np.int64(-1)
            return index
        slot = (slot + 1) & mask
    index = graph.counts[STATES]
    graph.counts[STATES] = index + 1
    graph.slots[slot] = index + 1
    graph.keys[index] = key
    graph.rows[index] = row
    return np.int64(index)


@kernel
def expand_state(rules, symmetries, graph, index, scratch):
    """Enters the successors of one position, or the value of a finished game. Returns whether no keys collided."""
    state = rules.load(graph.rows[index])
    edges = graph.counts[EDGES]
    over, value = rules.outcome(state)
    graph.values[index] = value if over else UNKNOWN
    if not over:
        mover = rules.seat(state)
        for i in range(rules.expand(state, scratch.moves, scratch.rows)):
            child = add_state(rules, symmetries, graph, scratch.rows[i], scratch.board)
            if child < 0:
                return False
            keeps = rules.seat(rules.load(scratch.rows[i])) == mover
            graph.children[edges] = 2 * child + (1 if keeps else 0)
            edges += 1
    graph.counts[EDGES] = edges
    graph.counts[EXPANDED] = index + 1
    graph.first[index + 1] = edges
    return True


@kernel
def explore(rules, symmetries, graph, scratch, quota):
    """Expands `quota` positions in the order in which they were found; returns what is to be done next."""
    most = len(scratch.moves)
    for _ in range(quota):
        if graph.counts[STATES] + most > len(graph.rows):
            return NEEDS_STATES
        if graph.counts[EDGES] + most > len(graph.children):
            return NEEDS_EDGES
        if not expand_state(rules, symmetries, graph, graph.counts[EXPANDED], scratch):
            return COLLISION
    return GOING_ON


@kernel
def enter_slots(keys, n, slots):
    """Fills the empty hash table `slots` with the first n keys, all different."""
    mask = len(slots) - 1
    for index in range(n):
        slot = np.int64(mix(np.uint64(keys[index])) >> np.uint64(1)) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = index + 1


def _empty_graph(width: int, states: int, edges: int) -> Graph:
    return Graph(
        np.empty((states, width), np.int64),
        np.empty(states, np.int64),
        np.zeros(_slots_for(states), np.int32),
        np.zeros(states + 1, np.int64),
        np.empty(edges, np.int32),
        np.empty(states, np.int16),
        np.zeros(3, np.int64),
    )


def _slots_for(states: int) -> int:
    return 1 << (2 * states - 1).bit_length()


def _more_states(game: Game, graph: Graph) -> Graph:
    """The same graph with room for twice as many positions."""
    n, room = int(graph.counts[STATES]), 2 * len(graph.rows)
    check_memory(room * (8 * game.rules.width + 8 + 8 + 2) + 4 * _slots_for(room), f"a graph of {room:,} positions")
    bigger = _empty_graph(game.rules.width, room, 0)
    for new, old, used in zip(bigger, graph, (n, n, 0, n + 1, 0, n, 3), strict=True):
        new[:used] = old[:used]
    enter_slots(bigger.keys, n, bigger.slots)
    return bigger._replace(children=graph.children)


def _more_edges(graph: Graph) -> Graph:
    room = 2 * len(graph.children)
    check_memory(4 * room, f"a graph of {room:,} moves")
    children = np.empty(room, np.int32)
    children[: graph.counts[EDGES]] = graph.children[: graph.counts[EDGES]]
    return graph._replace(children=children)


Report = Callable[[int, int], None]
"""told (positions expanded, positions found) now and then"""


def reachable(
    game: Game,
    roots: Iterable[Any],
    *,
    symmetric: bool = True,
    plies: int | None = None,
    limit: int = MOST_POSITIONS,
    report: Report | None = None,
) -> Graph:
    """Every position reachable from the states `roots`, one a class where `symmetric`, with its successors; with
    `plies` those reachable in so many moves, of which the last ones, from counts[EXPANDED] on, have not been expanded.
    Positions are in the order of their distance from the roots.

    Raises InputError for a game of chance, for more than two players, and for more than `limit` positions."""
    _check_game(game)
    symmetries = symmetries_of(game) if symmetric else symmetries_of(game)[:0]
    rules, most = game.rules, game.rules.max_moves
    scratch = Scratch(*game.buffers(), np.empty(rules.num_cells, np.int64))
    starts = [game.row(root) for root in roots]
    graph = _empty_graph(rules.width, max(1024, 2 * most, 2 * len(starts)), max(4096, 2 * most))
    for row in starts:
        if add_state(rules, symmetries, graph, row, scratch.board) < 0:
            raise _collision(game)
    ply, layer = 0, int(graph.counts[STATES])  # the layer of this ply ends before position number `layer`
    while graph.counts[EXPANDED] < graph.counts[STATES] and ply != plies:
        quota = min(CHUNK, layer - int(graph.counts[EXPANDED]))
        graph = _explored(game, symmetries, graph, scratch, quota)
        if graph.counts[STATES] > limit:
            raise InputError(
                f"more than {limit:,} positions of {game.name} can be reached: allow more, or begin nearer to the end"
            )
        if graph.counts[EXPANDED] == layer:
            ply, layer = ply + 1, int(graph.counts[STATES])
        if report is not None:
            report(int(graph.counts[EXPANDED]), int(graph.counts[STATES]))
    return graph


def _explored(game: Game, symmetries: np.ndarray, graph: Graph, scratch: Scratch, quota: int) -> Graph:
    """The graph after a call of `explore`, with more room where that asked for it."""
    status = explore(game.rules, symmetries, graph, scratch, np.int64(quota))
    if status == COLLISION:
        raise _collision(game)
    if status == NEEDS_STATES:
        return _more_states(game, graph)
    return _more_edges(graph) if status == NEEDS_EDGES else graph


def _collision(game: Game) -> InputError:
    return InputError(f"two positions of {game.name} have the same key: it has too few bits for so many positions")


def _check_game(game: Game) -> None:
    if game.rules.num_players != 2:
        raise InputError(f"{game.name} has {game.rules.num_players} players; retrograde analysis is for two")
    if game.rules.max_chance > 0:
        raise InputError(f"{game.name} is a game of chance; retrograde analysis is for games without dice")


# --- 2 and 3: reverse and propagate ----------------------------------------------------------------------------------


@kernel
def reverse_edges(first, children, begin, end, places, parents):
    """Enters the positions begin .. end - 1 among the predecessors of their successors, coded like `children`;
    places[i] is where the next one of position i goes."""
    for parent in range(begin, end):
        for edge in range(first[parent], first[parent + 1]):
            child = children[edge] >> 1
            parents[places[child]] = 2 * parent + (children[edge] & 1)
            places[child] += 1


def _reversed(graph: Graph, states: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    """(begins [N + 1], parents): the predecessors of position i are parents[begins[i] : begins[i + 1]]."""
    begins, parents = np.zeros(states + 1, np.int64), np.empty(edges, np.int32)
    np.cumsum(np.bincount(graph.children[:edges] >> 1, minlength=states), out=begins[1:])
    places = begins[:-1].copy()
    for begin in range(0, states, CHUNK):
        end = min(begin + CHUNK, states)
        reverse_edges(graph.first, graph.children, np.int64(begin), np.int64(end), places, parents)
    return begins, parents


@kernel
def propagate(begins, parents, level, undecided, values, distances, queue, ends, quota):
    """Decides the predecessors of the next `quota` positions of the queue, ends = [done, filled] int64: those that are
    won or lost by exactly `level`, larger ones being decided already. undecided[i]: moves of position i not yet known
    to lose. The queue is in the order of distances throughout."""
    done, filled = ends[0], ends[1]
    last = min(filled, done + quota)
    while done < last:
        child = queue[done]
        done += 1
        for edge in range(begins[child], begins[child + 1]):
            parent = parents[edge] >> 1
            if values[parent] != UNKNOWN:
                continue
            worth = values[child] if parents[edge] & 1 else -values[child]
            if worth < 0:
                undecided[parent] -= 1
            if worth > 0 or undecided[parent] == 0:
                values[parent] = level if worth > 0 else -level
                distances[parent] = distances[child] + 1
                queue[filled] = parent
                filled += 1
    ends[0], ends[1] = done, filled


def solve(game: Game, roots: Iterable[Any] | None = None, **options: Any) -> Solved:
    """The value of every position reachable from the states `roots` (default: the start). Options and errors are those
    of `reachable`."""
    graph = reachable(game, [game.rules.initial()] if roots is None else roots, **options)
    states, edges = int(graph.counts[STATES]), int(graph.counts[EDGES])
    check_memory(4 * edges + 18 * states, f"solving {states:,} positions")
    begins, parents = _reversed(graph, states, edges)
    values = graph.values[:states].copy()
    undecided = np.diff(graph.first[: states + 1]).astype(np.int32)
    distances = np.where(values == UNKNOWN, NO_DISTANCE, 0).astype(np.int16)
    queue = np.empty(states, np.int32)
    for level in sorted({abs(outcome) for outcome in game.rules.outcomes} - {0}, reverse=True):
        decided = np.flatnonzero((distances == 0) & (np.abs(values) == level))
        queue[: len(decided)] = decided
        ends = np.array([0, len(decided)])
        while ends[0] < ends[1]:  # in portions, so that Ctrl-C need not wait
            propagate(begins, parents, np.int64(level), undecided, values, distances, queue, ends, np.int64(CHUNK))
    values[values == UNKNOWN] = 0
    return Solved(graph.rows[:states], graph.keys[:states], values, distances)


def retrograde(
    game: Game,
    roots: Iterable[Any] | None = None,
    *,
    symmetric: bool = True,
    covers: str = "every position that can be reached from the start",
    command: str = "",
    limit: int = MOST_POSITIONS,
    report: Report | None = None,
) -> Database:
    """The database of every position reachable from `roots`; `covers` says in words which these are. Errors as in
    `reachable`."""
    symmetric = symmetric and game.symmetries is not None
    solved = solve(game, roots, symmetric=symmetric, limit=limit, report=report)
    return make_database(
        game,
        solved.keys,
        solved.values,
        solved.distances,
        kind=ENDGAME,
        covers=covers,
        units=OUTCOME,
        symmetric=symmetric,
        command=command,
    )
