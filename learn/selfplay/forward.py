"""TD(lambda), forward view: self-play in lock-step, and updates from the lambda-returns of whole games.

    dW = c sum_t (G_t - v_t) grad v_t,    G_t = (1 - lambda) v_{t+1} + lambda G_{t+1}

The loop is the same for every kind of evaluator; how its weights move towards G_t is the matter of an `Updater`. Games
are played with weights that stand still for `plies` positions a slot; then all positions of the games that ended are
learned, in the order of the games, each from its end to its beginning. So results do not depend on how many workers
play.

[1] I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts" (ICLR 2017), whose cycles these
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from deltaw.envs.errors import InputError
from deltaw.learn.knobs import Count, NotNegative, Positive, Range, Share, SlotCount
from deltaw.learn.learner import Metrics
from deltaw.learn.selfplay.lockstep import Batch, SelfPlay, Settings, Slots, new_slots, trimmed
from deltaw.learn.steps.schedule import StepOptions
from deltaw.learn.weights.average import Average
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import Leaf


@dataclass
class ForwardOptions(StepOptions):
    """What all learners of the forward view have in common."""

    trace: Share = 0.6
    """lambda, 0 .. 1"""
    step_size: Positive = 1.5e-3
    step_size_end: NotNegative = 0.0
    cycles: Count = 1
    """equal parts of the budget; at the beginning of each the schedule starts again, and the step rule or the optimizer
    forgets its sums, so that weights that became fixed too early can change ([1])"""
    slots: SlotCount = 256
    """games side by side"""
    plies: Count = 5
    """positions each slot moves on between two updates"""
    explore: Share = 0.0
    """chance of a random move, which games with dice do not need; positions before it learn nothing from those after
    it"""
    draw_score: Annotated[float, Range(-1.0, 1.0)] = 0.0
    """value of a drawn game for the first player, -1 .. 1; the second player gets the opposite. Self-play may settle on
    a draw that one side could have avoided, and then play nothing else any more; with a value below 0 the first player
    goes on looking for a win. A move that ends the game is judged by its true result. A head over classes learns draws
    as an outcome of their own, so it takes 0 alone"""
    average: Share = 0.0
    """decay per update of the exponential average of the weights that is measured and exported; 0: the weights
    themselves"""


class Updater(Protocol):
    """An evaluator, and how a batch of lambda-returns moves its weights."""

    leaf: Leaf
    """what plays: a stack of one, which holds the weights as they are after every `learn`"""
    average: Average

    def learn(self, batch: Batch, rate: float) -> dict[str, float]:
        """One update; returns what is to be logged of it."""
        ...

    def forget(self) -> None:
        """A new cycle begins: the sums over earlier updates are forgotten, the weights are kept."""
        ...

    def evaluator(self, trained: dict[str, Any]) -> Evaluator:
        """The averaged weights where an average is kept, else the current ones."""
        ...

    def finite(self) -> bool: ...

    def packed(self, slots: dict[str, Tensor]) -> dict[str, Any]:
        """For a checkpoint: its own state but for the number of updates, and the games in progress."""
        ...

    def unpack(self, state: dict[str, Any]) -> dict[str, Tensor]:
        """Goes on from there; returns the games in progress."""
        ...


class ForwardTD:
    """A `Learner`; `method` is how it calls itself in the files of its evaluators."""

    def __init__(
        self, start: Evaluator, updater: Updater, method: str, options: Any, *, seed: int, budget: int, backend: Backend
    ) -> None:
        if options.draw_score and start.gives_chances:
            raise InputError(
                f"learner.draw_score={options.draw_score} means nothing for evaluator.head=classes, which learns draws "
                "as an outcome of their own: leave it 0, or choose the head tanh or identity"
            )
        self.updater, self.method, self.options = updater, method, options
        self.seed, self.budget = seed, budget
        self.games = self.positions = self.cycle = 0
        slots = new_slots(start.game, len(updater.leaf.weights.outcomes), options.slots)
        assign = np.zeros((options.slots, start.game.rules.num_players), np.int64)
        self.play = SelfPlay(start.game, updater.leaf, slots, assign, backend)
        self._outcomes = np.array(start.game.rules.outcomes, np.float32)

    def step(self) -> Metrics:
        """Self-play until some games end, then one update from all their positions. `train/td_error`: mean distance of
        the values from the lambda-returns."""
        options = self.options
        batch = self.play.play(Settings(self.seed, options.trace, options.explore, options.plies, options.draw_score))
        self.games += batch.games
        scalars: dict[str, float] = {}
        if len(batch.rows):
            scalars = self._update(batch)
            self.positions += len(batch.rows)
        return Metrics(self.games, self.positions, scalars)

    def _update(self, batch: Batch) -> dict[str, float]:
        cycle, progress = self._phase()
        if cycle != self.cycle:
            self.cycle = cycle
            self.updater.forget()
        rate = self.options.rate(progress)
        scalars = self.updater.learn(batch, rate)
        self.updater.average.update()
        return scalars | {
            "train/td_error": float(np.mean(np.abs(self._values(batch.targets) - self._values(batch.outputs)))),
            "train/step_size": rate,
            "play/game_length": float(batch.lengths.mean()),
            "play/draws": float(np.mean(batch.results == 0)),
            "play/double_or_more": float(np.mean(np.abs(batch.results) >= 2)),
        }

    def _phase(self) -> tuple[int, float]:
        """Number of the cycle, and how much of it is over, 0 .. 1."""
        cycles = self.options.cycles
        done = cycles * self.games / self.budget
        cycle = min(int(done), cycles - 1)
        return cycle, min(done - cycle, 1.0)

    def _values(self, outputs: np.ndarray) -> np.ndarray:
        """[N] from outputs [N, K]"""
        return outputs @ self._outcomes if outputs.shape[1] > 1 else outputs[:, 0]

    def evaluator(self) -> Evaluator:
        trained = {"method": self.method, "lambda": self.options.trace, "games": self.games, "seed": self.seed}
        return self.updater.evaluator(trained)

    def finite(self) -> bool:
        return self.updater.finite()

    def state(self) -> dict[str, Any]:
        slots = {name: torch.from_numpy(a) for name, a in trimmed(self.play.slots)._asdict().items()}
        return {"counts": [self.games, self.positions, self.updater.average.updates], **self.updater.packed(slots)}

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.positions, self.updater.average.updates = state["counts"]
        slots = self.updater.unpack(state)
        self.play.slots = Slots(*(slots[name].numpy() for name in Slots._fields))
        self.cycle, _ = self._phase()
