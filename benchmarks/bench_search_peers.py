"""Other search programs at the same work, in the same run, one core each: `--peers`, with `pip install
"deltaw[peers]"`.

OpenSpiel's `alpha_beta_search` is its generic search, in Python over C++ states (its C++ alpha-beta is not in the
wheel); nodes are counted by its value function and by the leaves here. bitbully is a Connect Four solver in C++; it
solves the positions of the test sets, as `benchmarks.solve_sets` does, each solver with its own table that it keeps
from one position to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.bench_peers import compared, peer
from benchmarks.bench_search import CONNECT_FOUR, OTHELLO, count_leaves, start_of
from benchmarks.measure import REPEATS, Row, Settings, Timing, rate
from benchmarks.solve_sets import Problem, problems
from deltaw.envs import games
from deltaw.search.solvers.exact import NOTHING, find_solver
from deltaw.search.tree.algorithm import evaluate_state, make_setup
from deltaw.search.tree.stack import Visitor

DEPTHS = {CONNECT_FOUR: (6, 11), OTHELLO: (4, 8)}
"""theirs and ours: at their depth ours would be over before it could be timed"""
EVERY = 5
"""one of so many positions of a set"""


def bench_open_spiel_search(settings: Settings) -> Iterator[Row]:
    """Leaves a second of alpha-beta from the start, with an evaluator that says 0."""
    spiel = peer("pyspiel", settings)
    if spiel is None:
        return
    from open_spiel.python.algorithms.minimax import alpha_beta_search

    for name, (depth, deeper) in DEPTHS.items():
        theirs = spiel.load_game(name)
        seen = [0]

        def value(state: Any, seen: list[int] = seen) -> float:
            seen[0] += 1
            return 0.0

        def their_search(theirs: Any = theirs, value: Any = value, depth: int = depth, seen: list[int] = seen) -> int:
            before = seen[0]
            alpha_beta_search(theirs, value_function=value, maximum_depth=depth, maximizing_player_id=0)
            return seen[0] - before

        game, memory = games.load(name), np.zeros(1, np.int64)
        setup = make_setup(game, NOTHING, "alphabeta", deeper, visitor=Visitor(count_leaves, memory))

        def our_search(game: Any = game, setup: Any = setup, memory: Any = memory, depth: int = deeper) -> int:
            before = int(memory[0])
            evaluate_state(setup, start_of(game), depth)
            return int(memory[0]) - before

        yield from compared(
            f"OpenSpiel: {name}, alpha-beta",
            "leaves/s",
            rate(their_search, settings.seconds),
            rate(our_search, settings.seconds),
            f"theirs in Python over C++ states, {depth} deep; ours {deeper}",
        )


def bench_bitbully(settings: Settings) -> Iterator[Row]:
    """Positions solved a second, one set after the other."""
    core = peer("bitbully.bitbully_core", settings)
    if core is None:
        return
    game = games.load(CONNECT_FOUR)
    ours: Any = find_solver(game)
    theirs = core.BitBullyCore()
    for name in ("Test_L3_R1", "Test_L2_R1", "Test_L1_R1"):
        chosen = problems(CONNECT_FOUR, name)[::EVERY]
        boards = [_board(core, problem) for problem in chosen]
        states = [game.parse(problem.position) for problem in chosen]

        their_time = rounds(theirs.resetTranspositionTable, lambda board: theirs.mtdf(board, 0), boards)
        our_time = rounds(ours.solver.clear, lambda state: ours.solve(state, best=False), states)
        note = f"{len(chosen)} positions; tables emptied before each round, untimed"
        yield from compared(f"bitbully: {name}", "positions/s", their_time, our_time, note)


def rounds(clear: Callable[[], object], solve: Callable[[Any], object], things: list[Any]) -> Timing:
    """Things a second, in REPEATS rounds that begin with empty tables, after one that does not count."""
    values = []
    for _ in range(REPEATS + 1):
        clear()
        start = time.perf_counter()
        for thing in things:
            solve(thing)
        values.append(len(things) / (time.perf_counter() - start))
    return Timing(values[1:])


def _board(core: Any, problem: Problem) -> Any:
    board = core.BoardCore()
    for column in problem.position:
        board.play(int(column) - 1)
    return board
