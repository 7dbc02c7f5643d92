"""The rule by which weights learn from play, in NumPy. Everything that learns by temporal differences here is tested
against this page.

    ΔW_t = c (v_{t+1} - v_t) e_t        e_t = λ e_{t-1} + ∇v_t

v_t is what the evaluator says of position t of a game, for the player who moved first, and after the last position it
is the result of the game. The trace e holds the gradients of the positions before, fading by λ; with λ = 0 it is the
gradient itself, and ΔW_t = c (v_{t+1} - v_t) ∇v_t. An evaluator with K outputs (one for each outcome) has a trace for
each of them.

Letters: T positions, K outputs, D weights. Source: R. Sutton, "Learning to predict by the methods of temporal
differences", Machine Learning 3 (1988), equation 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Function = Callable[[np.ndarray, Any], np.ndarray]


def learn(
    weights: np.ndarray,
    game: Sequence[Any],
    result: np.ndarray,
    value: Function,
    gradient: Function,
    *,
    c: float,
    trace: float = 0.0,
    frozen: bool = False,
) -> np.ndarray:
    """The weights [D] after one game: its positions `game` [T], each seen by value(weights, position) [K] and
    gradient(weights, position) [K, D], and its `result` [K].

    `trace` is λ, 0 .. 1. With `frozen` all values and gradients are those of the weights before the game, as in the
    proof that this sum is that of the λ-returns (Sutton 1988, theorem 1).
    """
    learned, e = weights.copy(), np.zeros((len(result), len(weights)))
    for t, position in enumerate(game):
        at = weights if frozen else learned
        v = value(at, position)
        following = value(at, game[t + 1]) if t + 1 < len(game) else result
        e = trace * e + gradient(at, position)
        learned = learned + c * (following - v) @ e
    return learned


def linear(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """v = W x, the linear evaluator Eval(s) = Σ w_i f_i(s): [1]."""
    return np.array([weights @ features])


def slope_of_linear(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """∇v = x: [1, D]."""
    return features[None]
