"""The compiled side of an evaluator: features of one state in, chances of every outcome and a value out.

Letters: F features, H units of the first layer, K outputs (outcome classes, or 1 for a scalar head), A most active
features.

A network is a first layer, applied to sparse features, and dense layers behind it; a linear evaluator has the first
layer alone. Positions that are evaluated one after the other are mostly siblings, which share nearly all features: the
first layer's sums are kept and only the *differences* to the last position are added (about 7 of 40 rows), an idea of
NNUE made generic by comparing the two sparse lists. `forget` starts afresh; callers do so once a decision, so that a
value does not depend on what a worker evaluated before.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.game import Baseline
from deltaw.envs.kernel import kernel

IDENTITY, RELU, SIGMOID, TANH = 0, 1, 2, 3
CLASSES = 4
"""head: softmax over the game's outcome classes"""

SUMS = {"reassoc", "contract", "nsz"}
"""fast-math freedom for float sums: their order, nothing else"""

REFRESH = 64
"""evaluations by differences after which the sums are computed afresh, so that rounding cannot pile up"""
FORGOTTEN = 1 << 40

TIED = 2.0**-21
"""values of moves at most so far apart, in outcome units, are equally good: mirror images are summed up in another
order"""


class Weights(NamedTuple):
    """What one evaluator has learned, as plain arrays."""

    first: np.ndarray
    """float32 [F + 1, H]: a row a feature, the bias last"""
    dense: np.ndarray
    """float32, flat: the later layers one after the other, each [out, in + 1] with the bias last"""
    sizes: np.ndarray
    """int64 [layers]: outputs of each layer"""
    activation: int
    head: int
    scale: float
    """a tanh head's outputs are multiplied by this: the game's largest outcome"""
    outcomes: np.ndarray
    """float32 [K]: value of each class; of length 1 for a scalar head"""
    spec: np.ndarray
    """int64: the feature set's spec"""


class Work(NamedTuple):
    """Scratch memory of one thread."""

    sums: np.ndarray
    """float32 [H]: first layer of the last position"""
    active: np.ndarray
    """int32 [3, A]: features of this and the last position, and the changed ones"""
    value: np.ndarray
    """float32 [3, A]"""
    current: np.ndarray
    """float32 [F]: the last position's features, dense"""
    seen: np.ndarray
    """int64 [F]: number of the evaluation in which a feature was last active"""
    slot: np.ndarray
    """int64 [4]: row of the lists for the next position; active features of the last one; evaluations since the sums
    were computed afresh (FORGOTTEN: they must be); number of this evaluation"""
    hidden: np.ndarray
    """float32 [2, widest layer]"""
    chances: np.ndarray
    """float32 [K]: the outputs"""


@kernel
def forget(work):
    """The next evaluation computes its first layer afresh."""
    work.slot[2] = FORGOTTEN


@kernel
def forget_state(rules, weights, state, work):
    forget(work)


class Leaf(NamedTuple):
    """An evaluator as searches take it: leaf.evaluate(rules, leaf.weights, state, work) -> value."""

    evaluate: Any
    """evaluate(rules, weights, state, work) -> value in outcome units for the mover; work.chances holds the outputs.
    Exact where the game is over."""
    weights: Weights
    expect: Any = forget_state
    """expect(rules, weights, state, work): the results of the moves from `state` are evaluated next, one after the
    other"""


# --- networks ---------------------------------------------------------------------------------------------------


@kernel
def evaluate_network(rules, weights, state, work):
    over, result = rules.outcome(state)
    if over:
        certain(weights, result, work)
        return np.float64(result)
    new = work.slot[0]
    n = rules.features(state, weights.spec, work.active[new], work.value[new])
    first_layer(weights.first, n, work)
    layers = len(weights.sizes)
    if layers == 1:
        return apply_head(weights, work.sums, work)
    activate(weights.activation, work.sums, work.hidden[0], weights.sizes[0])
    row, offset = middle_layers(weights, work) if layers > 2 else (0, np.int64(0))
    inputs, outputs = weights.sizes[layers - 2], weights.sizes[layers - 1]
    matrix = weights.dense[offset:].reshape(outputs, inputs + 1)
    dense_layer(matrix, work.hidden[row], work.hidden[1 - row])
    return apply_head(weights, work.hidden[1 - row], work)


@kernel
def evaluate_linear(rules, weights, state, work):
    """One sum over the active features, with a scalar head. Nothing is kept from the last position: repeated indices
    count repeatedly."""
    over, result = rules.outcome(state)
    if over:
        work.chances[0] = result
        return np.float64(result)
    index, amount, weight = work.active[0], work.value[0], weights.first
    n = rules.features(state, weights.spec, index, amount)
    value = np.float64(weight[len(weight) - 1, 0])
    for i in range(n):
        value += weight[index[i], 0] * amount[i]
    if weights.head == TANH:
        value = weights.scale * math.tanh(value)
    work.chances[0] = value
    return value


@kernel
def middle_layers(weights, work):
    """Layers between the first and the last; returns the row of work.hidden that holds their outputs, and where the
    last layer's weights begin."""
    row, offset = 0, np.int64(0)
    for k in range(1, len(weights.sizes) - 1):
        inputs, outputs = weights.sizes[k - 1], weights.sizes[k]
        size = outputs * (inputs + 1)
        matrix = weights.dense[offset : offset + size].reshape(outputs, inputs + 1)
        dense_layer(matrix, work.hidden[row], work.hidden[1 - row])
        row, offset = 1 - row, offset + size
        activate(weights.activation, work.hidden[row], work.hidden[row], outputs)
    return row, offset


@kernel
def certain(weights, result, work):
    """Outputs of a finished game."""
    if weights.head != CLASSES:
        work.chances[0] = result
        return
    for k in range(len(weights.outcomes)):
        work.chances[k] = 1.0 if weights.outcomes[k] == result else 0.0


@kernel
def first_layer(first, n, work):
    """work.sums = bias + sum of value x row, by differences where that is less work; flips the current row of lists."""
    new = work.slot[0]
    changed = changes(n, work)
    if changed <= n and work.slot[2] < REFRESH:
        add_rows(first, work.active[2], work.value[2], changed, work.sums)
        work.slot[2] += 1
    else:
        work.sums[:] = first[len(first) - 1]
        add_rows(first, work.active[new], work.value[new], n, work.sums)
        work.slot[2] = 0
    work.slot[0] = 1 - new
    work.slot[1] = n
    work.slot[3] += 1


@kernel
def changes(n, work):
    """Features whose value differs from the last position's go to row 2 of the lists; returns how many. Written without
    branches: which features change is not predictable."""
    new, old, now = work.slot[0], 1 - work.slot[0], work.slot[3]
    active, value, current, seen = work.active, work.value, work.current, work.seen
    changed = np.uint64(0)  # unsigned indices spare Numba's test for negative ones
    one = np.uint64(1)
    for i in range(n):
        feature, amount = np.uint64(active[new, i]), value[new, i]
        delta = amount - current[feature]
        active[2, changed] = feature
        value[2, changed] = delta
        changed += one if delta != 0.0 else np.uint64(0)
        current[feature] = amount
        seen[feature] = now
    for j in range(work.slot[1]):
        feature = np.uint64(active[old, j])
        gone = seen[feature] != now
        active[2, changed] = feature
        value[2, changed] = -current[feature]
        changed += one if gone else np.uint64(0)
        current[feature] = np.float32(0.0) if gone else current[feature]
    return np.int64(changed)


@kernel(fastmath=SUMS)
def add_rows(first, index, value, n, sums):
    """sums += value[i] x row index[i], four rows at a time: the sums are read and written once for four."""
    width = len(sums)
    for i in range(0, n - 3, 4):
        a, b, c, d = first[index[i]], first[index[i + 1]], first[index[i + 2]], first[index[i + 3]]
        u, v, w, x = value[i], value[i + 1], value[i + 2], value[i + 3]
        for k in range(width):
            sums[k] += u * a[k] + v * b[k] + w * c[k] + x * d[k]
    for i in range(n - n % 4, n):
        a, u = first[index[i]], value[i]
        for k in range(width):
            sums[k] += u * a[k]


@kernel
def activate(kind, source, target, n):
    if kind == RELU:
        for k in range(n):
            target[k] = max(source[k], np.float32(0.0))
    elif kind == SIGMOID:
        for k in range(n):
            target[k] = np.float32(1.0) / (np.float32(1.0) + np.exp(-source[k]))
    else:
        for k in range(n):
            target[k] = np.tanh(source[k])


@kernel(fastmath=SUMS)
def dense_layer(matrix, source, target):
    outputs, inputs = matrix.shape[0], matrix.shape[1] - 1
    for o in range(outputs):
        row = matrix[o]
        total = np.float32(0.0)
        for i in range(inputs):
            total += row[i] * source[i]
        target[o] = total + row[inputs]


@kernel
def apply_head(weights, logits, work):
    """Outputs to work.chances; the value."""
    if weights.head == CLASSES:
        return softmax(logits, weights.outcomes, work.chances)
    value = np.float64(logits[0])
    if weights.head == TANH:
        value = weights.scale * math.tanh(value)
    work.chances[0] = value
    return value


@kernel
def softmax(logits, outcomes, chances):
    """Chances of the outcome classes, and their expectation."""
    top = logits[0]
    for k in range(1, len(outcomes)):
        top = max(top, logits[k])
    total, value = 0.0, 0.0
    for k in range(len(outcomes)):
        odds = np.exp(logits[k] - top)
        chances[k] = odds
        total += odds
        value += odds * outcomes[k]
    for k in range(len(outcomes)):
        chances[k] /= total
    return value / total


# --- handmade evaluators ------------------------------------------------------------------------------------------


def handmade_leaf(baseline: Baseline) -> Leaf:
    """A baseline of kind "value" as a leaf."""
    return Leaf(_handmade(baseline.function), _nothing_learned())


@functools.cache
def _handmade(function: Any) -> Any:
    @kernel
    def evaluate_handmade(rules, weights, state, work):
        over, result = rules.outcome(state)
        value = np.float64(result) if over else np.float64(function(state))
        work.chances[0] = value
        return value

    return evaluate_handmade


def _nothing_learned() -> Weights:
    one = np.zeros((1, 1), np.float32)
    return Weights(one, one[0], np.ones(1, np.int64), IDENTITY, IDENTITY, 1.0, one[0], np.zeros(1, np.int64))
