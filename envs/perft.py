"""Count move sequences, the test of a move generator: `deltaw perft connect_four 8`.

perft(depth) is the number of sequences of exactly `depth` legal moves; a finished game has none left, and a forced pass
is a move like any other. Dice are no moves: every outcome is followed, so in backgammon perft(1) counts the plays of
all opening rolls. Known counts, from other programs, find errors that no single position shows; splitting them by the
first move tells in which branch an error is.

Source: the "perft" function of chess programs, <https://www.chessprogramming.org/Perft>.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.control import enter, make_control, supervised
from deltaw.envs.errors import InputError
from deltaw.envs.game import START, Game
from deltaw.envs.kernel import kernel


@kernel
def perft(rules, state, depth, moves, control):
    """Sequences of exactly `depth` moves (int64, see envs/kernel.py) from `state`; `moves` int64 [>= depth, max_moves]
    is scratch memory.

    The last move is counted, not played. Anything when stopped by `control`, which counts the positions visited.
    """
    if depth == 0:
        return np.int64(1)
    if enter(control) or rules.outcome(state)[0]:
        return np.int64(0)
    outcomes, total = rules.num_chance(state), np.int64(0)
    for i in range(outcomes):
        total += perft(rules, rules.chance(state, i)[0], depth, moves, control)
    if outcomes > 0:
        return total
    n = rules.legal_moves(state, moves[depth - 1])
    if depth == 1:
        return np.int64(n)
    for i in range(n):
        total += perft(rules, rules.play(state, moves[depth - 1, i]), depth - 1, moves, control)
    return total


def count(game: Game, state: Any, depth: int) -> int:
    """Number of sequences of `depth` moves; Ctrl-C stops it. Raises InputError for a negative depth."""
    if depth < 0:
        raise InputError(f"depth {depth} is negative; it counts moves")
    moves, control = np.empty((max(depth, 1), game.rules.max_moves), np.int64), make_control()
    return int(supervised(control, None, perft, game.rules, state, np.int64(depth), moves, control))


def divide(game: Game, state: Any, depth: int) -> Iterator[tuple[str, int]]:
    """(text, sequences that begin so) of every move, or of every outcome of the dice where they are due; depth >= 1."""
    rules = game.rules
    if rules.outcome(state)[0]:
        return
    for i in range(rules.num_chance(state)):
        yield game.chance_text(state, i), count(game, rules.chance(state, i)[0], depth)
    if rules.num_chance(state) == 0:
        out = np.empty(rules.max_moves, np.int64)
        for move in out[: rules.legal_moves(state, out)]:
            yield game.move_text(state, int(move)), count(game, rules.play(state, move), depth - 1)


def parser() -> Parser:
    p = Parser(
        prog="deltaw perft",
        description="Count the sequences of legal moves of a given length, split by the first move.",
    )
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument("depth", type=int, help="moves in a sequence")
    p.add_argument("position", nargs="?", default=START, help="in the game's usual notation; default: where it begins")
    return p


@guarded
def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    game = games.load(options.game)
    state = game.read_position(options.position)
    count(game, state, min(options.depth, 1))  # compiles, so that the clock does not
    print(f"{game.title}, {options.depth} moves from {game.format(state)}", flush=True)
    start, total = time.perf_counter(), int(options.depth == 0)
    for text, sequences in divide(game, state, options.depth) if options.depth else ():
        print(f"  {text:<12} {sequences:>20,}", flush=True)
        total += sequences
    seconds = time.perf_counter() - start
    print(f"  {'total':<12} {total:>20,}   {seconds:.3f} s, {total / max(seconds, 1e-9) / 1e6:,.1f} million/s")


if __name__ == "__main__":
    raise SystemExit(main())
