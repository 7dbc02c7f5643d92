"""Players: who moves, for many games at once.

A player gets a batch of decisions (dice rolled) and returns the results of its moves. It never sees whom it plays
against, and its answer to one decision does not depend on the other decisions of the batch, nor on the number of
threads. How people name players is told in `deltaw.search.players.spec`.

Letters: n decisions, W integers a state, M most moves of a decision.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from deltaw.envs.bits import TIE, random_word
from deltaw.envs.control import make_control, supervised
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import TIED, Leaf
from deltaw.search.evaluators.named import FILES, compiled, find_evaluator, leaf_of, shipped
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.players.plies import CANDIDATES, MARGIN, Bench, make_bench, ply_label, score_moves
from deltaw.search.players.spec import PlayerSpec, parse_player

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


# --- threads ------------------------------------------------------------------------------------------------------

Scratch = TypeVar("Scratch")


class Workers(Generic[Scratch]):
    """Threads, each with scratch memory of its own, that share out the rows of a batch. Kernels run without the GIL."""

    def __init__(self, threads: int | None, make: Callable[[], Scratch]) -> None:
        self._scratch = [make() for _ in range(threads or cores())]

    def run(self, work: Callable[[slice, Scratch], None], n: int) -> None:
        """work(rows, scratch) for slices that cover 0 .. n - 1."""
        threads = min(len(self._scratch), n)
        if threads <= 1:
            work(slice(0, n), self._scratch[0])
            return
        cuts = [n * i // threads for i in range(threads + 1)]
        jobs: Iterable[slice] = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        list(_pool(len(self._scratch)).map(work, jobs, self._scratch[:threads]))

    def each(self, work: Callable[[int, Scratch], None], n: int) -> None:
        """work(i, scratch) for i = 0 .. n - 1, a free thread taking the next: for work whose pieces differ in length."""
        numbers, stop = itertools.count(), threading.Event()

        def share(scratch: Scratch) -> None:
            try:
                while not stop.is_set() and (i := next(numbers)) < n:
                    work(i, scratch)
            except BaseException:
                stop.set()
                raise

        threads = min(len(self._scratch), n)
        if threads <= 1:
            share(self._scratch[0])
            return
        try:  # supervised: Ctrl-C comes to this thread, and stops searches in the others too
            pool = _pool(len(self._scratch))
            supervised(make_control(), None, lambda: list(pool.map(share, self._scratch[:threads])))
        finally:
            stop.set()


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


# --- players ------------------------------------------------------------------------------------------------------


class EvaluatorPlayer:
    """Plays the move with the best value at one or two plies (`deltaw.search.players.plies`)."""

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


# --- by name ------------------------------------------------------------------------------------------------------


def player_names(game: Game) -> list[str]:
    """Names that `find_player` knows, besides files."""
    gnubg = [GNUBG] if game.name == "backgammon" else []
    perfect = [PERFECT] if game.rules.max_chance == 0 and game.rules.num_players == 2 else []
    return [*shipped(game), *game.baselines, RANDOM, *perfect, *gnubg]


def find_player(
    game: Game, text: str, plies: int = 1, candidates: int = CANDIDATES, threads: int | None = None
) -> Player:
    """The player that `text` names (see `deltaw.search.players.spec`): random, perfect, a baseline, a shipped evaluator, an evaluator
    file, or gnubg; `plies` where the text says nothing about it. Raises InputError."""
    spec = parse_player(text)
    plies = spec.plies or plies
    if plies not in (1, 2):
        raise InputError(f"players look 1 or 2 plies ahead, not {plies}")
    known = player_names(game)
    if spec.name == PERFECT and PERFECT not in known:
        _find_perfect(game)  # says why there is none
    if spec.name not in known and not (os.path.isfile(spec.name) or spec.name.endswith(FILES)):
        raise InputError(
            f"no player {spec.name!r} for {game.name}: name an evaluator file or one of {', '.join(known)}"
        )
    if spec.name in (RANDOM, GNUBG, PERFECT) and spec.name not in game.baselines:
        return _special_player(game, spec, plies, threads)
    evaluator = find_evaluator(game, spec.name)
    if spec.searches:
        if plies > 1:
            raise InputError(f"{text} searches: {plies} plies do not belong to it")
        from deltaw.search.players.searching_player import SearchingPlayer

        return SearchingPlayer(game, compiled(evaluator), spec.label, spec.algorithm, spec.limits, spec.ties, threads)
    return player_of(game, evaluator, spec.label, plies, candidates, threads, spec.ties)


def _special_player(game: Game, spec: PlayerSpec, plies: int, threads: int | None) -> Player:
    """A player that is no evaluator."""
    if spec.settings or (spec.name == PERFECT and plies > 1):
        raise InputError(f"{spec.name} takes no such settings: {spec.settings or f'{plies} plies'}")
    if spec.name == PERFECT:
        return _find_perfect(game, threads)
    if spec.name == GNUBG:
        from deltaw.search.players.gnubg import GnubgPlayer

        return GnubgPlayer(plies)
    if plies > 1:
        raise InputError("random does not look ahead at all: it plays at 1 ply only")
    return RandomPlayer(game)


def _find_perfect(game: Game, threads: int | None = None) -> Player:
    from deltaw.search.players.perfect import PerfectPlayer

    return PerfectPlayer(game, threads)


def player_of(
    game: Game,
    evaluator: Evaluator | Baseline | OnnxEvaluator,
    name: str,
    plies: int = 1,
    candidates: int = CANDIDATES,
    threads: int | None = None,
    ties: bool = False,
) -> Player:
    """A player with this evaluator or baseline; InputError for 2 plies with one that only ranks moves, and for a baseline of all players' payoffs."""
    if isinstance(evaluator, Baseline) and evaluator.kind == "payoffs":
        raise InputError(f"{name} says what a position is worth to everybody, which takes a search: try {name}@depth=2")
    if plies == 1 and isinstance(evaluator, Baseline) and evaluator.kind == "rank":
        return RankPlayer(game, evaluator, threads, ties)
    label = Path(name).stem if name.endswith(FILES) else name
    if isinstance(evaluator, OnnxEvaluator):
        from deltaw.search.players.batched import BatchedPlayer

        return BatchedPlayer(game, evaluator, label, plies, candidates, threads=threads, ties=ties)
    leaf = leaf_of(evaluator)
    return EvaluatorPlayer(game, leaf, f"{label}{ply_label(plies)}", plies, candidates, threads=threads, ties=ties)


def leaf_in(player: Player) -> Leaf | None:
    """The evaluator of a player that has values."""
    leaf: Any = getattr(player, "leaf", None)
    return leaf if isinstance(leaf, Leaf) else None
