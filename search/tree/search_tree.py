"""The tree that a search went through, rebuilt from what a `Visitor` is told: which nodes were visited, which bounds
were proven, and what was cut off.

`record` gives the visits in their order; `searched_tree` puts them into the tree of the game. Letters: V visits, W
integers a state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.algorithm import Algorithm, Setup, evaluate_state, find_algorithm, make_setup
from deltaw.search.tree.stack import Visitor, check_depth

MOST_LEAVES = 400
"""more would not be readable"""
MOST_VISITS = 1 << 16
EQUAL = 1e-12
"""bounds closer than this have met: averages over dice are rounded"""

# --- what a search looked at ------------------------------------------------------------------------------------------


class Visit(NamedTuple):
    """A node as it was told to the visitor."""

    state: Any
    depth: int
    lower: float
    """for the mover"""
    upper: float


class Log(NamedTuple):
    """A visitor's memory. V visits, W integers a state."""

    rows: np.ndarray
    """int64 [V, W]"""
    depth: np.ndarray
    """int64 [V]"""
    bounds: np.ndarray
    """float64 [V, 2]"""
    taken: np.ndarray
    """int64 [1]: visits so far; those beyond V are only counted"""


@functools.cache
def _noting(store: Any) -> Any:
    @kernel
    def note(memory, state, depth, lower, upper):
        i = memory.taken[0]
        memory.taken[0] += 1
        if i < len(memory.depth):
            store(state, memory.rows[i])
            memory.depth[i] = depth
            memory.bounds[i, 0] = lower
            memory.bounds[i, 1] = upper

    return note


def make_log(width: int) -> Log:
    return Log(
        np.empty((MOST_VISITS, width), np.int64),
        np.empty(MOST_VISITS, np.int64),
        np.empty((MOST_VISITS, 2)),
        np.zeros(1, np.int64),
    )


def record(
    game: Game,
    evaluator: Evaluator | Baseline,
    state: Any,
    depth: int,
    algorithm: Algorithm | str = "alphabeta",
    options: Any = None,
    alpha: float = -math.inf,
    beta: float = math.inf,
) -> list[Visit]:
    """Every node in the order in which one run of the algorithm left it. Raises InputError for more than
    `MOST_VISITS`."""
    log = make_log(game.rules.width)
    visitor = Visitor(_noting(game.rules.store), log)
    setup = make_setup(game, evaluator, algorithm, depth, options=options, visitor=visitor)
    evaluate_state(setup, state, depth, alpha, beta)
    return _visits(game, log)


def _visits(game: Game, log: Log) -> list[Visit]:
    n = int(log.taken[0])
    if n > MOST_VISITS:
        raise InputError(f"the search looked at {n} nodes; at most {MOST_VISITS} can be kept")
    numbers = zip(log.depth[:n].tolist(), log.bounds[:n].tolist(), strict=True)
    return [Visit(game.unrow(row), depth, *bounds) for row, (depth, bounds) in zip(log.rows, numbers, strict=False)]


# --- the tree ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Spot:
    """A node of the picture. Values are MAX's."""

    state: Any
    depth: int
    for_max: bool
    """MAX is on turn"""
    label: str = ""
    """the move or chance outcome that leads here"""
    odds: float = 1.0
    below: list[Spot] = field(default_factory=list)
    visited: bool = False
    lower: float = -math.inf
    upper: float = math.inf
    best: bool = False
    """on the line of best play"""
    x: float = 0.0
    y: float = 0.0

    @property
    def exact(self) -> bool:
        return self.lower >= self.upper - EQUAL

    def walk(self) -> Iterator[Spot]:
        """The subtree, parents first."""
        yield self
        for child in self.below:
            yield from child.walk()


class Way(NamedTuple):
    """An edge of the game's own tree."""

    state: Any
    label: str
    odds: float


NULL = "null"
"""label of a null move, which is none of the game's"""


def ways(game: Game, state: Any) -> list[Way]:
    """What can follow: moves with distinct results, or chance outcomes."""
    rules = game.rules
    if rules.outcome(state)[0]:
        return []
    if chances := rules.num_chance(state):
        outcomes = [rules.chance(state, i) for i in range(chances)]
        return [Way(_plain(game, child), f"{odds:.3g}", float(odds)) for child, odds in outcomes]
    moves = game.moves(state)
    return [Way(_plain(game, rules.play(state, move)), game.move_text(state, move), 1.0) for move in moves]


def _plain(game: Game, state: Any) -> Any:
    """The state in Python's own integers."""
    return game.state(*(int(number) for number in state))


def full_tree(game: Game, state: Any, depth: int) -> Spot:
    """Everything `depth` moves deep, unvisited. Raises InputError beyond `MOST_LEAVES`."""
    root, leaves = Spot(_plain(game, state), depth, game.rules.seat(state) == 0), 0
    open_ = [root]
    while open_:
        spot = open_.pop()
        left = spot.depth if game.rules.num_chance(spot.state) else spot.depth - 1
        following = ways(game, spot.state) if spot.depth > 0 else []
        spot.below = [_step(game, spot, way, left) for way in following]
        open_ += spot.below[::-1]
        leaves += not spot.below
        if leaves + len(open_) > MOST_LEAVES:
            raise InputError(
                f"more than {MOST_LEAVES} leaves {depth} moves deep: too many to draw; "
                "choose a smaller depth, or a later position"
            )
    return root


def _step(game: Game, spot: Spot, way: Way, depth: int) -> Spot:
    """A child, unvisited. Sides change when the seat does, and at a pass, which a seat that is counted from the stones
    does not show."""
    turned = way.label == NULL or game.rules.seat(way.state) != game.rules.seat(spot.state)
    return Spot(way.state, depth, spot.for_max != turned, way.label, way.odds)


class Seen(NamedTuple):
    """A visit and the visits made on its behalf."""

    visit: Visit
    below: list[Seen]


def nested(game: Game, log: Sequence[Visit]) -> list[Seen]:
    """The visits as trees, found from their order: a node is left after everything below it, and before its parent.

    Searches that jump between nodes (SSS*) give several trees, of which the root's is the last.
    """
    successors = functools.cache(lambda state: {way.state for way in ways(game, state)} | {_passed(game, state)})
    pieces: list[Seen] = []
    for visit in log:
        dice = game.rules.num_chance(visit.state) > 0
        below = []
        while pieces and _belongs(pieces[-1].visit, visit, dice, successors):
            below.append(pieces.pop())
        pieces.append(Seen(visit, below[::-1]))
    return pieces


def _belongs(earlier: Visit, visit: Visit, dice: bool, successors: Any) -> bool:
    """Whether the earlier node is a child of this one, or this one searched before."""
    if earlier.state == visit.state:
        return earlier.depth <= visit.depth
    near_enough = earlier.depth <= visit.depth if dice else earlier.depth < visit.depth
    return near_enough and earlier.state in successors(visit.state)


def _passed(game: Game, state: Any) -> Any:
    """The state after a null move; the state itself where there is none."""
    if game.rules.outcome(state)[0] or game.rules.num_chance(state):
        return state
    return _plain(game, game.rules.null(state))


def overlay(game: Game, root: Spot, pieces: Sequence[Seen], exact: bool) -> None:
    """Marks in the tree what was visited, and adds what lies beyond its depth."""
    *stray, whole = pieces
    if whole.visit.state != root.state:  # the search stayed silent about the root
        stray = [*pieces]
    else:
        _mark(game, root, whole, exact)
    for piece in stray:
        alike = [spot for spot in root.walk() if spot.state == piece.visit.state and spot.depth == piece.visit.depth]
        if alike:
            _mark(game, next((spot for spot in alike if not spot.visited), alike[0]), piece, exact)
    for spot in reversed(list(root.walk())):  # children before parents
        spot.visited = spot.visited or any(child.visited for child in spot.below)


def _mark(game: Game, spot: Spot, seen: Seen, exact: bool) -> None:
    for below in seen.below:
        again = below.visit.state == spot.state
        _mark(game, spot if again else _child(game, spot, below.visit), below, exact)
    spot.visited = True
    _learn(spot, seen.visit, exact)


def _learn(spot: Spot, visit: Visit, exact: bool) -> None:
    """Bounds of exact searches at this depth all hold, so they are combined; otherwise the last ones count."""
    lower, upper = (visit.lower, visit.upper) if spot.for_max else (-visit.upper, -visit.lower)
    if not exact:
        spot.lower, spot.upper = lower, upper
    elif visit.depth == spot.depth:
        spot.lower, spot.upper = max(spot.lower, lower), min(spot.upper, upper)


def _child(game: Game, spot: Spot, visit: Visit) -> Spot:
    """The child in this state; a new one where the search went beyond the depth, or passed."""
    for child in spot.below:
        if child.state == visit.state:
            return child
    known = {way.state: way for way in ways(game, spot.state)}
    child = _step(game, spot, known.get(visit.state, Way(visit.state, NULL, 1.0)), visit.depth)
    spot.below.append(child)
    order = [*known, visit.state]
    spot.below.sort(key=lambda child: order.index(child.state))
    return child


def tighten(game: Game, spot: Spot) -> None:
    """Makes bounds as narrow as the nodes below allow; unvisited nodes may have any value. Precondition: an exact
    search."""
    for child in spot.below:
        tighten(game, child)
    if spot.visited and any(child.visited for child in spot.below):
        lower, upper = [child.lower for child in spot.below], [child.upper for child in spot.below]
        spot.lower = max(spot.lower, _backed_up(game, spot, lower))
        spot.upper = min(spot.upper, _backed_up(game, spot, upper))


def _backed_up(game: Game, spot: Spot, bounds: list[float]) -> float:
    """The children's bounds as one for their parent."""
    if game.rules.num_chance(spot.state):
        return sum(child.odds * bound for child, bound in zip(spot.below, bounds, strict=True))
    return max(bounds) if spot.for_max else min(bounds)


def mark_best(game: Game, spot: Spot) -> None:
    """The line of best play from here, as far as it is proven: behind dice, every one of them."""
    spot.best = True
    seen = [child for child in spot.below if child.visited and child.label != NULL]
    if game.rules.num_chance(spot.state):
        for child in seen:
            mark_best(game, child)
    elif spot.exact:
        for_max = spot.for_max
        good = [c for c in seen if (c.lower >= spot.lower - EQUAL if for_max else c.upper <= spot.upper + EQUAL)]
        for child in good[:1]:
            mark_best(game, child)


class Searched(NamedTuple):
    """A tree and how it was searched."""

    root: Spot
    value: float
    """what the algorithm answered, for MAX"""
    setup: Setup


def searched_tree(
    game: Game,
    evaluator: Evaluator | Baseline,
    state: Any,
    depth: int,
    algorithm: Algorithm | str = "alphabeta",
    *,
    options: Any = None,
) -> Searched:
    """The whole tree `depth` moves below `state`, with the bounds and cut-offs of one run of the algorithm.

    Raises InputError for more than `MOST_LEAVES` leaves, more than two players, and where algorithm, evaluator and game
    do not fit.
    """
    algorithm = find_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    if game.rules.num_players != 2:
        raise InputError(f"{game.name} has {game.rules.num_players} players; only trees of two can be drawn")
    check_depth(depth)
    root = full_tree(game, state, depth)
    log = make_log(game.rules.width)
    visitor = Visitor(_noting(game.rules.store), log)
    setup = make_setup(game, evaluator, algorithm, depth, options=options, visitor=visitor)
    value = evaluate_state(setup, state, depth) * (1 if root.for_max else -1)
    overlay(game, root, nested(game, _visits(game, log)), algorithm.exact)
    if algorithm.exact:
        tighten(game, root)
    mark_best(game, root)
    return Searched(root, value, setup)
