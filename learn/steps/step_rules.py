"""How far a weight moves: step sizes of linear evaluators, one for all weights or one for each.

A rule is a kernel and its memory, [rows, F + 1], as many rows as the rule has numbers a weight:

    apply(weight, memory, index, value, n, error, rate, meta)

moves w_i, i = index[0] .. index[n - 1], by (step size of i) x error x value[j], where value[j] is the gradient or trace
of weight index[j]. An index may occur more than once; then the occurrences are n separate updates (idbd and autostep
merge them). `rate` is c, of the whole run; `meta` a rule's own knob. So `constant` is

    w_i <- w_i + c (v_{t+1} - v_t) dv_t/dw_i

Each rule is a file with `RULE`: `constant` here, the others in the modules that `RULES` names.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Any, NamedTuple

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import OneOf

RULES = {
    "constant": __name__,
    "tcl": "deltaw.learn.steps.tcl",
    "tcl_exp": "deltaw.learn.steps.tcl_exp",
    "idbd": "deltaw.learn.steps.idbd",
    "autostep": "deltaw.learn.steps.autostep",
}
RULE_NAMES = OneOf(tuple(RULES))
RuleName = Annotated[str, RULE_NAMES]


class Rule(NamedTuple):
    """A way to choose step sizes."""

    apply: Any
    """apply(weight [F + 1], memory [rows, F + 1], index, value, n, error, rate, meta)"""
    rows: int
    """numbers it remembers of each weight, 0 at first"""


class StepRule(NamedTuple):
    """A rule at work on one vector of weights."""

    apply: Any
    memory: np.ndarray
    """[rows, F + 1]"""


@kernel
def apply_constant(weight, memory, index, value, n, error, rate, meta):
    for j in range(n):
        weight[index[j]] += rate * error * value[j]


RULE = Rule(apply_constant, 0)


def make_rule(name: str, weights: int, dtype: Any = np.float32) -> StepRule:
    """The rule called `name` with a fresh memory for so many weights, the bias included. Raises InputError."""
    RULE_NAMES.check("learner.step_rule", name)
    rule: Rule = importlib.import_module(RULES[name]).RULE
    memory = np.zeros((weights, rule.rows), dtype).T  # the numbers of one weight side by side: they are needed together
    return StepRule(rule.apply, memory)
