"""Autostep: incremental delta-bar-delta whose changes are measured in units of their own size, and whose steps never
overshoot.

    v_i <- max(|delta x_i h_i|, v_i + alpha_i x_i^2 (|delta x_i h_i| - v_i) / tau)
    alpha_i <- alpha_i exp(mu delta x_i h_i / v_i)   where v_i > 0
    M = max(sum_i alpha_i x_i^2, 1);   alpha_i <- alpha_i / M
    w_i <- w_i + alpha_i delta x_i;    h_i <- h_i (1 - alpha_i x_i^2) + alpha_i delta x_i

After the division an update removes at most the whole error of its position. Step sizes are kept as alpha_i = c
e^beta_i with beta starting at 0, as in `learn/steps/idbd.py`. The knob `meta` is mu; 0.01 is the paper's value.

A. R. Mahmood, R. Sutton, T. Degris and P. Pilarski, "Tuning-free step-size adaptation" (ICASSP 2012), table 1. There
all step sizes are divided by M; here those of the active weights, as the others, which may be millions, have no part in
M. An index that occurs more than once is one weight, as in `learn/steps/idbd.py`: else M would be too small for
n-tuples.
"""

from __future__ import annotations

import math

from deltaw.envs.kernel import kernel
from deltaw.learn.steps.idbd import merged
from deltaw.learn.steps.step_rules import Rule

TAU = 1e4
"""time constant of v_i, in updates with alpha_i x_i^2 = 1: the paper's value"""


@kernel
def apply_autostep(weight, memory, index, value, n, error, rate, meta):
    """memory[0]: beta, memory[1]: h, memory[2]: v, memory[3]: zeros"""
    x = merged(memory[3], index, value, n)
    total = 0.0
    for j in range(n):
        if x[j] != 0.0:
            adapt(memory, index[j], x[j], error, rate, meta)
            total += rate * math.exp(memory[0, index[j]]) * x[j] * x[j]
    excess = math.log(max(total, 1.0))
    for j in range(n):
        if x[j] != 0.0:
            i = index[j]
            memory[0, i] -= excess
            step = rate * math.exp(memory[0, i])
            weight[i] += step * error * x[j]
            memory[1, i] = memory[1, i] * (1.0 - step * x[j] * x[j]) + step * error * x[j]


@kernel
def adapt(memory, i, x, error, rate, meta):
    """v_i and the first change of alpha_i."""
    correlation = error * x * memory[1, i]
    before = memory[2, i]
    step = rate * math.exp(memory[0, i])
    scale = max(abs(correlation), before + step * x * x * (abs(correlation) - before) / TAU)
    memory[2, i] = scale
    if scale > 0.0:
        memory[0, i] += meta * correlation / scale


RULE = Rule(apply_autostep, 4)
