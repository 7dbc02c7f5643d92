"""What evaluators see of Othello: the discs, and what players have always counted (mobility, corners and the squares
beside them, safe discs).

Five sets:

    discs      one input a square: +1 mine, -1 the opponent's; with linear weights the "weighted piece counter" of the
               literature
    squares    one input a square and side
    criteria   the counts below, with weights of their own in each third of the game
    criteria_1 the same with one weight a count for the whole game: few enough for learning automata
    expert     squares and criteria
"""

from __future__ import annotations

from deltaw.envs.bits import down, drop_lowest, lowest, popcount, signed, up
from deltaw.envs.game import FeatureSet
from deltaw.envs.games.othello.boards import CORNERS, NOT_A, NOT_H, mobility, near
from deltaw.envs.games.othello.rules import C_SQUARES, CELLS, X_SQUARES
from deltaw.envs.kernel import kernel

DISCS, SQUARES, CRITERIA, EXPERT = range(4)
PHASES = 3
PHASE_DISCS = 20
"""discs on the board in a third of the game: up to 23, up to 43, more"""

COUNTS = ("moves", "potential_moves", "corners", "x_squares", "c_squares", "safe_edge_discs")
SCALES = (0.1, 0.1, 1.0, 1.0, 1.0, 0.2)
"""a side's counts are multiplied by these: the usual range becomes 0 to 2"""
DISC_SCALE = 1 / 16
NUM_CRITERIA = 2 * len(COUNTS) + 3

TOP_AND_BOTTOM = signed(0xFF000000000000FF)
LEFT_AND_RIGHT = signed(0x8181818181818181)
EDGES = TOP_AND_BOTTOM | LEFT_AND_RIGHT


@kernel
def features(state, spec, index, value):
    """spec: (set, thirds of the game that have weights of their own)"""
    if spec[0] == DISCS:  # apart from the rest, which would slow it down: it is what deep searches evaluate
        n = add_signed_discs(state, index, value)
    else:
        n = add_sides_and_criteria(state, spec[0], spec[1], index, value)
    return n


@kernel
def add_sides_and_criteria(state, kind, phases, index, value):
    n = 0
    if kind != CRITERIA:
        n = add_discs(state.me, 0, n, index, value)
        n = add_discs(state.opponent, CELLS, n, index, value)
    if kind != SQUARES:
        phase = min(max(popcount(state.me | state.opponent) - 4, 0) // PHASE_DISCS, phases - 1)
        n = add_criteria(state, n, (2 * CELLS if kind == EXPERT else 0) + NUM_CRITERIA * phase, index, value)
    return n


@kernel
def add_signed_discs(state, index, value):
    taken, n = state.me | state.opponent, 0
    while taken:
        square = lowest(taken)
        taken = drop_lowest(taken)
        index[n] = square
        value[n] = 1 - 2 * (state.opponent >> square & 1)
        n += 1
    return n


@kernel
def add_discs(discs, offset, n, index, value):
    while discs:
        index[n] = offset + lowest(discs)
        value[n] = 1.0
        discs = drop_lowest(discs)
        n += 1
    return n


@kernel
def add_criteria(state, n, offset, index, value):
    """COUNTS of mine, then of the opponent's; discs, mine minus his; 1 if an odd number of squares is empty (who moves
    last, unless somebody passes); a constant for the phase. Counts of 0 are left out."""
    me, opponent = state.me, state.opponent
    for side in range(2):
        counts = count_criteria(me, opponent) if side == 0 else count_criteria(opponent, me)
        for i, count in enumerate(counts):
            index[n] = offset + len(COUNTS) * side + i
            value[n] = count * SCALES[i]
            n += count != 0
    difference, odd = popcount(me) - popcount(opponent), popcount(me | opponent) & 1
    index[n] = offset + 2 * len(COUNTS)
    value[n] = difference * DISC_SCALE
    n += difference != 0
    index[n] = offset + 2 * len(COUNTS) + 1
    value[n] = 1.0
    n += odd
    index[n] = offset + 2 * len(COUNTS) + 2
    value[n] = 1.0
    return n + 1


@kernel
def count_criteria(me, opponent):
    """In the order of COUNTS. Potential moves: empty squares that touch a disc of the other side (Rosenbloom 1982)."""
    empty = ~(me | opponent)
    return (
        popcount(mobility(me, opponent)),
        popcount(near(opponent) & empty),
        popcount(me & CORNERS),
        popcount(me & X_SQUARES & near(empty & CORNERS)),
        popcount(me & C_SQUARES & near(empty & CORNERS)),
        popcount(safe_on_edges(me)),
    )


@kernel
def safe_on_edges(discs):
    """Discs of one side that fill an edge from a corner on without a gap: they can never be turned. (More are safe than
    these.)"""
    along, beside = discs & TOP_AND_BOTTOM, discs & LEFT_AND_RIGHT
    safe = discs & CORNERS
    for _ in range(6):
        safe |= along & (up(safe & NOT_H, 1) | down(safe & NOT_A, 1)) | beside & (up(safe, 8) | down(safe, 8))
    return safe


SQUARE_NAMES = [f"{column}{row}" for row in range(1, 9) for column in "abcdefgh"]
SIDE_NAMES = [f"{side}_{square}" for side in ("me", "opponent") for square in SQUARE_NAMES]
COUNT_NAMES = [f"{s}_{c}" for s in ("me", "opponent") for c in COUNTS] + ["discs", "odd_empties", "constant"]
CRITERIA_NAMES = [f"{name}_{third}" for third in ("opening", "middle", "end") for name in COUNT_NAMES]

FEATURE_SETS = {
    "discs": FeatureSet("discs", (DISCS, 1), 64, 64, lambda: SQUARE_NAMES),
    "squares": FeatureSet("squares", (SQUARES, 1), 128, 64, lambda: SIDE_NAMES),
    "criteria": FeatureSet("criteria", (CRITERIA, PHASES), PHASES * NUM_CRITERIA, NUM_CRITERIA, lambda: CRITERIA_NAMES),
    "criteria_1": FeatureSet("criteria_1", (CRITERIA, 1), NUM_CRITERIA, NUM_CRITERIA, lambda: COUNT_NAMES),
    "expert": FeatureSet(
        "expert",
        (EXPERT, PHASES),
        2 * CELLS + PHASES * NUM_CRITERIA,
        CELLS + NUM_CRITERIA,
        lambda: SIDE_NAMES + CRITERIA_NAMES,
    ),
}
