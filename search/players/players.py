"""Players choose moves, for many games at once.

A player gets a batch of decisions (dice rolled) and returns its moves and their results. It never sees whom it plays
against, and its answer to one decision does not depend on the other decisions of the batch, nor on the number of
threads. `search/players/spec.py` says how people name players.

Letters: n decisions, W integers a state, M most moves of a decision, P entries of a path.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from deltaw.envs.bits import TIE, WORLD, random_word
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import KEYS, expand, follow, make_path
from deltaw.search.evaluators.evaluator import evaluate_rows
from deltaw.search.evaluators.leaf import CLASSES, TIED, Leaf
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.evaluators.work import make_work
from deltaw.search.players.plies import (
    CANDIDATES,
    MARGIN,
    Bench,
    make_bench,
    opinion_one_deeper,
    score_moves,
    survey,
)
from deltaw.search.players.threads import Workers
from deltaw.search.tree.algorithm import RootMove, SearchResult

RANDOM, GNUBG, PERFECT, EQUILIBRIUM = "random", "gnubg", "perfect", "equilibrium"
"""players that are no evaluators"""


class Decisions(NamedTuple):
    """Positions in which somebody has to move, of many games."""

    rows: np.ndarray
    """int64 [n, W]"""
    keys: np.ndarray
    """int64 [n, 2]: (game, ply), for players that draw random numbers"""
    paths: np.ndarray
    """int64 [n, P]: the path of each game (`envs/path.py`)"""

    @classmethod
    def of(cls, rows: np.ndarray, keys: np.ndarray | None = None, paths: np.ndarray | None = None) -> Decisions:
        """Without `keys`, all have the same; without `paths`, the games begin here."""
        n = len(rows)
        keys = np.zeros((n, 2), np.int64) if keys is None else keys
        return cls(rows, keys, np.zeros((n, KEYS), np.int64) if paths is None else paths)  # [COUNT] is 0

    def at(self, which: Any) -> Decisions:
        """Those that a slice, a mask or an array of indices selects."""
        return Decisions(self.rows[which], self.keys[which], self.paths[which])


class Chosen(NamedTuple):
    """Moves and where they lead: one of each decision, or several of one."""

    moves: np.ndarray
    """int64 [n]: codes"""
    rows: np.ndarray
    """int64 [n, W]: results"""

    @classmethod
    def room(cls, rows: np.ndarray) -> Chosen:
        """Memory for a move of each of the decisions `rows`."""
        return cls(np.empty(len(rows), np.int64), np.empty_like(rows))

    def at(self, which: Any) -> Chosen:
        """Those that a slice, a mask or an array of indices selects."""
        return Chosen(self.moves[which], self.rows[which])


class Judgement(NamedTuple):
    """What a player thinks of a position."""

    value: float | None
    """for the side to move, in outcome units; None from a player that only ranks moves"""
    moves: tuple[RootMove, ...] = ()
    """best first, those searched deeper before the others; empty before a chance event"""
    chances: tuple[float, ...] | None = None
    """of each outcome class of the game, for the side to move; None where the player has none"""
    search: SearchResult | None = None
    """None by plies"""


class Player(Protocol):
    """Those below also have `tied(decision)`: all moves of the one decision that are equally good to them."""

    @property
    def name(self) -> str: ...

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        """A move of each decision; `seed` is for players that draw random numbers."""
        ...


class Judge(Player, Protocol):
    """A player that says what it thinks of a position. One thread at a time."""

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        """The running game `state`: its value, and the values of all moves, or without `full` at least of the best.
        `path`: of the game so far (`envs/path.py`); None: it begins here."""
        ...


def judgement_of(moves: np.ndarray, values: np.ndarray, depths: np.ndarray, outputs: np.ndarray | None) -> Judgement:
    """A decision by plies; arrays [n], outputs [n, K] where they are chances."""
    order = sorted(range(len(moves)), key=lambda i: (-depths[i], -values[i]))
    chances = [None if outputs is None else tuple(outputs[i].tolist()) for i in order]
    ranked = tuple(
        RootMove(int(moves[i]), float(values[i]), depth=int(depths[i]), chances=known)
        for i, known in zip(order, chances, strict=True)
    )
    return Judgement(ranked[0].value, ranked, ranked[0].chances)


class EvaluatorPlayer:
    """Plays the move with the best value at one or two plies (`search/players/plies.py`)."""

    def __init__(
        self,
        game: Game,
        leaf: Leaf,
        name: str,
        plies: int = 1,
        candidates: int = CANDIDATES,
        margin: float = MARGIN,
        threads: int | None = None,
        ties: bool = False,
    ) -> None:
        """`candidates` 0: a second ply looks at all moves. `threads` None: one a core. `ties`: any of equally good
        moves (within TIED), drawn by (seed, game, ply); else the first of the equal."""
        self.game, self.leaf, self.name, self.plies = game, leaf, name, plies
        self._ties = ties
        self._limits = (int(plies), int(candidates), float(margin))
        self._workers: Workers[Bench] = Workers(threads, lambda: make_bench(leaf, game))

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        return self.decide(decisions, seed)[0]

    def decide(self, decisions: Decisions, seed: int) -> tuple[Chosen, np.ndarray]:
        """What `choose` returns, and the values [n] of the decisions for their movers, in outcome units."""
        chosen, values = Chosen.room(decisions.rows), np.empty(len(decisions.rows))

        def work(part: slice, bench: Bench) -> None:
            batch = (decisions.at(part), np.int64(seed), self._ties)
            choose_valued(self.game.rules, self.leaf, *batch, *self._limits, bench, chosen.at(part), values[part])

        self._workers.run(work, len(values))
        return chosen, values

    def tied(self, decision: Decisions) -> Chosen:
        found = Chosen(*self.game.buffers())
        searched = (self.game.rules, self.leaf, decision, *self._limits, self._workers.own)
        return found.at(slice(find_tied(*searched, found)))

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        rules, bench, classes = self.game.rules, self._workers.own, self.leaf.weights.head == CLASSES
        bench.path[:], bench.word[0] = make_path(rules, 2), 0
        if path is not None:
            follow(rules, bench.path, path)
        if rules.num_chance(state) > 0:
            value, outputs = self._before_chance(state, bench)
            return Judgement(value, chances=tuple(outputs.tolist()) if classes else None)
        outputs = np.empty((rules.max_moves, len(self.leaf.weights.outcomes)))
        depths = np.empty(rules.max_moves, np.int64)
        n = survey(rules, self.leaf, state, *self._limits, bench, outputs, depths)
        return judgement_of(bench.moves[0, :n], bench.values[:n], depths[:n], outputs[:n] if classes else None)

    def _before_chance(self, state: Any, bench: Bench) -> tuple[float, np.ndarray]:
        """Value and outputs [K] of `state`, which waits for a chance event."""
        if self.plies == 1:
            values, outputs = np.empty(1), np.empty((1, len(self.leaf.weights.outcomes)), np.float32)
            row = self.game.row(state)[None]
            evaluate_rows(self.game.rules, self.leaf, row, make_work(self.leaf, self.game), values, outputs)
            return float(values[0]), outputs[0]
        averaged = np.zeros(len(self.leaf.weights.outcomes))
        value = opinion_one_deeper(self.game.rules, self.leaf, state, False, bench, averaged)
        return float(value), averaged


class RankPlayer:
    """Plays a baseline that only orders the moves of one position, such as pubeval. Raises InputError in positions that
    the baseline does not play."""

    def __init__(self, game: Game, baseline: Baseline, threads: int | None = None, ties: bool = False) -> None:
        self.game, self.baseline, self.name, self._ties = game, baseline, baseline.name, ties
        self._workers: Workers[tuple[np.ndarray, np.ndarray]] = Workers(threads, game.buffers)

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)
        self._check(decisions.rows)

        def work(part: slice, buffers: tuple[np.ndarray, np.ndarray]) -> None:
            batch = (decisions.at(part), np.int64(seed), self._ties)
            choose_ranked(self.game.rules, self.baseline.function, *batch, *buffers, chosen.at(part))

        self._workers.run(work, len(decisions.rows))
        return chosen

    def tied(self, decision: Decisions) -> Chosen:
        self._check(decision.rows)
        found = Chosen(*self.game.buffers())
        scores, state = np.empty(len(found.moves)), self.game.unrow(decision.rows[0])
        n = rank_moves(self.game.rules, self.baseline.function, decision.paths[0], state, *found, scores)
        return found.at(slice(n)).at(scores[:n] == scores[:n].max())

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        """The order of the moves. Raises InputError before a chance event, where a value is needed."""
        if self.game.rules.num_chance(state) > 0:
            leaf_of(self.baseline)  # raises, with the reason
        self._check(self.game.row(state)[None])
        moves, children = self.game.buffers()
        scores = np.empty(len(moves))
        path = make_path(self.game.rules) if path is None else path
        n = rank_moves(self.game.rules, self.baseline.function, path, state, moves, children, scores)
        order = np.argsort(-scores[:n], kind="stable")
        return Judgement(None, tuple(RootMove(int(moves[i]), depth=1) for i in order))

    def _check(self, rows: np.ndarray) -> None:
        if self.baseline.check is not None:
            for row in rows:
                self.baseline.check(self.game.unrow(row))


class RandomPlayer:
    """Plays every distinct result with the same chance."""

    name = RANDOM

    def __init__(self, game: Game) -> None:
        self.game = game
        self._buffers = game.buffers()

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)
        choose_random(self.game.rules, decisions, np.int64(seed), *self._buffers, chosen)
        return chosen

    def tied(self, decision: Decisions) -> Chosen:
        found = Chosen(*self.game.buffers())
        state = self.game.unrow(decision.rows[0])
        return found.at(slice(expand(self.game.rules, decision.paths[0], state, *found)))


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def tie_word(keys, i, seed):
    """The random word by which the decision with keys[i] breaks ties."""
    return random_word(seed, keys[i, 0], keys[i, 1], TIE)


@kernel
def pick_tied(values, n, within, word):
    """Index of one of those of values [n] that are `within` so much of the greatest: the first for `word` 0."""
    best = values[0]
    for i in range(1, n):
        best = max(best, values[i])
    tied = 0
    for i in range(n):
        if values[i] >= best - within:
            tied += 1
    left = word % tied
    for i in range(n):
        if values[i] >= best - within:
            if left == 0:
                return i
            left -= 1
    return n - 1


@kernel
def sit_down(rules, decisions, i, seed, bench):
    """The bench gets what belongs to decision i besides its position."""
    follow(rules, bench.path, decisions.paths[i])
    bench.word[0] = random_word(seed, decisions.keys[i, 0], decisions.keys[i, 1], WORLD)


@kernel
def choose_valued(rules, leaf, decisions, seed, ties, plies, candidates, margin, bench, chosen, values):
    """A best move of each decision to `chosen`, values[i] = its value for the mover."""
    rows, keys, (codes, results) = decisions.rows, decisions.keys, chosen
    for i in range(len(rows)):
        sit_down(rules, decisions, i, seed, bench)
        n, best = score_moves(rules, leaf, rules.load(rows[i]), plies, candidates, margin, bench)
        values[i] = bench.values[best]
        if ties:
            best = pick_tied(bench.values, n, TIED, tie_word(keys, i, seed))
        codes[i] = bench.moves[0, best]
        results[i] = bench.rows[0, best]


@kernel
def find_tied(rules, leaf, decision, plies, candidates, margin, bench, found):
    """All best moves of the one decision to `found` (room for M); returns how many."""
    sit_down(rules, decision, 0, np.int64(0), bench)
    n, best = score_moves(rules, leaf, rules.load(decision.rows[0]), plies, candidates, margin, bench)
    k = 0
    for i in range(n):
        if bench.values[i] >= bench.values[best] - TIED:
            found.moves[k] = bench.moves[0, i]
            found.rows[k] = bench.rows[0, i]
            k += 1
    return k


@kernel
def rank_moves(rules, rank, path, state, moves, children, scores):
    """scores [M] of the moves of the decision `state`; returns how many there are."""
    n = expand(rules, path, state, moves, children)
    for k in range(n):
        scores[k] = rank(state, moves[k], rules.load(children[k]))
    return n


@kernel
def choose_ranked(rules, rank, decisions, seed, ties, moves, children, chosen):
    """A highest-ranked move of each decision to `chosen`."""
    rows, keys, (codes, results) = decisions.rows, decisions.keys, chosen
    scores = np.empty(len(moves))
    for i in range(len(rows)):
        n = rank_moves(rules, rank, decisions.paths[i], rules.load(rows[i]), moves, children, scores)
        best = pick_tied(scores, n, 0.0, tie_word(keys, i, seed) if ties else np.int64(0))
        codes[i] = moves[best]
        results[i] = children[best]


@kernel
def choose_random(rules, decisions, seed, moves, children, chosen):
    """One of the moves of each decision to `chosen`, drawn by (seed, game, ply)."""
    rows, keys, (codes, results) = decisions.rows, decisions.keys, chosen
    for i in range(len(rows)):
        n = expand(rules, decisions.paths[i], rules.load(rows[i]), moves, children)
        drawn = tie_word(keys, i, seed) % n
        codes[i] = moves[drawn]
        results[i] = children[drawn]
