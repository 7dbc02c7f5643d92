"""What evaluators read, for many states at once: the arrays that a file's graph, or another program, takes.

Dense features are float32 [n, F], zero where a feature is not active. An n-tuple network's inputs are the numbers of
its active entries, int32 [n, P], one for every placement of a tuple (`envs/tuples.py`): its F tables' entries are never
written out.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.tuples import NAME as TUPLES_NAME
from deltaw.envs.tuples import num_placements


def inputs_of(game: Game, features: FeatureSet, rows: np.ndarray) -> np.ndarray:
    """Inputs of the states `rows` int64 [n, W]: entries int32 [n, P] of an n-tuple network, else features float32 [n,
    F]. Those of finished games, which nobody evaluates, are zeros."""
    tuples = features.name == TUPLES_NAME
    out = np.zeros((len(rows), width_of(features)), np.int32 if tuples else np.float32)
    room = features.max_active + 4
    work = (np.array(features.spec, np.int64), np.empty(room, np.int32), np.empty(room, np.float32))
    fill = fill_entries if tuples else fill_features
    fill(game.rules, np.ascontiguousarray(rows), *work, out)
    return out


def width_of(features: FeatureSet) -> int:
    """Inputs of one state: F features, or P entries of an n-tuple network."""
    return num_placements(features.spec) if features.name == TUPLES_NAME else features.num_features


@kernel
def fill_features(rules, rows, spec, index, value, out):
    """out [n, F], all zeros before: features of the states rows [n, W] that are not finished."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        if not rules.outcome(state)[0]:
            for j in range(rules.features(state, spec, index, value)):
                out[i, index[j]] = value[j]


@kernel
def fill_entries(rules, rows, spec, index, value, out):
    """out [n, P]: active entries of the states rows [n, W] that are not finished."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        if not rules.outcome(state)[0]:
            rules.features(state, spec, index, value)
            out[i] = index[: out.shape[1]]
