"""Checkers for agents that act: an action is a step or a jump of one piece, so a turn with three jumps is three
actions.

    action = 4 x square + direction      square 0..31 and direction 0..3 as the mover sees them (`rules.py`)

The mask admits exactly the beginnings of legal moves. A `word` is a move code as it grows; 0 is a turn not yet begun.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import lowest
from deltaw.envs.games.checkers.rules import (
    DIRECTIONS,
    MAX_MOVES,
    SQUARES,
    after,
    legal_moves,
    length,
    longer,
)
from deltaw.envs.kernel import kernel

NUM_ACTIONS = 4 * SQUARES
PLANES = 5
"""of the observation: my men, the opponent's men, my kings, the opponent's kings, the piece that must go on jumping"""
OBSERVATION_SIZE = PLANES * SQUARES


@kernel
def action_mask(state, word, out):
    out[:] = 0
    moves = np.empty(MAX_MOVES, np.int64)
    n, done = legal_moves(state, moves), length(word)
    same = (1 << 2 * done) - 1
    _, _, _, here = after(state, word)
    for i in range(n):
        move = moves[i]
        if done == 0:
            out[4 * (move & 31) + (move >> DIRECTIONS & 3)] = 1
        elif move & 31 == word & 31 and (move ^ word) >> DIRECTIONS & same == 0:
            out[4 * lowest(here) + (move >> DIRECTIONS + 2 * done & 3)] = 1


@kernel
def spell(state, word, action):
    """The word with one more direction; complete when it is a legal move, which no longer one begins with."""
    word = longer(np.int64(action // 4) if word == 0 else word, np.int64(action % 4))
    moves = np.empty(MAX_MOVES, np.int64)
    for i in range(legal_moves(state, moves)):
        if moves[i] == word:
            return word, True
    return word, False


@kernel
def observe(state, word, out):
    me, opponent, kings, here = after(state, word)
    planes = (me & ~kings, opponent & ~kings, me & kings, opponent & kings, here if word != 0 else np.int64(0))
    for plane, squares in enumerate(planes):
        for square in range(SQUARES):
            out[plane * SQUARES + square] = squares >> square & 1
