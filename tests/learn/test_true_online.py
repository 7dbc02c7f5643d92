"""True online TD(lambda): its equations against the definition of what they compute, and the learner against a naive
replay."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import python_state
from training_runs import config

from deltaw.envs import games
from deltaw.envs.bits import EXPLORE, EXPLORED_MOVE, random_unit, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.turn import roll
from deltaw.learn.learners.true_online import Options, Traces, TrueOnlineTD, learn, make, make_traces
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig, learner_module
from deltaw.learn.run.start import fresh, start_of
from deltaw.learn.weights.linear import linear_weights
from deltaw.learn.weights.trace import clear
from deltaw.learn.workers.backend import Serial
from deltaw.search.analysis.exhaustive import play_out
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.players.players import EvaluatorPlayer
from deltaw.search.players.plies import make_bench, score_moves

TRACES = [0.0, 0.6, 1.0]
SIZE = 7


# --- the equations ----------------------------------------------------------------------------------------------------


def random_episode(seed: int, length: int = 12) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sparse (index, value) of `length` states; indices repeat now and then, and signs are those of two seats."""
    random = np.random.default_rng(seed)
    return [
        (random.integers(0, SIZE, 4).astype(np.int32), random.choice([-1.0, 1.0, 0.5], 4).astype(np.float32))
        for _ in range(length)
    ]


def dense(episode: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    x = np.zeros((len(episode), SIZE))
    for t, (index, value) in enumerate(episode):
        np.add.at(x[t], index, value)
    return x


def put(traces: Traces, index: np.ndarray, value: np.ndarray) -> int:
    traces.active[: len(index)], traces.value[: len(index)] = index, value
    return len(index)


def true_online(episode, start: np.ndarray, result: float, trace: float, rate: float) -> list[np.ndarray]:
    """The weights after every update of the compiled kernel."""
    weight, traces, history = start.copy(), make_traces(SIZE, 4), []
    x = dense(episode)
    for t, (index, value) in enumerate(episode):
        following = result if t + 1 == len(episode) else float(weight @ x[t + 1])
        learn(weight, traces, put(traces, index, value), following, trace, rate)
        history.append(weight.copy())
    return history


def online_lambda_return(x: np.ndarray, start: np.ndarray, result: float, trace: float, rate: float) -> np.ndarray:
    """[T, F]: after each move all updates of the game so far are made anew, with lambda-returns up to the state just
    reached (van Seijen et al. 2016, section 3.2). The n-step return of t looks up the value of state t + n by the
    weights of move t + n - 1."""
    length, after = len(x), [start]

    def looked_up(k: int) -> float:
        return result if k == length else float(after[k - 1] @ x[k])

    for horizon in range(1, length + 1):
        w = start.copy()
        for t in range(horizon):
            share = [(1 - trace) * trace ** (n - 1) for n in range(1, horizon - t)] + [trace ** (horizon - t - 1)]
            target = sum(s * looked_up(t + n) for n, s in enumerate(share, start=1))
            w = w + rate * (target - w @ x[t]) * x[t]
        after.append(w)
    return np.array(after[1:])


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("trace", TRACES)
def test_it_is_the_online_lambda_return_algorithm(trace, rate):
    episode, start = random_episode(3), np.random.default_rng(4).normal(size=SIZE)
    naive = online_lambda_return(dense(episode), start, 1.0, trace, rate)
    ours = np.array(true_online(episode, start, 1.0, trace, rate))
    np.testing.assert_allclose(ours, naive, rtol=0, atol=1e-12)
    assert np.abs(np.diff(naive, axis=0)).max(axis=1).min() > 1e-4


@pytest.mark.parametrize("trace", TRACES)
def test_it_is_the_algorithm_as_printed(trace):
    """Algorithm 1 of the paper, dense, without discount."""
    episode, w, rate = random_episode(5), np.random.default_rng(6).normal(size=SIZE), 0.2
    ours, x = true_online(episode, w, -1.0, trace, rate), dense(episode)
    e, old = np.zeros(SIZE), 0.0
    for t in range(len(x)):
        following = -1.0 if t + 1 == len(x) else w @ x[t + 1]
        v = w @ x[t]
        delta = following - v
        e = trace * e + x[t] - rate * trace * (e @ x[t]) * x[t]
        w = w + rate * (delta + v - old) * e - rate * (v - old) * x[t]
        old = following
        np.testing.assert_allclose(ours[t], w, rtol=0, atol=1e-12)


def test_lambda_zero_is_the_lectures_rule_to_the_bit():
    """dW_t = c (v_{t+1} - v_t) grad v_t"""
    random, rate = np.random.default_rng(7), 0.05
    states = [np.sort(random.choice(SIZE, 4, replace=False)).astype(np.int32) for _ in range(20)]
    values = [random.choice([-1.0, 1.0], 4).astype(np.float32) for _ in states]
    w = random.normal(size=SIZE)
    ours = true_online(list(zip(states, values, strict=True)), w, 1.0, 0.0, rate)

    def v(t: int) -> float:
        total = 0.0
        for i, value in zip(states[t], values[t], strict=True):
            total += w[i] * float(value)
        return total

    x = dense(list(zip(states, values, strict=True)))
    for t in range(len(states)):
        following = 1.0 if t + 1 == len(states) else float(w @ x[t + 1])
        step = rate * (following - v(t))
        w = w.copy()
        w[states[t]] += step * values[t].astype(float)
        assert (ours[t] == w).all()


def test_lambda_one_is_monte_carlo():
    """At the end of a game: every position moved towards the result, one after the other."""
    episode, w, rate = random_episode(9), np.random.default_rng(1).normal(size=SIZE), 0.2
    ours = true_online(episode, w, 1.0, 1.0, rate)[-1]
    for x in dense(episode):
        w = w + rate * (1.0 - w @ x) * x
    np.testing.assert_allclose(ours, w, rtol=0, atol=1e-12)


def test_a_game_and_its_colour_swapped_mirror_give_the_same_weights():
    episode, start = random_episode(11), np.random.default_rng(2).normal(size=SIZE)
    swapped = [(index, -value) for index, value in episode]
    ours = true_online(episode, start, 1.0, 0.7, 0.1)
    assert (np.array(ours) == true_online(swapped, start, -1.0, 0.7, 0.1)).all()


def test_a_cleared_trace_starts_a_new_game():
    episode, start = random_episode(13), np.random.default_rng(3).normal(size=SIZE)
    traces, weight = make_traces(SIZE, 4), start.copy()
    for index, value in random_episode(14):  # another game, whose trace and v_old must leave nothing behind
        learn(weight, traces, put(traces, index, value), 0.3, 0.9, 0.0)
    assert traces.e.value.any()
    clear(traces.e)
    assert not traces.e.value.any()
    assert not traces.e.known.any()
    assert traces.e.length[0] == 0
    x = dense(episode)
    for t, (index, value) in enumerate(episode):
        following = 1.0 if t + 1 == len(x) else float(weight @ x[t + 1])
        learn(weight, traces, put(traces, index, value), following, 0.8, 0.1)
    assert (weight == true_online(episode, start, 1.0, 0.8, 0.1)[-1]).all()


# --- the learner ------------------------------------------------------------------------------------------------------


def linear(name: str, seed: int = 3) -> Evaluator:
    return fresh(games.load(name), games.load(name).default_features, EvaluatorConfig(head="identity"), seed)


def tuples(symmetric: bool = False) -> Evaluator:
    """Under symmetry moves tie but for rounding, and which of them is played is no matter of equations."""
    shape = TuplesConfig(cells=[[0, 1, 2], [3, 4, 5], [0, 4, 8]], symmetric=symmetric, per_seat=True)
    return fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(head="identity", tuples=shape), 1)


def learner(start: Evaluator, **options) -> TrueOnlineTD:
    defaults = {"plies": 150, "step_size": 0.02, "step_size_end": 0.02, "explore": 0.2}
    return make(Options(**(defaults | options)), start, seed=5, budget=500, backend=Serial())


class Replay:
    """The learner in plain Python with dense vectors; the moves are those of the project's 1-ply player."""

    def __init__(self, start: Evaluator, options: Options, seed: int) -> None:
        self.game, self.options, self.seed, self.start = start.game, options, seed, start
        self.leaf = dataclasses.replace(start, tensors=dict(start.tensors)).leaf
        self.bench = make_bench(self.leaf, self.game)
        self.state = python_state(self.game, self.game.rules.initial())
        self.number = self.ply = 0
        self.e, self.old = np.zeros(len(self.weight)), 0.0

    @property
    def weight(self) -> np.ndarray:
        return self.leaf.weights.first[:, 0]

    def x(self, state) -> np.ndarray:
        """Features and the bias' 1, turned for White."""
        features = self.start.features
        index, value = np.zeros(features.max_active, np.int32), np.zeros(features.max_active, np.float32)
        n = self.game.rules.features(state, np.array(features.spec), index, value)
        x = np.zeros(len(self.weight))
        np.add.at(x, index[:n], value[:n])
        x[-1] = 1.0
        return -x if self.game.rules.seat(state) else x

    def ply_on(self) -> None:
        rules, key, o = self.game.rules, (self.seed, self.number, self.ply), self.options
        rolled = roll(rules, self.state, *key)
        n, best = score_moves(rules, self.leaf, rolled, 1, 0, 0.0, self.bench)
        explored = random_unit(*key, EXPLORE) < o.explore
        if explored:
            best = random_word(self.seed, self.number, self.ply, EXPLORED_MOVE) % n
        child = python_state(self.game, rules.load(self.bench.rows[0, best]))
        over, result = rules.outcome(child)
        self.ply += 1
        if not over and rules.max_plies and self.ply >= rules.max_plies:
            over, result = True, 0
        z = -float(result) if rules.seat(child) else float(result)
        following = z if over else float(self.x(child) @ self.weight.astype(float))
        self.after(self.x(self.state), following, explored, bool(over))
        self.state = child
        if over:
            self.state = python_state(self.game, rules.initial())
            self.number, self.ply = self.number + 1, 0

    def after(self, x: np.ndarray, following: float, explored: bool, over: bool) -> None:
        """Learn from a move, everything from White's side."""
        c, trace, w = self.options.step_size, self.options.trace, self.weight.astype(float)
        if over or not explored:
            v = w @ x
            self.e = trace * self.e + x - c * trace * (self.e @ x) * x
            self.leaf.weights.first[:, 0] += c * (following - self.old) * self.e - c * (v - self.old) * x
            self.old = following
        if over or explored:
            self.e[:] = 0.0


STARTS = {
    "backgammon": lambda: linear("backgammon"),
    "3-tuples": tuples,
}


@pytest.mark.parametrize("name", STARTS)
def test_the_learner_is_a_naive_replay(name):
    start = STARTS[name]()
    ours = learner(start, step_size=0.003, step_size_end=0.003)
    naive = Replay(start, ours.options, 5)
    for _ in range(2):
        ours.step()
        for _ in range(ours.options.plies):
            naive.ply_on()
    assert ours.games == naive.number
    assert (ours.position.row == naive.game.row(naive.state)).all()
    np.testing.assert_allclose(ours.weight, naive.weight, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.traces.e.value, naive.e, rtol=1e-4, atol=1e-5)
    assert np.abs(ours.weight - linear_weights(start, "")).max() > 1e-3


def test_a_game_that_is_broken_off_is_a_draw():
    start = linear("tic_tac_toe")
    short = dataclasses.replace(start.game, rules=start.game.rules._replace(max_plies=4))
    ours = learner(dataclasses.replace(start, game=short), plies=100)
    naive = Replay(dataclasses.replace(start, game=short), ours.options, 5)
    metrics = ours.step()
    for _ in range(100):
        naive.ply_on()
    assert metrics.games == 25
    assert metrics.scalars["play/game_length"] == 4.0
    np.testing.assert_allclose(ours.weight, naive.weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["backgammon", "3-tuples"])
def test_a_restored_learner_goes_on_to_the_bit(name):
    undisturbed, first, second = (learner(STARTS[name](), plies=37, explore=0.05) for _ in range(3))
    for _ in range(6):
        undisturbed.step()
    for _ in range(3):
        first.step()
        second.step()
        second.step()
    assert first.traces.e.length[0] > 0, "the test should stop in the middle of a game"
    second.restore(first.state())
    for _ in range(3):
        metrics = second.step()
    assert (second.weight == undisturbed.weight).all()
    assert (second.traces.e.value == undisturbed.traces.e.value).all()
    assert metrics.games == undisturbed.games
    assert metrics.positions == undisturbed.positions == 6 * 37


def test_metrics_and_evaluator():
    ours = learner(tuples(symmetric=True))
    scalars = ours.step().scalars
    assert set(scalars) == {"train/td_error", "train/trace_norm", "train/step_size", "play/game_length"}
    assert all(np.isfinite(value) and value > 0 for value in scalars.values())
    evaluator = ours.evaluator()
    assert evaluator.description.trained["method"] == "true-online-td"
    assert (linear_weights(evaluator, "") == ours.weight).all()
    before = ours.weight.copy()
    ours.step()
    assert (linear_weights(evaluator, "") == before).all(), "an evaluator that was handed out must not change"
    assert ours.finite()
    ours.weight[0] = np.inf
    assert not ours.finite()


def test_the_start_is_not_changed():
    start = linear("tic_tac_toe")
    before = linear_weights(start, "")
    learner(start).step()
    assert (linear_weights(start, "") == before).all()
    assert (start.leaf.weights.first[:, 0] == before).all()


def shaped(head: str, hidden: tuple[int, ...] = ()) -> Evaluator:
    game: Game = games.load("tic_tac_toe")
    return fresh(game, "lines", EvaluatorConfig(head=head, hidden=list(hidden)), 1)


@pytest.mark.parametrize("head", ["tanh", "classes"])
def test_other_heads_are_refused(head):
    with pytest.raises(InputError, match=f"evaluator.head={head}"):
        learner(shaped(head))


def test_networks_are_refused():
    with pytest.raises(InputError, match=r"evaluator.hidden=\[8\]"):
        learner(shaped("identity", (8,)))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"trace": 1.5}, r"learner.trace=1.5 is outside 0 .. 1"),
        ({"explore": -0.1}, r"learner.explore=-0.1 is outside 0 .. 1"),
        ({"step_size": -1.0}, r"learner.step_size=-1.0 must be above 0"),
        ({"step_size_end": float("nan")}, r"learner.step_size_end=nan must be at least 0"),
        ({"plies": 0}, r"learner.plies=0 is outside 1 .. 1,000,000"),
        ({"schedule": "sudden"}, r"learner.schedule='sudden' is not one of constant, linear, cosine"),
    ],
)
def test_bad_options_are_one_line(option, message):
    with pytest.raises(InputError, match=message):
        learner(shaped("identity"), **option)


# --- what it reaches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_the_tic_tac_toe_preset_never_loses(seed):
    """At 1 ply, whatever the opponent plays and whichever of equally good moves it takes itself, from either seat."""
    run = config("experiment=tic_tac_toe", f"seed={seed}")
    name, options = run.learner
    game = games.load(run.game.name)
    ours = learner_module(name).make(options, start_of(game, run), seed=seed, budget=run.games, backend=Serial())
    before = play_out(game, EvaluatorPlayer(game, ours.evaluator().leaf, "fresh", threads=1))
    assert before.can_lose
    while ours.games < run.games:
        ours.step()
    after = play_out(game, EvaluatorPlayer(game, ours.evaluator().leaf, "trained", threads=1))
    assert after.first.lost == after.second.lost == 0
    assert after.first.won > after.first.drawn
