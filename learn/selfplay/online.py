"""Compiled self-play of one game at a time, with an update after every move: what learners by such games share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from deltaw.envs.game import Game
from deltaw.learn.knobs import Count, Share
from deltaw.learn.learner import Metrics
from deltaw.learn.selfplay.lockstep import counts_and_path
from deltaw.learn.steps.schedule import StepOptions
from deltaw.search.evaluators.evaluator import Evaluator, remade, tensors_of
from deltaw.search.players.plies import make_bench


@dataclass
class OnlineOptions(StepOptions):
    """What learners that learn from every move have in common."""

    trace: Share = 0.7
    """lambda, 0 .. 1"""
    plies: Count = 2000
    """positions in one step of the learner"""
    explore: Share = 0.0
    """chance of a random move, which resets the trace"""


class Position(NamedTuple):
    """Where self-play stands: arrays, so that kernels can change them."""

    row: np.ndarray
    """int64 [W]"""
    counts: np.ndarray
    """int64: game, ply, games finished, and what else the learner counts; then the path (`envs/path.py`)"""
    sums: np.ndarray
    """float64: of the current step, what the learner reports"""


def make_position(game: Game, counts: int, sums: int) -> Position:
    """The first game's first, with so many counts and sums."""
    return Position(game.row(game.rules.initial()), counts_and_path(game.rules, counts), np.zeros(sums))


class OnlineTD(ABC):
    """A `Learner`. The weights of `leaf` are its own: they choose the moves while they learn."""

    method: str
    """how it calls itself in the files of its evaluators"""

    def __init__(self, start: Evaluator, play_and_learn: Any, sums: int, options: Any, seed: int, budget: int) -> None:
        self.start, self.options, self.seed, self.budget, self.game = start, options, seed, budget, start.game
        self.leaf = remade(start, start.tensors, {}).leaf
        self.position, self.positions = make_position(self.game, 3, sums), 0
        self.traces: Any = None
        self._play_and_learn = play_and_learn
        self._bench = make_bench(self.leaf, self.game)._replace(path=self.position.counts[3:])

    @property
    def games(self) -> int:
        return int(self.position.counts[2])

    def step(self) -> Metrics:
        o = self.options
        rate = o.rate(self.games / self.budget)
        self.position.sums[:] = 0.0
        settings = (self.seed, o.trace, rate, o.explore, o.plies)
        self._play_and_learn(self.game.rules, self.leaf, self.position, self.traces, self._bench, *settings)
        self.positions += o.plies
        return Metrics(self.games, self.positions, self._scalars() | {"train/step_size": rate})

    @abstractmethod
    def _scalars(self) -> dict[str, float]:
        """What is to be logged of a step."""

    def evaluator(self) -> Evaluator:
        trained = {"method": self.method, "lambda": self.options.trace, "games": self.games, "seed": self.seed}
        return remade(self.start, tensors_of(self.leaf.weights), trained)

    def finite(self) -> bool:
        weights = self.leaf.weights
        return bool(np.isfinite(weights.first).all() and np.isfinite(weights.dense).all())

    def state(self) -> dict[str, Any]:
        arrays = {"row": self.position.row, "counts": self.position.counts, **self._arrays()}
        return {"positions": self.positions, "arrays": {name: torch.from_numpy(a) for name, a in arrays.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        self.positions = state["positions"]
        arrays = {name: tensor.numpy() for name, tensor in state["arrays"].items()}
        self.position.row[:], self.position.counts[:] = arrays["row"], arrays["counts"]
        self._restore_arrays(arrays)

    @abstractmethod
    def _arrays(self) -> dict[str, np.ndarray]:
        """Weights and traces, for a checkpoint."""

    @abstractmethod
    def _restore_arrays(self, arrays: dict[str, np.ndarray]) -> None: ...
