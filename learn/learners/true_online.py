"""True online TD(lambda) for linear evaluators, n-tuple networks included: one game at a time, compiled.

    delta = v' - v;   e <- lambda e + x - c lambda (e . x) x
    w <- w + c (delta + v - v_old) e - c (v - v_old) x;   v_old <- v'

with v = w . x_t, v' = w . x_{t+1} (the result where the game is over), e = 0 at each game's start: algorithm 1 of [1]
without discount. Its weights are, after every move and for any step size, those of the online lambda-return algorithm,
which recomputes all lambda-returns of the game so far (a test); ordinary traces only approximate them. The proof needs
a value that is linear in the weights, so the head must be `identity`.

Everything is seen from White's side (seat 0): for a state whose mover is Black, x is minus the mover's features, the
bias' 1 included. Unless it ends the game, a random move resets the trace, and the state in which it was made learns
nothing.

[1] H. van Seijen, A. R. Mahmood, P. Pilarski, M. Machado and R. Sutton, "True online temporal-difference learning",
JMLR 17 (2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import Count, NotNegative, Positive, Share, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.lockstep import counts_and_path, go_on, take_turn
from deltaw.learn.steps.schedule import Schedule, step_size
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.work import most_active
from deltaw.search.players.plies import make_bench


@dataclass
class Options:
    trace: Share = 0.7
    """lambda, 0 .. 1"""
    step_size: Positive = 0.01
    """c; stable while c times the sum of squared features is well below 1"""
    step_size_end: NotNegative = 0.001
    schedule: Schedule = "linear"
    """constant, linear or cosine, over the budget of games"""
    plies: Count = 2000
    """positions in one step of the learner"""
    explore: Share = 0.0
    """chance of a random move, which resets the trace"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> TrueOnlineTD:
    """The learner of this module; raises InputError."""
    check(options)
    check_game(start.game, "true_online")
    return TrueOnlineTD(start, options, seed=seed, budget=budget)


class Traces(NamedTuple):
    """Eligibility of every weight from White's side, and scratch memory for one position's features."""

    eligibility: np.ndarray
    """e, float64 [F + 1], the bias last"""
    touched: np.ndarray
    """int32 [F + 1]: the indices that have been active since the trace was last cleared"""
    known: np.ndarray
    """int8 [F + 1]: 1 for the indices in `touched`"""
    length: np.ndarray
    """int64 [1]: how many are in `touched`"""
    old: np.ndarray
    """float64 [1]: v_old"""
    active: np.ndarray
    """int32 [A + 1]: x, and the bias behind it; an index may occur more than once"""
    value: np.ndarray
    """float32 [A + 1]"""


class Position(NamedTuple):
    """Where self-play stands: arrays, so that kernels can change them."""

    row: np.ndarray
    """int64 [W]"""
    counts: np.ndarray
    """int64 [3 + P]: game, ply, games finished; then the path (`envs/path.py`)"""
    sums: np.ndarray
    """float64 [5] of the current step: squared errors, positions learned from, plies and trace norms of finished games,
    finished games"""


class TrueOnlineTD:
    """A `Learner`."""

    def __init__(self, start: Evaluator, options: Options, *, seed: int, budget: int) -> None:
        self.options, self.seed, self.budget, self.game = options, seed, budget, start.game
        weight = linear_weights(start, "true_online")
        if start.description.head != "identity":
            raise InputError(
                f"evaluator.head={start.description.head}: true online TD(lambda) needs a value linear in the weights, "
                "head identity; for other heads try learner=td_linear"
            )
        self.start = with_weights(start, weight, {})
        self.leaf = self.start.leaf
        self.weight = self.leaf.weights.first.reshape(-1)  # learning changes the weights that choose the moves
        self.traces = make_traces(len(self.weight), most_active(self.game, self.leaf.weights.spec))
        self.positions = 0
        first = self.game.row(self.game.rules.initial())
        self.position = Position(first, counts_and_path(self.game.rules, 3), np.zeros(5))
        self._bench = make_bench(self.leaf, self.game)._replace(path=self.position.counts[3:])

    @property
    def games(self) -> int:
        return int(self.position.counts[2])

    def step(self) -> Metrics:
        options = self.options
        rate = step_size(options.schedule, options.step_size, options.step_size_end, self.games / self.budget)
        self.position.sums[:] = 0.0
        play_and_learn(
            self.game.rules,
            self.leaf,
            self.weight,
            self.position,
            self.traces,
            self._bench,
            self.seed,
            options.trace,
            rate,
            options.explore,
            options.plies,
        )
        self.positions += options.plies
        return Metrics(self.games, self.positions, self._scalars(rate))

    def _scalars(self, rate: float) -> dict[str, float]:
        """`train/td_error`: root mean square of delta; `train/trace_norm`: length of e when a game ends, the mean; both
        of this step."""
        squared, learned, plies, norms, games = (float(total) for total in self.position.sums)
        scalars = {"train/step_size": rate}
        if learned:
            scalars["train/td_error"] = math.sqrt(squared / learned)
        if games:
            scalars |= {"train/trace_norm": norms / games, "play/game_length": plies / games}
        return scalars

    def evaluator(self) -> Evaluator:
        trained = {"method": "true-online-td", "lambda": self.options.trace, "games": self.games, "seed": self.seed}
        return with_weights(self.start, self.weight.copy(), trained)

    def finite(self) -> bool:
        return bool(np.isfinite(self.weight).all())

    def state(self) -> dict[str, Any]:
        touched = self.traces.touched[: self.traces.length[0]]
        arrays = {
            "weight": self.weight,
            "touched": touched,
            "eligibility": self.traces.eligibility[touched],
            "old": self.traces.old,
            "row": self.position.row,
            "counts": self.position.counts,
        }
        return {"positions": self.positions, "arrays": {k: torch.from_numpy(a.copy()) for k, a in arrays.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        arrays = {name: tensor.numpy() for name, tensor in state["arrays"].items()}
        self.positions = state["positions"]
        self.weight[:], self.traces.old[:] = arrays["weight"], arrays["old"]
        self.position.row[:], self.position.counts[:] = arrays["row"], arrays["counts"]
        clear(self.traces)
        touched = arrays["touched"]
        self.traces.touched[: len(touched)], self.traces.length[0] = touched, len(touched)
        self.traces.known[touched], self.traces.eligibility[touched] = 1, arrays["eligibility"]


def make_traces(size: int, max_active: int) -> Traces:
    """A zero trace for so many weights, the bias included."""
    return Traces(
        eligibility=np.zeros(size),
        touched=np.zeros(size, np.int32),
        known=np.zeros(size, np.int8),
        length=np.zeros(1, np.int64),
        old=np.zeros(1),
        active=np.zeros(max_active + 1, np.int32),
        value=np.zeros(max_active + 1, np.float32),
    )


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_and_learn(rules, leaf, weight, position, traces, bench, seed, trace, rate, explore, plies):
    """Self-play with an update after every move, for `plies` moves."""
    counts, spec = position.counts, leaf.weights.spec
    for _ in range(plies):
        state = rules.load(position.row)
        best, explored, over, result = take_turn(rules, leaf, state, seed, counts[0], counts[1], explore, bench)
        if explored and not over:
            clear(traces)
        else:
            following = np.float64(result)
            if not over:
                following = whites_value(rules, spec, weight, rules.load(bench.rows[0, best]), traces)
            n = whites_features(rules, spec, state, len(weight) - 1, traces)
            position.sums[0] += learn(weight, traces, n, following, trace, rate) ** 2
            position.sums[1] += 1.0
        if over:
            position.sums[2] += counts[1] + 1
            position.sums[3] += math.sqrt(clear(traces))
            position.sums[4] += 1.0
        go_on(rules, position.row, counts, bench.path, bench.rows[0, best], over)


@kernel
def whites_features(rules, spec, state, bias, traces):
    """x in traces.active[:n] and traces.value[:n], the bias last; returns n."""
    n = rules.features(state, spec, traces.active, traces.value)
    traces.active[n] = bias
    traces.value[n] = 1.0
    if rules.seat(state) == 1:
        for j in range(n + 1):
            traces.value[j] = -traces.value[j]
    return n + 1


@kernel
def whites_value(rules, spec, weight, state, traces):
    """w . x; overwrites x."""
    n = whites_features(rules, spec, state, len(weight) - 1, traces)
    return product(weight, traces, n)


@kernel
def product(vector, traces, n):
    """vector . x"""
    total = 0.0
    for j in range(n):
        total += vector[traces.active[j]] * traces.value[j]
    return total


@kernel
def learn(weight, traces, n, following, trace, rate):
    """The update of the module's equations for x of length n and v' = following; returns delta.

    With s = lambda (e . x) the new trace is lambda e + (1 - c s) x, and collecting what multiplies the old trace and
    what multiplies x gives

        w <- w + c (delta + v - v_old) lambda e + c (delta (1 - c s) - (v - v_old) c s) x

    which is one pass over the trace, and for lambda = 0 is w + c delta x to the bit.
    """
    e = traces.eligibility
    v = product(weight, traces, n)
    delta = following - v
    drift = v - traces.old[0]
    share = rate * trace * product(e, traces, n)
    upon_trace = rate * (delta + drift)
    upon_x = rate * (delta * (1.0 - share) - drift * share)
    for k in range(traces.length[0]):
        i = traces.touched[k]
        e[i] *= trace
        weight[i] += upon_trace * e[i]
    for j in range(n):
        i = traces.active[j]
        touch(i, traces)
        weight[i] += upon_x * traces.value[j]
        e[i] += (1.0 - share) * traces.value[j]
    traces.old[0] = following
    return delta


@kernel
def touch(i, traces):
    """The index has a trace from now on."""
    if not traces.known[i]:
        traces.known[i] = 1
        traces.touched[traces.length[0]] = i
        traces.length[0] += 1


@kernel
def clear(traces):
    """e = 0; returns the squared length that e had. v_old then multiplies zeros until it is set."""
    squared = 0.0
    for k in range(traces.length[0]):
        i = traces.touched[k]
        squared += traces.eligibility[i] ** 2
        traces.eligibility[i] = 0.0
        traces.known[i] = 0
    traces.length[0] = 0
    return squared
