"""TD(lambda), forward view, for linear evaluators and n-tuple networks: lambda-returns from lock-step self-play, a step
size for every weight.

    w_i <- w_i + alpha_i (G_t - v_t) dv_t/dw_i          one position after the other, v_t by the weights of this moment

G_t is the lambda-return of `learn/selfplay/lockstep.py`; alpha_i comes from a rule of `learn/steps/step_rules.py`.
Games are played with weights that stand still for `plies` positions a slot; then all positions of the games that ended
are learned in the order of the games, each from its end to its beginning. So results do not depend on how many workers
play.

With the rule `constant` and frozen weights this is the forward view of `learn/learners/td_forward.py`, summed instead
of averaged.

S. Bagheri, M. Thill, P. Koch and W. Konen, "Online adaptable learning rates for the game Connect-4" (2016), for
n-tuples, TCL-EXP and lambda-returns. [1] I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm
restarts" (ICLR 2017), whose cycles these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch

from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import Count, NotNegative, Positive, Range, Share, SlotCount, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.lockstep import Batch, SelfPlay, Settings, Slots, new_slots, trimmed
from deltaw.learn.steps.schedule import Schedule, step_size
from deltaw.learn.steps.step_rules import RuleName, make_rule
from deltaw.learn.weights.average import Average
from deltaw.learn.weights.linear import linear_weights, predict, with_weights
from deltaw.learn.weights.population import stack
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options:
    """Every knob of this learner."""

    trace: Share = 0.7
    """lambda, 0 .. 1"""
    step_rule: RuleName = "tcl_exp"
    """constant, tcl, tcl_exp, idbd or autostep (learn/steps/step_rules.py)"""
    step_size: Positive = 0.004
    """c; a position with m active features moves by up to c m (dv/da)^2 of its error: with `constant` 1/m is much,
    while the tcl rules shrink what is too much and learn faster from more (Connect Four, m = 140: 0.05)"""
    step_size_end: NotNegative = 0.004
    schedule: Schedule = "constant"
    """constant, linear or cosine, over the budget of games, or over each of its cycles"""
    cycles: Count = 1
    """equal parts of the budget; at the beginning of each the schedule starts again and the step rule forgets its sums,
    so that weights that became fixed too early can change ([1])"""
    meta_step_size: NotNegative = 0.01
    """theta of idbd, mu of autostep; the others have none"""
    slots: SlotCount = 256
    """games side by side"""
    plies: Count = 5
    """positions each slot moves on between two updates"""
    explore: Share = 0.1
    """chance of a random move; positions before it learn nothing from those after it"""
    draw_score: Annotated[float, Range(-1.0, 1.0)] = 0.0
    """value of a drawn game for the first player, -1 .. 1; the second player gets the opposite. Self-play may settle on
    a draw that one side could have avoided, and then play nothing else any more; with a value below 0 the first player
    goes on looking for a win. A move that ends the game is judged by its true result"""
    average: Share = 0.0
    """decay per update of the exponential average of the weights that is measured and exported; 0: the weights
    themselves"""


class LinearTD:
    """A `Learner`."""

    def __init__(self, start: Evaluator, options: Options, *, seed: int, budget: int, backend: Backend) -> None:
        self.start, self.options, self.seed, self.budget = start, options, seed, budget
        self.games = self.positions = self.cycle = 0
        linear_weights(start, "td_linear")
        leaf = start.leaf
        self.leaf = leaf._replace(weights=stack([leaf.weights]))
        self.weight = self.leaf.weights.first.reshape(-1)
        self.rule = make_rule(options.step_rule, len(self.weight))
        slots = new_slots(start.game, 1, options.slots)
        assign = np.zeros((options.slots, start.game.rules.num_players), np.int64)
        self.play = SelfPlay(start.game, self.leaf, slots, assign, backend)
        self.average = Average(self.weight, options.average)
        self._index = np.zeros(start.features.max_active + 1, np.int32)
        self._value = np.zeros(start.features.max_active + 1, np.float32)

    def step(self) -> Metrics:
        """Self-play until some games end, then one update from every one of their positions."""
        options = self.options
        batch = self.play.play(Settings(self.seed, options.trace, options.explore, options.plies, options.draw_score))
        self.games += batch.games
        scalars: dict[str, float] = {}
        if len(batch.rows):
            scalars = self._update(batch)
            self.positions += len(batch.rows)
        return Metrics(self.games, self.positions, scalars)

    def _update(self, batch: Batch) -> dict[str, float]:
        options, weights = self.options, self.leaf.weights
        cycle, progress = self._phase()
        if cycle != self.cycle:
            self.cycle, self.rule.memory[:] = cycle, 0
        rate = step_size(options.schedule, options.step_size, options.step_size_end, progress)
        arguments = (self.start.game.rules, self.weight, weights.head, weights.scale, weights.spec)
        learn_returns(
            *arguments,
            self.rule,
            batch.rows,
            batch.targets[:, 0],
            self._index,
            self._value,
            rate,
            options.meta_step_size,
        )
        self.average.update()
        return {
            "train/td_error": float(np.mean(np.abs(batch.targets - batch.outputs))),
            "train/step_size": rate,
            "play/game_length": float(batch.lengths.mean()),
            "play/draws": float(np.mean(batch.results == 0)),
        }

    def _phase(self) -> tuple[int, float]:
        """Number of the cycle, and how much of it is over, 0 .. 1."""
        cycles = self.options.cycles
        done = cycles * self.games / self.budget
        cycle = min(int(done), cycles - 1)
        return cycle, min(done - cycle, 1.0)

    def evaluator(self) -> Evaluator:
        """The averaged weights where an average is kept, else the current ones."""
        o = self.options
        trained = {"method": f"td-linear {o.step_rule}", "lambda": o.trace, "games": self.games, "seed": self.seed}
        return with_weights(self.start, self.average.weight, trained)

    def finite(self) -> bool:
        return bool(np.isfinite(self.weight).all())

    def state(self) -> dict[str, Any]:
        slots = trimmed(self.play.slots)._asdict()
        arrays = {"weight": self.weight, "memory": self.rule.memory, **self.average.arrays(), **slots}
        return {
            "counts": [self.games, self.positions, self.average.updates],
            "arrays": {name: torch.from_numpy(array) for name, array in arrays.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.positions, self.average.updates = state["counts"]
        arrays = {name: tensor.numpy() for name, tensor in state["arrays"].items()}
        self.play.slots = Slots(*(arrays.pop(name) for name in Slots._fields))
        self.weight[:], self.rule.memory[:] = arrays["weight"], arrays["memory"]
        self.average.restore(arrays)
        self.cycle, _ = self._phase()


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> LinearTD:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check(options)
    check_game(start.game, "td_linear")
    return LinearTD(start, options, seed=seed, budget=budget, backend=backend)


@kernel
def learn_returns(rules, weight, head, scale, spec, rule, rows, targets, index, value, rate, meta):
    """The module's equation for positions rows [N, W] with the returns targets [N], in their order."""
    bias = len(weight) - 1
    for t in range(len(rows)):
        n = rules.features(rules.load(rows[t]), spec, index[:-1], value)
        v, slope = predict(weight, head, scale, index, value, n)
        for i in range(n):
            value[i] *= slope
        index[n], value[n] = bias, slope
        rule.apply(weight, rule.memory, index, value, n + 1, targets[t] - v, rate, meta)
