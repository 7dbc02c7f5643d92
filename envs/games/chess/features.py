"""What evaluators see of chess, from the mover's side.

Four sets:

    material   for each of pawn, knight, bishop, rook and queen, how many more I have than the opponent
    pieces     the same and, for each kind of piece and each square, whether I have one there less whether he has one
               on the square that is the same for him. All this is there twice, with the weight of the middle game and
               with that of the endgame; so linear weights are the values of the pieces with two piece-square tables,
               and the value goes over from one to the other (a *tapered* evaluation, as H. Berliner's and since then
               most programs')
    expert     all that, and the criteria below, mine less the opponent's, tapered as well
    halfkp     each piece but the kings, with its square and the square of my king; then all of it once more as the
               opponent sees it: the inputs of Y. Nasu's NNUE (2018)

The phase is 24 with all pieces and 0 with none: knights and bishops count 1, rooks 2, queens 4.

Criteria, by the names of the literature (<https://www.chessprogramming.org/Evaluation>): a pawn is *isolated* without
one of its colour on the files beside it, *doubled* with one in front of it, *passed* if no opposing pawn can stop it,
*backward* if none of its colour is level or behind on the files beside it and its next square is attacked by a pawn,
*defended* by another pawn. A file is *open* without pawns, *half open* without one's own. Mobility is the number of
squares attacked that neither hold one's own men nor are attacked by pawns.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, down, drop_lowest, lowest, popcount, swap_bytes, up
from deltaw.envs.game import FeatureSet
from deltaw.envs.games.chess.boards import (
    DARK,
    NOT_A,
    NOT_H,
    RANK_1,
    attacks_of_pawns_down,
    bishop_attacks,
    king_attacks,
    knight_attacks,
    pawn_attacks,
    rook_attacks,
)
from deltaw.envs.games.chess.rules import mirrored
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import weigh_features

MATERIAL, PIECES, EXPERT, HALFKP = range(4)
MEN = 32
"""the most on a board"""
KINDS = 6
SQUARES = 64
PLACES = KINDS * SQUARES
"""by kind, by square; behind them come the leads in material"""
LEADS = KINDS - 1
PHASE = PLACES + LEADS
"""inputs of `pieces` in one phase"""
FULL_PHASE = 24

CRITERIA = (
    "bishop_pair",
    "isolated_pawns", "doubled_pawns", "backward_pawns", "defended_pawns",
    "passed_pawns_rank_2", "passed_pawns_rank_3", "passed_pawns_rank_4",
    "passed_pawns_rank_5", "passed_pawns_rank_6", "passed_pawns_rank_7", "blocked_passed_pawns",
    "knight_mobility", "bishop_mobility", "rook_mobility", "queen_mobility",
    "knight_outposts", "rooks_on_open_files", "rooks_on_half_open_files", "rooks_on_seventh_rank",
    "king_shield", "king_open_files", "king_attackers", "king_zone_attacks", "castling_rights",
)  # fmt: skip
SCALES = np.array([
    1.0,
    0.5, 0.5, 0.5, 0.25,
    1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
    0.1, 0.1, 0.1, 0.1,
    1.0, 1.0, 1.0, 1.0,
    0.5, 0.5, 0.5, 0.1, 0.5,
])  # fmt: skip
"""a difference is multiplied by its scale: the usual range becomes -1 to 1"""
NUM_CRITERIA = len(CRITERIA)

HALF = SQUARES * 2 * LEADS * SQUARES
"""inputs of `halfkp` from one king"""


@kernel
def features(state, spec, index, value):
    if spec[0] == MATERIAL:
        return add_material(state, 0, 0, index, value)
    if spec[0] == HALFKP:
        n = add_half(state, 0, 0, index, value)
        return add_half(mirrored(state, 0), HALF, n, index, value)
    return add_tapered(state, spec[0] == EXPERT, index, value)


def weigh_places(features):
    """`Rules.weigh`: of `pieces` both phases at once, in one loop over all men."""
    by_features = weigh_features(features)

    @kernel
    def weigh(state, spec, weight, index, value):
        if spec[0] != PIECES:
            return by_features(state, spec, weight, index, value)
        one = state.knights | state.rooks | state.kings  # the bits of a kind's number, 0 pawn .. 5 king
        two, four = state.bishops | state.rooks, state.queens | state.kings
        early, late, men = 0.0, 0.0, state.me | state.opponent
        while men:
            square = lowest(men)
            men = drop_lowest(men)
            kind = (one >> square & 1) + 2 * (two >> square & 1) + 4 * (four >> square & 1)
            his = state.opponent >> square & 1
            place, sign = (square ^ 56 * his) + SQUARES * kind, np.float64(1 - 2 * his)
            early += sign * weight[place]
            late += sign * weight[place + PHASE]
        for kind, men in enumerate(kinds_of(state)[:LEADS]):
            lead = np.float64(popcount(men & state.me) - popcount(men & state.opponent))
            early += lead * weight[PLACES + kind]
            late += lead * weight[PLACES + kind + PHASE]
        middle = middle_game(state)
        return weight[len(weight) - 1] + middle * early + (1.0 - middle) * late

    return weigh


@kernel
def kinds_of(state):
    return state.pawns, state.knights, state.bishops, state.rooks, state.queens, state.kings


@kernel
def add_material(state, offset, n, index, value):
    for kind, men in enumerate(kinds_of(state)[:LEADS]):
        lead = popcount(men & state.me) - popcount(men & state.opponent)
        index[n] = offset + kind
        value[n] = lead
        n += lead != 0
    return n


# --- piece and square, tapered ----------------------------------------------------------------------------------------


@kernel
def middle_game(state):
    """1 with all pieces on the board, 0 with none but kings and pawns."""
    phase = popcount(state.knights | state.bishops) + 2 * popcount(state.rooks) + 4 * popcount(state.queens)
    return min(phase, FULL_PHASE) / FULL_PHASE


@kernel
def add_tapered(state, expert, index, value):
    """All inputs with the weight of the middle game, then the same with that of the endgame."""
    middle, n, inputs = middle_game(state), add_places(state, index, value), PHASE
    n = add_material(state, PLACES, n, index, value)
    if expert:
        n = add_criteria(state, n, index, value)
        inputs += NUM_CRITERIA
    endgame = n if middle > 0.0 else 0  # where the endgame's inputs begin
    if middle < 1.0:
        for i in range(n):
            index[endgame + i] = index[i] + inputs
            value[endgame + i] = np.float64(value[i]) * (1.0 - middle)
    for i in range(endgame):
        value[i] = np.float64(value[i]) * middle
    return endgame + n if middle < 1.0 else n


@kernel
def add_places(state, index, value):
    """Where both have the same kind of piece on the same square, seen from their sides, there is no difference."""
    offset, n = 0, 0
    for kind in kinds_of(state):
        mine, his = kind & state.me, swap_bytes(kind & state.opponent)
        men = mine ^ his
        while men:
            square = lowest(men)
            index[n] = offset + square
            value[n] = 1.0 if mine >> square & 1 else -1.0
            men = drop_lowest(men)
            n += 1
        offset += SQUARES
    return n


@kernel
def add_criteria(state, n, index, value):
    criteria = np.empty(NUM_CRITERIA)
    compare(state, criteria)
    for i in range(NUM_CRITERIA):
        index[n] = PHASE + i
        value[n] = criteria[i]
        n += criteria[i] != 0.0
    return n


@kernel
def add_half(state, offset, n, index, value):
    """What the mover sees: his king's square with each piece on its square."""
    offset += lowest(state.kings & state.me) * 2 * LEADS * SQUARES
    for side in (state.me, state.opponent):
        for kind in kinds_of(state)[:LEADS]:
            men = kind & side
            while men:
                index[n] = offset + lowest(men)
                value[n] = 1.0
                men = drop_lowest(men)
                n += 1
            offset += SQUARES
    return n


# --- criteria ---------------------------------------------------------------------------------------------------------


@kernel
def compare(state, out):
    """The criteria, mine less the opponent's, scaled; to out float64 [NUM_CRITERIA]."""
    his = np.empty(NUM_CRITERIA)
    judge_side(state, out)
    judge_side(mirrored(state, 0), his)
    for i in range(NUM_CRITERIA):
        out[i] = (out[i] - his[i]) * SCALES[i]


@kernel
def judge_side(state, out):
    """The mover's criteria, unscaled, in the order of CRITERIA."""
    out[:] = 0.0
    out[0] = state.bishops & state.me & DARK != 0 and state.bishops & state.me & ~DARK != 0
    judge_pawns(state, out[1:12])
    judge_pieces(state, out[12:20])
    judge_king(state, out[20:25])


@kernel
def fill_up(mask):
    """The squares of the mask and all above them."""
    mask |= up(mask, 8)
    mask |= up(mask, 16)
    return mask | up(mask, 32)


@kernel
def fill_down(mask):
    mask |= down(mask, 8)
    mask |= down(mask, 16)
    return mask | down(mask, 32)


@kernel
def beside(mask):
    """The squares to the left and to the right."""
    return down(mask & NOT_A, 1) | up(mask & NOT_H, 1)


@kernel
def judge_pawns(state, out):
    """isolated, doubled, backward, defended, passed on ranks 2 to 7, passed and blocked"""
    mine, his = state.pawns & state.me, state.pawns & state.opponent
    files = fill_up(fill_down(mine))
    out[0] = popcount(mine & ~beside(files))
    out[1] = popcount(mine & fill_down(down(mine, 8)))
    unsupported = mine & ~beside(fill_up(mine)) & beside(files)
    out[2] = popcount(unsupported & down(attacks_of_pawns_down(his), 8))
    out[3] = popcount(mine & pawn_attacks(mine))
    stoppers = fill_down(down(his, 8))
    passed = mine & ~(stoppers | beside(stoppers)) & ~fill_down(down(mine, 8))
    out[10] = popcount(passed & down(state.me | state.opponent, 8))
    while passed:
        out[3 + lowest(passed) // 8] += 1
        passed = drop_lowest(passed)


@kernel
def judge_pieces(state, out):
    """mobility of knights, bishops, rooks, queens; outposts; rooks on open and half-open files and on the seventh"""
    occupied, mine, his = state.me | state.opponent, state.pawns & state.me, state.pawns & state.opponent
    free = ~state.me & ~attacks_of_pawns_down(his)
    for kind in range(4):
        men = kinds_of(state)[1:5][kind] & state.me
        while men:
            out[kind] += popcount(piece_attacks(kind, lowest(men), occupied) & free)
            men = drop_lowest(men)
    reach = fill_down(attacks_of_pawns_down(his))
    out[4] = popcount(state.knights & state.me & pawn_attacks(mine) & ~reach & ~np.int64(0xFFFFFF))
    rooks, closed = state.rooks & state.me, fill_up(fill_down(mine))
    out[5] = popcount(rooks & ~closed & ~fill_up(fill_down(his)))
    out[6] = popcount(rooks & ~closed & fill_up(fill_down(his)))
    out[7] = popcount(rooks & up(np.int64(0xFF), 48))


@kernel
def piece_attacks(kind, square, occupied):
    """kind: 0 knight, 1 bishop, 2 rook, 3 queen"""
    if kind == 0:
        return knight_attacks(bit(square))
    attacks = np.int64(0)
    if kind != 2:
        attacks |= bishop_attacks(square, occupied)
    if kind != 1:
        attacks |= rook_attacks(square, occupied)
    return attacks


@kernel
def judge_king(state, out):
    """pawns of the shield, at most two ranks before the king; files at him without own pawns; attackers of his zone,
    and squares of it that they attack; rights to castle"""
    king, mine, occupied = state.kings & state.me, state.pawns & state.me, state.me | state.opponent
    zone, row = king_attacks(king) | king, king | beside(king)
    out[0] = popcount(mine & (up(row, 8) | up(row, 16)))
    out[1] = popcount(fill_down(zone) & RANK_1 & ~fill_down(mine))
    for kind in range(4):
        men = kinds_of(state)[1:5][kind] & state.opponent
        while men:
            hit = popcount(piece_attacks(kind, lowest(men), occupied) & zone)
            out[2] += hit != 0
            out[3] += hit
            men = drop_lowest(men)
    out[4] = popcount(state.castling & RANK_1)


# --- names ------------------------------------------------------------------------------------------------------------

KIND_NAMES = ("pawn", "knight", "bishop", "rook", "queen", "king")
SQUARE_NAMES = [f"{file}{rank}" for rank in range(1, 9) for file in "abcdefgh"]
PLACE_NAMES = [f"{kind}_{square}" for kind in KIND_NAMES for square in SQUARE_NAMES]
LEAD_NAMES = [f"{kind}s" for kind in KIND_NAMES[:LEADS]]


def tapered(names: list[str]) -> list[str]:
    return [f"{phase}_{name}" for phase in ("middle", "end") for name in names]


def half_names() -> list[str]:
    """In the names of the second half the opponent is `me`, and his squares are counted from his side."""
    return [
        f"{view}_king_{king}_{side}_{name}"
        for view in ("my", "his")
        for king in SQUARE_NAMES
        for side in ("me", "opponent")
        for name in PLACE_NAMES
        if not name.startswith("king_")
    ]


FEATURE_SETS = {
    "material": FeatureSet("material", (MATERIAL,), LEADS, LEADS, lambda: LEAD_NAMES),
    "pieces": FeatureSet(
        "pieces", (PIECES,), 2 * PHASE, 2 * (MEN + LEADS), lambda: tapered([*PLACE_NAMES, *LEAD_NAMES])
    ),
    "expert": FeatureSet(
        "expert",
        (EXPERT,),
        2 * (PHASE + NUM_CRITERIA),
        2 * (MEN + LEADS + NUM_CRITERIA),
        lambda: tapered([*PLACE_NAMES, *LEAD_NAMES, *CRITERIA]),
    ),
    "halfkp": FeatureSet("halfkp", (HALFKP,), 2 * HALF, 2 * (MEN - 2), half_names),
}
