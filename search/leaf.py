"""The compiled side of an evaluator: features of one state in, chances of every outcome and a value out.

Letters: F features, H units of the first layer, K outputs (outcome classes, or 1 for a scalar head), A most active features.

A network is a first layer, applied to sparse features, and dense layers behind it; a linear evaluator has the first layer alone.
Positions that are evaluated one after the other are mostly siblings, which share nearly all features: the first layer's sums are kept and only the
*differences* to the last position are added (about 7 of 40 rows), an idea of NNUE made generic by comparing the two sorted sparse lists.
`forget` starts afresh; callers do so once a decision, so that a value does not depend on what a worker evaluated before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from envs.game import Baseline, Game
from envs.kernel import kernel

IDENTITY, RELU, SIGMOID, TANH = 0, 1, 2, 3
CLASSES = 4
"""head: softmax over the game's outcome classes"""

SUMS = {"reassoc", "contract", "nsz"}
"""fast-math freedom for float sums: their order, nothing else"""

REFRESH = 64
"""evaluations by differences after which the sums are computed afresh, so that rounding cannot pile up"""


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
    """float32 [H]"""
    index: np.ndarray
    """int32 [3, A]: features of this and the last state, and the changed ones"""
    value: np.ndarray
    """float32 [3, A]"""
    slot: np.ndarray
    """int64 [3]: which row is current; active features of the last state (-1: forgotten); evaluations since a refresh"""
    hidden: np.ndarray
    """float32 [2, widest layer]"""
    chances: np.ndarray
    """float32 [K]"""


class Leaf(NamedTuple):
    """An evaluator as searches take it: leaf.evaluate(rules, leaf.weights, state, work) -> value."""

    evaluate: Any
    """evaluate(rules, weights, state, work) -> value in outcome units for the mover; work.chances holds the outputs. Exact where
    the game is over."""
    weights: Weights


def make_work(leaf: Leaf, game: Game) -> Work:
    """Scratch memory for evaluating with `leaf`."""
    weights = leaf.weights
    most = 2 * max(feature_set.max_active for feature_set in game.feature_sets.values())
    widest = int(max(weights.sizes.max(), weights.first.shape[1]))
    return Work(
        sums=np.zeros(weights.first.shape[1], np.float32),
        index=np.zeros((3, most), np.int32),
        value=np.zeros((3, most), np.float32),
        slot=np.array([0, -1, 0], np.int64),
        hidden=np.zeros((2, widest), np.float32),
        chances=np.zeros(len(weights.outcomes), np.float32),
    )


@kernel
def forget(work):
    """The next evaluation computes its first layer afresh."""
    work.slot[1] = -1


# --- networks ---------------------------------------------------------------------------------------------------


@kernel
def evaluate_network(rules, weights, state, work):
    over, result = rules.outcome(state)
    if over:
        certain(weights, result, work)
        return np.float64(result)
    new = work.slot[0]
    n = rules.features(state, weights.spec, work.index[new], work.value[new])
    first_layer(weights.first, n, work)
    outputs = weights.sizes[0]
    if len(weights.sizes) == 1:
        work.hidden[0, :outputs] = work.sums
        return apply_head(weights, work.hidden[0], work)
    activate(weights.activation, work.sums, work.hidden[0], outputs)
    layer, offset = 0, np.int64(0)
    for k in range(1, len(weights.sizes)):
        inputs, outputs = outputs, weights.sizes[k]
        size = outputs * (inputs + 1)
        matrix = weights.dense[offset : offset + size].reshape(outputs, inputs + 1)
        dense_layer(matrix, work.hidden[layer], work.hidden[1 - layer])
        layer, offset = 1 - layer, offset + size
        if k + 1 < len(weights.sizes):
            activate(weights.activation, work.hidden[layer], work.hidden[layer], outputs)
    return apply_head(weights, work.hidden[layer], work)


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
    changed = changes(n, work) if work.slot[1] >= 0 and work.slot[2] < REFRESH else n + 1
    if changed <= n:
        for i in range(changed):
            add_row(work.sums, first[work.index[2, i]], work.value[2, i])
        work.slot[2] += 1
    else:
        work.sums[:] = first[len(first) - 1]
        for i in range(n):
            add_row(work.sums, first[work.index[new, i]], work.value[new, i])
        work.slot[2] = 0
    work.slot[0] = 1 - new
    work.slot[1] = n


@kernel
def changes(n, work):
    """Merge the sorted lists of this state and the last one: features whose value changed go to row 2."""
    new, old, m = work.slot[0], 1 - work.slot[0], work.slot[1]
    index, value = work.index, work.value
    i, j, changed = 0, 0, 0
    while i < n or j < m:
        if j == m or (i < n and index[new, i] < index[old, j]):
            feature, delta = index[new, i], value[new, i]
            i += 1
        elif i == n or index[old, j] < index[new, i]:
            feature, delta = index[old, j], -value[old, j]
            j += 1
        else:
            feature, delta = index[new, i], value[new, i] - value[old, j]
            i += 1
            j += 1
        if delta != 0.0:
            index[2, changed] = feature
            value[2, changed] = delta
            changed += 1
    return changed


@kernel
def add_row(sums, row, factor):
    for k in range(len(sums)):
        sums[k] += factor * row[k]


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
        odds = math.exp(np.float64(logits[k] - top))
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
