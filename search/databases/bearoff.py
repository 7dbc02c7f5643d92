"""The one-sided bear-off of backgammon, exact: how many rolls a side still needs.

When both sides have all their checkers at home and past each other, neither can hinder the other: the game is a race of
two one-sided games. The table holds, for each of the 54,264 ways to have up to 15 checkers on six points, the
distribution of the number of rolls that the side needs, and of the roll that bears its first checker off, each under
the policy that minimises its expectation. Two sides' distributions give

    P(mover wins)            = sum over k of P(mine = k) P(his >= k)             the mover rolls first
    P(mover wins a gammon)   = sum over k of P(mine = k) P(his first >= k)       where the opponent still has all 15
    P(mover loses a gammon)  = sum over k of P(his = k) P(my first > k)          where the mover has

The first formula is exact for two players who minimise expected rolls. Optimal play looks at the opponent too:
`search/databases/bearoff_pairs.py` has it for up to 6 checkers a side, where the difference is at most 0.03 points and
mostly none. The formulas for gammons assume, as GNU Backgammon does, that a side in danger of a gammon minimises the
rolls until its first checker is off, and that any other side ignores gammons; no position is close to both cases.
Backgammons cannot happen, because nobody has a checker in the other's home.

Positions are numbered in lexicographic order of (checkers on the 6-point, ..., on the 1-point). Every move makes the
number smaller, so the table is computed in one pass in that order, over all 21 rolls with the results that the game's
own rules give.

Sources: H. Sconyers computed one-sided tables of 15 checkers and two-sided ones (1991-2003); GNU
Backgammon's manual, "Bearoff databases"; E. O. Thorp, "Backgammon: Part I, the optimal strategy for the pure running
game" (1975).

Letters: P positions, K most rolls of a position, W integers a state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.games.backgammon.rules import State, count, occupied, on_board
from deltaw.envs.kernel import kernel
from deltaw.search.databases.database import (
    BEAROFF,
    CHANCES,
    Description,
    informed,
    program_version,
    read_table,
    write_table,
)
from deltaw.search.evaluators.leaf import CLASSES, Leaf

BACKGAMMON = "backgammon"
CHECKERS = 15
POINTS = 6
ROLLS = 21
HEAD = 3
"""numbers before the others in `Bearoff.packed`"""
CHUNK = 2_000
"""positions computed in one call of a kernel: well below a second"""

WAYS = np.array(
    [[math.comb(n + points, points) for n in range(CHECKERS + 1)] for points in range(POINTS + 1)], np.int64
)
"""WAYS[p, n]: ways to have up to n checkers on p points"""

TIE = 1e-12
"""expected rolls closer than this are equal: they differ by rounding"""


@dataclass(frozen=True)
class Bearoff:
    """The table. Position i: its distribution is chances[ends[i] : ends[i + 1]], for 0, 1, 2 ... rolls."""

    checkers: int
    """most checkers of a side: 15, or fewer in a smaller table"""
    expected: np.ndarray
    """float64 [P]: expected rolls"""
    ends: np.ndarray
    """int64 [P + 1]"""
    chances: np.ndarray
    """float64, flat: P(exactly k rolls)"""
    first_ends: np.ndarray
    """int64 [P + 1]: likewise for the roll that bears the first checker off; empty ranges except with all 15 on the
    board"""
    first_chances: np.ndarray
    """float64, flat: P(the first checker is borne off in roll k), k = 0, 1 ..."""
    pairs: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    """float64 [Q, Q]: equities under optimal play where both sides have few checkers, see
    `search/databases/bearoff_pairs.py`; [1, 1]: none"""

    def __len__(self) -> int:
        return len(self.expected)

    def rolls(self, index: int) -> np.ndarray:
        """P(exactly k rolls), k = 0, 1 ..., of the position with this number."""
        return self.chances[self.ends[index] : self.ends[index + 1]]

    @property
    def pair_checkers(self) -> int:
        """Most checkers of a side in `pairs`; 0: there are none."""
        return checkers_of(len(self.pairs))

    @functools.cached_property
    def packed(self) -> np.ndarray:
        """float64, flat, as kernels take it (each further array would cost them a nanosecond or more a call):
        `checkers`, `pair_checkers`, where in this array the pairs begin; where each distribution begins, P + 1 numbers;
        the same for the first checker; the distributions; the pairs."""
        start = HEAD + 2 * len(self.ends)
        middle = start + len(self.chances)
        numbers = [self.ends + start, self.first_ends + middle, self.chances, self.first_chances, self.pairs.ravel()]
        head = [self.checkers, self.pair_checkers, middle + len(self.first_chances)]
        return np.concatenate([head, *numbers]).astype(np.float64)


@kernel
def positions_of(checkers):
    """How many positions a side of up to so many checkers has: 54,264 for 15."""
    return WAYS[POINTS, checkers]


@kernel
def index_of(low, high, checkers):
    """Number of a side's home position: of those with up to `checkers` checkers, how many come before it."""
    index, left = np.int64(0), np.int64(checkers)
    for point in range(POINTS, 0, -1):
        n = count(low, high, point - 1)
        index += WAYS[point, left] - WAYS[point, left - n]
        left -= n
    return index


@kernel
def planes_of(index, checkers):
    """The position with this number as bit planes (low, high): the inverse of `index_of`."""
    low, high, left = np.int64(0), np.int64(0), np.int64(checkers)
    for point in range(POINTS, 0, -1):
        n = np.int64(0)
        while n < left and index >= WAYS[point, left] - WAYS[point, left - n - 1]:
            n += 1
        index -= WAYS[point, left] - WAYS[point, left - n]
        left -= n
        bit = point - 1
        low |= (n & 1) << bit | (n >> 1 & 1) << 32 + bit
        high |= (n >> 2 & 1) << bit | (n >> 3 & 1) << 32 + bit
    return low, high


@kernel
def one_sided(index, checkers):
    """The position with this number as a state before the roll. The opponent has one checker on his 1-point: far
    behind, and out of the way."""
    low, high = planes_of(index, checkers)
    return State(low, high, np.int64(1), np.int64(0), np.int64(0), np.int64(0))


def checkers_of(positions: int) -> int:
    """The inverse of `positions_of`; -1 for any other number."""
    return next((n for n in range(CHECKERS + 1) if WAYS[POINTS, n] == positions), -1)


# --- building ---------------------------------------------------------------------------------------------------------


class Draft(NamedTuple):
    """A table in the making."""

    expected: np.ndarray
    """float64 [P]"""
    chances: np.ndarray
    """float64 [P, K]"""
    first: np.ndarray
    """float64 [P, K]"""
    expected_first: np.ndarray
    """float64 [P]: expected rolls until the first checker is off"""
    moves: np.ndarray
    rows: np.ndarray


@kernel
def best_result(rules, draft, rolled, checkers, expected):
    """Number of the position after the roll with the fewest expected rolls; of equal ones the lowest number."""
    best, fewest = np.int64(-1), np.inf
    for i in range(rules.expand(rolled, draft.moves, draft.rows)):
        result = index_of(draft.rows[i, 2], draft.rows[i, 3], checkers)
        rolls = expected[result]
        if rolls < fewest - TIE or (rolls <= fewest + TIE and result < best):
            best, fewest = result, rolls
    return best


@kernel
def compute(rules, draft, checkers, begin, end):
    """Fills in the positions begin..end - 1; those before are there."""
    for index in range(begin, end):
        state = one_sided(index, checkers)
        complete = on_board(state.me_low, state.me_high) == CHECKERS
        draft.first[index, 0] = 0.0 if complete else 1.0
        for i in range(rules.num_chance(state)):
            rolled, probability = rules.chance(state, i)
            best = best_result(rules, draft, rolled, checkers, draft.expected)
            draft.expected[index] += probability * (1.0 + draft.expected[best])
            add_later(draft.chances[best], probability, draft.chances[index])
            if complete:
                best = best_result(rules, draft, rolled, checkers, draft.expected_first)
                draft.expected_first[index] += probability * (1.0 + draft.expected_first[best])
                add_later(draft.first[best], probability, draft.first[index])


@kernel
def add_later(source, probability, target):
    """target += probability x source, one roll later."""
    for k in range(1, len(target)):
        target[k] += probability * source[k - 1]


def build_bearoff(game: Game, checkers: int = CHECKERS, report: Callable[[int, int], None] | None = None) -> Bearoff:
    """The table for up to so many checkers a side; `report` is told (positions computed, positions) now and then.
    Raises InputError for another game than backgammon, or another number than 1..15."""
    check_backgammon(game)
    if not 1 <= checkers <= CHECKERS:
        raise InputError(f"{checkers} checkers: a side has 1 to {CHECKERS}")
    size, most = int(positions_of(np.int64(checkers))), 2 * checkers + 4
    draft = Draft(np.zeros(size), np.zeros((size, most)), np.zeros((size, most)), np.zeros(size), *game.buffers())
    draft.chances[0, 0] = draft.first[0, 0] = 1.0
    for begin in range(1, size, CHUNK):
        end = min(begin + CHUNK, size)
        compute(game.rules, draft, np.int64(checkers), np.int64(begin), np.int64(end))
        if report is not None:
            report(end, size)
    draft.first[draft.first[:, 0] > 0.0] = 0.0  # no gammon: nothing to be stored
    return Bearoff(checkers, draft.expected, *_flat(draft.chances), *_flat(draft.first))


def check_backgammon(game: Game) -> None:
    if game.name != BACKGAMMON:
        raise InputError(f"{game.name} has no bear-off; backgammon has")


def _flat(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ends, numbers): the rows one after the other, without the zeros at their ends."""
    places = np.where(table > 0.0, np.arange(1, table.shape[1] + 1), 0)
    lengths = places.max(axis=1)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ends, table[np.arange(table.shape[1]) < lengths[:, None]]


# --- the race ---------------------------------------------------------------------------------------------------------


class Race(NamedTuple):
    """What a bear-off race holds for the player on roll."""

    win: float
    win_gammon: float
    lose_gammon: float

    @property
    def value(self) -> float:
        """Points a game, cubeless."""
        return 2.0 * self.win - 1.0 + self.win_gammon - self.lose_gammon


@kernel
def knows(packed, state):
    """Whether the table answers for `state`: both sides have checkers left, all at home and not too many."""
    me, opponent = occupied(state.me_low, state.me_high), occupied(state.opponent_low, state.opponent_high)
    if me == 0 or opponent == 0 or (me | opponent) >> POINTS:
        return False
    mine, his = on_board(state.me_low, state.me_high), on_board(state.opponent_low, state.opponent_high)
    return max(mine, his) <= packed[0]


@kernel
def span(packed, at):
    """The distribution that begins where packed[at] says."""
    return packed[np.int64(packed[at]) : np.int64(packed[at + 1])]


@kernel
def race_chances(packed, state):
    """(win, win gammon, lose gammon) for the mover, who is about to roll. Precondition: the table knows `state`."""
    if max(on_board(state.me_low, state.me_high), on_board(state.opponent_low, state.opponent_high)) <= packed[1]:
        return pair_chances(packed, state)
    checkers = np.int64(packed[0])
    me = HEAD + index_of(state.me_low, state.me_high, checkers)
    opponent = HEAD + index_of(state.opponent_low, state.opponent_high, checkers)
    firsts = positions_of(checkers) + 1
    mine, his = span(packed, me), span(packed, opponent)
    # When I end at my k-th roll he has rolled k - 1 times, and when he ends at his k-th I have rolled k times.
    win_gammon = not_after(mine, span(packed, firsts + opponent), 0)
    return not_after(mine, his, 0), win_gammon, not_after(his, span(packed, firsts + me), 1)


@kernel
def pair_chances(packed, state):
    """`race_chances` where both sides have few checkers: under optimal play."""
    checkers = np.int64(packed[1])
    me = index_of(state.me_low, state.me_high, checkers)
    opponent = index_of(state.opponent_low, state.opponent_high, checkers)
    equity = packed[np.int64(packed[2]) + me * positions_of(checkers) + opponent]
    return 0.5 + 0.5 * equity, 0.0, 0.0


@kernel
def not_after(first, second, lead):
    """P(X + lead <= Y) for independent X and Y, which are k with the chances first[k] and second[k]; what these lack of
    1 is Y's chance to be no number at all."""
    total, tail = 0.0, 0.0  # tail: P(Y >= k + lead), summed up from the small end
    for k in range(max(len(first), len(second) - lead) - 1, -1, -1):
        if k + lead < len(second):
            tail += second[k + lead]
        if k < len(first):
            total += first[k] * tail
    return total


def race(table: Bearoff, state: Any) -> Race:
    """The chances of the player on roll in a bear-off race. Raises InputError for any other position."""
    if not knows(table.packed, state):
        raise InputError(
            f"no bear-off race of up to {table.checkers} checkers a side: both sides need checkers, all of them at home"
        )
    return Race(*map(float, race_chances(table.packed, state)))


def with_bearoff(leaf: Leaf, table: Bearoff) -> Leaf:
    """A leaf that answers bear-off races from the table and everything else by `leaf`. Like any evaluator it values a
    position as if the dice were still to be rolled. Raises InputError for a leaf that has been given a table
    already."""
    return informed(leaf, _evaluate_or_race(leaf.evaluate), table.packed)


@functools.cache
def _evaluate_or_race(evaluate: Any) -> Any:
    @kernel
    def evaluate_or_race(rules, weights, state, work):
        if not knows(weights.facts, state):
            return evaluate(rules, weights, state, work)
        win, win_gammon, lose_gammon = race_chances(weights.facts, state)
        value = 2.0 * win - 1.0 + win_gammon - lose_gammon
        if weights.head == CLASSES:
            write_classes(win, win_gammon, lose_gammon, work.chances)
        else:
            work.chances[0] = value
        return value

    return evaluate_or_race


@kernel
def write_classes(win, win_gammon, lose_gammon, chances):
    """Chances of the outcomes -3 -2 -1 1 2 3."""
    chances[0] = 0.0
    chances[1] = lose_gammon
    chances[2] = max(1.0 - win - lose_gammon, 0.0)
    chances[3] = max(win - win_gammon, 0.0)
    chances[4] = win_gammon
    chances[5] = 0.0


# --- the file ---------------------------------------------------------------------------------------------------------

NAME = "bearoff"
"""backgammon_bearoff.table"""
SHAPES = {"expected": 1, "ends": 1, "chances": 1, "first_ends": 1, "first_chances": 1, "pairs": 2}
"""tensors of the file and their dimensions; float64, but for the ends, which are int64"""


def save_bearoff(table: Bearoff, path: str | Path, command: str = "") -> None:
    """Write the file whole or not at all; the same table gives the same bytes."""
    covers = f"one side: up to {table.checkers} checkers on points 1 to 6; both sides: up to {table.pair_checkers}"
    made = {"command": command, "version": program_version()}
    description = Description(BEAROFF, BACKGAMMON, covers, CHANCES, False, "", made)
    write_table(path, description, {name: getattr(table, name) for name in SHAPES})


def load_bearoff(path: str | Path) -> Bearoff:
    """Read and check a bear-off table. Raises InputError."""
    _, tensors = read_table(path, (BEAROFF,))
    kinds = {name: (tensor.dtype.name, tensor.ndim) for name, tensor in tensors.items()}
    wanted = {name: ("int64" if name.endswith("ends") else "float64", n) for name, n in SHAPES.items()}
    if kinds != wanted:
        raise InputError(f"{path} should hold tensors of types and dimensions {wanted}, but holds {kinds}")
    checkers = checkers_of(len(tensors["expected"]))
    if checkers < 1:
        raise InputError(
            f"{path} holds {len(tensors['expected'])} positions; a table of 1 to {CHECKERS} checkers has another number"
        )
    for ends, numbers, least in (("ends", "chances", 1), ("first_ends", "first_chances", 0)):
        _check_ranges(path, tensors[ends], tensors[numbers], len(tensors["expected"]), least)
    if not np.allclose(np.add.reduceat(tensors["chances"], tensors["ends"][:-1]), 1.0, rtol=0.0, atol=1e-9):
        raise InputError(f"{path} holds chances that do not add up to 1")
    pairs = tensors["pairs"]
    if (
        pairs.shape[0] != pairs.shape[1]
        or checkers_of(len(pairs)) not in range(checkers + 1)
        or not (np.abs(pairs) <= 1.0 + 1e-9).all()
    ):
        raise InputError(f"{path} holds pairs of shape {pairs.shape} that are no equities of pairs of positions")
    return Bearoff(checkers, *(tensors[name] for name in SHAPES))


def _check_ranges(path: str | Path, ends: np.ndarray, numbers: np.ndarray, size: int, least: int) -> None:
    """Kernels rely on these: nothing may be read outside of the arrays."""
    if (
        len(ends) != size + 1
        or (ends[0], ends[-1]) != (0, len(numbers))
        or not ((ends >= 0) & (ends <= len(numbers))).all()  # before differences, which could go round past 2^63
        or (np.diff(ends) < least).any()
    ):
        raise InputError(f"{path} holds ranges that do not fit its {size} positions and {len(numbers)} chances")
    if not ((numbers >= 0.0) & (numbers <= 1.0 + 1e-9)).all():  # rounding
        raise InputError(f"{path} holds numbers that are no chances")
