"""Exact solving of the published test positions: `python -m benchmarks.solve_sets connect_four` (`othello`, `chess`).

Each position of the sets in `tests/data/` is solved and compared with its known score (in chess the plies to mate,
found by the engine without pruning). The table shows how many were right, and the mean, median and longest time.
`--only ffo_1_39` chooses sets, `--every 10` takes each tenth position.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.solvers.exact import find_solver
from deltaw.search.tree.engine import Engine, default_options

DATA = Path(__file__).parent.parent / "tests" / "data"
SETS = {
    "connect_four": ("Test_L3_R1", "Test_L2_R1", "Test_L1_R1"),
    "othello": ("endgame_10_16.tsv", "ffo_1_39.tsv"),
    "chess": ("mate_in_1", "mate_in_2", "mate_in_3", "mate_in_4", "mate_in_5"),
}


class Problem(NamedTuple):
    name: str
    position: str
    score: int


def problems(game: str, name: str) -> list[Problem]:
    """The positions of one set, in the notation of the game."""
    if game == "chess":
        return [mate for mate in _mates() if name == f"mate_in_{(mate.score + 1) // 2}"]
    lines = [line for line in (DATA / game / name).read_text().splitlines() if line and not line.startswith("#")]
    if game == "connect_four":
        return [Problem(str(i), *_columns(line)) for i, line in enumerate(lines, 1)]
    numbered = name.startswith("ffo")
    cells = [line.split("\t") for line in lines]
    if numbered:
        return [Problem(f"#{c[0]}", f"{c[1]} {c[2]}", int(c[4])) for c in cells]
    return [Problem(str(i), f"{c[0]} {c[1]}", int(c[3])) for i, c in enumerate(cells, 1)]


def _mates() -> list[Problem]:
    found = [json.loads(line) for line in (DATA / "chess/mates.json").read_text().splitlines()]
    return [Problem(str(i), mate["fen"], 2 * mate["mate"] - 1) for i, mate in enumerate(found, 1)]


def _columns(line: str) -> tuple[str, int]:
    position, score = line.split()
    return position, int(score)


def solved(game_name: str, chosen: list[Problem]) -> Iterator[tuple[Problem, int, int, float]]:
    """(problem, score found, nodes, seconds) one after the other."""
    game = games.load(game_name)
    if game_name == "chess":
        yield from _mated(game, chosen)
        return
    find_solver(game).solve(game.parse(chosen[0].position), best=False)  # compiles
    solver = find_solver(game)  # knows nothing of that position
    for problem in chosen:
        state = game.parse(problem.position)
        start = time.perf_counter()
        solution = solver.solve(state, best=False)
        yield problem, solution.score, solution.nodes, time.perf_counter() - start


def _mated(game: Game, chosen: list[Problem]) -> Iterator[tuple[Problem, int, int, float]]:
    options = default_options(game)._replace(null_reduction=0, late_moves=0)
    engine = Engine(game, game.baselines["material"], options=options)
    for problem in chosen:
        engine.forget()
        found = engine.search(game.parse(problem.position), depth=problem.score)
        yield problem, found.distance or 0, found.nodes, found.seconds


def parser() -> Parser:
    parse = Parser("python -m benchmarks.solve_sets", description="Solve the published test positions.")
    parse.add_argument("game", help=", ".join(SETS))
    parse.add_argument("--only", nargs="*", metavar="SET", help="sets, by the beginning of their names")
    parse.add_argument("--every", type=int, default=1, help="take one of so many positions")
    parse.add_argument("--each", action="store_true", help="a line for each position")
    return parse


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.game not in SETS:
        raise InputError(f"no positions for {options.game!r}; there are some for: {', '.join(SETS)}")
    if options.every < 1:
        raise InputError(f"--every {options.every}: at least 1")
    wrong = 0
    for name in SETS[options.game]:
        if not options.only or any(name.startswith(word) for word in options.only):
            wrong += _report(options.game, name, options.every, options.each)
    return 1 if wrong else 0


def _report(game: str, name: str, every: int, each: bool) -> int:
    times, nodes, wrong = [], 0, 0
    for problem, score, visited, seconds in solved(game, problems(game, name)[::every]):
        times.append(seconds)
        nodes += visited
        wrong += score != problem.score
        if each or score != problem.score:
            told = "" if score == problem.score else f"  WRONG, should be {problem.score:+d}"
            print(f"{name} {problem.name}: {score:+d}, {visited:,} nodes, {seconds:.2f} s{told}", flush=True)
    right, total = len(times) - wrong, sum(times)
    print(
        f"{name}: {right} of {len(times)} exact; mean {1000 * statistics.fmean(times):.3f} ms, median "
        f"{1000 * statistics.median(times):.3f} ms, longest {max(times):.3f} s, total {total:.1f} s; "
        f"{nodes:,} nodes, {nodes / total / 1e6:.1f} M/s",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
