"""Linear evaluators and n-tuple networks as learners see them: one vector of weights, a sparse list of features, a
scalar head.

    a = w_F + sum_i w[index_i] x_i,   v = a  (identity)  or  v = scale tanh(a),   dv/da = 1  or  scale (1 - tanh(a)^2)

Letters: F features; w has F + 1 numbers, the bias last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator, remade
from deltaw.search.evaluators.leaf import TANH


def linear_weights(evaluator: Evaluator, learner: str) -> np.ndarray:
    """A copy of the weights, float32 [F + 1], the bias last; InputError where `evaluator` is not linear with a scalar
    head."""
    description = evaluator.description
    if description.kind == "mlp" or description.head == "classes":
        raise InputError(
            f"learner {learner} trains one sum over features; evaluator.hidden={list(description.sizes[1:-1])} must be "
            f"empty and evaluator.head={description.head} tanh or identity"
        )
    return np.concatenate([evaluator.tensors["weight0"][:, 0], evaluator.tensors["bias0"]])


def with_weights(evaluator: Evaluator, weight: np.ndarray, trained: dict[str, Any]) -> Evaluator:
    """The evaluator with other weights [F + 1]."""
    return remade(evaluator, {"weight0": weight[:-1, None].copy(), "bias0": weight[-1:].copy()}, trained)


@kernel
def predict(weight, head, scale, index, value, n):
    """(value, its derivative with respect to the sum) of n active features."""
    total, slope = np.float64(weight[len(weight) - 1]), 1.0
    for i in range(n):
        total += weight[index[i]] * value[i]
    if head == TANH:
        t = math.tanh(total)
        total, slope = scale * t, scale * (1.0 - t * t)
    return total, slope
