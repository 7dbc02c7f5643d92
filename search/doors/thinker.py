"""What one thread thinks with. It answers for any player of an offer, by plies or by a search, within limits.

    by plies      games of chance, and players that only rank moves: `search/players/agent.py`, 2 plies where the player
                  has values
    by a search   the others, and where a depth is asked for: `search/players/searcher.py`, every search limited in time

The memory of a searcher (the engine's table has 32 MB) is kept for the next request. Only the few players that were
asked last have one.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, NamedTuple

from deltaw.envs.control import Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.doors.offer import Offered
from deltaw.search.evaluators.named import compiled
from deltaw.search.players.agent import Agent
from deltaw.search.players.plies import CANDIDATES
from deltaw.search.players.searcher import ENGINE, Limits, Searcher
from deltaw.search.tree.algorithm import SearchResult
from deltaw.search.tree.engine import DEEP_ENOUGH

PLIES = 2
KEPT = 3
"""searchers and agents that a thread remembers"""


class Wish(NamedTuple):
    """How a request wants a position to be thought about; None means as the player usually does."""

    seconds: float
    """at most; by plies it is not needed"""
    depth: int | None = None
    """moves of a search"""
    plies: int | None = None
    """1 or 2"""


class Considered(NamedTuple):
    """A move, as it was judged."""

    move: int
    value: float | None
    """outcome units, for the player who moves; None from a player that only ranks"""
    chances: tuple[float, ...] | None
    """of each outcome of the game, in their order; None where the player has none"""
    line: tuple[str, ...]
    """best play from here on, this move first, where a search found it"""
    depth: int
    """plies or moves"""


class Thought(NamedTuple):
    """What a player thinks of a position."""

    value: float | None
    """for the side to move"""
    moves: tuple[Considered, ...]
    """best first; empty before the dice"""
    nodes: int | None
    """positions looked at; None by plies"""
    seconds: float


class Thinker:
    """For use by one thread at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple, Any] = OrderedDict()

    def analyze(self, player: Offered, state: Any, wish: Wish) -> Thought:
        """Every move of the running game `state` with its value, or the value before the dice. Raises InputError for a
        wish that the player cannot grant."""
        return self._think(player, state, wish, full=True)

    def choose(self, player: Offered, state: Any, wish: Wish) -> Thought:
        """The best move of the decision `state`. Only this move is searched for, so the search is deeper. Raises
        InputError as `analyze` does."""
        return self._think(player, state, wish, full=False)

    def _think(self, player: Offered, state: Any, wish: Wish, full: bool) -> Thought:
        start = time.perf_counter()
        if wish.plies is not None and wish.depth is not None:
            raise InputError("plies and depth exclude each other: plies are counted without a search")
        if wish.plies is not None or (wish.depth is None and not player.searches):
            return self._by_plies(player, state, wish, start)
        searcher = self._searcher(player, wish)
        try:
            found = searcher.search(state, full=full)
        except Stopped:  # before it had looked at anything
            return _unsearched(player.game, state, start)
        return _thought(player.game, state, found)

    def _by_plies(self, player: Offered, state: Any, wish: Wish, start: float) -> Thought:
        usual = player.spec.plies or (1 if player.only_ranks else PLIES)
        plies = wish.plies or usual
        agent = self._keep(
            (player.game.name, player.name, plies),
            lambda: Agent(player.game, player.evaluator, plies=plies, candidates=CANDIDATES),
        )
        if player.game.rules.num_chance(state) > 0:
            value = agent.value(state).value
            return Thought(value, (), None, time.perf_counter() - start)
        ranked = tuple(Considered(m.move, m.value, m.chances, (), m.plies) for m in agent.rank(state))
        return Thought(ranked[0].value, ranked, None, time.perf_counter() - start)

    def _searcher(self, player: Offered, wish: Wish) -> Searcher:
        name = player.spec.algorithm
        searcher = self._keep(
            (player.game.name, player.name), lambda: Searcher(player.game, compiled(player.evaluator), name, Limits(1))
        )
        limits = player.spec.limits
        depth = wish.depth if wish.depth is not None else limits.depth
        if depth is None and searcher.name != ENGINE:
            depth = DEEP_ENOUGH
        nodes = limits.nodes if wish.depth is None else None
        seconds = wish.seconds if limits.seconds is None else min(limits.seconds, wish.seconds)
        searcher.limits = Limits(depth, seconds, nodes)
        return searcher

    def _keep(self, key: tuple, make: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


def _thought(game: Game, state: Any, found: SearchResult) -> Thought:
    line = _texts(game, state, found.variation)
    ranked = [(move, value) for move, value, _ in found.ranked] or [(move, found.value) for move in found.variation[:1]]
    best = found.variation[:1]
    ranked.sort(key=lambda pair: (-pair[1], (pair[0],) != best))  # of equal moves first the one whose line is known
    moves = tuple(
        Considered(move, value + 0.0, None, line if (move,) == best else (), found.depth) for move, value in ranked
    )
    return Thought(found.value, moves, found.nodes, found.seconds)


def _texts(game: Game, state: Any, moves: tuple[int, ...]) -> tuple[str, ...]:
    texts = []
    for move in moves:
        texts.append(game.move_text(state, move))
        state = game.unrow(game.row(game.rules.play(state, move)))
    return tuple(texts)


def _unsearched(game: Game, state: Any, start: float) -> Thought:
    """Stopped before anything was known: the first legal move, as the game orders them."""
    moves = () if game.rules.num_chance(state) > 0 else (Considered(game.moves(state)[0], None, None, (), 0),)
    return Thought(None, moves, 0, time.perf_counter() - start)
