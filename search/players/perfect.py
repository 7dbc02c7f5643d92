"""Perfect play where a game is solved: shipped tables and books first (`search/databases/database.py`), then the solver
(`search/solvers/exact.py`).

A *best* move has the best score. Where scores count plies (Connect Four: 22 minus the winner's stones; tables with
distances), the perfect player wins as soon as possible and loses as late as possible. Elsewhere it gets the best of
what the scores count: discs in Othello, and the outcome alone in games that the engine searches to their end. Equally
good moves are drawn by (seed, game, ply).

One position of each symmetry class is solved. The answer is kept as the class keys of the best results, which a mirror
image shares, and answers that took long are kept on disk (`search/databases/solved_positions.py`). Exact answers depend
neither on threads nor on what was asked before.

Measured, Connect Four, 300 games on one core: about 50 s of solving the first time that `points_2@ties=random` begins
against the perfect player, 48 of them for the 21 positions of ply 5, which the shipped book of 4 plies does not reach;
1 s the next time.

Letters: n positions, k best moves, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.control import Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.databases.database import SCORE, AnyDatabase, load_databases
from deltaw.search.databases.solved_positions import Known, keep_solved, load_solved, memory_file
from deltaw.search.databases.symmetry import canonical_keys, symmetries_of
from deltaw.search.players.players import PERFECT, Chosen, Decisions, tie_word
from deltaw.search.players.threads import Workers
from deltaw.search.solvers import Solution
from deltaw.search.solvers.exact import ExactSolver, find_solver, has_solver

HARD_NODES = 5_000_000
"""a position that took more is kept for other processes (`search/databases/solved_positions.py`)"""
START_NODES = 20_000_000
"""what the search for the value of a game's start may take, where no table knows it"""


class Verdict(NamedTuple):
    """The truth about a decision."""

    outcome: int
    """of perfect play, for the mover"""
    best: Chosen
    """every best move"""


class Exact:
    """Exact knowledge of a game's positions, which it remembers. Raises InputError for games with chance or not for
    two."""

    def __init__(self, game: Game, threads: int | None = None, nodes: int | None = None) -> None:
        """`nodes`: the most that one position may take."""
        self.game, self.nodes = game, nodes
        self._workers: Workers[ExactSolver] = Workers(threads, lambda: find_solver(game))
        self._scored = has_solver(game)
        self._databases = load_databases(game)
        self._symmetries = symmetries_of(game)
        self._known = load_solved(game) if self._scored else {}
        self._hard: dict[int, Known] = {}
        self._outcomes: dict[int, int] = {}

    def judge(self, rows: np.ndarray) -> list[Verdict]:
        """The truth about the decisions `rows` int64 [n, W]. Raises InputError for one that takes too many nodes."""
        keys = self._keys(rows)
        self._learn({key: row for key, row in zip(keys, rows, strict=True) if key not in self._known})
        return [self._verdict(row, self._known[key]) for key, row in zip(keys, rows, strict=True)]

    def outcomes(self, rows: np.ndarray) -> list[int]:
        """Outcome of perfect play from the positions `rows` int64 [n, W], finished ones among them, for their
        movers."""
        keys = self._keys(rows)
        missing = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._outcomes}
        found = list(missing.items())

        def work(i: int, solver: ExactSolver) -> None:
            self._outcomes[found[i][0]] = self._outcome(self.game.unrow(found[i][1]), solver)

        self._workers.each(work, len(found))
        return [self._outcomes[key] for key in keys]

    def _keys(self, rows: np.ndarray) -> list[int]:
        keys = np.empty(len(rows), np.int64)
        board = np.empty(self.game.rules.num_cells, np.int64)
        canonical_keys(self.game.rules, self._symmetries, np.ascontiguousarray(rows), board, keys)
        return [int(key) for key in keys]

    def _children(self, row: np.ndarray) -> Chosen:
        children = Chosen(*self.game.buffers())
        return children.at(slice(self.game.rules.expand(self.game.unrow(row), *children)))

    def _verdict(self, row: np.ndarray, known: Known) -> Verdict:
        children = self._children(row)
        wanted = np.array([key in known.best for key in self._keys(children.rows)])
        if not wanted.any():
            raise InputError(f"{memory_file(self.game)} does not fit the rules of {self.game.name}: delete it")
        return Verdict(known.outcome, children.at(wanted))

    def _learn(self, missing: dict[int, np.ndarray]) -> None:
        found = list(missing.items())

        def work(i: int, solver: ExactSolver) -> None:
            key, row = found[i]
            self._known[key], nodes = self._study(row, solver)
            if nodes > HARD_NODES and self._scored:
                self._hard[key] = self._known[key]

        try:
            self._workers.each(work, len(found))
        finally:
            if self._hard:
                keep_solved(self.game, self._hard)
                self._hard = {}

    def _study(self, row: np.ndarray, solver: ExactSolver) -> tuple[Known, int]:
        """The truth about the decision `row`, and the nodes that it took."""
        moves, children = self._children(row)
        state, keys = self.game.unrow(row), self._keys(children)
        for database in self._databases:
            looked_up = self._look_up(database, state, children)
            if looked_up is not None:
                outcome, wanted = looked_up
                return Known(outcome, frozenset(keys[i] for i in wanted)), 0
        found = self._solve(solver, state, best=True)
        best = frozenset(key for key, move in zip(keys, moves, strict=True) if move in found.best)
        return Known(self._worth(found.score), best), found.nodes

    def _look_up(self, database: AnyDatabase, state: Any, children: np.ndarray) -> tuple[int, list[int]] | None:
        """Outcome and indices of the best results, if the database knows all of them."""
        rules, worths = self.game.rules, []
        for child in map(self.game.unrow, children):
            entry = database.find(child)
            if entry is None:
                return None
            turned = rules.seat(child) != rules.seat(state)
            worths.append((-entry.value if turned else entry.value, entry.distance))
        value = max(worth for worth, _ in worths)
        best = [i for i, (worth, _) in enumerate(worths) if worth == value]
        distances = [d for i in best if (d := worths[i][1]) is not None]
        if value != 0 and len(distances) == len(best):
            wanted = min(distances) if value > 0 else max(distances)
            best = [i for i in best if worths[i][1] == wanted]
        return (sign(value) if database.description.units == SCORE else value), best

    def _outcome(self, state: Any, solver: ExactSolver) -> int:
        over, value = self.game.rules.outcome(state)
        if over:
            return int(value)
        for database in self._databases:
            entry = database.find(state)
            if entry is not None:
                return sign(entry.value) if database.description.units == SCORE else entry.value
        return self._worth(self._solve(solver, state, best=False).score)

    def _worth(self, score: int) -> int:
        """The outcome that a solver's score stands for."""
        return sign(score) if self._scored else score

    def _solve(self, solver: ExactSolver, state: Any, *, best: bool) -> Solution:
        try:
            return solver.solve(state, nodes=self.nodes, best=best)
        except Stopped:
            text = self.game.format(state)
            raise InputError(f"{self.game.name}: {text} is not solved within {self.nodes:,} nodes") from None


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


class PerfectPlayer:
    """Plays best moves, equally good ones at random."""

    name = PERFECT

    def __init__(self, game: Game, threads: int | None = None) -> None:
        """Raises InputError where the start of the game is neither known nor soon solved."""
        self.game = game
        self.exact = Exact(game, threads, START_NODES)
        try:
            self.exact.judge(game.row(game.rules.initial())[None])
        except InputError:
            raise InputError(
                f"{game.name} is not solved: no table knows its start, and {START_NODES:,} nodes do not suffice; "
                "there is no perfect player"
            ) from None
        self.exact.nodes = None

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)
        for i, (_, best) in enumerate(self.exact.judge(decisions.rows)):
            chosen.moves[i], chosen.rows[i] = best.at(
                int(tie_word(decisions.keys, i, np.int64(seed))) % len(best.moves)
            )
        return chosen

    def tied(self, decision: Decisions) -> Chosen:
        return self.exact.judge(decision.rows)[0].best
