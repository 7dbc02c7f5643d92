"""Equivalences of the linear learners, among themselves and with the general ones; those of the general learners are in
`test_td.py`, those of true online TD(lambda) alone in `test_true_online.py`, those of step sizes in
`test_step_rules.py`.

Stored games are replayed by every learner's update in float64.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_td import GAMES, HEADS, Played, by_rule, compiled_returns, double_weights, flat, flipped, fresh, played
from test_true_online import Replay, linear, tuples

from deltaw.learn.learners import true_online
from deltaw.learn.learners.td_backward import TraceUpdate
from deltaw.learn.learners.td_linear import Options, learn_returns, make
from deltaw.learn.learners.td_sequential import gradient, learn, make_traces
from deltaw.learn.steps.step_rules import make_rule
from deltaw.learn.weights.linear import predict
from deltaw.learn.weights.networks import Network
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import IDENTITY, TANH, Leaf

SCALARS = ("identity", "tanh")
RATE = 0.002


def linear_game(game_name: str, head: str) -> Played:
    """The stored game of `played`, seen by a linear evaluator."""
    stored = played(game_name, head)
    return Played(stored.rows, stored.result, fresh(game_name, head, hidden=()))


def exact_game(game_name: str, head: str) -> Played:
    """The same with features in float64: `Linear` never rounds them to float32, as the other learners do."""
    game = linear_game(game_name, head)
    features, rules = game.net.features, game.net.game.rules
    index, value = np.zeros(features.max_active, np.int32), np.zeros(features.max_active)
    game.x = torch.zeros_like(game.x)
    for x, state in zip(game.x, game.states, strict=True):
        n = rules.features(state, np.array(features.spec), index, value)
        x[torch.from_numpy(index[:n]).long()] = torch.from_numpy(value[:n])
    return game


class Linear:
    """A float64 weight vector under the update of `learn/learners/td_linear.py`."""

    def __init__(self, game: Played, weight: np.ndarray, rule: str = "constant") -> None:
        net, self.weight = game.net, weight.copy()
        self._game, self._leaf, most = net.game, leaf_of(net), net.features.max_active + 1
        self.rule = make_rule(rule, len(weight), np.float64)
        self._index, self._value = np.zeros(most, np.int32), np.zeros(most)

    def learn(self, rows: np.ndarray, targets: np.ndarray) -> None:
        w, lists = self._leaf.weights, (self._index, self._value)
        learn_returns(
            self._game.rules, self.weight, w.head, w.scale, w.spec, self.rule, rows, targets, *lists, RATE, 0.0
        )


def leaf_of(net: Network) -> Leaf:
    return Network.evaluator(net).leaf


# --- gradients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("head", SCALARS)
def test_linear_gradient_is_autograd_is_central_differences(head, repeated):
    random, kind, scale = np.random.default_rng(3), TANH if head == "tanh" else IDENTITY, 3.0
    weight = random.normal(size=9) * 0.3
    index = np.array([1, 4, 4, 7] if repeated else [1, 4, 5, 7], np.int32)
    x = random.normal(size=4)

    def value(w) -> float:
        return float(predict(w, kind, scale, index, x, 4)[0])

    v, slope = predict(weight, kind, scale, index, x, 4)
    hand = np.zeros(9)
    np.add.at(hand, index, slope * x)
    hand[8] = slope
    parameters = torch.from_numpy(weight.copy()).requires_grad_()
    total = parameters[8] + (parameters[index] * torch.from_numpy(x)).sum()
    output = scale * torch.tanh(total) if head == "tanh" else total
    (automatic,) = torch.autograd.grad(output, parameters)
    assert v == pytest.approx(float(output.detach()), abs=1e-12)
    np.testing.assert_allclose(hand, automatic.numpy(), rtol=0, atol=1e-12)
    steps = 1e-5 * np.eye(9)
    differences = [(value(weight + step) - value(weight - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(hand, differences, rtol=1e-7, atol=1e-9)


# --- the forward view -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", SCALARS)
@pytest.mark.parametrize("game_name", GAMES)
def test_linear_forward_takes_one_position_after_the_other(game_name, head):
    """w <- w + c (G_t - v_t) grad v_t with the weights of this moment; and how positions are shared among calls does
    not matter."""
    game = exact_game(game_name, head)
    rows, targets = compiled_returns(game, 0.7)
    start = flat(game.net).numpy()
    together, apart = Linear(game, start), Linear(game, start)
    together.learn(rows, targets[:, 0])
    half = len(rows) // 2
    apart.learn(rows[:half], targets[:half, 0])
    apart.learn(rows[half:], targets[half:, 0])
    assert (together.weight == apart.weight).all()
    w, scale = start.copy(), game.net.scale
    for x, target in zip(game.x.flip(0).numpy(), targets[:, 0], strict=True):
        x = np.append(x, 1.0)
        t = np.tanh(w @ x)
        v, slope = (scale * t, scale * (1 - t * t)) if head == "tanh" else (w @ x, 1.0)
        w += RATE * (target - v) * slope * x
    np.testing.assert_allclose(together.weight, w, rtol=0, atol=1e-12)
    assert np.abs(w - start).max() > 1e-3


# --- replay of stored games -------------------------------------------------------------------------------------------


def following_of(game: Played, net, t: int) -> torch.Tensor:
    """Outputs [K] of the state after move t from White's side, by the weights of `net`; the result at the end."""
    if t + 1 == len(game.x):
        return game.certain()
    with torch.no_grad():
        outputs = net.outputs(game.x[t + 1 : t + 2])
    return (flipped(outputs, net.head) if game.seats[t + 1] == 1 else outputs)[0]


def by_torch(game: Played, trace: float) -> np.ndarray:
    net = fresh(game.net.game.name, game.net.head, hidden=())
    update, none = TraceUpdate(net, 1), torch.zeros(1, dtype=torch.bool)
    for t in range(len(game.x)):
        update.update(game.x[t : t + 1], game.seats[t : t + 1], following_of(game, net, t)[None], none, trace, RATE)
    return in_layer_order(net)


def in_layer_order(net) -> np.ndarray:
    """[F + 1, K], as the compiled weights are."""
    (layer,) = net.layers
    return np.vstack([layer.weight.detach().numpy().T, layer.bias.detach().numpy()])


def by_hand(game: Played, trace: float) -> np.ndarray:
    """`td_sequential`"""
    net = fresh(game.net.game.name, game.net.head, hidden=())
    weights = double_weights(net)
    traces = make_traces(weights, net.features.max_active)
    for t, state in enumerate(game.states):
        gradient(net.game.rules, weights, state, traces)
        put_layer(net, weights.first)
        traces.errors[:] = following_of(game, net, t).numpy() - traces.outputs[0]
        learn(weights, int(game.seats[t]), traces, trace, RATE)
    return weights.first


def put_layer(net, first: np.ndarray) -> None:
    (layer,) = net.layers
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(first[:-1].T.copy()))
        layer.bias.copy_(torch.from_numpy(first[-1].copy()))


def by_true_online(game: Played, trace: float, rows: np.ndarray | None = None, sign: float = 1.0) -> np.ndarray:
    """`true_online`; rows and sign: of the game seen from the other side"""
    net = game.net
    rules, spec = net.game.rules, np.array(net.features.spec)
    weight = flat(net).numpy().copy()
    traces = true_online.make_traces(len(weight), net.features.max_active)
    states = [net.game.unrow(row) for row in (game.rows if rows is None else rows)]
    for t, state in enumerate(states):
        last = t + 1 == len(states)
        child = states[min(t + 1, len(states) - 1)]
        value = true_online.whites_value(rules, spec, weight, child, traces)
        n = true_online.whites_features(rules, spec, state, len(weight) - 1, traces)
        true_online.learn(weight, traces, n, sign * game.result if last else value, trace, RATE)
    return weight[:, None]


@pytest.mark.parametrize("trace", [0.0, 0.7])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_a_stored_game_gives_the_same_weights_in_torch_and_compiled(game_name, head, trace):
    game = linear_game(game_name, head)
    np.testing.assert_allclose(by_hand(game, trace), by_torch(game, trace), rtol=0, atol=1e-12)


@pytest.mark.parametrize("game_name", GAMES)
def test_a_stored_game_gives_the_same_weights_by_true_online_with_lambda_zero(game_name):
    game = linear_game(game_name, "identity")
    expected = by_torch(game, 0.0)
    np.testing.assert_allclose(by_true_online(game, 0.0), expected, rtol=0, atol=1e-12)
    assert np.abs(expected - in_layer_order(game.net)).max() > 1e-4


@pytest.mark.parametrize("game_name", GAMES)
def test_true_online_with_small_steps_is_the_frozen_sum(game_name, monkeypatch):
    """As c shrinks the weights stand still: the change of a whole game approaches the forward view's, its distance
    going down with c squared."""
    game = linear_game(game_name, "identity")
    distances = []
    for rate in (1e-4, 1e-5):
        monkeypatch.setattr(f"{__name__}.RATE", rate)
        change = by_true_online(game, 0.7)[:, 0] - flat(game.net).numpy()
        distances.append(np.abs(change - (by_rule(game, RATE, 0.7, frozen=True) - flat(game.net).numpy())).max())
    assert 50 < distances[0] / distances[1] < 200


@pytest.mark.parametrize("trace", [0.0, 0.7])
def test_a_game_and_its_colour_swapped_mirror_give_the_same_weights(trace):
    """Backgammon with the seats exchanged: the state says whose turn it is, so the whole path from the rules to the
    weights is mirrored."""
    game = linear_game("backgammon", "identity")
    rows = game.rows.copy()
    seat = game.net.game.state._fields.index("seat")
    rows[:, seat] = 1 - rows[:, seat]
    assert (by_true_online(game, trace) == by_true_online(game, trace, rows, -1.0)).all()
    mirrored, ends = Played(rows, -game.result, game.net), []
    for side in (game, mirrored):
        learner = Linear(side, flat(side.net).numpy())
        stored, targets = compiled_returns(side, trace)
        learner.learn(stored, targets[:, 0])
        ends.append(learner.weight)
    assert (ends[0] == ends[1]).all()
    assert np.abs(ends[0] - flat(game.net).numpy()).max() > 1e-3


# --- whole learners ---------------------------------------------------------------------------------------------------


class ForwardReplay(Replay):
    """The forward view in plain Python: a game is learned when it is over, newest position first."""

    def __init__(self, start: Evaluator, options: Options, seed: int) -> None:
        super().__init__(start, options, seed)
        self.past: list[tuple[np.ndarray, float, bool]] = []

    def after(self, x: np.ndarray, following: float, explored: bool, over: bool) -> None:
        self.past.append((x, float(x @ self.weight.astype(float)), explored and not over))
        if not over:
            return
        target, learned = following, []
        for x, v, explored in reversed(self.past):
            if not explored:
                learned.append((x, target))
            share = 0.0 if explored else self.options.trace
            target = (1 - share) * v + share * target
        for x, target in learned:
            w = self.weight.astype(float)
            self.leaf.weights.first[:, 0] += self.options.step_size * (target - w @ x) * x
        self.past.clear()


@pytest.mark.parametrize("start", [tuples(), linear("tic_tac_toe")], ids=["3-tuples", "lines"])
def test_a_batch_of_one_game_is_sequential(start):
    options = Options(slots=1, plies=1, explore=0.2, step_rule="constant", step_size=0.003, step_size_end=0.003)
    ours, naive = make(options, start, seed=5, budget=100, backend=Serial()), ForwardReplay(start, options, 5)
    for _ in range(250):
        ours.step()
        naive.ply_on()
    assert ours.games == naive.number > 20
    np.testing.assert_allclose(ours.updater.weight, naive.weight, rtol=1e-4, atol=1e-5)
    assert np.abs(naive.weight - start.leaf.weights.first[:, 0]).max() > 1e-3


@pytest.mark.parametrize("rule", ["tcl_exp", "autostep"])
def test_workers_change_no_weight(rule):
    options = Options(slots=7, explore=0.2, step_rule=rule)
    learners = [make(options, tuples(), seed=2, budget=100, backend=b) for b in (Serial(), Threads(3))]
    for _ in range(20):
        for learner in learners:
            learner.step()
    assert (learners[0].updater.weight == learners[1].updater.weight).all()
    assert learners[0].updater.weight.any()
