"""Games between two UCI engines by python-chess, which keeps the rules and the clocks."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import chess
import chess.engine
from command_lines import LONGEST
from conftest import ROOT

STOCKFISH = "/usr/games/stockfish"
DELTAW = (sys.executable, "-m", "deltaw", "uci")
MARGIN = 0.5
"""seconds by which a clock may be overdrawn before the flag falls: on a crowded machine a process may wait so long"""
OPENINGS = ("", "e2e4 e7e5", "d2d4 d7d5", "c2c4 e7e5", "e2e4 c7c5", "g1f3 g8f6", "e2e4 e7e6", "d2d4 g8f6", "f2f4 d7d5")


@contextlib.contextmanager
def engine(*command: str, **options: Any) -> Iterator[chess.engine.SimpleEngine]:
    with chess.engine.SimpleEngine.popen_uci(list(command), timeout=LONGEST, cwd=ROOT) as running:
        running.configure(options)
        running.ping()  # what it loads now is not on its clock
        yield running


def play_game(
    engines: tuple[chess.engine.SimpleEngine, ...], opening: str, seconds: float, increment: float, game: object
) -> str:
    """The result: 1-0, 0-1, 1/2-1/2, or "flag of White" or of Black. An illegal move or a dead engine raises."""
    board = chess.Board()
    for move in opening.split():
        board.push_uci(move)
    clocks = [seconds, seconds]
    while (outcome := board.outcome(claim_draw=True)) is None:
        mover = 0 if board.turn == chess.WHITE else 1
        limit = chess.engine.Limit(
            white_clock=clocks[0], black_clock=clocks[1], white_inc=increment, black_inc=increment
        )
        begun = time.perf_counter()
        played = engines[mover].play(board, limit, game=game)
        clocks[mover] -= time.perf_counter() - begun
        if clocks[mover] < -MARGIN:
            return f"flag of {('White', 'Black')[mover]}"
        clocks[mover] = max(clocks[mover], 0.0) + increment
        assert played.move is not None
        board.push(played.move)
    return outcome.result()


def match(games: int, seconds: float, increment: float, **opponent: Any) -> Counter[str]:
    """How often we won, drew and lost against Stockfish with these options, and how often somebody's flag fell."""
    results: Counter[str] = Counter()
    with engine(*DELTAW) as us, engine(STOCKFISH, **opponent) as them:
        for number in range(games):
            white = number % 2 == 0
            pair = (us, them) if white else (them, us)
            result = play_game(pair, OPENINGS[number // 2 % len(OPENINGS)], seconds, increment, number)
            results[named(result, white)] += 1
    return results


def named(result: str, white: bool) -> str:
    """A result as we see it."""
    if result == "1/2-1/2":
        return "drawn"
    if result.startswith("flag"):
        return "our flag" if result.endswith("White") == white else "their flag"
    return "won" if (result == "1-0") == white else "lost"
