"""Everything that learns by temporal differences, against the page of NumPy that says what it should do
(`learn/rule.py`)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_equivalences import RATE, SCALARS, Linear, exact_game
from test_td import (
    GAMES,
    HEADS,
    by_rule,
    compiled_returns,
    double_weights,
    flat,
    fresh,
    in_compiled_order,
    played,
    white_of,
)

from deltaw.learn import rule
from deltaw.learn.learners.td_backward import TraceUpdate
from deltaw.learn.learners.td_forward import loss_of
from deltaw.learn.learners.td_sequential import gradient, learn, make_traces


def test_two_positions_by_hand():
    """v = 0.5 and 0.25, result 1: ΔW_0 = c (0.25 - 0.5) x_0, ΔW_1 = c (1 - v_1) (λ x_0 + x_1) with the new v_1."""
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    start, result = np.array([0.5, 0.25]), np.array([1.0])
    after = rule.learn(start, x, result, rule.linear, rule.slope_of_linear, c=0.1, trace=0.5)
    np.testing.assert_allclose(after, [0.5 - 0.1 * 0.25 + 0.1 * 0.75 * 0.5, 0.25 + 0.1 * 0.75])
    frozen = rule.learn(start, x, result, rule.linear, rule.slope_of_linear, c=0.1, trace=1.0, frozen=True)
    np.testing.assert_allclose(frozen, start + 0.1 * (1.0 - start))  # λ = 1: every value is drawn to the result


@pytest.mark.parametrize("trace", [0.0, 0.7])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_the_backward_view(game_name, head, trace):
    """td_backward's update, weights moving; with one output equal to the bit."""
    game = played(game_name, head)
    net, c = fresh(game_name, head), 0.01
    update, nothing = TraceUpdate(net, 1), torch.zeros(1, dtype=torch.bool)
    for t in range(len(game.x)):
        following = white_of(net, game, t + 1) if t + 1 < len(game.x) else game.certain()
        update.update(game.x[t : t + 1], game.seats[t : t + 1], following[None], nothing, trace, c)
    expected = by_rule(game, c, trace)
    np.testing.assert_allclose(flat(net).numpy(), expected, rtol=0, atol=1e-12)
    if head != "classes":
        np.testing.assert_array_equal(flat(net).numpy(), expected)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_the_compiled_backward_view(game_name, head):
    """td_sequential's kernels, weights moving."""
    game, trace, c = played(game_name, head), 0.7, 0.01
    weights, rules = double_weights(game.net), game.net.game.rules
    traces = make_traces(weights, game.net.features.max_active)
    for t, state in enumerate(game.states):
        if t + 1 < len(game.states):
            gradient(rules, weights, game.states[t + 1], traces)
            traces.outputs[1] = traces.outputs[0]
        else:
            traces.outputs[1] = game.certain().numpy()
        gradient(rules, weights, state, traces)
        traces.errors[:] = traces.outputs[1] - traces.outputs[0]
        learn(weights, int(rules.seat(state)), traces, trace, c)
    expected = in_compiled_order(torch.from_numpy(by_rule(game, c, trace))[None], game.net)[0]
    found = np.concatenate([weights.first.ravel(), weights.dense])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_the_forward_view_while_weights_stand_still(game_name, head, trace):
    """λ-returns of whole games from the self-play kernel, and td_forward's loss."""
    game, c = played(game_name, head), 0.1
    rows, targets = compiled_returns(game, trace)
    order = {row.tobytes(): t for t, row in enumerate(game.rows)}
    x = game.x[[order[row.tobytes()] for row in rows]]
    net = fresh(game_name, head)
    loss = loss_of(net, x, torch.from_numpy(targets)) * len(x)
    slopes = torch.autograd.grad(loss, list(net.parameters()))
    change = -c * torch.cat([slope.reshape(-1) for slope in slopes]).numpy()
    largest = max(net.game.rules.outcomes)  # gradients grow with its square
    expected = by_rule(game, c, trace, frozen=True) - flat(game.net).numpy()
    np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12 * largest**2)


@pytest.mark.parametrize("head", SCALARS)
@pytest.mark.parametrize("game_name", GAMES)
def test_the_linear_forward_view_while_weights_stand_still(game_name, head):
    """td_linear's kernel."""
    game, trace = exact_game(game_name, head), 0.6
    rows, targets = compiled_returns(game, trace)
    start = flat(game.net).numpy()
    change = np.zeros_like(start)
    for t in range(len(rows)):
        learner = Linear(game, start)
        learner.learn(rows[t : t + 1], targets[t : t + 1, 0])
        change += learner.weight - start
    largest = max(game.net.game.rules.outcomes) ** 2
    np.testing.assert_allclose(change, by_rule(game, RATE, trace, frozen=True) - start, rtol=0, atol=1e-12 * largest)
