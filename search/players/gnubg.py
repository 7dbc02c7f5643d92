"""GNU Backgammon as an opponent, through the optional package `gnubg-nn`, which holds its neural networks and search.
The package is under the GPL, and none of its code is copied here.

Plies are counted as in `search/players/plies.py`: 1 ply is what gnubg calls 0-ply, and 2 plies are its 1-ply (with its
own move filter). It is one engine with one cache, so it runs in one thread.

A gnubg board is 2 x 25 counts, opponent then the side on roll, each from its own end: points 1..24, bar.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon import GAME
from deltaw.envs.games.backgammon.rules import BAR, DICE_HIGH, DICE_LOW, count, put
from deltaw.envs.kernel import kernel
from deltaw.search.players.players import Chosen, Decisions
from deltaw.search.players.plies import ply_label


class GnubgPlayer:
    """gnubg's choice of move for cubeless money play."""

    def __init__(self, plies: int = 1) -> None:
        self.name = f"gnubg{ply_label(plies)}"
        self._engine = _load()
        self._depth = plies - 1

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        rows = decisions.rows
        boards = np.empty((len(rows), 2, BAR + 1), np.int64)
        read_boards(rows, boards)
        results = np.empty_like(boards)
        for i, board in enumerate(boards.tolist()):
            roll = rows[i, 4]
            key = self._engine.best_move(board, int(DICE_HIGH[roll]), int(DICE_LOW[roll]), n=self._depth, b=1)[1]
            results[i] = self._engine.board_from_position_key(key)
        chosen = Chosen.room(rows)
        write_boards(results, 1 - rows[:, 5], chosen.rows)
        assert find_codes(GAME.rules, rows, chosen, *GAME.buffers()), "gnubg plays by the same rules"
        return chosen


def _load() -> Any:
    try:
        return importlib.import_module("gnubg_nn")
    except ImportError:
        raise InputError('the player gnubg needs the package gnubg-nn: pip install "deltaw[peers]"') from None


@kernel
def read_boards(rows, boards):
    """Backgammon states int64 [n, 6] as gnubg boards int64 [n, 2, 25]."""
    for i in range(len(rows)):
        for bit in range(BAR + 1):
            boards[i, 0, bit] = count(rows[i, 2], rows[i, 3], bit)
            boards[i, 1, bit] = count(rows[i, 0], rows[i, 1], bit)


@kernel
def write_boards(boards, seats, rows):
    """gnubg boards int64 [n, 2, 25] as states before the roll, int64 [n, 6]; `seats` int64 [n]: who is on roll."""
    for i in range(len(boards)):
        for side in range(2):
            low, high = np.int64(0), np.int64(0)
            for bit in range(BAR + 1):
                for _ in range(boards[i, 1 - side, bit]):
                    low, high = put(low, high, np.int64(1) << bit)
            rows[i, 2 * side] = low
            rows[i, 2 * side + 1] = high
        rows[i, 4] = 0
        rows[i, 5] = seats[i]


@kernel
def find_codes(rules, rows, chosen, moves, children):
    """chosen.moves[i] = the move of the decision rows[i] whose result is chosen.rows[i]; returns whether there is one
    in every decision."""
    for i in range(len(rows)):
        k, n = 0, rules.expand(rules.load(rows[i]), moves, children)
        while k < n and not (children[k] == chosen.rows[i]).all():
            k += 1
        if k == n:
            return False
        chosen.moves[i] = moves[k]
    return True
