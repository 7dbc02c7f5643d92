"""Step rules against scalar loops written from their papers, one weight after the other, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deltaw.envs.errors import InputError
from deltaw.learn.steps.idbd import LARGEST_CHANGE, LOWEST
from deltaw.learn.steps.step_rules import RULES, make_rule

WEIGHTS = 9


def sparse_inputs(seed: int, updates: int, repeated: bool) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Random (index, value, error) of some weights, the last one always among them as the bias is."""
    random = np.random.default_rng(seed)
    inputs = []
    for _ in range(updates):
        index = random.choice(WEIGHTS - 1, size=5, replace=repeated)
        index = np.append(index, WEIGHTS - 1).astype(np.int32)
        inputs.append((index, random.normal(size=6), float(random.normal())))
    return inputs


def compiled(name: str, inputs: list, rate: float, meta: float) -> tuple[np.ndarray, np.ndarray]:
    """The weights and the rule's memory after all updates."""
    rule, weight = make_rule(name, WEIGHTS, np.float64), np.zeros(WEIGHTS)
    for index, value, error in inputs:
        kept = index.copy(), value.copy()
        rule.apply(weight, rule.memory, index, value, len(index), error, rate, meta)
        assert (index == kept[0]).all()
        assert (value == kept[1]).all()
    return weight, rule.memory


def dense(index: np.ndarray, value: np.ndarray) -> list[float]:
    x = [0.0] * WEIGHTS
    for i, v in zip(index, value, strict=True):
        x[i] += float(v)
    return x


def naive_constant(inputs, rate, meta):
    w = [0.0] * WEIGHTS
    for index, value, error in inputs:
        for i, x in enumerate(dense(index, value)):
            w[i] += rate * error * x
    return w


def naive_temporal_coherence(inputs, rate, transfer):
    w, n, a = [0.0] * WEIGHTS, [0.0] * WEIGHTS, [0.0] * WEIGHTS
    for index, value, error in inputs:
        for i, x in zip(index, value, strict=True):  # occurrences of an index are separate updates
            r = rate * error * float(x)
            w[i] += (transfer(abs(n[i]) / a[i]) if a[i] > 0 else 1.0) * r
            n[i] += r
            a[i] += abs(r)
    return w


def naive_tcl(inputs, rate, meta):
    return naive_temporal_coherence(inputs, rate, lambda coherence: coherence)


def naive_tcl_exp(inputs, rate, meta):
    return naive_temporal_coherence(inputs, rate, lambda coherence: math.exp(2.7 * (coherence - 1)))


def naive_idbd(inputs, rate, meta):
    """Sutton 1992, figure 2, over all weights; its beta holds the logarithm of the whole step size."""
    w, h, beta = [0.0] * WEIGHTS, [0.0] * WEIGHTS, [math.log(rate)] * WEIGHTS
    for index, value, error in inputs:
        for i, x in enumerate(dense(index, value)):
            beta[i] += min(max(meta * error * x * h[i], -2.0), 2.0)
            beta[i] = max(beta[i], math.log(rate) - 10.0)
            alpha = math.exp(beta[i])
            w[i] += alpha * error * x
            h[i] = h[i] * max(1 - alpha * x * x, 0.0) + alpha * error * x
    return w


def naive_autostep(inputs, rate, meta):
    """Mahmood et al. 2012, table 1, with alpha itself; only active weights are divided by M."""
    w, h, v, alpha = [0.0] * WEIGHTS, [0.0] * WEIGHTS, [0.0] * WEIGHTS, [rate] * WEIGHTS
    for index, value, error in inputs:
        xs = dense(index, value)
        for i, x in enumerate(xs):
            size = abs(error * x * h[i])
            v[i] = max(size, v[i] + alpha[i] * x * x * (size - v[i]) / 1e4)
            if v[i] != 0:
                alpha[i] *= math.exp(meta * error * x * h[i] / v[i])
        m = max(sum(a * x * x for a, x in zip(alpha, xs, strict=True)), 1.0)
        for i, x in enumerate(xs):
            if x != 0:
                alpha[i] /= m
                w[i] += alpha[i] * error * x
                h[i] = h[i] * (1 - alpha[i] * x * x) + alpha[i] * error * x
    return w


NAIVE = {
    "constant": naive_constant,
    "tcl": naive_tcl,
    "tcl_exp": naive_tcl_exp,
    "idbd": naive_idbd,
    "autostep": naive_autostep,
}


def test_every_rule_has_a_naive_form_here():
    assert set(NAIVE) == set(RULES)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("rate", [0.003, 0.3])
@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_its_scalar_loop(name, rate, repeated):
    inputs = sparse_inputs(4, 200, repeated)
    weight, _ = compiled(name, inputs, rate, 0.2)
    expected = NAIVE[name](inputs, rate, 0.2)
    np.testing.assert_allclose(weight, expected, rtol=1e-12, atol=1e-12)
    assert np.ptp(expected) > 0.01


@pytest.mark.parametrize("name", RULES)
def test_weights_that_are_not_named_stay_as_they_are(name):
    rule, weight = make_rule(name, WEIGHTS, np.float64), np.arange(1.0, WEIGHTS + 1)
    start = rule.memory.copy()
    for _ in range(5):
        rule.apply(weight, rule.memory, np.array([2, 4], np.int32), np.array([1.0, 0.0]), 2, 0.7, 0.1, 0.1)
    others = np.arange(WEIGHTS) != 2
    assert (weight[others] == np.arange(1.0, WEIGHTS + 1)[others]).all()
    assert (rule.memory[:, others] == start[:, others]).all()
    assert weight[2] > 3.0


@pytest.mark.parametrize("name", ["idbd", "autostep"])
def test_an_index_that_occurs_twice_is_one_weight_with_both_values(name):
    apart = [(np.array([1, 3, 1], np.int32), np.array([0.5, 1.0, 1.0]), 0.3 * k) for k in range(-5, 9)]
    together = [(np.array([1, 3], np.int32), np.array([1.5, 1.0]), error) for _, _, error in apart]
    for a, b in zip(compiled(name, apart, 0.1, 0.2), compiled(name, together, 0.1, 0.2), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_idbd_bounds_its_step_sizes():
    rule, weight = make_rule("idbd", WEIGHTS, np.float64), np.zeros(WEIGHTS)
    seen = []
    for correlation in [-1e6] * 7 + [1e6]:
        rule.memory[1, 0] = correlation
        rule.apply(weight, rule.memory, np.zeros(1, np.int32), np.ones(1), 1, 1.0, 0.01, 1.0)
        seen.append(rule.memory[0, 0])
    assert seen == [-2.0, -4.0, -6.0, -8.0, -10.0, -10.0, -10.0, -8.0]
    assert (LARGEST_CHANGE, LOWEST) == (2.0, -10.0)


def test_autostep_never_overshoots():
    """After an update the error of the same position has kept its sign."""
    rule, weight = make_rule("autostep", WEIGHTS, np.float64), np.zeros(WEIGHTS)
    for index, value, target in sparse_inputs(8, 300, True):
        error = target - weight[index] @ value
        rule.apply(weight, rule.memory, index, value, len(index), error, 50.0, 0.1)
        after = target - weight[index] @ value
        assert -1e-9 <= after / error <= 1.0


@pytest.mark.parametrize("name", ["idbd", "autostep"])
def test_steps_grow_for_inputs_that_matter(name):
    """Sutton's task, smaller: of ten inputs two matter, and now and then one of these changes its sign."""
    random, rate = np.random.default_rng(2), 0.05
    rule, weight, truth = make_rule(name, 11, np.float64), np.zeros(11), np.array([1.0, -1.0])
    index = np.arange(10, dtype=np.int32)
    for t in range(6000):
        if t % 20 == 19:
            truth[random.integers(2)] *= -1.0
        x = random.normal(size=10)
        rule.apply(weight, rule.memory, index, x, 10, truth @ x[:2] - weight[:10] @ x, rate, 0.01)
    steps = rate * np.exp(rule.memory[0, :10])
    assert steps[:2].min() > 2.5 * steps[2:].max()


def test_an_unknown_rule_is_one_line():
    with pytest.raises(InputError, match=r"learner.step_rule='adam' is not one of constant, tcl"):
        make_rule("adam", 3)
