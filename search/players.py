"""Players: who moves, for many games at once.

A player gets a batch of decisions (dice rolled) and returns the results of its moves. It never sees whom it plays
against, and its answer to one decision does not depend on the other decisions of the batch, nor on the number of
threads.

Letters: n decisions, W integers a state, K outputs of an evaluator.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from envs.bits import TIE, random_word
from envs.errors import InputError
from envs.game import Baseline, Game
from envs.kernel import kernel
from search.evaluator import Evaluator
from search.leaf import Leaf
from search.named import find_evaluator, leaf_of, shipped
from search.plies import CANDIDATES, MARGIN, Bench, choose_rows, make_bench, ply_label

RANDOM, GNUBG = "random", "gnubg"
"""players that are no evaluators"""


class Player(Protocol):
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


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


# --- players ------------------------------------------------------------------------------------------------------


class EvaluatorPlayer:
    """Plays the move with the best value at one or two plies (`search.plies`)."""

    def __init__(
        self,
        game: Game,
        leaf: Leaf,
        name: str,
        plies: int = 1,
        candidates: int = CANDIDATES,
        margin: float = MARGIN,
        threads: int | None = None,
    ) -> None:
        """`candidates` 0: a second ply looks at all moves. `threads` None: one a core."""
        self.game, self.leaf, self.name = game, leaf, name
        self._limits = (int(plies), int(candidates), float(margin))
        self._workers: Workers[Bench] = Workers(threads, lambda: make_bench(leaf, game))

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        chosen, values = np.empty_like(rows), np.empty(len(rows))
        outputs = np.empty((len(rows), len(self.leaf.weights.outcomes)), np.float32)

        def work(part: slice, bench: Bench) -> None:
            choose_rows(
                self.game.rules, self.leaf, rows[part], *self._limits, bench, chosen[part], values[part], outputs[part]
            )

        self._workers.run(work, len(rows))
        return chosen


class RankPlayer:
    """Plays a baseline that only orders the moves of one position, such as pubeval."""

    def __init__(self, game: Game, baseline: Baseline, threads: int | None = None) -> None:
        self.game, self.baseline, self.name = game, baseline, baseline.name
        self._workers: Workers[tuple[np.ndarray, np.ndarray]] = Workers(threads, game.buffers)

    def choose(self, rows: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
        chosen = np.empty_like(rows)

        def work(part: slice, buffers: tuple[np.ndarray, np.ndarray]) -> None:
            choose_ranked(self.game.rules, self.baseline.function, rows[part], *buffers, chosen[part])

        self._workers.run(work, len(rows))
        return chosen


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


@kernel
def choose_ranked(rules, rank, rows, moves, children, chosen):
    """chosen[i] = result of the highest-ranked move of the decision rows[i]; ties go to the first."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        n = rules.expand(state, moves, children)
        best, highest = 0, -np.inf
        for k in range(n):
            score = rank(state, moves[k], rules.load(children[k]))
            if score > highest:
                best, highest = k, score
        chosen[i] = children[best]


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
    return [*shipped(game), *game.baselines, RANDOM, *gnubg]


def find_player(
    game: Game, name: str, plies: int = 1, candidates: int = CANDIDATES, threads: int | None = None
) -> Player:
    """The player called `name`: random, a baseline, a shipped evaluator, an evaluator file, or gnubg. Raises
    InputError."""
    if plies not in (1, 2):
        raise InputError(f"players look 1 or 2 plies ahead, not {plies}")
    if name not in player_names(game) and not (Path(name).is_file() or name.endswith(".safetensors")):
        raise InputError(f"no player {name!r} for {game.name}: name an evaluator file or one of {_listed(game)}")
    if name == RANDOM:
        if plies > 1:
            raise InputError("random does not look ahead at all: it plays at 1 ply only")
        return RandomPlayer(game)
    if name == GNUBG and game.name == "backgammon":
        from search.gnubg import GnubgPlayer

        return GnubgPlayer(plies)
    return player_of(game, find_evaluator(game, name), name, plies, candidates, threads)


def player_of(
    game: Game,
    evaluator: Evaluator | Baseline,
    name: str,
    plies: int = 1,
    candidates: int = CANDIDATES,
    threads: int | None = None,
) -> Player:
    """A player with this evaluator or baseline; InputError for 2 plies with one that only ranks moves."""
    if plies == 1 and isinstance(evaluator, Baseline) and evaluator.kind == "rank":
        return RankPlayer(game, evaluator, threads)
    label = Path(name).stem if name.endswith(".safetensors") else name
    return EvaluatorPlayer(game, leaf_of(evaluator), f"{label}{ply_label(plies)}", plies, candidates, threads=threads)


def leaf_in(player: Player) -> Leaf | None:
    """The evaluator of a player that has values."""
    leaf: Any = getattr(player, "leaf", None)
    return leaf if isinstance(leaf, Leaf) else None


def _listed(game: Game) -> str:
    return ", ".join(player_names(game))
