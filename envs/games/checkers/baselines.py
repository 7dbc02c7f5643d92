"""Handmade players of checkers."""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.game import Baseline
from deltaw.envs.kernel import kernel

KING = 1.5
"""men"""
SCALE = 0.25
"""a man ahead is worth tanh(0.25)"""


@kernel
def material(state):
    """Men and kings, mine minus the opponent's."""
    mine = popcount(state.me) + (KING - 1) * popcount(state.me & state.kings)
    his = popcount(state.opponent) + (KING - 1) * popcount(state.opponent & state.kings)
    return np.tanh(SCALE * (mine - his))


BASELINES = {"material": Baseline("material", "value", material, "a man 1, a king 1.5")}
