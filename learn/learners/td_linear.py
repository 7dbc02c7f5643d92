"""TD(lambda), forward view, for linear evaluators and n-tuple networks: lambda-returns from lock-step self-play, a step
size for every weight.

    w_i <- w_i + alpha_i (G_t - v_t) dv_t/dw_i          one position after the other, v_t by the weights of this moment

G_t is the lambda-return of `learn/selfplay/lockstep.py`; alpha_i comes from a rule of `learn/steps/step_rules.py`; the
loop is that of `learn/selfplay/forward.py`. With the rule `constant` and frozen weights this is the forward view of
`learn/learners/td_forward.py`, summed instead of averaged.

S. Bagheri, M. Thill, P. Koch and W. Konen, "Online adaptable learning rates for the game Connect-4" (2016), for
n-tuples, TCL-EXP and lambda-returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import NotNegative, Positive, Share, check
from deltaw.learn.learner import check_game
from deltaw.learn.selfplay.forward import ForwardOptions, ForwardTD
from deltaw.learn.selfplay.lockstep import Batch, Slots
from deltaw.learn.steps.schedule import Schedule
from deltaw.learn.steps.step_rules import RuleName
from deltaw.learn.weights.linear import predict
from deltaw.learn.weights.population import stack
from deltaw.learn.weights.pupil import LinearPupil
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(ForwardOptions):
    """The knobs of `ForwardOptions` (learn/selfplay/forward.py), and those of the step rule."""

    trace: Share = 0.7
    step_rule: RuleName = "tcl_exp"
    """constant, tcl, tcl_exp, idbd or autostep (learn/steps/step_rules.py)"""
    step_size: Positive = 0.004
    """c; a position with m active features moves by up to c m (dv/da)^2 of its error: with `constant` 1/m is much,
    while the tcl rules shrink what is too much and learn faster from more (Connect Four, m = 140: 0.05)"""
    step_size_end: NotNegative = 0.004
    schedule: Schedule = "constant"
    meta_step_size: NotNegative = 0.01
    """theta of idbd, mu of autostep; the others have none"""
    explore: Share = 0.1


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> ForwardTD:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check(options)
    check_game(start.game, "td_linear")
    updater, method = LinearUpdater(start, options), f"td-linear {options.step_rule}"
    return ForwardTD(start, updater, method, options, seed=seed, budget=budget, backend=backend)


class LinearUpdater(LinearPupil):
    """An `Updater`: one position after the other, compiled."""

    def __init__(self, start: Evaluator, options: Options) -> None:
        super().__init__(start, "td_linear", options.step_rule, options.average)
        leaf, most = start.leaf, start.features.max_active + 1
        first = self.weight.reshape(1, -1, 1)  # a view: what is learned plays at once
        self.leaf = leaf._replace(weights=stack([leaf.weights])._replace(first=first))
        self._lists = np.zeros(most, np.int32), np.zeros(most, np.float32)
        self._meta = options.meta_step_size

    def learn(self, batch: Batch, rate: float) -> dict[str, float]:
        weights, rules = self.leaf.weights, self.start.game.rules
        samples = (batch.rows, batch.targets[:, 0], *self._lists)
        learn_returns(
            rules, self.weight, weights.head, weights.scale, weights.spec, self.rule, *samples, rate, self._meta
        )
        return {}

    def packed(self, slots: dict[str, Tensor]) -> dict[str, Any]:
        return {"arrays": {**self.state(), **slots}}

    def unpack(self, state: dict[str, Any]) -> dict[str, Tensor]:
        self.restore(state["arrays"])
        return {name: state["arrays"][name] for name in Slots._fields}


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
