"""Players choose moves, for many games at once.

A player gets a batch of decisions (dice rolled) and returns the results of its moves. It never sees whom it plays
against, and its answer to one decision does not depend on the other decisions of the batch, nor on the number of
threads. `search/players/spec.py` says how people name players.

Letters: n decisions, W integers a state, M most moves of a decision.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from deltaw.envs.bits import TIE, random_word
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.leaf import TIED, Leaf
from deltaw.search.players.plies import CANDIDATES, MARGIN, Bench, make_bench, score_moves
from deltaw.search.players.threads import Workers

RANDOM, GNUBG, PERFECT = "random", "gnubg", "perfect"
"""players that are no evaluators"""


class Player(Protocol):
    """Those below also have `tied(row)`, the results [k, W] of all moves that are equally good to them."""

    @property
    def name(self) -> str: ...

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        """Results int64 [n, W] of the chosen moves of the decisions `rows` int64 [n, W]; `keys` int64 [n, 2] =
        (game, ply) and `seed` are for players that draw random numbers."""
        ...


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

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        return self.decide(rows, keys, seed)[0]

    def decide(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """What `choose` returns, and the values [n] of the decisions for their movers, in outcome units."""
        chosen, values = np.empty_like(rows), np.empty(len(rows))

        def work(part: slice, bench: Bench) -> None:
            batch = (rows[part], keys[part], np.int64(seed), self._ties)
            choose_valued(self.game.rules, self.leaf, *batch, *self._limits, bench, chosen[part], values[part])

        self._workers.run(work, len(rows))
        return chosen, values

    def tied(self, row: np.ndarray) -> np.ndarray:
        best = self.game.buffers()[1]

        def work(part: slice, bench: Bench) -> None:
            nonlocal best
            best = best[: find_tied(self.game.rules, self.leaf, row, *self._limits, bench, best)]

        self._workers.run(work, 1)
        return best


class RankPlayer:
    """Plays a baseline that only orders the moves of one position, such as pubeval."""

    def __init__(self, game: Game, baseline: Baseline, threads: int | None = None, ties: bool = False) -> None:
        self.game, self.baseline, self.name, self._ties = game, baseline, baseline.name, ties
        self._workers: Workers[tuple[np.ndarray, np.ndarray]] = Workers(threads, game.buffers)

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        chosen = np.empty_like(rows)

        def work(part: slice, buffers: tuple[np.ndarray, np.ndarray]) -> None:
            batch = (rows[part], keys[part], np.int64(seed), self._ties)
            choose_ranked(self.game.rules, self.baseline.function, *batch, *buffers, chosen[part])

        self._workers.run(work, len(rows))
        return chosen

    def tied(self, row: np.ndarray) -> np.ndarray:
        moves, children = self.game.buffers()
        scores = np.empty(len(moves))
        n = rank_moves(self.game.rules, self.baseline.function, self.game.unrow(row), moves, children, scores)
        return children[:n][scores[:n] == scores[:n].max()]


class RandomPlayer:
    """Plays every distinct result with the same chance."""

    name = RANDOM

    def __init__(self, game: Game) -> None:
        self.game = game
        self._buffers = game.buffers()

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        chosen = np.empty_like(rows)
        choose_random(self.game.rules, rows, keys, np.int64(seed), *self._buffers, chosen)
        return chosen

    def tied(self, row: np.ndarray) -> np.ndarray:
        moves, children = self.game.buffers()
        return children[: self.game.rules.expand(self.game.unrow(row), moves, children)]


# --- kernels ------------------------------------------------------------------------------------------------------


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
def choose_valued(rules, leaf, rows, keys, seed, ties, plies, candidates, margin, bench, chosen, values):
    """chosen[i] = result of a best move of the decision rows[i], values[i] = its value for the mover."""
    for i in range(len(rows)):
        n, best = score_moves(rules, leaf, rules.load(rows[i]), plies, candidates, margin, bench)
        values[i] = bench.values[best]
        if ties:
            best = pick_tied(bench.values, n, TIED, random_word(seed, keys[i, 0], keys[i, 1], TIE))
        chosen[i] = bench.rows[0, best]


@kernel
def find_tied(rules, leaf, row, plies, candidates, margin, bench, found):
    """Results of all best moves of the decision `row` to found [M, W]; returns how many."""
    n, best = score_moves(rules, leaf, rules.load(row), plies, candidates, margin, bench)
    k = 0
    for i in range(n):
        if bench.values[i] >= bench.values[best] - TIED:
            found[k] = bench.rows[0, i]
            k += 1
    return k


@kernel
def rank_moves(rules, rank, state, moves, children, scores):
    """scores [M] of the moves of the decision `state`; returns how many there are."""
    n = rules.expand(state, moves, children)
    for k in range(n):
        scores[k] = rank(state, moves[k], rules.load(children[k]))
    return n


@kernel
def choose_ranked(rules, rank, rows, keys, seed, ties, moves, children, chosen):
    """chosen[i] = result of a highest-ranked move of the decision rows[i]."""
    scores = np.empty(len(moves))
    for i in range(len(rows)):
        n = rank_moves(rules, rank, rules.load(rows[i]), moves, children, scores)
        word = random_word(seed, keys[i, 0], keys[i, 1], TIE) if ties else np.int64(0)
        chosen[i] = children[pick_tied(scores, n, 0.0, word)]


@kernel
def choose_random(rules, rows, keys, seed, moves, children, chosen):
    """chosen[i] = one of the distinct results of rows[i], drawn by (seed, game, ply)."""
    for i in range(len(rows)):
        n = rules.expand(rules.load(rows[i]), moves, children)
        chosen[i] = children[random_word(seed, keys[i, 0], keys[i, 1], TIE) % n]
