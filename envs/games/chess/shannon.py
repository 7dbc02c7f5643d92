"""Shannon's evaluation function, the first that was published.

    f(P) = 200 (K - K') + 9 (Q - Q') + 5 (R - R') + 3 (B - B' + N - N') + (P - P')
           - 0.5 (D - D' + S - S' + I - I') + 0.1 (M - M')

K, Q, R, B, N and P count the men, D, S and I doubled, backward and isolated pawns, and M the legal moves; primed
letters are the opponent's. Both kings are always on the board, so their term is left out. The side that is not to move
has the moves that it would have if it were its turn.

Source: C. Shannon, "Programming a computer for playing chess", Philosophical Magazine 41 (1950), section 2 and
appendix.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.games.chess.features import judge_pawns
from deltaw.envs.games.chess.rules import ROOM, legal_moves, mirrored
from deltaw.envs.kernel import kernel

PIECE_VALUES = (1.0, 3.0, 3.0, 5.0, 9.0)
"""pawn, knight, bishop, rook, queen"""
PAWN_FAULT = 0.5
MOVE = 0.1


@kernel
def shannon_points(state):
    """f(P) for the mover, in pawns."""
    return side_points(state) - side_points(mirrored(state, 0))


@kernel
def side_points(state):
    """What f(P) counts for the mover."""
    points = 0.0
    kinds = (state.pawns, state.knights, state.bishops, state.rooks, state.queens)
    for kind, worth in zip(kinds, PIECE_VALUES):  # noqa: B905 - Numba knows no strict zip
        points += worth * popcount(kind & state.me)
    pawns = np.empty(11)
    judge_pawns(state, pawns)
    return points - PAWN_FAULT * pawns[:3].sum() + MOVE * legal_moves(state, np.empty(ROOM, np.int64))
