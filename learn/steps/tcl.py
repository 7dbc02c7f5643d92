"""Temporal coherence learning: a weight whose updates agree in sign takes long steps, one whose updates cancel takes
short ones.

    r = c delta x_i;   alpha_i = |N_i| / A_i  (1 while A_i = 0)
    w_i <- w_i + alpha_i r;   N_i <- N_i + r;   A_i <- A_i + |r|

D. Beal and M. Smith, "Temporal coherence and prediction decay in TD learning" (IJCAI 1999), equations 4 to 6; the order
(first the weight, then the sums) and the use of recommended changes r are those of S. Bagheri, M. Thill, P. Koch and W.
Konen, "Online adaptable learning rates for the game Connect-4" (2016).
"""

from __future__ import annotations

from deltaw.envs.kernel import kernel
from deltaw.learn.steps.step_rules import Rule


@kernel
def apply_tcl(weight, memory, index, value, n, error, rate, meta):
    """memory[0]: N, memory[1]: A"""
    for j in range(n):
        i = index[j]
        recommended = rate * error * value[j]
        total = memory[1, i]
        step = abs(memory[0, i]) / total if total > 0.0 else 1.0
        weight[i] += step * recommended
        memory[0, i] += recommended
        memory[1, i] += abs(recommended)


RULE = Rule(apply_tcl, 2)
