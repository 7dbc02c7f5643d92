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
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import NotNegative, Positive, check
from deltaw.learn.learner import check_game
from deltaw.learn.selfplay.lockstep import go_on, take_turn
from deltaw.learn.selfplay.online import OnlineOptions, OnlineTD
from deltaw.learn.weights.linear import linear_weights
from deltaw.learn.weights.trace import Trace, clear, entries, make_trace, restore_entries, touch
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.work import most_active


@dataclass
class Options(OnlineOptions):
    """Those of `OnlineOptions` (learn/selfplay/online.py), with smaller steps."""

    step_size: Positive = 0.01
    """c; stable while c times the sum of squared features is well below 1"""
    step_size_end: NotNegative = 0.001


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> TrueOnlineTD:
    """The learner of this module; raises InputError."""
    check(options)
    check_game(start.game, "true_online")
    return TrueOnlineTD(start, options, seed=seed, budget=budget)


class Traces(NamedTuple):
    """Eligibility of every weight from White's side, and scratch memory for one position's features."""

    e: Trace
    """[F + 1], the bias last"""
    old: np.ndarray
    """float64 [1]: v_old"""
    active: np.ndarray
    """int32 [A + 1]: x, and the bias behind it; an index may occur more than once"""
    value: np.ndarray
    """float32 [A + 1]"""


class TrueOnlineTD(OnlineTD):
    """A `Learner`."""

    method = "true-online-td"

    def __init__(self, start: Evaluator, options: Options, *, seed: int, budget: int) -> None:
        linear_weights(start, "true_online")
        if start.description.head != "identity":
            raise InputError(
                f"evaluator.head={start.description.head}: true online TD(lambda) needs a value linear in the weights, "
                "head identity; for other heads try learner=td_linear"
            )
        super().__init__(start, play_and_learn, 5, options, seed, budget)
        self.weight = self.leaf.weights.first.reshape(-1)
        self.traces = make_traces(len(self.weight), most_active(self.game, self.leaf.weights.spec))

    def _scalars(self) -> dict[str, float]:
        """`train/td_error`: root mean square of delta; `train/trace_norm`: length of e when a game ends, the mean; both
        of this step."""
        squared, learned, plies, norms, games = (float(total) for total in self.position.sums)
        scalars = {}
        if learned:
            scalars["train/td_error"] = math.sqrt(squared / learned)
        if games:
            scalars |= {"train/trace_norm": norms / games, "play/game_length": plies / games}
        return scalars

    def _arrays(self) -> dict[str, np.ndarray]:
        touched, eligibility = entries(self.traces.e)
        return {"weight": self.weight, "touched": touched, "eligibility": eligibility, "old": self.traces.old}

    def _restore_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self.weight[:], self.traces.old[:] = arrays["weight"], arrays["old"]
        restore_entries(self.traces.e, arrays["touched"], arrays["eligibility"])


def make_traces(size: int, max_active: int) -> Traces:
    """A zero trace for so many weights, the bias included."""
    return Traces(
        e=make_trace((size,)),
        old=np.zeros(1),
        active=np.zeros(max_active + 1, np.int32),
        value=np.zeros(max_active + 1, np.float32),
    )


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_and_learn(rules, leaf, position, traces, bench, seed, trace, rate, explore, plies):
    """Self-play with an update after every move, for `plies` moves. position.sums: squared errors, positions learned
    from, plies and trace norms of finished games, finished games."""
    counts, spec = position.counts, leaf.weights.spec
    weight = leaf.weights.first.reshape(-1)
    for _ in range(plies):
        state = rules.load(position.row)
        best, explored, over, result = take_turn(rules, leaf, state, seed, counts[0], counts[1], explore, bench)
        if explored and not over:
            clear(traces.e)
        else:
            following = np.float64(result)
            if not over:
                following = whites_value(rules, spec, weight, rules.load(bench.rows[0, best]), traces)
            n = whites_features(rules, spec, state, len(weight) - 1, traces)
            position.sums[0] += learn(weight, traces, n, following, trace, rate) ** 2
            position.sums[1] += 1.0
        if over:
            position.sums[2] += counts[1] + 1
            position.sums[3] += math.sqrt(squared_length(traces.e))
            clear(traces.e)
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
    e = traces.e.value
    v = product(weight, traces, n)
    delta = following - v
    drift = v - traces.old[0]
    share = rate * trace * product(e, traces, n)
    upon_trace = rate * (delta + drift)
    upon_x = rate * (delta * (1.0 - share) - drift * share)
    for k in range(traces.e.length[0]):
        i = traces.e.touched[k]
        e[i] *= trace
        weight[i] += upon_trace * e[i]
    for j in range(n):
        i = traces.active[j]
        touch(traces.e, i)
        weight[i] += upon_x * traces.value[j]
        e[i] += (1.0 - share) * traces.value[j]
    traces.old[0] = following
    return delta


@kernel
def squared_length(trace):
    total = 0.0
    for k in range(trace.length[0]):
        total += trace.value[trace.touched[k]] ** 2
    return total
