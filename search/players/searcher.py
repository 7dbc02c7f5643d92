"""One interface to all searches: the engine or any textbook algorithm, an evaluator, and limits."""

from __future__ import annotations

from typing import Any, NamedTuple

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.algorithm import SearchResult, find_algorithm, search
from deltaw.search.tree.engine import DEEP_ENOUGH, Engine

ENGINE = "engine"
SECONDS = 1.0
"""what the engine may think unless a limit is given"""
DEPTH = 4
"""what a textbook algorithm searches unless a limit is given"""


class Limits(NamedTuple):
    """What a search may use; None: not limited."""

    depth: int | None = None
    seconds: float | None = None
    nodes: int | None = None


NO_LIMITS = Limits()


def default_algorithm(game: Game) -> str:
    """The algorithm that fits the game: the engine, expectiminimax with chance, max^n for more than two players."""
    if game.rules.num_players > 2:
        return "max_n"
    return "expectiminimax" if game.rules.max_chance > 0 else ENGINE


class Searcher:
    """Raises InputError where algorithm, game and evaluator do not fit, and for negative limits. One thread at a
    time."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline,
        algorithm: str | None = None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.game, self.evaluator = game, evaluator
        self.name = algorithm or default_algorithm(game)
        self._engine: Engine | None = None
        if self.name == ENGINE:
            self._engine = Engine(game, evaluator)
            self.limits = Limits(seconds=SECONDS) if limits == NO_LIMITS else limits
        else:
            find_algorithm(self.name, game)
            deepest = DEPTH if limits.seconds is None and limits.nodes is None else DEEP_ENOUGH
            self.limits = limits if limits.depth is not None else limits._replace(depth=deepest)

    def search(self, state: Any, *, full: bool = False) -> SearchResult:
        """The best move of `state` within the limits; with `full` the value of every move. Raises InputError for a
        finished game."""
        over, value = self.game.rules.outcome(state)
        if over:
            raise InputError(f"{self.game.format(state)} is finished: {int(value):+d} for the side to move")
        if self._engine is not None:
            return self._engine.search(state, **self.limits._asdict(), full=full)
        return search(self.game, self.evaluator, state, self.name, **self.limits._asdict(), full=full)
