"""Connect Four solved exactly: null-window negamax over bit masks, with a table.

After P. Pons, "Solving Connect 4" (http://blog.gamesolver.org), L. V. Allis, "A Knowledge-based Approach of
Connect-Four" (1988), and J. Tromp's Fhourstones:

- moves that lose at once are never made: an opponent's threat that he can play must be parried, and nothing is played
  below one he cannot play yet;
- a move that makes two threats wins, and its result is not searched; else moves go by the number of threats they leave,
  then from the centre;
- a *null window* asks only whether the score is above `alpha`; exact scores come from bisection;
- the table keeps a lower and an upper bound of a position at once, and outlives the position.

Measured (seconds for hard positions with 10 and 12 stones, with against without): forced replies without table and
ordering x 0.78; moves that make two threats x 0.88; entries of all results fetched before the moves are ordered x 0.6;
two entries a bucket, where the table is full, x 0.65. Not worth their time: cut-offs by results' entries (20 % fewer
nodes), stored best moves, history, more terms in the ordering, mirrored keys, no table near the end, proofs by parity.

Scores are those of the game's `score`: 22 minus the winner's stones, negative for a loss, 0 for a draw. The masks are
those of the game.

    memory, int64 [SCRATCH + entries]
        [0 .. SHIFT)     scratch: for each number of stones the moves, sorted, and the threats that each leaves, LIST of
                         both
        [SHIFT]          how many bits of a mixed key are below the number of its bucket
        [SCRATCH ..]     the table, two entries a bucket: tag 39 bits, log2 of the work 6, lower bound + BIAS 6, upper
                         bound + BIAS 6
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.bits import highest, popcount
from deltaw.envs.control import NODES, Stopped, enter
from deltaw.envs.errors import InputError
from deltaw.envs.games.connect_four.rules import (
    BOARD,
    BOTTOM,
    CELLS,
    CENTRE_FIRST,
    COLUMNS,
    HEIGHT,
    ROWS,
    has_four,
    threats,
)
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.solvers import Solution
from deltaw.search.tree.pointer import pointer_to, prefetch

LIST = 8
"""room for the moves of a position"""
SCRATCH = 2 * LIST * (CELLS + 1)
SHIFT = SCRATCH - 1
COLUMN_MASKS = tuple((2**ROWS - 1) << HEIGHT * column for column in reversed(CENTRE_FIRST))
"""worst guess first: sorting keeps the order of equals, and the best stands last"""

KEY_BITS = HEIGHT * COLUMNS
KEYS = (1 << KEY_BITS) - 1
MULTIPLIER = 0x9E3779B97F4A7C15 & KEYS
"""odd, so that multiplying modulo 2^49 mixes the keys one to one; digits of the golden ratio"""
TAG_BITS = 39
"""The bucket is named by the upper bits, at least ten: together with the tag, all 49 are known and no two positions are
taken for one."""
TAGS = (1 << TAG_BITS) - 1
ABOUT_BITS = 18
FIELD = 63
"""mask of a field of six bits"""
BIAS = 32
SMALLEST_TABLE = 1 << (KEY_BITS - TAG_BITS + 1)
DEFAULT_ENTRIES = 1 << 20
"""8 MiB stay in the processor's caches: as fast as any size even for the empty board (2^24: 20 % fewer nodes, each 30 %
slower)"""
HALT = np.int64(99)
"""what a stopped search returns: no score"""


class Solver:
    """Solves positions exactly; keeps its table from one to the next."""

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        """`entries`: size of the table, 8 bytes each, a power of two. Raises InputError for another number or more than
        the machine's memory."""
        if entries < SMALLEST_TABLE or entries & (entries - 1):
            raise InputError(f"a table of {entries} entries: a power of two from {SMALLEST_TABLE} upwards is needed")
        check_memory(8 * entries, f"a table of {entries} entries")
        self._memory = np.empty(SCRATCH + entries, np.int64)
        self.clear()

    def clear(self) -> None:
        """Forget every position."""
        buckets = (len(self._memory) - SCRATCH) // 2
        self._memory[:] = 0
        self._memory[SHIFT] = KEY_BITS - (buckets.bit_length() - 1)

    def solve(self, state: Any, control: np.ndarray, *, best: bool = True) -> Solution:
        """The exact score for the mover of `state` and, with `best`, every best move. Raises Stopped when `control`
        said so."""
        me, taken, before = int(state.me), int(state.all), int(control[NODES])
        value = self._checked(score_of(self._memory, control, me, taken))
        moves: tuple[int, ...] = ()
        if best and not has_four(me ^ taken):
            columns = [column for column in CENTRE_FIRST if not taken >> (HEIGHT * column + ROWS - 1) & 1]
            moves = tuple(column for column in columns if self._keeps(control, me, taken, column, value))
        return Solution(value, moves, int(control[NODES]) - before)

    def _keeps(self, control: np.ndarray, me: int, taken: int, column: int, value: int) -> bool:
        """Whether this move is worth `value`, the best there is."""
        return self._checked(reaches(self._memory, control, me, taken, column, value)) > 0

    @staticmethod
    def _checked(answer: int) -> int:
        if answer == HALT:
            raise Stopped("stopped before the position was solved")
        return int(answer)


# --- the search ---------------------------------------------------------------------------------------------------


@kernel
def score_of(memory, control, me, taken):
    """The exact score, for the mover."""
    if has_four(me ^ taken):
        return popcount(me ^ taken) - 22
    left = CELLS - popcount(taken)
    if left == 0:
        return np.int64(0)
    if threats(me, taken) & (taken + BOTTOM):
        return (left + 1) // 2
    danger = threats(me ^ taken, taken)
    lower, upper = -(left // 2), (left + 1) // 2
    while lower < upper:
        alpha = middle_of(lower, upper)
        value = search(pointer_to(memory), pointer_to(control), me, taken, danger, alpha)
        if value == HALT:
            return HALT
        if value > alpha:
            lower = value
        else:
            upper = value
    return np.int64(lower)


@kernel
def middle_of(lower, upper):
    """Where to ask next: short wins and losses are excluded first, which is cheap, and leave bounds in the table."""
    middle = lower + (upper - lower) // 2
    if middle <= 0:
        return min(middle, -(-lower // 2))
    return max(middle, upper // 2)


@kernel
def reaches(memory, control, me, taken, column, value):
    """1 if the move is worth at least `value`, 0 if less, or HALT."""
    stone = (taken + (np.int64(1) << HEIGHT * column)) & ~taken
    mine, all_stones = me | stone, taken | stone
    left = CELLS - popcount(taken)
    if has_four(mine):
        return np.int64((left + 1) // 2 >= value)
    if left == 1:
        return np.int64(value <= 0)
    his = me ^ taken
    if threats(his, all_stones) & (all_stones + BOTTOM):
        return np.int64(-(left // 2) >= value)
    words, counts = pointer_to(memory), pointer_to(control)
    reply = search(words, counts, his, all_stones, threats(mine, all_stones), np.int64(-value))
    return HALT if reply == HALT else np.int64(-reply >= value)


@kernel
def search(memory, control, me, taken, danger, alpha):
    """A bound b of the score s, for a mover who cannot win at once: b > alpha and s >= b, or b <= alpha and s <= b.
    HALT where stopped.

    `danger`: the opponent's threats, `threats(me ^ taken, taken)`.
    """
    if enter(control):
        return HALT
    left = CELLS - popcount(taken)
    # 1. The end: no move that does not lose at once, or no square for a fourth stone.
    moves = safe_moves(taken, danger)
    if moves == 0:
        return -(left // 2)
    if left <= 2:
        return np.int64(0)
    # 2. Bounds from the length of the game: neither side wins with its next stone.
    lower, upper = -((left - 2) // 2), (left - 1) // 2
    if lower > alpha:
        return lower
    if upper <= alpha:
        return upper
    his = me ^ taken
    # 3. A forced move.
    if moves & (moves - 1) == 0:
        value = search(memory, control, his, taken | moves, threats(me | moves, taken | moves), -alpha - 1)
        return HALT if value == HALT else -value
    # 4. The table.
    key = (me + taken) * MULTIPLIER & KEYS
    entry = find(memory, key)
    if entry:
        lower, upper = max(lower, (entry >> 6 & FIELD) - BIAS), min(upper, (entry & FIELD) - BIAS)
        if lower > alpha:
            return lower
        if upper <= alpha:
            return upper
    # 5. The moves, the last one first.
    fetch(memory, his, taken, moves)
    first = 2 * LIST * (CELLS - left)
    i = sort_moves(memory, first, me, taken, moves)
    if i == 0:
        return (left - 1) // 2
    before, value = control[NODES], -HALT
    while i > 0 and value <= alpha:
        i -= 1
        stone, made = int(memory[first + i]), int(memory[first + LIST + i])
        reply = search(memory, control, his, taken | stone, made, -alpha - 1)
        if reply == HALT:
            return HALT
        value = max(value, -reply)
    # 6. What is known now.
    if value > alpha:
        lower = value
    else:
        upper = value
    remember(memory, key, highest(control[NODES] - before), lower, upper)
    return value


@kernel
def safe_moves(taken, danger):
    """Squares, one a column at most, where a stone does not lose at once: parries the threat, is not below one. 0 if
    there are none."""
    moves = (taken + BOTTOM) & BOARD
    forced = moves & danger
    if forced:
        if forced & (forced - 1):
            return np.int64(0)
        moves = forced
    return moves & ~(danger >> 1)


@kernel
def sort_moves(memory, first, me, taken, moves):
    """The moves and the threats they leave to memory[first:], memory[first + LIST:], those with most threats last;
    returns how many. 0 if one wins: it leaves two threats, or one on top of another."""
    n = 0
    for column in COLUMN_MASKS:
        stone = moves & column
        if stone:
            found = threats(me | stone, taken | stone)
            now = found & ((taken | stone) + BOTTOM)
            if now and (now & (now - 1) or now << 1 & found):
                return 0
            place, number = first + n, popcount(found)
            while place > first and popcount(memory[place + LIST - 1]) > number:
                memory[place], memory[place + LIST] = memory[place - 1], memory[place + LIST - 1]
                place -= 1
            memory[place], memory[place + LIST] = stone, found
            n += 1
    return n


# --- the table ----------------------------------------------------------------------------------------------------


@kernel
def find(memory, key):
    """The entry of the position with this mixed key, or 0."""
    place = SCRATCH + 2 * (key >> memory[SHIFT])
    entry = memory[place]
    if entry >> ABOUT_BITS == key & TAGS:
        return entry
    entry = memory[place + 1]
    return entry if entry >> ABOUT_BITS == key & TAGS else np.int64(0)


@kernel
def remember(memory, key, work, lower, upper):
    """The first entry of a bucket stays until as much work (log2 of the nodes) has been done for another position."""
    place = SCRATCH + 2 * (key >> memory[SHIFT])
    first = memory[place]
    entry = (key & TAGS) << ABOUT_BITS | work << 12 | lower + BIAS << 6 | upper + BIAS
    if first >> ABOUT_BITS == key & TAGS:
        memory[place] = entry
    elif work >= first >> 12 & FIELD:
        memory[place], memory[place + 1] = entry, first
    else:
        memory[place + 1] = entry


@kernel
def fetch(memory, his, taken, moves):
    """Tells the processor that the entries of all results will be needed soon."""
    while moves:
        stone = moves & -moves
        moves ^= stone
        key = (his + (taken | stone)) * MULTIPLIER & KEYS
        prefetch(memory, SCRATCH + 2 * (key >> memory[SHIFT]))
