"""Other search programs at the same work, in the same run, one core each: `--peers`, with `pip install
"deltaw[peers]"`.

OpenSpiel's `alpha_beta_search` is its generic search, in Python over C++ states (its C++ alpha-beta is not in the
wheel); nodes are counted by its value function and by the leaves here. bitbully is a Connect Four solver in C++; it
solves the positions of the test sets, as `benchmarks.solve_sets` does, each solver with its own table that it keeps
from one position to the next. Stockfish is asked for its own `bench`, one thread with its default network; python-chess
gives the moves of an alpha-beta in Python. What a node costs depends on what is evaluated there: these rows compare
speed, not strength.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.bench_peers import compared, peer
from benchmarks.bench_search import (
    CHESS_NODES,
    CONNECT_FOUR,
    OPENING,
    OTHELLO,
    TABLE_ENTRIES,
    count_leaves,
    piece_squares,
    start_of,
    thinking,
)
from benchmarks.measure import REPEATS, Row, Settings, Timing, rate
from benchmarks.solve_sets import Problem, problems
from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search.solvers.exact import NOTHING, find_solver
from deltaw.search.tree.algorithm import evaluate_state, make_setup
from deltaw.search.tree.engine import DEEP_ENOUGH, Engine
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


def bench_stockfish(settings: Settings) -> Iterator[Row]:
    """Nodes a second: theirs by `stockfish bench`, ours from a middle game, by a linear piece-square evaluator."""
    if not settings.peers:
        return
    program = find_stockfish()
    if program is None:
        print("stockfish is not installed: apt-get install stockfish")
        return
    theirs = Timing([_stockfish_speed(program) for _ in range(REPEATS)])
    yield from compared("Stockfish: bench", "nodes/s", theirs, our_chess(settings), "whole engines, one thread")


def find_stockfish() -> str | None:
    """Debian keeps games in a folder of their own."""
    return shutil.which("stockfish", path=os.environ.get("PATH", os.defpath) + os.pathsep + "/usr/games")


def _stockfish_speed(program: str) -> float:
    told = subprocess.run([program, "bench"], capture_output=True, text=True, check=True)
    found = re.search(r"Nodes/second\s*:\s*(\d+)", told.stdout + told.stderr)
    if found is None:
        raise InputError(f"{program} bench tells no nodes/second")
    return float(found[1])


def our_chess(settings: Settings) -> Timing:
    game = games.load("chess")
    engine = Engine(game, piece_squares(game), entries=TABLE_ENTRIES)
    return thinking(engine, game.read_position(OPENING), DEEP_ENOUGH, settings.seconds, nodes=CHESS_NODES)


def bench_python_chess_search(settings: Settings) -> Iterator[Row]:
    """Nodes a second of alpha-beta by material over python-chess's moves, as everybody writes it first."""
    chess = peer("chess", settings)
    if chess is None:
        return
    worth, nodes = (0, 1, 3, 3, 5, 9, 0), [0]

    def alphabeta(board: Any, depth: int, alpha: int, beta: int) -> int:
        nodes[0] += 1
        if depth == 0:
            lead = sum(worth[man.piece_type] * (1 if man.color else -1) for man in board.piece_map().values())
            return lead if board.turn else -lead
        for move in board.legal_moves:
            board.push(move)
            alpha = max(alpha, -alphabeta(board, depth - 1, -beta, -alpha))
            board.pop()
            if alpha >= beta:
                break
        return alpha

    def work() -> int:
        before = nodes[0]
        alphabeta(chess.Board(OPENING), 3, -100, 100)
        return nodes[0] - before

    note = "theirs: a position of the middle game, 3 plies, in Python"
    yield from compared("python-chess: alpha-beta", "nodes/s", rate(work, settings.seconds), our_chess(settings), note)


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
