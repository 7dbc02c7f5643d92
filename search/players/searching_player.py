"""A player that searches: the engine or any textbook algorithm.

In matches, decisions are shared among threads, each with a searcher of its own, and each decision is searched from an
empty table. So a move depends on its position alone, not on the other games or on the number of threads. (A limit of
seconds is the exception: the depth reached in a second varies.) The table is small, so that emptying it takes less time
than a shallow search. A player who thinks about one position at a time has a large table and keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.search.databases.endings import known_endings
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.players.how import ENGINE, NO_LIMITS, How, Limits, default_algorithm
from deltaw.search.players.players import Chosen, Decisions, Judgement, tie_word
from deltaw.search.players.plies import WORLDS
from deltaw.search.players.threads import Workers
from deltaw.search.tree.algorithm import RootMove, SearchResult, find_algorithm, search
from deltaw.search.tree.deep import Known
from deltaw.search.tree.engine import DEEP_ENOUGH, Engine, default_options
from deltaw.search.tree.transposition import DEFAULT_ENTRIES

SECONDS = 1.0
"""what the engine may think unless a limit is given"""
DEPTH = 4
"""what a textbook algorithm searches unless a limit is given"""
SHALLOW, SHALLOW_NODES = 8, 100_000
"""a search of at most this depth, or so many nodes, is content with the small table"""
SMALL_TABLE, LARGE_TABLE = 1 << 16, 1 << 18
"""entries of 32 bytes. Measured, Connect Four to depth 8: 2.0 ms a decision with 2^16 entries, 3.1 ms with the 2^20
that a single search takes, most of the difference being the emptying"""


class SearchingPlayer:
    """Plays the best move of a search."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline,
        name: str,
        how: How,
        threads: int | None = None,
        *,
        fresh: bool = True,
    ) -> None:
        """`fresh`: each decision is searched from an empty table. Raises InputError where algorithm, evaluator and game
        do not fit."""
        self.game, self.name, self._ties = game, name, how.ties
        known = known_endings(game) if how.endgames else None
        self._workers: Workers[Searcher] = Workers(threads, lambda: Searcher(game, evaluator, how, fresh, known))
        payoffs = isinstance(evaluator, Baseline) and evaluator.kind == "payoffs"
        self.leaf = None if payoffs else leaf_of(evaluator)

    @property
    def searcher(self) -> Searcher:
        """That of the calling thread."""
        return self._workers.own

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        return self.decide(decisions, seed)[0]

    def decide(self, decisions: Decisions, seed: int) -> tuple[Chosen, np.ndarray]:
        """What `choose` returns, and the values [n] of the decisions for their movers, in outcome units."""
        chosen, values = Chosen.room(decisions.rows), np.empty(len(decisions.rows))

        def work(i: int, searcher: Searcher) -> None:
            state = self.game.unrow(decisions.rows[i])
            word = int(random_word(seed, int(decisions.keys[i, 0]), int(decisions.keys[i, 1]), WORLD))
            found = searcher.search(state, decisions.paths[i], ties=self._ties, word=word)
            move = found.move
            if self._ties and len(found.moves) > 1:
                move = found.moves[int(tie_word(decisions.keys, i, np.int64(seed))) % len(found.moves)]
            chosen.moves[i], chosen.rows[i], values[i] = move, self.game.rules.play(state, move), found.value

        self._workers.each(work, len(values))
        return chosen, values

    def tied(self, decision: Decisions) -> Chosen:
        """All best moves of the one decision."""
        state = self.game.unrow(decision.rows[0])
        found = self.searcher.search(state, decision.paths[0], ties=True)
        moves = found.moves or (found.move,)
        return Chosen(np.array(moves), np.array([self.game.rules.play(state, move) for move in moves], np.int64))

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        found = self.searcher.search(state, path, full=full)
        value = found.value if found.depth > 0 else None  # there was no time for a level
        ranked = found.ranked or tuple(RootMove(move, value, found.distance) for move in found.variation[:1])
        best = found.variation[:1]
        moves = [
            move._replace(depth=found.depth, line=found.variation if (move.move,) == best else ()) for move in ranked
        ]
        moves.sort(
            key=lambda move: (-(move.value or 0.0), not move.line)
        )  # of equals first the one whose line is known
        return Judgement(found.value, tuple(moves), search=found)


class Searcher:
    """Searches of one thread, with their memory. Raises InputError where algorithm, game and evaluator do not fit."""

    def __init__(
        self, game: Game, evaluator: Evaluator | Baseline, how: How, fresh: bool, known: Known | None = None
    ) -> None:
        self.game, self.evaluator, self.limits, self._fresh = game, evaluator, how.limits, fresh
        self.algorithm = how.algorithm or default_algorithm(game)
        self._engine: Engine | None = None
        self._one_tree = False  # whether the search draws its own worlds
        if self.algorithm == ENGINE:
            options = with_options(ENGINE, default_options(game), how.options)
            entries = table_size(how.limits) if fresh else DEFAULT_ENTRIES
            self._engine = Engine(game, evaluator, options=options, entries=entries, known=known)
        else:
            own = find_algorithm(self.algorithm, game)
            self._options = with_options(own.name, own.options, how.options)
            if own.check is not None:
                own.check(self._options)
            self._one_tree = own.root is not None

    def search(
        self, state: Any, path: np.ndarray | None = None, *, full: bool = False, ties: bool = False, word: int = 0
    ) -> SearchResult:
        """The best move of the running game `state`, to which it has come by `path`, within the limits; with `full` the
        value of every move, with `ties` all best moves. Where the game hides something, `word` decides which worlds are
        searched. Raises InputError for negative limits."""
        if not self._one_tree and self.game.rules.hidden and self.game.rules.num_chance(state) == 0:
            return self._search_worlds(state, path, word)
        return self._search(state, path, self.limits, word=word, full=full, ties=ties)

    def _search(
        self, state: Any, path: np.ndarray | None, limits: Limits, *, word: int = 0, **wanted: bool
    ) -> SearchResult:
        if self._engine is None:
            depth = DEPTH if limits.seconds is None and limits.nodes is None else DEEP_ENOUGH
            limits = limits if limits.depth is not None else limits._replace(depth=depth)
            found = (self.game, self.evaluator, state, self.algorithm)
            options = self._options._replace(seed=word) if self._one_tree else self._options
            return search(*found, **limits._asdict(), options=options, full=wanted["full"], path=path)
        if self._fresh:
            self._engine.forget()
        limits = Limits(seconds=SECONDS) if limits == NO_LIMITS else limits
        return self._engine.search(state, **limits._asdict(), path=path, **wanted)

    def _search_worlds(self, state: Any, path: np.ndarray | None, word: int) -> SearchResult:
        """Determinization: every move's value is its average over `WORLDS` states that the mover cannot tell from this
        one, each searched by itself with its share of the limits."""
        limits, rules = Limits(seconds=SECONDS) if self.limits == NO_LIMITS else self.limits, self.game.rules
        seconds = None if limits.seconds is None else limits.seconds / WORLDS
        share = limits._replace(seconds=seconds, nodes=None if limits.nodes is None else limits.nodes // WORLDS)
        worlds = [rules.determinize(state, random_word(word, world, 0, WORLD)) for world in range(WORLDS)]
        found = [self._search(world, path, share, full=True, ties=False) for world in worlds]
        searched = [{move.move: move.value or 0.0 for move in one.ranked} for one in found if one.ranked]
        if not searched:  # there was no time for a level in any world
            return found[0]
        means = {move: float(np.mean([values[move] for values in searched])) for move in searched[0]}
        ranked = tuple(RootMove(move, value) for move, value in sorted(means.items(), key=lambda pair: -pair[1]))
        best = ranked[0]
        return SearchResult(
            best.move,
            tuple(move.move for move in ranked if (move.value or 0.0) >= (best.value or 0.0) - TIED),
            best.value or 0.0,
            (best.move,),
            self.game.unrow(self.game.row(rules.play(state, best.move))),
            sum(one.nodes for one in found),
            min(one.depth for one in found),
            sum(one.seconds for one in found),
            complete=all(one.complete for one in found),
            ranked=ranked,
        )


def with_options(algorithm: str, options: Any, said: Sequence[tuple[str, float]]) -> Any:
    """`options` with those that were said. Raises InputError for one that the algorithm does not have."""
    for name, number in said:
        if name not in getattr(options, "_fields", ()):
            raise InputError(f"{algorithm} has no option {name!r}")
        options = options._replace(**{name: number})
    return options


def table_size(limits: Limits) -> int:
    """Entries of a table that is emptied before every search within these limits."""
    shallow = limits.depth is not None and limits.depth <= SHALLOW
    few = limits.nodes is not None and limits.nodes <= SHALLOW_NODES
    return SMALL_TABLE if shallow or few else LARGE_TABLE
