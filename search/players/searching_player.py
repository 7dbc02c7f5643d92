"""A player that searches: the engine or any textbook algorithm, for many games at once.

Decisions are shared among threads, each with a searcher of its own, and each decision is searched from an empty table.
So a move depends on its position alone, not on the other games or on the number of threads. (A limit of seconds is the
exception: the depth reached in a second varies.) The table is small, so that emptying it takes less time than a shallow
search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.players.players import Chosen, Decisions, tie_word
from deltaw.search.players.searcher import ENGINE, NO_LIMITS, SECONDS, Limits, Searcher, default_algorithm
from deltaw.search.players.threads import Workers
from deltaw.search.tree.algorithm import SearchResult
from deltaw.search.tree.engine import Engine

SHALLOW, SHALLOW_NODES = 8, 100_000
"""a search of at most this depth, or so many nodes, is content with the small table"""
SMALL_TABLE, LARGE_TABLE = 1 << 16, 1 << 18
"""entries of 32 bytes. Measured, Connect Four to depth 8: 2.0 ms a decision with 2^16 entries, 3.1 ms with the 2^20
that a single search takes, most of the difference being the emptying"""


class SearchingPlayer:
    """Plays the best move of a search (`search/players/searcher.py`)."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline,
        name: str,
        algorithm: str | None = None,
        limits: Limits = NO_LIMITS,
        ties: bool = False,
        threads: int | None = None,
    ) -> None:
        """`algorithm` None: the engine, or expectiminimax for a game with chance. `ties`: any of the best moves, drawn
        by (seed, game, ply); else the first found. Raises InputError where algorithm, evaluator and game do not fit."""
        self.game, self.name, self._ties = game, name, ties
        self.leaf = leaf_of(evaluator)
        self._workers: Workers[_Seeker] = Workers(threads, lambda: _Seeker(game, evaluator, algorithm, limits))

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        return self.decide(decisions, seed)[0]

    def decide(self, decisions: Decisions, seed: int) -> tuple[Chosen, np.ndarray]:
        """What `choose` returns, and the values [n] of the decisions for their movers, in outcome units."""
        chosen, values = Chosen.room(decisions.rows), np.empty(len(decisions.rows))

        def work(i: int, seeker: _Seeker) -> None:
            state = self.game.unrow(decisions.rows[i])
            found = seeker.search(state, self._ties)
            move = found.move
            if self._ties and len(found.moves) > 1:
                move = found.moves[int(tie_word(decisions.keys, i, np.int64(seed))) % len(found.moves)]
            chosen.moves[i], chosen.rows[i], values[i] = move, self.game.rules.play(state, move), found.value

        self._workers.each(work, len(values))
        return chosen, values

    def tied(self, decision: Decisions) -> Chosen:
        """All best moves of the one decision."""
        state = self.game.unrow(decision.rows[0])
        found: list[SearchResult] = []
        self._workers.each(lambda i, seeker: found.append(seeker.search(state, True)), 1)
        moves = found[0].moves or (found[0].move,)
        return Chosen(np.array(moves), np.array([self.game.rules.play(state, move) for move in moves], np.int64))


class _Seeker:
    """The searcher of one thread."""

    def __init__(self, game: Game, evaluator: Evaluator | Baseline, algorithm: str | None, limits: Limits) -> None:
        self._engine: Engine | None = None
        if (algorithm or default_algorithm(game)) == ENGINE:
            self._limits = Limits(seconds=SECONDS) if limits == NO_LIMITS else limits
            self._engine = Engine(game, evaluator, entries=table_size(self._limits))
        else:
            self._searcher = Searcher(game, evaluator, algorithm, limits)

    def search(self, state: Any, ties: bool) -> SearchResult:
        if self._engine is None:
            return self._searcher.search(state)
        self._engine.forget()
        return self._engine.search(state, **self._limits._asdict(), ties=ties)


def table_size(limits: Limits) -> int:
    """Entries of a table that is emptied before every search within these limits."""
    shallow = limits.depth is not None and limits.depth <= SHALLOW
    few = limits.nodes is not None and limits.nodes <= SHALLOW_NODES
    return SMALL_TABLE if shallow or few else LARGE_TABLE
