"""What one thread thinks with. It answers for any player of an offer, by plies or by a search, within limits.

    by plies      games of chance, and players that only rank moves: 2 plies where the player has values
    by a search   the others, and where a depth is asked for; every search is limited in time

The memory of a searcher (the engine's table has 32 MB) is kept for the next request. Only the few players that were
asked last have one.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from deltaw.envs.control import Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.record import Course, moves_of
from deltaw.search.doors.offer import Offered
from deltaw.search.players.agent import Agent
from deltaw.search.players.how import How, Limits, settle
from deltaw.search.players.players import Judgement
from deltaw.search.players.searching_player import SearchingPlayer
from deltaw.search.players.uci_player import UciPlayer
from deltaw.search.tree.algorithm import RootMove

PLIES = 2
KEPT = 3
"""agents that a thread remembers"""


class Wish(NamedTuple):
    """How a request wants a position to be thought about; None means as the player usually does."""

    seconds: float
    """at most; by plies it is not needed"""
    depth: int | None = None
    """moves of a search"""
    plies: int | None = None
    """1 or 2"""


class Thought(NamedTuple):
    """What a player thinks of a position."""

    value: float | None
    """for the side to move"""
    moves: tuple[RootMove, ...]
    """best first; empty before the dice"""
    nodes: int | None
    """positions looked at; None by plies"""
    seconds: float


class Thinker:
    """For use by one thread at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple, Agent] = OrderedDict()

    def analyze(self, player: Offered, game: Course, wish: Wish) -> Thought:
        """Every move of the running game with its value, or the value before the dice. Raises InputError for a wish
        that the player cannot grant."""
        return self._think(player, game, wish, full=True)

    def choose(self, player: Offered, game: Course, wish: Wish) -> Thought:
        """The best move of the decision that is due. Only this move is searched for, so the search is deeper. Raises
        InputError as `analyze` does."""
        return self._think(player, game, wish, full=False)

    def _think(self, player: Offered, game: Course, wish: Wish, full: bool) -> Thought:
        start = time.perf_counter()
        how = _how(player, wish)
        agent = self._agent(player, how)
        try:
            found = agent.judge(game.state, full, game.path)
        except Stopped:  # before it had looked at anything
            found = _unsearched(agent, game)
        if found.search is None:
            return Thought(found.value, found.moves, 0 if how.searches else None, time.perf_counter() - start)
        return Thought(found.value, found.moves, found.search.nodes, found.search.seconds)

    def _agent(self, player: Offered, how: How) -> Agent:
        key = (player.game.name, player.name, how.plies)
        agent = self._keep(key, lambda: Agent(player.game, player.evaluator, **how._asdict()))
        if isinstance(agent.player, SearchingPlayer):
            agent.player.searcher.limits = how.limits
        elif isinstance(agent.player, UciPlayer):
            agent.player.limits = how.limits
        return agent

    def _keep(self, key: tuple, make: Callable[[], Agent]) -> Agent:
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


def _how(player: Offered, wish: Wish) -> How:
    """The player's way of thinking, as far as somebody wishes nothing else, and not longer than he wishes."""
    if wish.plies is not None and wish.depth is not None:
        raise InputError("plies and depth exclude each other: plies are counted without a search")
    if wish.plies is not None:
        return How(wish.plies)
    how, asked = player.how, player.how.limits
    if wish.depth is not None:
        how = how._replace(plies=None, limits=Limits(wish.depth, asked.seconds))
    how = settle(player.game, player.evaluator, how, PLIES)
    seconds = wish.seconds if asked.seconds is None else min(asked.seconds, wish.seconds)
    return how._replace(limits=how.limits._replace(seconds=seconds), endgames=True) if how.searches else how


def _unsearched(agent: Agent, course: Course) -> Judgement:
    """Stopped before anything was known: the first legal move, as the game orders them."""
    game = agent.game
    due = game.rules.num_chance(course.state) > 0
    return Judgement(None, () if due else (RootMove(moves_of(game, course)[0], depth=0),))
