"""Turing's paper machine (Turochamp, 1948 to 1952): a program that was carried out by hand.

It tries all its moves and all replies. Behind them it follows only *considerable* moves: recaptures, captures of
undefended men or by men of less value, and mates. Whoever is on turn may stand pat. A position from which no
considerable move is made is *dead* and is worth the ratio of what both sides have on the board. Among moves that are
equal by that, the one decides after which *position play* is worth most.

Position play is counted in tenths of a point, for the side that has moved alone:

    queen, rooks, bishops, knights   the square root of the number of their moves, a capture counting twice
    rooks, bishops, knights          1 if defended, 1.5 if defended twice or more
    king                             the root of the number of his moves, without castling; less that of the moves
                                     that a queen would have in his place
    castling                         1 if it is still possible at some time, 1 if it is possible at once, 1 if done now
    pawns                            0.2 a rank advanced, 0.3 if defended by a piece
    threats                          1 for a threat of mate, 0.5 for a check

The ratio W / B enters as (W - B) / (W + B), which orders positions in the same way and changes sign with the side.

Source: A. Turing, "Chess", in B. Bowden, "Faster than Thought" (1953); the typescript is AMT/B/7 of the Turing
archive.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount
from deltaw.envs.games.chess.boards import RANK_1, bishop_attacks, rook_attacks
from deltaw.envs.games.chess.rules import (
    ROOM,
    attackers,
    can_move,
    in_check,
    legal_moves,
    mirrored,
    outcome,
    play,
)
from deltaw.envs.kernel import kernel

PIECE_VALUES = np.array([1.0, 3.0, 3.5, 5.0, 10.0, np.inf])
"""pawn, knight, bishop, rook, queen, king"""
BELOW_MATE = 0.99
"""what a side without an opponent's man but his king is worth: less than mate"""
TIE = 1e-9
"""of a tenth of a point of position play: all of it is less than the least difference of two ratios, 2 / 412^2, since
no side's men are worth more than 103"""
NOWHERE = -1


@kernel
def turochamp(parent, move, child):
    """How good the move that leads from `parent` to `child` is."""
    order = TIE * (position_play(mirrored(child, 0)) + 10 * is_castling(parent, move))
    over, result = outcome(child)
    if over:
        return order - result
    worst = np.inf
    replies = np.empty(ROOM, np.int64)
    for i in range(legal_moves(child, replies)):
        worst = min(worst, dead_value(play(child, replies[i]), captured_on(child, replies[i]), -np.inf, worst))
    return worst + order


@kernel
def dead_value(state, retaken, alpha, beta):
    """Value for the mover of the dead position to which considerable moves lead from `state`, fail-soft; `retaken`: the
    square where the opponent has just captured, or NOWHERE."""
    over, result = outcome(state)
    if over:
        return np.float64(result)
    best = material_value(state)
    moves = np.empty(ROOM, np.int64)
    for i in range(legal_moves(state, moves)):
        if best >= beta:
            break
        child = play(state, moves[i])
        if is_considerable(state, moves[i], retaken, child):
            square = captured_on(state, moves[i])
            best = max(best, -dead_value(child, square, -beta, -max(alpha, best)))
    return best


@kernel
def material_value(state):
    mine, his = 0.0, 0.0
    kinds = (state.pawns, state.knights, state.bishops, state.rooks, state.queens)
    for kind, men in enumerate(kinds):
        mine += PIECE_VALUES[kind] * popcount(men & state.me)
        his += PIECE_VALUES[kind] * popcount(men & state.opponent)
    return BELOW_MATE * (mine - his) / (mine + his)


@kernel
def is_considerable(state, move, retaken, child):
    target = captured_on(state, move)
    if target == NOWHERE:
        return is_mate(child)
    target ^= 56
    lesser = PIECE_VALUES[kind_at(state, move & 63)] < PIECE_VALUES[kind_at(state, target)]
    behind = (state.me | state.opponent) & ~bit(move & 63)
    return target == retaken or lesser or attackers(state, target, behind) == 0 or is_mate(child)


@kernel
def captured_on(state, move):
    """The square that a capture enters, as the opponent sees it; NOWHERE for other moves."""
    passed = state.en_passant if bit(move & 63) & state.pawns else np.int64(0)
    return (move >> 6 & 63) ^ 56 if bit(move >> 6 & 63) & (state.opponent | passed) else np.int64(NOWHERE)


@kernel
def kind_at(state, square):
    """0 pawn .. 5 king; an empty square, which a pawn has passed, counts as a pawn."""
    there = bit(square)
    kinds = (state.pawns, state.knights, state.bishops, state.rooks, state.queens, state.kings)
    found = 0
    for kind, men in enumerate(kinds):
        if men & there:
            found = kind
    return found


@kernel
def is_mate(state):
    return in_check(state) and not can_move(state)


@kernel
def is_castling(state, move):
    return bit(move >> 6 & 63) & state.me != 0


# --- position play ----------------------------------------------------------------------------------------------------


@kernel
def position_play(state):
    """Position play of the mover, in tenths, as though it were his turn once more after the move that he has made."""
    other, occupied = mirrored(state, 0), state.me | state.opponent
    gives_check = in_check(other)
    counts = np.zeros(64, np.int64)
    castles, mates = False, False
    moves = np.empty(ROOM, np.int64)
    for i in range(legal_moves(state, moves)):
        if is_castling(state, moves[i]):
            castles = True
            continue
        counts[moves[i] & 63] += 2 if bit(moves[i] >> 6 & 63) & state.opponent else 1
        mates = mates or (not gives_check and is_mate(play(state, moves[i])))
    total = 10 * (np.int64(state.castling & RANK_1 != 0) + castles + mates) + 5 * gives_check
    men = state.me
    while men:
        square = lowest(men)
        men = drop_lowest(men)
        there, defenders = bit(square), attackers(other, square ^ 56, other.me | other.opponent)
        if there & state.pawns:
            total += 2 * (square // 8 - 1) + 3 * (defenders & ~other.pawns != 0)
            continue
        total += root(counts[square])
        if there & state.kings:
            lines = bishop_attacks(square, occupied) | rook_attacks(square, occupied)
            total -= root(popcount(lines & ~state.me) + popcount(lines & state.opponent))
        elif not there & state.queens and defenders:
            total += 10 if drop_lowest(defenders) == 0 else 15
    return total


@kernel
def root(number):
    """The square root in tenths, rounded."""
    return np.int64(10 * np.sqrt(number) + 0.5)
