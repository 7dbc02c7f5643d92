"""Checkers (English draughts): eight by eight squares, black moves first.

The board is seen from the side to move, whose men move down this page; `play` turns it by half. Fields of a `State` are
masks of the 32 dark squares, which are numbered from 0 here and from 1 where people write them:

    .  0  .  1  .  2  .  3
    4  .  5  .  6  .  7  .      a move is   bits 0-4    the square that it leaves
    .  8  .  9  . 10  . 11                  bits 5-8    how many steps or jumps it has
   12  . 13  . 14  . 15  .                  from bit 9  their directions, two bits each
    . 16  . 17  . 18  . 19
   20  . 21  . 22  . 23  .      directions  0 forward left   1 forward right
    . 24  . 25  . 26  . 27                  2 back left      3 back right
   28  . 29  . 30  . 31  .

A direction is a jump where the next square is the opponent's, else a step.

Men move and jump forward, kings forward and back. Who can jump must jump, and must go on as long as the same piece can;
he may choose among several jumps. All jumps of a turn are one move. A man that reaches the last row becomes a king, and
his move ends there. Who cannot move has lost. The game is drawn after 40 moves of each side without a capture or a move
of a man. The third occurrence of a position is a draw of the game, not of a position: `repetition_key` and `reversible`
tell `envs/path.py` what it needs.

Source: the rules of the World Checkers and Draughts Federation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import bit, down, drop_lowest, lowest, mix, reverse
from deltaw.envs.kernel import kernel

SQUARES = 32
BOARD = (1 << SQUARES) - 1
EVEN, ODD = 0x0F0F0F0F, 0xF0F0F0F0
"""rows 0, 2, 4, 6, which begin with a light square, and rows 1, 3, 5, 7, which begin with a dark one"""
EVEN_INNER, ODD_INNER = 0x07070707, 0xE0E0E0E0
"""the same without the right and the left edge"""
LAST_ROW = 0xF0000000
START_MEN = 0xFFF

FORWARD_LEFT, FORWARD_RIGHT, BACK_LEFT, BACK_RIGHT = range(4)
STEPS, DIRECTIONS = 5, 9
"""first bits of a move's parts"""
MOST_PIECES = 12
"""of a side"""
MAX_MOVES = MOST_PIECES * 16
"""A king can reach eight squares by jumps, between which nine pieces can stand, and there are 16 ways at most through
these that cannot be continued. (Without jumps there are 48 moves at most.)"""
DRAWN_AFTER = 80
"""plies without a capture or a move of a man"""
OCCURRENCES = 3
CLOCK_FROM = 40
"""Below this the clock is no part of a state's `key`: a search of fewer plies than are left until the draw has the same
value for both."""


class State(NamedTuple):
    me: int
    """my men and kings"""
    opponent: int
    kings: int
    """of both sides"""
    clock: int
    """plies since a capture or a move of a man"""
    seat: int
    """0: black"""


@kernel
def initial():
    return State(np.int64(START_MEN), np.int64(START_MEN << 20), np.int64(0), np.int64(0), np.int64(0))


@kernel
def seat(state):
    return state.seat


# --- squares ----------------------------------------------------------------------------------------------------------


@kernel
def step(squares, direction):
    """The neighbours of `squares` in one direction; what would leave the board is lost."""
    if direction == FORWARD_LEFT:
        return ((squares & EVEN) << 4 | (squares & ODD_INNER) << 3) & BOARD
    if direction == FORWARD_RIGHT:
        return ((squares & EVEN_INNER) << 5 | (squares & ODD) << 4) & BOARD
    if direction == BACK_LEFT:
        return (squares & EVEN) >> 4 | (squares & ODD_INNER) >> 5
    return (squares & EVEN_INNER) >> 3 | (squares & ODD) >> 4


@kernel
def can_step(pieces, empty, direction):
    """The pieces with an empty neighbour in this direction."""
    return step(empty, 3 - direction) & pieces


@kernel
def can_jump(pieces, opponent, empty, direction):
    """The pieces with an opponent's piece beside them and an empty square behind it."""
    return step(step(empty, 3 - direction) & opponent, 3 - direction) & pieces


@kernel
def steppers(pieces, kings, empty):
    """The pieces of one side that can make a step."""
    forward = can_step(pieces, empty, FORWARD_LEFT) | can_step(pieces, empty, FORWARD_RIGHT)
    return forward | can_step(pieces & kings, empty, BACK_LEFT) | can_step(pieces & kings, empty, BACK_RIGHT)


@kernel
def jumpers(pieces, kings, opponent, empty):
    """The pieces of one side that can jump."""
    forward = can_jump(pieces, opponent, empty, FORWARD_LEFT) | can_jump(pieces, opponent, empty, FORWARD_RIGHT)
    pieces = pieces & kings
    back = can_jump(pieces, opponent, empty, BACK_LEFT) | can_jump(pieces, opponent, empty, BACK_RIGHT)
    return forward | back


@kernel
def empty_squares(state):
    return BOARD ^ (state.me | state.opponent)


# --- moves ------------------------------------------------------------------------------------------------------------


@kernel
def longer(word, direction):
    """The beginning of a move with one more direction."""
    return word + (1 << STEPS) | direction << DIRECTIONS + 2 * length(word)


@kernel
def length(move):
    """How many steps or jumps it has."""
    return move >> STEPS & 15


@kernel
def legal_moves(state, out):
    """Two ways to the same result are two moves here, but one in `expand`."""
    empty = empty_squares(state)
    n, left = np.int64(0), jumpers(state.me, state.kings, state.opponent, empty)
    while left:
        square = lowest(left)
        left = drop_lowest(left)
        piece = bit(square)
        directions = np.int64(4 if piece & state.kings else 2)
        n = jump_on(piece, directions, state.opponent, empty | piece, square, out, n)
    if n == 0:
        for direction in range(4):
            movers = state.me if direction < BACK_LEFT else state.me & state.kings
            left = can_step(movers, empty, direction)
            while left:
                out[n] = longer(lowest(left), direction)
                left = drop_lowest(left)
                n += 1
    return n


@kernel
def jump_on(piece, directions, opponent, empty, word, out, n):
    """Writes every move that goes on from `word` with jumps of `piece` to out[n:], depth first; returns the new n.
    `directions`: 2 for a man, 4 for a king. Where no jump is possible, `word` is the move."""
    ended = True
    for direction in range(directions):
        over = step(piece, direction) & opponent
        landing = step(over, direction) & empty
        if landing:
            ended = False
            beyond = longer(word, direction)
            if directions == 2 and landing & LAST_ROW:
                out[n] = beyond
                n += 1
            else:
                n = jump_on(landing, directions, opponent ^ over, empty, beyond, out, n)
    if ended:
        out[n] = word
        n += 1
    return n


@kernel
def after(state, word):
    """The board after the steps or jumps of `word`, which may be the beginning of a move or 0, not turned yet: (me,
    opponent, kings, the square where the piece stands)."""
    first = here = bit(word & 31)
    captured = np.int64(0)
    for i in range(length(word)):
        direction = word >> DIRECTIONS + 2 * i & 3
        here = step(here, direction)
        if here & state.opponent:
            captured |= here
            here = step(here, direction)
    kings = state.kings ^ first ^ here if first & state.kings else state.kings | here & LAST_ROW
    return state.me ^ first ^ here, state.opponent & ~captured, kings & ~captured, here


@kernel
def play(state, move):
    me, opponent, kings, _ = after(state, move)
    quiet = opponent == state.opponent and bit(move & 31) & state.kings != 0
    me, opponent, kings = turn(me, opponent, kings)
    return State(me, opponent, kings, state.clock + 1 if quiet else np.int64(0), 1 - state.seat)


@kernel
def turn(me, opponent, kings):
    """The board turned by half, as the opponent sees it."""
    both = reverse(me | opponent << SQUARES)  # swaps the sides, too
    return both & BOARD, down(both, SQUARES), down(reverse(kings), SQUARES)


@kernel
def expand(state, moves, rows):
    n, kept = legal_moves(state, moves), 0
    for i in range(n):
        result = play(state, moves[i])
        for k in range(len(result)):
            rows[kept, k] = result[k]
        if length(moves[i]) == 1 or not is_among(rows, kept):
            moves[kept] = moves[i]
            kept += 1
    return kept


@kernel
def is_among(rows, n):
    """Whether rows[n] equals one of the rows before it."""
    found = False
    for i in range(n):
        found |= (rows[i] == rows[n]).all()
    return found


@kernel
def outcome(state):
    empty = empty_squares(state)
    if steppers(state.me, state.kings, empty) | jumpers(state.me, state.kings, state.opponent, empty) == 0:
        return True, np.int64(-1)
    return state.clock >= DRAWN_AFTER, np.int64(0)


@kernel
def noisy(state, move):
    """The move captures."""
    return step(bit(move & 31), move >> DIRECTIONS & 3) & state.opponent != 0


# --- what others keep of a state --------------------------------------------------------------------------------------


@kernel
def cells(state, out):
    """0 empty, 1 my man, 2 the opponent's, 3 my king, 4 the opponent's."""
    for square in range(SQUARES):
        mine, his, king = state.me >> square & 1, state.opponent >> square & 1, state.kings >> square & 1
        out[square] = mine + 2 * his + 2 * king


@kernel
def key(state):
    """Of the board as the mover sees it: his colour does not matter, and the clock does from CLOCK_FROM on."""
    return scramble(state, max(state.clock - CLOCK_FROM, 0))


@kernel
def repetition_key(state):
    return scramble(state, state.seat)


@kernel
def reversible(state):
    """A capture and a move of a man cannot be taken back."""
    return state.clock


@kernel
def scramble(state, number):
    """A hash of the board with a small number, 63 bits."""
    word = mix(mix(state.me | state.opponent << SQUARES) ^ np.uint64(state.kings | number << SQUARES))
    return np.int64(word >> np.uint64(1))
