"""How long to think about a move of a game with clocks.

The usual rule: the time that is left is shared among the moves that are expected, and most of the increment is added.
After `soft` seconds no deeper level is worth beginning; after `hard` seconds the search is stopped. What the way to the
other program takes, `overhead`, is never planned with.
"""

from __future__ import annotations

from typing import NamedTuple

MOVES_EXPECTED = 25
"""moves to the end of the game, as far as time is shared"""
OF_INCREMENT = 0.75
SOFT_SHARE, HARD_SHARE = 0.4, 0.6
"""of the usable time that one move may take at most"""
STRETCH = 3.0
"""how much longer than its share an unfinished level may go on"""
NEXT_LEVEL = 2.0
"""a level takes at least as long as all before it together, so none is begun after half of the soft time"""
LAST_RESORT = 0.1
"""of the clock that is used where less than the overhead is left"""


class Budget(NamedTuple):
    """Seconds for one move."""

    soft: float
    hard: float

    def allows_level(self, elapsed: float) -> bool:
        """Whether a deeper level is worth beginning."""
        return NEXT_LEVEL * elapsed < self.soft


def budget(left: float, increment: float, moves_to_go: int | None, overhead: float) -> Budget:
    """For the next move, with so many seconds on the clock; `moves_to_go`: to the next time control (None: the whole
    game)."""
    left = max(left, 0.0)
    usable = max(left - overhead, LAST_RESORT * left)
    moves = min(moves_to_go or MOVES_EXPECTED, MOVES_EXPECTED)
    share = usable / moves + OF_INCREMENT * increment
    return Budget(min(share, SOFT_SHARE * usable), min(STRETCH * share, HARD_SHARE * usable))
