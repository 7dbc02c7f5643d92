"""Exact solvers: one file a game, named like the game. A file here *is* the registration; it ends with a class
`Solver`.

Scores are those of the game's `Rules.score`, for the mover: discs for Othello, 22 minus the winner's discs for Connect
Four. A game without a file is solved by the engine, searched to its end (`search/solvers/exact.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np


class Solution(NamedTuple):
    """The exact worth of a position."""

    score: int
    """for the mover"""
    best: tuple[int, ...]
    """every move that keeps this score, in the game's order; empty where they were not asked for or the game is over"""
    nodes: int


class Solver(Protocol):
    """Keeps its memory (transposition table) from one position to the next. One thread at a time."""

    def solve(self, state: Any, control: np.ndarray, *, best: bool = True) -> Solution:
        """The exact score of `state`, and with `best` every best move; polls `control` (`envs/control.py`) at least
        every few thousand nodes and raises `Stopped` when it was stopped. Runs in the calling thread; callers use
        `supervised` of `envs/control.py`."""
        ...
