"""Captures and promotions for the searches: generated alone, in a good order, and judged by exchanging men.

The order is MVV-LVA: the most valuable victim first, of equal victims the least valuable captor first. *Static exchange
evaluation* plays out the captures on one square, each side with its least valuable man, as long as it pays; pins are
overlooked.

Sources: <https://www.chessprogramming.org/MVV-LVA>, <https://www.chessprogramming.org/Static_Exchange_Evaluation>.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest
from deltaw.envs.games.chess.boards import (
    RANK_8,
    attacks_of_pawns_down,
    bishop_attacks,
    king_attacks,
    knight_attacks,
    pawn_attacks,
    rook_attacks,
)
from deltaw.envs.games.chess.rules import (
    BISHOP,
    QUEEN,
    ROOK,
    add_en_passant,
    add_pawns,
    add_pieces,
    answering,
    attackers,
    noisy,
    pinned_men,
)
from deltaw.envs.kernel import kernel

MOVE_BITS = 15
VICTIM = 16
"""what a victim counts in the order against the captor, who is worth less than this"""


@kernel
def noisy_moves(state, out):
    """By MVV-LVA; a move and its place in the order are one number while they are sorted."""
    occupied, king = state.me | state.opponent, lowest(state.kings & state.me)
    checkers, pinned = attackers(state, king, occupied), pinned_men(state, king)
    targets = answering(checkers, king)
    n = add_pieces(state, king, pinned, targets & state.opponent, out, 0)
    n = add_pawns(state, king, pinned, targets & (state.opponent | RANK_8), out, n)
    if state.en_passant:
        n = add_en_passant(state, out, n)
    victims = king_attacks(bit(king)) & state.opponent
    while victims:
        if attackers(state, lowest(victims), occupied & ~bit(king)) == 0:
            out[n] = king | lowest(victims) << 6
            n += 1
        victims = drop_lowest(victims)
    for i in range(n):
        move = out[i]
        won, risked = stakes(state, move)
        ranked = (VICTIM * won - risked) << MOVE_BITS | move
        j = i
        while j > 0 and out[j - 1] < ranked:
            out[j] = out[j - 1]
            j -= 1
        out[j] = ranked
    for i in range(n):
        out[i] &= (1 << MOVE_BITS) - 1
    return n


@kernel
def gain(state, move):
    """Above 0 by MVV-LVA; below 0 for a move that loses by exchanging, or makes a rook or bishop where a queen could be
    made."""
    if not noisy(state, move):
        return np.int64(0)
    if move >> 12 == ROOK or move >> 12 == BISHOP:
        return np.int64(-1)
    won, risked = stakes(state, move)
    if won < risked and not pays(state, bit(move & 63), move >> 6 & 63, won, risked):
        return won - risked
    return VICTIM * won - risked


@kernel
def stakes(state, move):
    """(what a noisy move wins at once, what the man is worth who then stands on the square), in pawns. Nobody captures
    the king: he risks nothing."""
    origin, target, promoted = bit(move & 63), bit(move >> 6 & 63), move >> 12
    won, risked = worth(state, target & state.opponent), worth(state, origin)
    if promoted:
        risked = np.int64(9) if promoted == QUEEN else np.int64(5) if promoted == ROOK else np.int64(3)
        won += risked - 1
    elif won == 0:
        won = np.int64(1)  # en passant
    return won, risked


@kernel
def worth(state, men):
    """Of a single man, in pawns: 1, 3, 3, 5, 9; 0 for a king and for nobody."""
    pawn, minor = men & state.pawns != 0, men & (state.knights | state.bishops) != 0
    return np.int64(pawn + 3 * minor + 5 * (men & state.rooks != 0) + 9 * (men & state.queens != 0))


@kernel
def pays(state, origin, square, won, risked):
    """Whether a move that wins so much does not lose more when the exchange goes on. `stake` is what the side to
    capture gets beyond what it must at least get if it captures and nothing follows."""
    occupied = (state.me | state.opponent) & ~origin | bit(square)
    side, other, stake, mine = state.opponent, state.me, risked - won, True
    while True:
        everybody = all_attackers(state, square, occupied) & occupied
        if everybody & side == 0:
            return mine
        mine = not mine
        man = least_valuable(state, everybody & side)
        if man & state.kings:  # he may capture only if nobody captures back
            return mine if everybody & other == 0 else not mine
        stake = worth(state, man) - stake
        if stake < (1 if mine else 0):
            return mine
        occupied &= ~man
        side, other = other, side


@kernel
def all_attackers(state, square, occupied):
    """The men of both sides that attack a square, the board being `occupied` as given."""
    there = bit(square)
    men = knight_attacks(there) & state.knights | king_attacks(there) & state.kings
    men |= pawn_attacks(there) & state.pawns & state.opponent
    men |= attacks_of_pawns_down(there) & state.pawns & state.me
    men |= bishop_attacks(square, occupied) & (state.bishops | state.queens)
    return men | rook_attacks(square, occupied) & (state.rooks | state.queens)


@kernel
def least_valuable(state, men):
    """One of the men, as a mask. Precondition: there is one."""
    for kind in (state.pawns, state.knights, state.bishops, state.rooks, state.queens):
        if men & kind:
            return bit(lowest(men & kind))
    return men
