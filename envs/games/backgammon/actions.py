"""Backgammon for agents that act: one action moves one checker by one die. The numbering is in the package's docstring.

A `word` is a move code as it grows (`rules.py`); a word of 0 is a turn not yet begun.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import lowest
from deltaw.envs.games.backgammon.rules import (
    DICE_HIGH,
    DICE_LOW,
    LOWER_FIRST,
    advance,
    cells,
    mirror,
    movable,
    play,
    stacked,
)
from deltaw.envs.kernel import kernel

PASS = 50
NUM_ACTIONS = 51
OBSERVATION_SIZE = 52 + 6
"""the 52 cells of `rules.cells`, then how often each die 1..6 is still to be played"""


@kernel
def dice_played(word):
    n = 0
    while n < 4 and word >> 5 * n & 31:
        n += 1
    return n


@kernel
def after(state, word):
    """The mover's checkers after the dice of `word`: (low, high)."""
    low, high = state.me_low, state.me_high
    for i in range(dice_played(word)):
        lower = (i == 1) != (word & LOWER_FIRST != 0)
        die = DICE_LOW[state.roll] if lower else DICE_HIGH[state.roll]
        low, high, _ = advance(low, high, (word >> 5 * i & 31) - 1, die)
    return low, high


@kernel
def most_dice(low, high, blocked, first, second, left):
    """The most dice that can be played from here: `left` of a double's (first == second), or first and then second."""
    if left == 0:
        return np.int64(0)
    best = np.int64(0)
    sources = movable(low, high, blocked, first)
    while sources:
        source = lowest(sources)
        sources &= sources - 1
        next_low, next_high, _ = advance(low, high, source, first)
        best = max(best, 1 + most_dice(next_low, next_high, blocked, second, first, left - 1))
        if best == left:
            break
    return best


@kernel
def action_mask(state, word, out):
    """Actions that begin, or go on with, a legal play."""
    out[:] = 0
    low, high = after(state, word)
    blocked = mirror(stacked(state.opponent_low, state.opponent_high))
    a, b = DICE_HIGH[state.roll], DICE_LOW[state.roll]
    played = np.int64(dice_played(word))
    left = (np.int64(4) if a == b else np.int64(2)) - played
    two = a != b and played == 0
    lower_left = a != b and played == 1 and word & LOWER_FIRST == 0
    first = b if lower_left else a
    most = most_dice(low, high, blocked, first, b if two else first, left)
    if two:
        most_other = most_dice(low, high, blocked, b, a, left)
        if most >= most_other:  # equal: with one playable die the higher must be played, with two either may come first
            mark(low, high, blocked, a, b, left, most, np.int64(0), out)
        if most_other > most or most_other == 2:
            mark(low, high, blocked, b, a, left, most_other, np.int64(1), out)
        most = max(most, most_other)
    elif most:
        mark(low, high, blocked, first, first, left, most, np.int64(1 if lower_left else 0), out)
    if most == 0:
        out[PASS] = 1


@kernel
def mark(low, high, blocked, first, second, left, most, which, out):
    """Mark the sources from which `most` dice can be played, the next one being `first`."""
    sources = movable(low, high, blocked, first)
    while sources:
        source = lowest(sources)
        sources &= sources - 1
        next_low, next_high, _ = advance(low, high, source, first)
        if most and 1 + most_dice(next_low, next_high, blocked, second, first, left - 1) == most:
            out[2 * source + which] = 1


@kernel
def spell(state, word, action):
    """The word with one more die; complete when no further die can be played."""
    if action == PASS:
        return word, True
    n = dice_played(word)
    word = np.int64(word) | (action // 2 + 1) << 5 * n
    if n == 0 and action % 2:
        word |= LOWER_FIRST
    a, b = DICE_HIGH[state.roll], DICE_LOW[state.roll]
    low, high = after(state, word)
    blocked = mirror(stacked(state.opponent_low, state.opponent_high))
    left = (np.int64(4) if a == b else np.int64(2)) - (n + 1)
    die = a if a == b or word & LOWER_FIRST else b
    return word, left == 0 or movable(low, high, blocked, die) == 0


@kernel
def observe(state, word, out):
    """52 counts (mover's points 1..24, bar, off; then the opponent's, from his end) and 6 counts of dice left to
    play."""
    shown = play(state, word)  # the mover is the opponent there
    board = np.empty(52, np.int64)
    cells(shown, board)
    for i in range(26):
        out[i] = board[26 + i]
        out[26 + i] = board[i]
    for die in range(6):
        out[52 + die] = 0.0
    if state.roll > 0:
        a, b = DICE_HIGH[state.roll], DICE_LOW[state.roll]
        n = dice_played(word)
        if a == b:
            out[51 + a] = 4 - n
        else:
            lower_first = word & LOWER_FIRST != 0
            out[51 + a] = 0.0 if n == 2 or (n == 1 and not lower_first) else 1.0
            out[51 + b] = 0.0 if n == 2 or (n == 1 and lower_first) else 1.0
