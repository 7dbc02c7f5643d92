"""Temporal coherence learning with an exponential transfer function: steps fall faster as soon as updates begin to
cancel.

    alpha_i = exp(beta (|N_i| / A_i - 1)),   else as in `learn/steps/tcl.py`

S. Bagheri, M. Thill, P. Koch and W. Konen, "Online adaptable learning rates for the game Connect-4" (IEEE TCIAIG 2016):
TCL-EXP with beta = 2.7.
"""

from __future__ import annotations

import math

from deltaw.envs.kernel import kernel
from deltaw.learn.steps.step_rules import Rule

BETA = 2.7


@kernel
def apply_tcl_exp(weight, memory, index, value, n, error, rate, meta):
    """memory[0]: N, memory[1]: A"""
    for j in range(n):
        i = index[j]
        recommended = rate * error * value[j]
        total = memory[1, i]
        step = math.exp(BETA * (abs(memory[0, i]) / total - 1.0)) if total > 0.0 else 1.0
        weight[i] += step * recommended
        memory[0, i] += recommended
        memory[1, i] += abs(recommended)


RULE = Rule(apply_tcl_exp, 2)
