"""The two-sided bear-off of backgammon for few checkers: optimal play, where every roll looks at what the opponent has
left.

    V(a, b) = sum over rolls of P(roll) max over results a' of   1          all mine are off
                                                                -V(b, a')   otherwise

is the cubeless equity of the player on roll with position a against b. Neither side can lose a gammon, because both
have borne some checkers off. Positions are numbered as in `search/databases/bearoff.py`, where every move makes the
number smaller. So the pairs are computed in the order of a + b, and each needs only earlier ones.

Sources: H. Sconyers' bear-off databases (1991-2003); GNU Backgammon's two-sided database of 6 checkers.

Letters: Q positions of a side (924 for 6 checkers), R results of all rolls of all positions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.databases.bearoff import ROLLS, check_backgammon, index_of, one_sided, positions_of

PAIR_CHECKERS = 6
"""as GNU Backgammon has it: 853,776 pairs, 7 MB, a second"""
MOST_PAIR_CHECKERS = 10
"""64 million pairs, 513 MB"""
CHUNK = 50
"""diagonals computed in one call of a kernel"""


@kernel
def list_results(rules, checkers, moves, rows, begins, results):
    """results[begins[Q' i + r] ...] get the numbers of the positions after roll r of position i, Q' = 21; `results` of
    length 0: they are only counted."""
    filled = np.int64(0)
    for index in range(positions_of(checkers)):
        state = one_sided(index, checkers)
        for i in range(rules.num_chance(state)):
            rolled, _ = rules.chance(state, i)
            n = rules.expand(rolled, moves, rows) if index > 0 else 0
            if len(results) > 0:
                for k in range(n):
                    results[filled + k] = index_of(rows[k, 2], rows[k, 3], checkers)
            filled += n
            begins[ROLLS * index + i + 1] = filled


@kernel
def compute_diagonal(probabilities, begins, results, total, equities):
    """Equities of all pairs whose numbers add up to `total`; those of smaller totals are there."""
    size = len(equities)
    for a in range(max(1, total - size + 1), min(total, size)):
        b = total - a
        equity = 0.0
        for roll in range(ROLLS):
            least = 1.0  # of the opponent's equities afterwards
            for k in range(begins[ROLLS * a + roll], begins[ROLLS * a + roll + 1]):
                after = results[k]
                least = min(least, equities[b, after] if after > 0 else -1.0)
            equity -= probabilities[roll] * least
        equities[a, b] = equity


@kernel
def compute_diagonals(probabilities, begins, results, first, last, equities):
    for total in range(first, last):
        compute_diagonal(probabilities, begins, results, total, equities)


def build_pairs(
    game: Game, checkers: int = PAIR_CHECKERS, report: Callable[[int, int], None] | None = None
) -> np.ndarray:
    """Equities float64 [Q, Q] of the player on roll, his own position first; row and column 0, where the game is over,
    are 0. `report` is told (diagonals computed, diagonals) now and then. Raises InputError for another game, or a
    number of checkers out of range."""
    check_backgammon(game)
    if not 1 <= checkers <= MOST_PAIR_CHECKERS:
        raise InputError(f"pairs of {checkers} checkers a side: 1 to {MOST_PAIR_CHECKERS} can be computed")
    size = int(positions_of(np.int64(checkers)))
    check_memory(8 * size * size, f"a table of {size * size:,} pairs")
    begins, equities = np.zeros(ROLLS * size + 1, np.int64), np.zeros((size, size))
    results = np.empty(0, np.int32)
    for _ in range(2):  # count them, then write them down
        list_results(game.rules, np.int64(checkers), *game.buffers(), begins, results)
        results = np.empty(begins[-1], np.int32) if len(results) == 0 else results
    state = one_sided(np.int64(1), np.int64(checkers))
    probabilities = np.array([game.rules.chance(state, i)[1] for i in range(ROLLS)])
    for first in range(2, 2 * size - 1, CHUNK):
        last = min(first + CHUNK, 2 * size - 1)
        compute_diagonals(probabilities, begins, results, np.int64(first), np.int64(last), equities)
        if report is not None:
            report(last, 2 * size - 1)
    return equities
