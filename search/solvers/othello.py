"""Othello endgames solved exactly, in discs: null windows from a first guess on, until the bounds meet.

    othello_end.py      the last squares: speed
    othello_judge.py    safe discs; ratings that order moves
    othello_tree.py     the tree above, with its table

Scores are those of the game's `score`: discs of the mover minus the opponent's at the end, the empty squares going to
the winner; always even.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.bits import lowest, popcount
from deltaw.envs.control import NODES, Stopped, stopped
from deltaw.envs.errors import InputError
from deltaw.envs.games.othello.boards import mobility
from deltaw.envs.games.othello.rules import MAX_MOVES, final_score, legal_moves, outcome, play, score
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.solvers import Solution
from deltaw.search.solvers.othello_end import MOST_FEW, last_few, last_one, last_squares, odd_quadrants
from deltaw.search.solvers.othello_judge import LOSS, glance
from deltaw.search.solvers.othello_tree import BUCKETS, ENTRY, GENERATION, TABLE, glance_depth, search
from deltaw.search.tree.pointer import pointer_to

DEFAULT_ENTRIES = 1 << 20
"""32 MiB"""
MOST = 64
"""discs"""


class Solver:
    """Solves positions exactly; keeps its table from one to the next."""

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        """`entries`: size of the table, 32 bytes each, a power of two. Raises InputError for another number, and for
        more than the machine's memory before anything is allocated."""
        if entries < 2 or entries & (entries - 1):
            raise InputError(f"a table of {entries} entries: a power of two from 2 upwards is needed")
        size = TABLE + ENTRY * entries
        check_memory(8 * size, f"a table of {entries} entries")
        words = np.zeros(size + 8, np.int64)
        start = (-words.ctypes.data // 8) % 8  # a bucket must not straddle two cache lines
        self._memory = words[start : start + size]
        self._memory[BUCKETS] = entries // 2 - 1

    def solve(self, state: Any, control: np.ndarray, *, best: bool = True) -> Solution:
        """The exact score for the mover of `state` and, with `best`, every best move. Raises Stopped when `control`
        said so."""
        before = int(control[NODES])
        self._memory[GENERATION] += 1
        if outcome(state)[0]:
            return Solution(int(score(state)), (), 0)
        if not best:
            guess = self._checked(control, first_guess(control, *boards(state)))
            return Solution(self._exact(state, control, guess), (), int(control[NODES]) - before)
        value, moves = self._best_moves(state, control)
        return Solution(value, moves, int(control[NODES]) - before)

    def _best_moves(self, state: Any, control: np.ndarray) -> tuple[int, tuple[int, ...]]:
        """The score and all moves that keep it: the move that looks best is solved, every other one is asked whether it
        is as good."""
        out = np.empty(MAX_MOVES, np.int64)
        moves = [int(move) for move in out[: legal_moves(state, out)]]
        results = {move: play(state, move) for move in moves}
        looks = {move: self._checked(control, first_guess(control, *boards(results[move]))) for move in moves}
        value = -MOST - 2
        best: list[int] = []
        for move in sorted(moves, key=lambda move: looks[move]):
            result = results[move]
            if best and self._bound(result, control, -value) > -value:
                continue
            if not best or self._bound(result, control, -value - 1) < -value:
                value, best = -self._exact(result, control, looks[move] if not best else -value - 2), []
            best.append(move)
        return value, tuple(move for move in moves if move in best)

    def _bound(self, state: Any, control: np.ndarray, alpha: int) -> int:
        """A score > alpha that `state` has at least, or a score <= alpha that it has at most."""
        return self._checked(control, bound(self._memory, control, *boards(state), np.int64(alpha)))

    def _exact(self, state: Any, control: np.ndarray, guess: int) -> int:
        return self._checked(control, exact(self._memory, control, *boards(state), np.int64(guess)))

    @staticmethod
    def _checked(control: np.ndarray, answer: int) -> int:
        if stopped(control):
            raise Stopped("stopped before the position was solved")
        return int(answer)


def boards(state: Any) -> tuple[np.int64, np.int64]:
    return np.int64(state.me), np.int64(state.opponent)


@kernel
def first_guess(control, me, opponent):
    """A score, even, by a short search."""
    depth = glance_depth(64 - popcount(me | opponent)) + 3
    rating = glance(me, opponent, depth, np.int64(LOSS), np.int64(-LOSS), control)
    return min(max(rating // 20 * 2, -MOST), MOST)


@kernel
def exact(memory, control, me, opponent, guess):
    """The score, by null windows from the first guess on: each answer is the next question (MTD(f)). Anything when
    stopped."""
    lower, upper, alpha = np.int64(-MOST), np.int64(MOST), guess - 1
    while lower < upper and not stopped(control):
        answer = bound(memory, control, me, opponent, min(max(alpha, lower), upper - 1))
        if answer > alpha:
            lower, alpha = answer, answer + 1
        else:
            upper, alpha = answer, answer - 1
    return lower


@kernel
def bound(memory, control, me, opponent, alpha):
    """A score > alpha that the position has at least, or a score <= alpha that it has at most. Anything when
    stopped."""
    empty = ~(me | opponent)
    empties, odd, counts = popcount(empty), odd_quadrants(empty), pointer_to(control)
    if empties > MOST_FEW:
        return search(pointer_to(memory), counts, me, opponent, odd, alpha, empties)
    if empties > 4:
        return last_few(me, opponent, odd, alpha, empties, counts)
    if empties > 1:
        return last_squares(me, opponent, empty, odd, alpha, np.int64(0), counts)
    if empties == 1 and (mobility(me, opponent) != 0 or mobility(opponent, me) != 0):
        return last_one(me, opponent, lowest(empty), alpha)
    return final_score(me, opponent)
