"""Chess by FIDE's Laws, Chess960 included.

The board is seen from the side to move, whose men move up; `play` mirrors the ranks, so that files keep their names.
Fields of a `State` are masks of 64 squares (`boards.py`):

    8  56 57 58 59 60 61 62 63     a move is   bits 0-5    the square it leaves
    7  48 49 50 51 52 53 54 55                 bits 6-11   the square it enters
    6  40 41 42 43 44 45 46 47                 bits 12-14  what a pawn becomes: 1 knight, 2 bishop, 3 rook, 4 queen
    5  32 33 34 35 36 37 38 39
    4  24 25 26 27 28 29 30 31     A castling king enters the square of his rook: in Chess960 he may stay where he is,
    3  16 17 18 19 20 21 22 23     or go one step, and no other move enters a square of one's own.
    2   8  9 10 11 12 13 14 15
    1   0  1  2  3  4  5  6  7
        a  b  c  d  e  f  g  h

Legal moves are generated without trying them out. What gives check, and which men are pinned, is known first: in check
a move must capture the checking man or step between; a pinned man stays on the line of the pin; the king avoids what
the opponent attacks through him. Only en passant, where two men leave one line at once, is tried out.

The game is drawn by stalemate, after 100 plies without capture or pawn move (what a player may claim is claimed at
once; checkmate comes first), and with men that cannot mate by any series of moves: bare kings, one knight, or bishops
on squares of one colour. The third occurrence of a position is a draw of the game, not of a position: `repetition_key`
and `reversible` tell `envs/path.py` what it needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import bit, down, drop_lowest, fold, lowest, popcount, swap_bytes, up
from deltaw.envs.games.chess.boards import (
    DARK,
    NOT_A,
    NOT_H,
    RANK,
    RANK_1,
    RANK_3,
    attacks_of_pawns_down,
    between,
    bishop_attacks,
    king_attacks,
    knight_attacks,
    line_through,
    pawn_attacks,
    rook_attacks,
    seen,
    span,
)
from deltaw.envs.kernel import kernel

CELLS = 64
MAX_MOVES = 218
"""the most of any position that can arise"""
ROOM = 9 * 27 + 2 * 14 + 2 * 13 + 2 * 8 + 8 + 2
"""more moves than 16 men can have, wherever they stand: nine queens, the other pieces, a king who may castle"""
KNIGHT, BISHOP, ROOK, QUEEN = 1, 2, 3, 4
"""what a pawn can become, as in a move"""
DRAWN_AFTER = 100
"""plies without capture or pawn move: the 50-move rule"""
OCCURRENCES = 3
"""of a position, with which the game is drawn"""
CLOCK_FROM = 60
"""plies on the clock from which on `key` tells positions by it: before that no search of 40 plies meets the rule"""
C1, D1, F1, G1 = 2, 3, 5, 6

SALTS = (
    0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179, 0x3C6EF372FE94F82B, 0x510E527FADE682D1,
    0x6A09E667F3BCC908, 0x2B7E151628AED2A6, 0x452821E638D01377, 0x13198A2E03707344,
)  # fmt: skip
"""random bits for the keys: from the constants of SHA-512 and Blowfish, and from e, below 2^63"""


class State(NamedTuple):
    me: int
    """all men of the mover"""
    opponent: int
    pawns: int
    """of both sides, like the other kinds"""
    knights: int
    bishops: int
    rooks: int
    queens: int
    kings: int
    castling: int
    """the rooks with which a king may still castle"""
    en_passant: int
    """the square a pawn has just passed, if a pawn may legally capture it there"""
    clock: int
    """plies since the last capture or pawn move"""
    move_number: int
    """counted by pairs of moves, from 1"""
    seat: int


@kernel
def initial():
    return State(
        me=np.int64(0xFFFF),
        opponent=swap_bytes(np.int64(0xFFFF)),
        pawns=both_sides(0xFF00),
        knights=both_sides(0x42),
        bishops=both_sides(0x24),
        rooks=both_sides(0x81),
        queens=both_sides(0x08),
        kings=both_sides(0x10),
        castling=both_sides(0x81),
        en_passant=np.int64(0),
        clock=np.int64(0),
        move_number=np.int64(1),
        seat=np.int64(0),
    )


@kernel
def both_sides(mask):
    return np.int64(mask) | swap_bytes(np.int64(mask))


@kernel
def seat(state):
    return state.seat


# --- attacks and pins -------------------------------------------------------------------------------------------------


@kernel
def attackers(state, square, occupied):
    """The opponent's men that attack a square, the board being `occupied` as given."""
    there = bit(square)
    men = knight_attacks(there) & state.knights | pawn_attacks(there) & state.pawns | king_attacks(there) & state.kings
    men |= bishop_attacks(square, occupied) & (state.bishops | state.queens)
    men |= rook_attacks(square, occupied) & (state.rooks | state.queens)
    return men & state.opponent


@kernel
def attacked(state, occupied):
    """All squares that the opponent's men attack, the board being `occupied` as given."""
    opponent = state.opponent
    squares = attacks_of_pawns_down(state.pawns & opponent) | knight_attacks(state.knights & opponent)
    squares |= king_attacks(state.kings & opponent)
    sliders = (state.bishops | state.queens) & opponent
    while sliders:
        squares |= bishop_attacks(lowest(sliders), occupied)
        sliders = drop_lowest(sliders)
    sliders = (state.rooks | state.queens) & opponent
    while sliders:
        squares |= rook_attacks(lowest(sliders), occupied)
        sliders = drop_lowest(sliders)
    return squares


@kernel
def in_check(state):
    return attackers(state, lowest(state.kings & state.me), state.me | state.opponent) != 0


@kernel
def pinned_men(state, king):
    """The mover's men that alone stand between their king and a slider."""
    pinners = bishop_attacks(king, state.opponent) & (state.bishops | state.queens)
    pinners |= rook_attacks(king, state.opponent) & (state.rooks | state.queens)
    pinners &= state.opponent
    pinned = np.int64(0)
    while pinners:
        men = between(king, lowest(pinners)) & state.me
        if drop_lowest(men) == 0:
            pinned |= men
        pinners = drop_lowest(pinners)
    return pinned


# --- legal moves ------------------------------------------------------------------------------------------------------


@kernel
def legal_moves(state, out):
    """Captures and promotions first."""
    occupied, king = state.me | state.opponent, lowest(state.kings & state.me)
    checkers, pinned = attackers(state, king, occupied), pinned_men(state, king)
    safe = ~attacked(state, occupied & ~bit(king))
    targets = ~state.me & answering(checkers, king)
    n = add_pieces(state, king, pinned, targets, out, 0)
    n = add_pawns(state, king, pinned, targets, out, n)
    if state.en_passant:
        n = add_en_passant(state, out, n)
    if checkers == 0 and state.castling & RANK_1:
        n = add_castling(state, king, safe, out, n)
    n = add_moves(king, king_attacks(bit(king)) & ~state.me & safe, out, n)
    noisy_first(state, out, n)
    return n


@kernel
def answering(checkers, king):
    """The squares that another man than the king may enter: those of the checking man and before him, and of two checks
    at once none answers both."""
    if checkers == 0:
        return ~np.int64(0)
    return checkers | between(king, lowest(checkers)) if drop_lowest(checkers) == 0 else np.int64(0)


@kernel
def add_moves(origin, targets, out, n):
    while targets:
        out[n] = origin | lowest(targets) << 6
        targets = drop_lowest(targets)
        n += 1
    return n


@kernel
def add_pieces(state, king, pinned, targets, out, n):
    """Knights, bishops, rooks and queens; a pinned knight can never move."""
    occupied = state.me | state.opponent
    pieces = state.knights & state.me & ~pinned
    while pieces:
        piece = lowest(pieces)
        n = add_moves(piece, knight_attacks(bit(piece)) & targets, out, n)
        pieces = drop_lowest(pieces)
    pieces = (state.bishops | state.queens) & state.me
    while pieces:
        piece = lowest(pieces)
        n = add_moves(piece, bishop_attacks(piece, occupied) & along_pin(king, pinned, piece, targets), out, n)
        pieces = drop_lowest(pieces)
    pieces = (state.rooks | state.queens) & state.me
    while pieces:
        piece = lowest(pieces)
        n = add_moves(piece, rook_attacks(piece, occupied) & along_pin(king, pinned, piece, targets), out, n)
        pieces = drop_lowest(pieces)
    return n


@kernel
def along_pin(king, pinned, man, targets):
    """The targets of a man, who stays on the line of his pin if he is pinned."""
    return targets & line_through(king, man) if pinned & bit(man) else targets


@kernel
def add_pawns(state, king, pinned, targets, out, n):
    """All free pawns at once, then the pinned ones."""
    pawns, empty = state.pawns & state.me, ~(state.me | state.opponent)
    group, pinned, allowed = pawns & ~pinned, pawns & pinned, targets
    while True:
        n = add_steps(up(group & NOT_A, 7) & state.opponent & allowed, 7, out, n)
        n = add_steps(up(group & NOT_H, 9) & state.opponent & allowed, 9, out, n)
        ahead = up(group, 8) & empty
        n = add_steps(ahead & allowed, 8, out, n)
        n = add_steps(up(ahead & RANK_3, 8) & empty & allowed, 16, out, n)
        if pinned == 0:
            return n
        pawn = lowest(pinned)
        group, pinned, allowed = bit(pawn), drop_lowest(pinned), targets & line_through(king, pawn)


@kernel
def add_steps(targets, distance, out, n):
    """Moves of pawns that have come so far to the targets."""
    while targets:
        target = lowest(targets)
        targets = drop_lowest(targets)
        move = target - distance | target << 6
        if target < 56:
            out[n] = move
            n += 1
        else:
            for piece in range(QUEEN, 0, -1):
                out[n] = move | piece << 12
                n += 1
    return n


@kernel
def add_en_passant(state, out, n):
    takers = en_passant_takers(state, state.en_passant)
    while takers:
        out[n] = lowest(takers) | lowest(state.en_passant) << 6
        takers = drop_lowest(takers)
        n += 1
    return n


@kernel
def en_passant_takers(state, passed):
    """The mover's pawns that may capture the one that has just passed a square: then their king is not attacked."""
    victim, takers = down(passed, 8), np.int64(0)
    pawns = attacks_of_pawns_down(passed) & state.pawns & state.me
    while pawns:
        pawn = bit(lowest(pawns))
        occupied = (state.me | state.opponent) & ~pawn & ~victim | passed
        if attackers(state, lowest(state.kings & state.me), occupied) & ~victim == 0:
            takers |= pawn
        pawns = drop_lowest(pawns)
    return takers


@kernel
def add_castling(state, king, safe, out, n):
    """The king, who is not in check, goes to c1 or g1 and the rook beside him to d1 or f1. Every square on their ways
    is empty but for the two, and the king's are not attacked; nor is his last one through the place that the rook left.
    """
    occupied = state.me | state.opponent
    rooks = state.castling & RANK_1
    while rooks:
        rook = lowest(rooks)
        rooks = drop_lowest(rooks)
        king_to, rook_to = castled_squares(king, rook)
        others = occupied & ~bit(king) & ~bit(rook)
        way = span(king, king_to)
        if (way | span(rook, rook_to)) & others or way & ~safe:
            continue
        through = seen(RANK, king_to, others | bit(rook_to))
        if through & (state.rooks | state.queens) & state.opponent == 0:
            out[n] = king | rook << 6
            n += 1
    return n


@kernel
def castled_squares(king, rook):
    """(square of the king, square of the rook) after castling."""
    return (G1, F1) if rook > king else (C1, D1)


@kernel
def noisy(state, move):
    """A capture or a promotion."""
    men = state.opponent | (state.en_passant if bit(move & 63) & state.pawns else 0)
    return (bit(move >> 6 & 63) & men | move >> 12) != 0


@kernel
def noisy_first(state, out, n):
    """Puts noisy moves first: each move changes places with the first quiet one, which takes no branch."""
    quiet = 0
    for i in range(n):
        move = out[i]
        out[i], out[quiet] = out[quiet], move
        quiet += noisy(state, move)


# --- playing a move ---------------------------------------------------------------------------------------------------


@kernel
def play(state, move):
    origin, target = bit(move & 63), bit(move >> 6 & 63)
    if target & state.me:
        return castle(state, lowest(origin), lowest(target))
    pawn = origin & state.pawns != 0
    victim = target
    if pawn and target == state.en_passant:
        victim = down(target, 8)
    quiet = not pawn and target & state.opponent == 0
    gone = ~(origin | victim)
    promoted, passed = move >> 12, np.int64(0)
    if pawn and target == up(origin, 16):
        passed = up(origin, 8)
    castling = state.castling & gone
    if origin & state.kings:
        castling &= ~RANK_1
    moved = State(
        state.me & gone | target,
        state.opponent & gone,
        state.pawns & gone | (target if pawn and promoted == 0 else 0),
        state.knights & gone | (target if origin & state.knights or promoted == KNIGHT else 0),
        state.bishops & gone | (target if origin & state.bishops or promoted == BISHOP else 0),
        state.rooks & gone | (target if origin & state.rooks or promoted == ROOK else 0),
        state.queens & gone | (target if origin & state.queens or promoted == QUEEN else 0),
        state.kings & gone | (target if origin & state.kings else 0),
        castling,
        passed,
        state.clock + 1 if quiet else 0,
        state.move_number,
        state.seat,
    )
    return turn_passed(moved)


@kernel
def castle(state, king, rook):
    king_to, rook_to = castled_squares(king, rook)
    gone = ~(bit(king) | bit(rook))
    moved = State(
        state.me & gone | bit(king_to) | bit(rook_to),
        state.opponent,
        state.pawns,
        state.knights,
        state.bishops,
        state.rooks & gone | bit(rook_to),
        state.queens,
        state.kings & gone | bit(king_to),
        state.castling & ~RANK_1,
        np.int64(0),
        state.clock + 1,
        state.move_number,
        state.seat,
    )
    return turn_passed(moved)


@kernel
def turn_passed(state):
    """The position for the opponent. The square that a pawn has just passed is kept only where he may capture there."""
    turned = mirrored(state, state.en_passant)
    if turned.en_passant and en_passant_takers(turned, turned.en_passant) == 0:
        return mirrored(state, np.int64(0))
    return turned


@kernel
def mirrored(state, en_passant):
    """The board as the opponent sees it, whose turn it is."""
    return State(
        swap_bytes(state.opponent),
        swap_bytes(state.me),
        swap_bytes(state.pawns),
        swap_bytes(state.knights),
        swap_bytes(state.bishops),
        swap_bytes(state.rooks),
        swap_bytes(state.queens),
        swap_bytes(state.kings),
        swap_bytes(state.castling),
        swap_bytes(np.int64(en_passant)),
        state.clock,
        state.move_number + state.seat,
        1 - state.seat,
    )


@kernel
def null(state):
    """The turn passed, outside check and with a piece beside the pawns: without one, zugzwang is common. Nothing from
    before it can be repeated through it: the clock begins anew."""
    if state.me & ~state.pawns & ~state.kings == 0 or in_check(state):
        return state
    passed = mirrored(state, 0)
    return State(
        passed.me, passed.opponent, passed.pawns, passed.knights, passed.bishops, passed.rooks, passed.queens,
        passed.kings, passed.castling, passed.en_passant, np.int64(0), passed.move_number, passed.seat,
    )  # fmt: skip


# --- the end ----------------------------------------------------------------------------------------------------------


@kernel
def outcome(state):
    if not can_move(state):
        return True, -np.int64(in_check(state))
    return state.clock >= DRAWN_AFTER or is_dead(state), np.int64(0)


@kernel
def can_move(state):
    """Whether there is a legal move. Outside check, a man on no line with his king is not pinned: if such a pawn can
    step, or the king, the moves need not be generated."""
    king, occupied = lowest(state.kings & state.me), state.me | state.opponent
    free = state.pawns & state.me & ~(rook_attacks(king, 0) | bishop_attacks(king, 0))
    if up(free, 8) & ~occupied and not in_check(state):
        return True
    steps = king_attacks(bit(king)) & ~state.me
    while steps:
        if attackers(state, lowest(steps), occupied & ~bit(king)) == 0:
            return True
        steps = drop_lowest(steps)
    return legal_moves(state, np.empty(ROOM, np.int64)) > 0


@kernel
def is_dead(state):
    """These men cannot mate by any series of moves."""
    if state.pawns | state.rooks | state.queens:
        return False
    if state.knights:
        return state.bishops == 0 and popcount(state.knights) == 1
    return state.bishops & DARK == 0 or state.bishops & ~DARK == 0


# --- keys -------------------------------------------------------------------------------------------------------------


@kernel
def key(state):
    """Of the position as the mover sees it: his colour and the number of the move do not matter, and the clock does
    from CLOCK_FROM on."""
    return scramble(state, max(state.clock - CLOCK_FROM, 0))


@kernel
def repetition_key(state):
    """Equal for positions that are the same by the rule of repetition: men, side to move, castling and en passant."""
    return scramble(state, state.seat)


@kernel
def reversible(state):
    """How many of the last moves could be undone: positions before them cannot be repeated."""
    return state.clock


@kernel
def scramble(state, number):
    """A hash of the board with a small number: products of words in pairs, all at once. Castling rights stand on the
    outer ranks, a square passed on the sixth, and the number between them."""
    rights = state.castling | state.en_passant | number << 8
    return (
        fold(state.me ^ SALTS[0], state.opponent ^ SALTS[1])
        ^ fold(state.pawns ^ SALTS[2], state.knights ^ SALTS[3])
        ^ fold(state.bishops ^ SALTS[4], state.rooks ^ SALTS[5])
        ^ fold(state.queens ^ SALTS[6], rights ^ SALTS[7])
    )


@kernel
def cells(state, out):
    """Rank by rank from the top, as the mover sees it: 0 empty, 1 to 6 a pawn, knight, bishop, rook, queen, king of
    mine, 7 to 12 the opponent's."""
    out[:] = 0
    kinds = (state.pawns, state.knights, state.bishops, state.rooks, state.queens, state.kings)
    for kind, men in enumerate(kinds):
        while men:
            square = lowest(men)
            out[square ^ 56] = kind + (1 if bit(square) & state.me else 7)
            men = drop_lowest(men)
