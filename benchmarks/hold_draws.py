"""Is a drawn ending of checkers ever lost? `python -m benchmarks.hold_draws --games 10000`.

The engine, two moves deep and with the databases that it finds, begins in random drawn positions of two to four pieces.
Its opponents are

    random    any move
    traps     of the moves that keep the draw, the one that leaves the engine the fewest moves which keep it, too
    engine    the engine without databases, four moves deep

A game ends by the rules: by repetition or 40 moves without progress, too. No game may be lost; the exit status says so.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.bits import random_word
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.kernel import kernel
from deltaw.envs.path import make_path, outcome, reach
from deltaw.search.databases.endings import EndingDatabase, as_known, find_endings, probe
from deltaw.search.tree.engine import Engine

GAME = games.load("checkers")
ENTRIES = 1 << 12
OPPONENTS = ("random", "traps", "engine")


@kernel
def keeps_draw(rules, facts, child):
    """Whether the move to `child` does not lose."""
    over, value = rules.outcome(child)
    return (value if over else probe(facts, child)[1]) <= 0


@kernel
def set_trap(rules, facts, state, moves, rows, replies, results, word):
    """The opponent's move; equally good ones are drawn by `word`."""
    best, fewest = np.int64(0), 1 << 20
    n = rules.expand(state, moves, rows)
    for k in range(n):
        i = (k + word) % n
        child = rules.load(rows[i])
        if not keeps_draw(rules, facts, child):
            continue
        kept = 0
        if not rules.outcome(child)[0]:
            for j in range(rules.expand(child, replies, results)):
                kept += keeps_draw(rules, facts, rules.load(results[j]))
        if kept < fewest:
            best, fewest = moves[i], kept
    return best


def drawn_position(database: EndingDatabase, number: int) -> Any:
    """The first drawn one of a row of random positions, all slices alike."""
    slices, codes, attempt = GAME.slices, list(database.slices), 0
    assert slices is not None
    while True:
        attempt += 1
        code = codes[random_word(1, number, attempt, 0) % len(codes)]
        state = slices.position(code, np.int64(random_word(1, number, attempt, 1) % slices.size(code)))[1]
        if not GAME.rules.outcome(state)[0] and probe(database.facts, state)[1] == 0:
            return GAME.unrow(GAME.row(state))


def play(database: EndingDatabase, holder: Engine, searcher: Engine, number: int) -> int:
    """Result of game `number` for the engine with databases, which begins."""
    rules, state, path, ply = GAME.rules, drawn_position(database, number), make_path(GAME.rules), 0
    opponent, buffers = OPPONENTS[number % len(OPPONENTS)], (*GAME.buffers(), *GAME.buffers())
    while True:
        over, value = outcome(rules, path, state)
        if over:
            return int(value if ply % 2 == 0 else -value)
        word = random_word(2, number, ply, 0)
        if ply % 2 == 0:
            move = holder.search(state, depth=2, path=path).move
        elif opponent == "engine":
            move = searcher.search(state, depth=4, path=path).move
        elif opponent == "traps":
            move = set_trap(rules, database.facts, state, *buffers, np.int64(word & 1023))
        else:
            moves = GAME.moves(state)
            move = moves[word % len(moves)]
        reach(rules, path, state)
        state, ply = GAME.unrow(GAME.row(rules.play(state, move))), ply + 1


def parser() -> Parser:
    parse = Parser("python -m benchmarks.hold_draws", description="Drawn endings of checkers, held against any play.")
    parse.add_argument("--games", type=int, default=10_000, help="to be played (default %(default)s)")
    return parse


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    database = find_endings(GAME)
    assert database is not None
    material = GAME.baselines["material"]
    holder = Engine(GAME, material, known=as_known(database), entries=ENTRIES)
    searcher, start = Engine(GAME, material, entries=ENTRIES), time.perf_counter()
    results = Counter(
        (OPPONENTS[n % len(OPPONENTS)], play(database, holder, searcher, n)) for n in range(options.games)
    )
    print(f"{options.games} games from drawn positions, {time.perf_counter() - start:.0f} s")
    for opponent in OPPONENTS:
        won, drawn, lost = (results[opponent, value] for value in (1, 0, -1))
        print(f"{opponent:8} won {won:5}  drawn {drawn:5}  lost {lost:5}")
    return int(any(value < 0 for _, value in results))


if __name__ == "__main__":
    sys.exit(main())
