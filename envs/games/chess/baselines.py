"""Handmade players of chess."""

from __future__ import annotations

import math

from deltaw.envs.bits import popcount
from deltaw.envs.game import Baseline
from deltaw.envs.games.chess.rules import State
from deltaw.envs.kernel import kernel

PIECE_VALUES = (1, 3, 3, 5, 9)
"""pawn, knight, bishop, rook, queen: what beginners are taught"""
PAWNS_TO_WIN = 4.0
"""a lead of so many pawns is worth tanh(1) = 0.76 of a win"""


@kernel
def material(state: State) -> float:
    """My pieces less the opponent's, in pawns."""
    kinds = (state.pawns, state.knights, state.bishops, state.rooks, state.queens)
    lead = 0
    for kind, worth in zip(kinds, PIECE_VALUES):  # noqa: B905 - Numba knows no strict zip
        lead += worth * (popcount(kind & state.me) - popcount(kind & state.opponent))
    return math.tanh(lead / PAWNS_TO_WIN)


BASELINES = {"material": Baseline("material", "value", material, "pieces at 1, 3, 3, 5 and 9, a lead of 4 being 0.76")}
