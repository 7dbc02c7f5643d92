"""TD(lambda), backward view, one game at a time, compiled: TD-Gammon's own algorithm at full speed.

The equations are those of `learn/learners/td_backward.py` (a test compares the two), for the networks of
`learn/weights/networks.py`. Gradients are written by hand, and one pass over the weights that were active in this game
updates traces and weights. Choosing, learning and the weights share one set of arrays, so nothing is copied.

Letters: F features, H units of the first layer, K outputs, D weights of the dense layers behind (each [out, in + 1],
bias last).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.learn.knobs import check
from deltaw.learn.learner import check_game
from deltaw.learn.selfplay.lockstep import flip, go_on, take_turn
from deltaw.learn.selfplay.online import OnlineOptions, OnlineTD
from deltaw.learn.weights.networks import not_for_tuples
from deltaw.learn.weights.trace import Trace, clear, entries, make_trace, touch
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import CLASSES, RELU, SIGMOID, TANH, activate, dense_layer


@dataclass
class Options(OnlineOptions):
    """Those of `OnlineOptions` (learn/selfplay/online.py)."""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> SequentialTD:
    """The learner of this module; raises InputError."""
    check(options)
    check_game(start.game, "td_sequential")
    not_for_tuples(start, "td_sequential")
    return SequentialTD(start, options, seed=seed, budget=budget)


class Traces(NamedTuple):
    """Eligibility of every weight for every output, from White's side, and scratch memory for one gradient."""

    first: Trace
    """[F + 1, K, H]: a row a feature, the bias last"""
    dense: np.ndarray
    """[K, D]"""
    input: np.ndarray
    """[F + 1]: value of each feature now, the bias' 1 included"""
    active: np.ndarray
    """int32 [A]"""
    value: np.ndarray
    """float32 [A]"""
    units: np.ndarray
    """[layers, widest]: outputs of each layer"""
    slope: np.ndarray
    """[layers, K, widest]: derivative of each output with respect to each unit's input"""
    outputs: np.ndarray
    """[2, K]: of s_t and s_{t+1}"""
    errors: np.ndarray
    """[K]"""


class SequentialTD(OnlineTD):
    """A `Learner`."""

    method = "td-sequential"

    def __init__(self, start: Evaluator, options: Options, *, seed: int, budget: int) -> None:
        super().__init__(start, play_and_learn, 1, options, seed, budget)
        self.traces = make_traces(self.leaf.weights, start.features.max_active)

    def _scalars(self) -> dict[str, float]:
        error = math.sqrt(self.position.sums[0] / self.options.plies)
        return {"train/td_error": error, "train/trace_norm": trace_norm(self.traces)}

    def _arrays(self) -> dict[str, np.ndarray]:
        first = self.traces.first
        return {**self._kept(), "touched": first.touched, "known": np.append(first.known, first.length)}

    def _restore_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in self._kept().items():
            array[...] = arrays[name]
        first, known = self.traces.first, arrays["known"]
        first.touched[:], first.known[:], first.length[:] = arrays["touched"], known[:-1], known[-1:]

    def _kept(self) -> dict[str, np.ndarray]:
        t, w = self.traces, self.leaf.weights
        return {
            "weights_first": w.first,
            "weights_dense": w.dense,
            "trace_first": t.first.value,
            "trace_dense": t.dense,
        }


def make_traces(weights: Any, max_active: int) -> Traces:
    """Zero traces for weights of this shape, in their precision."""
    rows, width = weights.first.shape
    outputs, layers = len(weights.outcomes), len(weights.sizes)
    widest, kind = int(weights.sizes.max()), weights.first.dtype
    return Traces(
        first=make_trace((rows, outputs, width), kind),
        dense=np.zeros((outputs, len(weights.dense)), kind),
        input=np.zeros(rows, kind),
        active=np.zeros(max_active + 4, np.int32),
        value=np.zeros(max_active + 4, np.float32),
        units=np.zeros((layers, widest), kind),
        slope=np.zeros((layers, outputs, widest), kind),
        outputs=np.zeros((2, outputs), kind),
        errors=np.zeros(outputs, kind),
    )


def trace_norm(traces: Traces) -> float:
    """Euclidean norm of the traces of all weights as they are now."""
    _, first = entries(traces.first)
    return float(np.sqrt(np.square(first).sum() + np.square(traces.dense).sum()))


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_and_learn(rules, leaf, position, traces, bench, seed, trace, rate, explore, plies):
    """Self-play with an update after every move, for `plies` moves; position.sums[0]: squared errors."""
    counts = position.counts
    for _ in range(plies):
        state = rules.load(position.row)
        best, explored, over, result = take_turn(rules, leaf, state, seed, counts[0], counts[1], explore, bench)
        child = rules.load(bench.rows[0, best])
        following(rules, leaf.weights, child, over, result, bench.outputs[best], traces)
        if explored and not over:
            forget(traces)
        else:
            gradient(rules, leaf.weights, state, traces)
            for k in range(len(traces.errors)):
                traces.errors[k] = traces.outputs[1, k] - traces.outputs[0, k]
                position.sums[0] += traces.errors[k] ** 2
            learn(leaf.weights, rules.seat(state), traces, trace, rate)
        if over:
            forget(traces)
        go_on(rules, position.row, counts, bench.path, bench.rows[0, best], over)


@kernel
def following(rules, weights, child, over, result, outputs, traces):
    """Outputs of s_{t+1} from White's side; the result, which is White's, where the game is over."""
    classes = weights.head == CLASSES
    for k in range(len(outputs)):
        traces.outputs[1, k] = outputs[k]
        if over:
            traces.outputs[1, k] = (weights.outcomes[k] == result) if classes else result
    if not over and rules.seat(child) == 1:
        flip(traces.outputs[1], classes)


@kernel
def gradient(rules, weights, state, traces):
    """Outputs of `state` from White's side to traces.outputs[0], and to traces.slope the derivative of every learned
    output by every unit's input."""
    n = rules.features(state, weights.spec, traces.active, traces.value)
    forward_pass(weights, n, traces)
    layers = len(weights.sizes)
    outputs = traces.units[layers - 1, : weights.sizes[layers - 1]]
    learned_outputs(weights, outputs, traces)
    if rules.seat(state) == 1:
        flip(traces.outputs[0], weights.head == CLASSES)
    backward_pass(weights, traces)
    traces.input[:] = 0.0
    traces.input[len(traces.input) - 1] = 1.0
    touch(traces.first, len(traces.input) - 1)
    for j in range(n):
        traces.input[traces.active[j]] = traces.value[j]
        touch(traces.first, traces.active[j])


@kernel
def forward_pass(weights, n, traces):
    """Outputs of every layer to traces.units, after the activation; of the last one before the head."""
    units, sizes = traces.units, weights.sizes
    units[0, : sizes[0]] = weights.first[len(weights.first) - 1]
    for j in range(n):
        row, amount = weights.first[traces.active[j]], traces.value[j]
        for h in range(sizes[0]):
            units[0, h] += amount * row[h]
    begin = 0
    for layer in range(1, len(sizes)):
        activate(weights.activation, units[layer - 1], units[layer - 1], sizes[layer - 1])
        end = begin + sizes[layer] * (sizes[layer - 1] + 1)
        matrix = weights.dense[begin:end].reshape(sizes[layer], sizes[layer - 1] + 1)
        dense_layer(matrix, units[layer - 1], units[layer])
        begin = end


@kernel
def learned_outputs(weights, logits, traces):
    """The head: outputs to traces.outputs[0], and the derivative of what is learned (logits of classes, the value of a
    scalar head) to traces.slope."""
    last = len(weights.sizes) - 1
    slope, outputs = traces.slope[last], traces.outputs[0]
    slope[:] = 0.0
    if weights.head == CLASSES:
        top, total = logits.max(), 0.0
        for k in range(len(outputs)):
            outputs[k] = np.exp(logits[k] - top)
            total += outputs[k]
        for k in range(len(outputs)):
            outputs[k] /= total
            slope[k, k] = 1.0
        return
    outputs[0], slope[0, 0] = logits[0], 1.0
    if weights.head == TANH:
        squashed = math.tanh(logits[0])
        outputs[0] = weights.scale * squashed
        slope[0, 0] = weights.scale * (1.0 - squashed * squashed)


@kernel
def backward_pass(weights, traces):
    """traces.slope of the earlier layers from that of the last."""
    sizes, outputs = weights.sizes, len(traces.errors)
    begin = len(weights.dense)
    for layer in range(len(sizes) - 2, -1, -1):
        inputs, above = sizes[layer], sizes[layer + 1]
        begin -= above * (inputs + 1)
        for k in range(outputs):
            slope = traces.slope[layer, k]
            slope[:inputs] = 0.0
            for o in range(above):
                upper = traces.slope[layer + 1, k, o]
                if upper != 0.0:
                    row = weights.dense[begin + o * (inputs + 1) : begin + (o + 1) * (inputs + 1)]
                    for h in range(inputs):
                        slope[h] += upper * row[h]
            for h in range(inputs):
                slope[h] *= activation_slope(weights.activation, traces.units[layer, h])


@kernel
def activation_slope(kind, unit):
    """Derivative of the activation, from its output."""
    if kind == RELU:
        return 1.0 if unit > 0.0 else 0.0
    return unit * (1.0 - unit) if kind == SIGMOID else 1.0 - unit * unit


@kernel
def forget(traces):
    """e = 0."""
    clear(traces.first)
    traces.dense[:] = 0.0


@kernel
def learn(weights, seat, traces, trace, rate):
    """e <- lambda e + grad v_t;  W <- W + c (v_{t+1} - v_t) e, in one pass over the touched weights."""
    outputs, width = len(traces.errors), weights.sizes[0]
    classes = weights.head == CLASSES
    first = traces.first
    for i in range(first.length[0]):
        feature = first.touched[i]
        amount, row = traces.input[feature], weights.first[feature]
        for k in range(outputs):
            own, sign = from_white(k, seat, outputs, classes)
            decay_add_learn(
                first.value[feature, k],
                trace,
                sign * amount,
                traces.slope[0, own],
                rate * traces.errors[k],
                row,
                width,
            )
    begin = 0
    for layer in range(1, len(weights.sizes)):
        inputs = weights.sizes[layer - 1]
        for o in range(weights.sizes[layer]):
            end = begin + inputs + 1
            for k in range(outputs):
                own, sign = from_white(k, seat, outputs, classes)
                upper, step = sign * traces.slope[layer, own, o], rate * traces.errors[k]
                eligibility, row = traces.dense[k, begin:end], weights.dense[begin:end]
                decay_add_learn(eligibility, trace, upper, traces.units[layer - 1], step, row, inputs)
                eligibility[inputs] = trace * eligibility[inputs] + upper
                row[inputs] += step * eligibility[inputs]
            begin = end


@kernel
def from_white(k, seat, outputs, classes):
    """Which of the mover's outputs is White's output k, and its sign."""
    if seat == 0:
        return k, 1.0
    return (outputs - 1 - k, 1.0) if classes else (k, -1.0)


@kernel
def decay_add_learn(eligibility, trace, amount, slope, step, row, n):
    kind = row.dtype.type
    decay, add, move = kind(trace), kind(amount), kind(step)
    for h in range(n):
        eligibility[h] = decay * eligibility[h] + add * slope[h]
        row[h] += move * eligibility[h]
