"""The exact value of a position and every move that keeps it.

A game with a file in `search/solvers/` is solved by that; its scores are the game's own (`Rules.score`: discs, distance
to win). Any other deterministic game of two players is searched to its end by the engine, and its score is the outcome.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Protocol

from deltaw.envs.control import Stopped, make_control, supervised
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.solvers import Solution, Solver
from deltaw.search.tree.engine import Engine
from deltaw.search.tree.engine_node import Options

SOLVING = Options(step=0.0, ties=1, table_from=1)
"""nothing but outcomes counts, and every best move is wanted"""

LONGEST = 200
"""plies: no game that can be searched to its end here lasts longer"""


@kernel
def _nothing(state):
    return 0.0


NOTHING = Baseline("nothing", "value", _nothing, "every position is worth nothing")


class ExactSolver(Protocol):
    def solve(
        self, state: Any, *, seconds: float | None = None, nodes: int | None = None, best: bool = True
    ) -> Solution:
        """The exact score of `state` and, with `best`, every best move. Raises Stopped where a limit came first,
        InputError for a negative one."""
        ...


class SupervisedSolver:
    """A solver of `search/solvers/`, watched."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def solve(
        self, state: Any, *, seconds: float | None = None, nodes: int | None = None, best: bool = True
    ) -> Solution:
        control = make_control(nodes)
        return supervised(control, seconds, lambda: self.solver.solve(state, control, best=best))


class SearchingSolver:
    """The engine, searching to the end of the game."""

    def __init__(self, game: Game) -> None:
        self.engine = Engine(game, NOTHING, options=SOLVING)

    def solve(
        self, state: Any, *, seconds: float | None = None, nodes: int | None = None, best: bool = True
    ) -> Solution:
        over, value = self.engine.game.rules.outcome(state)
        if over:
            return Solution(int(value), (), 1)
        found = self.engine.search(state, depth=LONGEST, seconds=seconds, nodes=nodes, ties=best)
        if not found.proven:
            raise Stopped(f"not solved after {found.nodes} nodes, {found.depth} plies deep")
        return Solution(round(found.value), found.moves if best else (), found.nodes)


def find_solver(game: Game) -> ExactSolver:
    """The solver of this game. Raises InputError for games with chance and of more than two players."""
    if game.rules.num_players != 2 or game.rules.max_chance > 0:
        reason = "has chance" if game.rules.max_chance > 0 else f"has {game.rules.num_players} players"
        raise InputError(f"{game.name} {reason}: only deterministic games of two players are solved")
    if has_solver(game):
        return SupervisedSolver(importlib.import_module(f"deltaw.search.solvers.{game.name}").Solver())
    return SearchingSolver(game)


def has_solver(game: Game) -> bool:
    """Whether the game has a solver of its own."""
    from deltaw.search import solvers

    return game.name in {module.name for module in pkgutil.iter_modules(solvers.__path__)}


class SolvedEndings:
    """A solver as an agent's knowledge: it tries every decision for a fixed time, and knows those that it can solve."""

    def __init__(self, solver: ExactSolver, seconds: float = 0.2) -> None:
        self.solver, self.seconds = solver, seconds

    def moves(self, state: Any) -> list[int]:
        """Every best move of the decision `state`; empty where the time was too short."""
        try:
            return list(self.solver.solve(state, seconds=self.seconds).best)
        except Stopped:
            return []
