"""Handmade players of chess."""

from __future__ import annotations

import math

from deltaw.envs.bits import popcount
from deltaw.envs.game import Baseline
from deltaw.envs.games.chess.ajedrecista import ajedrecista, check_ending
from deltaw.envs.games.chess.rules import State
from deltaw.envs.games.chess.shannon import shannon_points
from deltaw.envs.games.chess.turochamp import turochamp
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


@kernel
def shannon(state: State) -> float:
    return math.tanh(shannon_points(state) / PAWNS_TO_WIN)


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline("material", "value", material, "pieces at 1, 3, 3, 5 and 9, a lead of 4 being 0.76"),
        Baseline("shannon", "value", shannon, "Shannon's function of 1950: material, pawns, mobility"),
        Baseline("turochamp", "rank", turochamp, "Turing's paper machine: two plies, then considerable moves"),
        Baseline("ajedrecista", "rank", ajedrecista, "Torres' machine of 1912: king and rook", check_ending),
    )
}
