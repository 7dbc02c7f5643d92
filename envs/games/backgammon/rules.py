"""Backgammon's rules: all legal plays of a roll in a few microseconds.

A side's 15 checkers are four bit planes of 25 bits, two to an integer. Seen from that side's own end,
bits 0..23 are its points 1..24 and bit 24 is its bar; plane k holds the bits of weight 2^k of the count on every point:

    low  = plane 0 | plane 1 << 32          count on a point = p0 + 2 p1 + 4 p2 + 8 p3
    high = plane 2 | plane 3 << 32          borne off        = 15 - all counts

So "which of my checkers can move d" is one line of mask arithmetic. Neither side's numbers change when the turn passes:
`play` swaps them. My point p and the opponent's point 25 - p are the same place (his bit 23 - i is my bit i).

A move code is the sources in the order played, five bits each (1..24 points, 25 bar, 0 nothing), and bit 20 set when
the lower die is played first. Code 0 is a pass.

Rules: as many dice as possible must be played; where only one of two can, the higher if it can; checkers on the bar
enter first; bearing off needs all 15 at home, by the exact point or with a larger die from the rearmost. Cubeless money
play: 1, gammon 2, backgammon 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import highest, lowest, popcount, reverse
from deltaw.envs.kernel import kernel

BAR = 24
"""bit of the bar in a plane"""
BOARD = (1 << 24) - 1
PLANE = (1 << 25) - 1
HOME = 0x3F

OPENING = -1
"""`State.roll` before the first roll of a game, which is no double"""

MAX_MOVES = 3060
"""ways to share four moves of a double among 15 checkers: C(18, 4)"""
MAX_PARTIAL = 15 + 120 + 680
"""ways to share one, two and three moves"""

DICE_HIGH = np.array([0] + [high for high in range(1, 7) for _ in range(high)], np.int64)
DICE_LOW = np.array([0] + [low for high in range(1, 7) for low in range(1, high + 1)], np.int64)
"""roll 1..21 -> its dice: 1-1, 2-1, 2-2, 3-1, ... 6-6; roll = high (high - 1) / 2 + low"""
OPENING_ROLLS = np.array([roll for roll in range(1, 22) if DICE_HIGH[roll] != DICE_LOW[roll]], np.int64)

LOWER_FIRST = 1 << 20


class State(NamedTuple):
    me_low: int
    me_high: int
    opponent_low: int
    opponent_high: int
    roll: int
    """0: to be rolled; 1..21: rolled, a decision; OPENING"""
    seat: int


# --- checkers on bit planes ---------------------------------------------------------------------------------


@kernel
def occupied(low, high):
    """Bits 0..24 where the side has a checker."""
    return (low | low >> 32 | high | high >> 32) & PLANE


@kernel
def stacked(low, high):
    """Bits 0..24 where the side has two or more."""
    return (low >> 32 | high | high >> 32) & PLANE


@kernel
def count(low, high, bit):
    """Checkers on one point, by its bit number."""
    return (low >> bit & 1) + 2 * (low >> 32 + bit & 1) + 4 * (high >> bit & 1) + 8 * (high >> 32 + bit & 1)


@kernel
def on_board(low, high):
    """Checkers not yet borne off, the bar included."""
    return popcount(low & PLANE) + 2 * popcount(low >> 32) + 4 * popcount(high & PLANE) + 8 * popcount(high >> 32)


@kernel
def pips(low, high):
    """Sum over checkers of the points they still have to travel; the bar counts 25."""
    total = np.int64(0)
    mask = occupied(low, high)
    while mask:
        bit = lowest(mask)
        total += (bit + 1) * count(low, high, bit)
        mask &= mask - 1
    return total


@kernel
def mirror(mask):
    """A mask of one side's points 1..24 as the other side numbers them."""
    return reverse(mask & BOARD) >> 40 & BOARD


@kernel
def take(low, high, bit):
    """One checker less on the point of mask `bit` (which has one): subtract 1 with a borrow from plane to plane."""
    borrow1 = bit & ~low
    borrow2 = borrow1 & ~(low >> 32)
    borrow3 = borrow2 & ~high
    return low ^ (bit | borrow1 << 32), high ^ (borrow2 | borrow3 << 32)


@kernel
def put(low, high, bit):
    """One checker more: add 1 with a carry from plane to plane."""
    carry1 = bit & low
    carry2 = carry1 & low >> 32
    carry3 = carry2 & high
    return low ^ (bit | carry1 << 32), high ^ (carry2 | carry3 << 32)


@kernel
def movable(low, high, blocked, die):
    """Mask of the sources from which one checker may move `die` points; `blocked`: points the opponent holds, as
    mine."""
    mine = occupied(low, high)
    if mine >> BAR:
        return np.int64(0) if blocked >> (BAR - die) & 1 else np.int64(1) << BAR
    sources = mine >> die << die & ~(blocked << die)
    if mine >> 6 == 0:
        if mine >> (die - 1):
            sources |= mine & 1 << (die - 1)
        elif mine:
            sources |= np.int64(1) << highest(mine)
    return sources


@kernel
def advance(low, high, source, die):
    """The side's checkers after one moves `die` points from bit `source`; and the mask of its landing point (0:
    off)."""
    low, high = take(low, high, np.int64(1) << source)
    landing = np.int64(1) << source >> die
    if landing:
        low, high = put(low, high, landing)
    return low, high, landing


@kernel
def hit(low, high, mask):
    """The opponent's checkers after his blots in `mask` (my numbering) went to the bar."""
    while mask:
        low ^= np.int64(1) << (23 - lowest(mask))
        low, high = put(low, high, np.int64(1) << BAR)
        mask &= mask - 1
    return low, high


# --- legal plays ----------------------------------------------------------------------------------------------


@kernel
def emit(state, low, high, hits, code, n, moves, rows):
    """Write result number n, the opponent on roll."""
    opponent_low, opponent_high = hit(state.opponent_low, state.opponent_high, hits)
    moves[n] = code
    row = rows[n]
    row[0] = opponent_low
    row[1] = opponent_high
    row[2] = low
    row[3] = high
    row[4] = 0
    row[5] = 1 - state.seat


@kernel
def is_new(rows, n):
    """Whether row n differs from rows 0..n-1. Hit blots show in column 0, so three columns decide."""
    a, b, c = rows[n, 2], rows[n, 3], rows[n, 0]
    for i in range(n):  # noqa: SIM110 - compiled
        if rows[i, 2] == a and rows[i, 3] == b and rows[i, 0] == c:
            return False
    return True


@kernel
def play_two(state, blocked, blots, first, second, lower_first, n, moves, rows):
    """Append the distinct results of playing die `first`, then die `second`."""
    sources = movable(state.me_low, state.me_high, blocked, first)
    while sources:
        a = lowest(sources)
        sources &= sources - 1
        low1, high1, landing = advance(state.me_low, state.me_high, a, first)
        hits1 = landing & blots
        others = movable(low1, high1, blocked, second)
        while others:
            b = lowest(others)
            others &= others - 1
            low2, high2, landing = advance(low1, high1, b, second)
            emit(state, low2, high2, hits1 | landing & blots, a + 1 | (b + 1) << 5 | lower_first, n, moves, rows)
            n += is_new(rows, n)
    return n


@kernel
def play_one(state, blocked, blots, die, lower_first, n, moves, rows):
    """Append the results of playing one die only; different sources give different results."""
    sources = movable(state.me_low, state.me_high, blocked, die)
    while sources:
        a = lowest(sources)
        sources &= sources - 1
        low, high, landing = advance(state.me_low, state.me_high, a, die)
        emit(state, low, high, landing & blots, a + 1 | lower_first, n, moves, rows)
        n += 1
    return n


@kernel
def play_double(state, blocked, blots, die, moves, rows):
    """All results of a double.

    With sources in non-increasing order no result comes twice: moves by one die change the counts by linearly
    independent vectors. Level by level, so the last level that is not empty plays as many dice as possible.
    """
    partial = np.empty((MAX_PARTIAL + 1, 5), np.int64)  # low, high, hits, code, last source
    partial[0, 0] = state.me_low
    partial[0, 1] = state.me_high
    partial[0, 2] = 0
    partial[0, 3] = 0
    partial[0, 4] = BAR
    begin, end = 0, 1
    for level in range(3):
        filled = end
        for i in range(begin, end):
            sources = movable(partial[i, 0], partial[i, 1], blocked, die) & (np.int64(2) << partial[i, 4]) - 1
            while sources:
                a = lowest(sources)
                sources &= sources - 1
                low, high, landing = advance(partial[i, 0], partial[i, 1], a, die)
                partial[filled, 0] = low
                partial[filled, 1] = high
                partial[filled, 2] = partial[i, 2] | landing & blots
                partial[filled, 3] = partial[i, 3] | (a + 1) << 5 * level
                partial[filled, 4] = a
                filled += 1
        if filled == end:  # nobody can play die number level + 1
            break
        begin, end = end, filled
    n = 0
    for i in range(begin, end):
        if partial[i, 3] >> 10 == 0:  # fewer than three dice played
            break
        sources = movable(partial[i, 0], partial[i, 1], blocked, die) & (np.int64(2) << partial[i, 4]) - 1
        while sources:
            a = lowest(sources)
            sources &= sources - 1
            low, high, landing = advance(partial[i, 0], partial[i, 1], a, die)
            emit(state, low, high, partial[i, 2] | landing & blots, partial[i, 3] | (a + 1) << 15, n, moves, rows)
            n += 1
    if n == 0 and begin > 0:
        for i in range(begin, end):
            emit(state, partial[i, 0], partial[i, 1], partial[i, 2], partial[i, 3], n, moves, rows)
            n += 1
    return n


@kernel
def expand(state, moves, rows):
    """All distinct results of the roll, with one move code each."""
    blocked = mirror(stacked(state.opponent_low, state.opponent_high))
    blots = mirror(occupied(state.opponent_low, state.opponent_high)) & ~blocked
    high_die, low_die = DICE_HIGH[state.roll], DICE_LOW[state.roll]
    if high_die == low_die:
        n = play_double(state, blocked, blots, high_die, moves, rows)
    else:
        n = play_two(state, blocked, blots, high_die, low_die, 0, 0, moves, rows)
        n = play_two(state, blocked, blots, low_die, high_die, LOWER_FIRST, n, moves, rows)
        if n == 0:
            n = play_one(state, blocked, blots, high_die, 0, n, moves, rows)
        if n == 0:
            n = play_one(state, blocked, blots, low_die, LOWER_FIRST, n, moves, rows)
    if n == 0:
        emit(state, state.me_low, state.me_high, 0, 0, 0, moves, rows)
        n = 1
    return n


@kernel
def legal_moves(state, out):
    return expand(state, out, np.empty((MAX_MOVES, 6), np.int64))


@kernel
def die_of(state, move, i):
    """Points moved by the i-th source of a move code."""
    lower = (i == 1) != (move & LOWER_FIRST != 0)
    return DICE_LOW[state.roll] if lower else DICE_HIGH[state.roll]


@kernel
def play(state, move):
    blots = mirror(occupied(state.opponent_low, state.opponent_high)) & ~mirror(
        stacked(state.opponent_low, state.opponent_high)
    )
    low, high, hits = state.me_low, state.me_high, np.int64(0)
    for i in range(4):
        source = move >> 5 * i & 31
        if source:
            low, high, landing = advance(low, high, source - 1, die_of(state, move, i))
            hits |= landing & blots
    opponent_low, opponent_high = hit(state.opponent_low, state.opponent_high, hits)
    return State(opponent_low, opponent_high, low, high, np.int64(0), 1 - state.seat)


# --- the rest of the contract ---------------------------------------------------------------------------------


@kernel
def initial():
    """Before the opening roll. 24-point 2, 13-point 5, 8-point 3, 6-point 5, each side."""
    low = np.int64(1 << 12 | 1 << 7 | 1 << 5 | (1 << 23 | 1 << 7) << 32)
    high = np.int64(1 << 12 | 1 << 5)
    return State(low, high, low, high, np.int64(OPENING), np.int64(0))


@kernel
def seat(state):
    return state.seat


@kernel
def loss_size(low, high):
    """What a side loses whose opponent has borne off all: 1, 2 (gammon) or 3 (backgammon)."""
    if on_board(low, high) < 15:
        return np.int64(1)
    return np.int64(3) if occupied(low, high) >> 18 else np.int64(2)


@kernel
def outcome(state):
    if occupied(state.opponent_low, state.opponent_high) == 0:
        return True, -loss_size(state.me_low, state.me_high)
    if occupied(state.me_low, state.me_high) == 0:
        return True, loss_size(state.opponent_low, state.opponent_high)
    return False, np.int64(0)


@kernel
def num_chance(state):
    if state.roll > 0:
        return 0
    return 15 if state.roll == OPENING else 21


@kernel
def chance(state, i):
    """21 rolls, doubles 1/36 and others 1/18; the 15 opening rolls 1/15 each."""
    if state.roll == OPENING:
        roll, probability = OPENING_ROLLS[i], 1.0 / 15.0
    else:
        roll = np.int64(i + 1)
        probability = 1.0 / 36.0 if DICE_HIGH[roll] == DICE_LOW[roll] else 1.0 / 18.0
    return with_roll(state, roll), probability


@kernel
def with_roll(state, roll):
    return State(
        state.me_low, state.me_high, state.opponent_low, state.opponent_high, np.int64(roll), np.int64(state.seat)
    )


@kernel
def cells(state, out):
    """26 numbers for points 1..24, bar and off of the mover, then 26 of the opponent, each from its own end."""
    for bit in range(25):
        out[bit] = count(state.me_low, state.me_high, bit)
        out[26 + bit] = count(state.opponent_low, state.opponent_high, bit)
    out[25] = 15 - on_board(state.me_low, state.me_high)
    out[51] = 15 - on_board(state.opponent_low, state.opponent_high)
