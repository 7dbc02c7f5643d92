"""What evaluators see of checkers.

    men_kings  how many men and kings each side has
    squares    one input a square, side and kind of piece
    samuel     the terms of Samuel's player of 1959 (`samuel.py`)

N-tuple networks read the 32 squares, each with five values (`rules.cells`).
"""

from __future__ import annotations

from deltaw.envs.bits import drop_lowest, lowest, popcount
from deltaw.envs.game import FeatureSet
from deltaw.envs.games.checkers.rules import MOST_PIECES, SQUARES
from deltaw.envs.games.checkers.samuel import NAMES, add_terms
from deltaw.envs.kernel import kernel

MEN_KINGS, BY_SQUARE, SAMUEL = range(3)
COUNT_SCALE = 1 / MOST_PIECES
KINDS = ("my_man", "opponent_man", "my_king", "opponent_king")


@kernel
def features(state, spec, index, value):
    """spec: (set,)"""
    if spec[0] == SAMUEL:
        return add_terms(state, index, value)
    men = ~state.kings
    kinds = (state.me & men, state.opponent & men, state.me & state.kings, state.opponent & state.kings)
    n = 0
    for kind, squares in enumerate(kinds):
        if spec[0] == BY_SQUARE:
            n = add_squares(squares, SQUARES * kind, n, index, value)
        elif squares:
            index[n] = kind
            value[n] = COUNT_SCALE * popcount(squares)
            n += 1
    return n


@kernel
def add_squares(squares, offset, n, index, value):
    while squares:
        index[n] = offset + lowest(squares)
        value[n] = 1.0
        squares = drop_lowest(squares)
        n += 1
    return n


def square_names() -> list[str]:
    """By the numbers that Black sees; for White the board is turned."""
    return [f"{kind}_{number}" for kind in KINDS for number in range(1, SQUARES + 1)]


FEATURE_SETS = {
    "men_kings": FeatureSet("men_kings", (MEN_KINGS,), len(KINDS), len(KINDS), lambda: list(KINDS)),
    "squares": FeatureSet("squares", (BY_SQUARE,), len(KINDS) * SQUARES, 2 * MOST_PIECES, square_names),
    "samuel": FeatureSet("samuel", (SAMUEL,), len(NAMES), len(NAMES), lambda: list(NAMES)),
}
