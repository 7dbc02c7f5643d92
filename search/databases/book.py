"""Opening books: every position of the first plies, with its exact value.

Only the positions of the last ply are solved (`search/solvers/exact.py`), one for each symmetry class. Earlier
positions take the best value of their successors:

    value(s) = max over moves m of +-value(play(s, m))            minus where `seat` changes

Finished games are not in the book, because a database takes their values from the rules. If a move leads back to a
position found earlier, every position is solved on its own. This never happens in games whose pieces only come onto the
board.

Sources: J. D. Allen and V. Allis solved Connect Four independently in 1988. J. Tromp's database of all its positions of
8 plies (1995) is such a book. M. Buro, "Toward opening book learning", ICCA Journal 22 (1999), makes books of inexact
values in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.databases.database import BOOK, OUTCOME, SCORE, Database, make_database
from deltaw.search.databases.retrograde import EXPANDED, MOST_POSITIONS, STATES, Report, reachable
from deltaw.search.solvers.exact import ExactSolver, SearchingSolver, find_solver

UNSOLVED = -32768


@kernel
def is_forward(graph):
    """Whether every edge leads to a position found later."""
    for parent in range(graph.counts[EXPANDED]):
        for edge in range(graph.first[parent], graph.first[parent + 1]):
            if graph.children[edge] >> 1 <= parent:
                return False
    return True


@kernel
def find_ends(rules, rows, by_score, values):
    """values[i] of every finished game among `rows`, and UNSOLVED for the others."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        over, result = rules.outcome(state)
        if by_score:
            result = rules.score(state)
        values[i] = result if over else UNSOLVED


@kernel
def back_up(graph, values):
    """Values of the expanded positions that have none yet, from their successors'. Precondition: the graph is
    forward."""
    for parent in range(graph.counts[EXPANDED] - 1, -1, -1):
        if values[parent] == UNSOLVED:
            best = np.int64(UNSOLVED)
            for edge in range(graph.first[parent], graph.first[parent + 1]):
                value = np.int64(values[graph.children[edge] >> 1])
                best = max(best, value if graph.children[edge] & 1 else -value)
            values[parent] = best


def make_book(
    game: Game,
    plies: int,
    roots: Iterable[Any] | None = None,
    *,
    covers: str = "",
    symmetric: bool = True,
    command: str = "",
    limit: int = MOST_POSITIONS,
    solver: ExactSolver | None = None,
    report: Report | None = None,
) -> Database:
    """The book of all positions up to so many moves from the states `roots` (default: the start); `covers` says in
    words which these are. `solver` is the game's own by default; `report` is told (positions solved, positions to be
    solved). Raises InputError for a negative `plies`, a game of chance, one not for two players, and more than `limit`
    positions."""
    if plies < 0:
        raise InputError(f"a book of {plies} plies: at least 0 are needed, for the start alone")
    solver = find_solver(game) if solver is None else solver
    by_score = not isinstance(solver, SearchingSolver)
    symmetric = symmetric and game.symmetries is not None
    starts = [game.rules.initial()] if roots is None else roots
    graph = reachable(game, starts, symmetric=symmetric, plies=plies, limit=limit)
    rows = graph.rows[: graph.counts[STATES]]
    values = np.empty(len(rows), np.int16)
    find_ends(game.rules, rows, by_score, values)
    going_on = values == UNSOLVED
    last = np.arange(len(rows)) >= (graph.counts[EXPANDED] if is_forward(graph) else 0)
    wanted = np.flatnonzero(going_on & last)
    for done, index in enumerate(wanted, 1):
        values[index] = solver.solve(game.unrow(rows[index]), best=False).score
        if report is not None:
            report(done, len(wanted))
    back_up(graph, values)
    return make_database(
        game,
        graph.keys[: len(rows)][going_on],
        values[going_on],
        kind=BOOK,
        covers=covers or f"every position of the first {plies} plies",
        units=SCORE if by_score else OUTCOME,
        symmetric=symmetric,
        command=command,
    )
