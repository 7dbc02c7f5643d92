"""Incremental delta-bar-delta: every weight's step size follows the gradient of the squared error with respect to it.

    beta_i <- beta_i + theta delta x_i h_i;   alpha_i = c e^beta_i
    w_i <- w_i + alpha_i delta x_i;           h_i <- h_i [1 - alpha_i x_i^2]_+ + alpha_i delta x_i

h_i is a decaying trace of the recent changes of w_i: a weight whose changes correlate takes longer steps. beta starts
at 0, so all step sizes start at c, and a schedule of c scales them all; in the paper's terms its beta is ln c plus this
one. The knob `meta` is theta.

R. Sutton, "Adapting bias by gradient descent: an incremental version of delta-bar-delta" (AAAI 1992), figure 2 and the
bounds that the paper advises.

An index that occurs more than once is one weight, whose x_i is the sum of the values: the square would not be that of
the parts.
"""

from __future__ import annotations

import math

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.learn.steps.step_rules import Rule

LARGEST_CHANGE = 2.0
"""of beta in one update: a step size grows or shrinks at most e^2 times"""
LOWEST = -10.0
"""of beta: no step size falls below e^-10 times the common one"""


@kernel
def merged(sums, index, value, n):
    """x [n]: the sum of an index's values where it occurs first, 0 where it occurs again. `sums` [F + 1] holds zeros,
    before and after."""
    x = np.empty(n)
    for j in range(n):
        sums[index[j]] += value[j]
    for j in range(n):
        x[j] = sums[index[j]]
        sums[index[j]] = 0.0
    return x


@kernel
def apply_idbd(weight, memory, index, value, n, error, rate, meta):
    """memory[0]: beta, memory[1]: h, memory[2]: zeros"""
    x = merged(memory[2], index, value, n)
    for j in range(n):
        if x[j] != 0.0:
            i, slope = index[j], error * x[j]
            change = meta * slope * memory[1, i]
            change = min(max(change, -LARGEST_CHANGE), LARGEST_CHANGE)
            memory[0, i] = max(memory[0, i] + change, LOWEST)
            step = rate * math.exp(memory[0, i])
            weight[i] += step * slope
            memory[1, i] = memory[1, i] * max(1.0 - step * x[j] * x[j], 0.0) + step * slope


RULE = Rule(apply_idbd, 3)
