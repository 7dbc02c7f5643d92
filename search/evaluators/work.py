"""Scratch memory for evaluating positions, one for each thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.game import Game
from deltaw.envs.tuples import NAME, TUPLES
from deltaw.search.evaluators.leaf import FORGOTTEN, Leaf, Work
from deltaw.search.evaluators.ntuple import make_tuple_work


def most_active(game: Game, spec: np.ndarray) -> int:
    """Room for the active features of any of the game's own sets, and of the one that `spec` describes."""
    sizes = [feature_set.max_active for feature_set in game.feature_sets.values()]
    if spec[0] == TUPLES:
        sizes.append(game.described(NAME, tuple(int(x) for x in spec)).max_active)
    return max(sizes)


def make_work(leaf: Leaf, game: Game) -> Any:
    """Scratch memory for evaluating with `leaf`: Work, or that of an n-tuple network."""
    weights = leaf.weights
    if weights.spec[0] == TUPLES:
        return make_tuple_work(weights, game)
    most = 2 * most_active(game, weights.spec) + 4
    widest = int(max(weights.sizes.max(), weights.first.shape[1]))
    inputs = max(feature_set.num_features for feature_set in game.feature_sets.values())
    return Work(
        sums=np.zeros(weights.first.shape[1], np.float32),
        active=np.zeros((3, most), np.int32),
        value=np.zeros((3, most), np.float32),
        current=np.zeros(inputs, np.float32),
        seen=np.full(inputs, -1, np.int64),
        slot=np.array([0, 0, FORGOTTEN, 0], np.int64),
        hidden=np.zeros((2, widest), np.float32),
        chances=np.zeros(len(weights.outcomes), np.float32),
    )
