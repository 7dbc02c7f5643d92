"""Compute an equilibrium of a game with hidden cards: `deltaw equilibrium`.

    deltaw equilibrium kuhn_poker
    deltaw equilibrium leduc_poker --method discounted --iterations 2000 --show 12
    deltaw equilibrium leduc_poker --method cfr_plus --until 0.001 --json
    deltaw equilibrium kuhn_poker --method determinization       what a player does who searches each deal by itself

The strategy says how often each move is made in each situation that a player can tell apart. Its *exploitability* is
what a best response to it wins, beyond the value of the game: half the sum for the two seats (half of NashConv).
"""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.equilibria.cfr import DISCOUNTS, Cfr
from deltaw.search.equilibria.external_sampling import ExternalSampling
from deltaw.search.equilibria.pimc import determinized
from deltaw.search.equilibria.tree import Flat, exploitability, flatten, uniform, value_of
from deltaw.search.terminal.progress import counting
from deltaw.search.terminal.tables import empty_table

SAMPLED, DETERMINIZED, UNIFORM = "external_sampling", "determinization", "uniform"
METHODS = (*DISCOUNTS, SAMPLED, DETERMINIZED, UNIFORM)
HEADS = ("what the player sees", "how often each move is made, %")
ITERATIONS, SHOWN, PARTS = 1000, 24, 50
MOST_ITERATIONS = 10**9


def parser() -> Parser:
    p = Parser(prog="deltaw equilibrium", description="Compute an equilibrium of a game with hidden cards.")
    p.add_argument("game", help="one with hidden cards or dice, such as kuhn_poker")
    p.add_argument("--method", default="cfr_plus", choices=METHODS, help="default %(default)s")
    p.add_argument("--iterations", type=int, default=ITERATIONS, help="at most (default %(default)s)")
    p.add_argument("--until", type=float, metavar="E", help="stop when the exploitability is at most E")
    p.add_argument("--seed", type=int, default=0, help="of external sampling (default %(default)s)")
    p.add_argument("--show", type=int, default=SHOWN, help="rows of the table, 0: none (default %(default)s)")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout, with every row, instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if not 1 <= options.iterations <= MOST_ITERATIONS:
        raise InputError(f"--iterations must be from 1 to {MOST_ITERATIONS:,}, not {options.iterations}")
    if options.until is not None and not (math.isfinite(options.until) and options.until > 0):
        raise InputError(f"--until must be above 0, not {options.until}")
    if options.show < 0:
        raise InputError(f"--show must be at least 0, not {options.show}")
    flat = flatten(games.load(options.game))
    with counting(options.iterations, "iterations") as advance:
        strategy, iterations = find_strategy(flat, options, advance)
    found = {
        "game": flat.game.name,
        "method": options.method,
        "iterations": iterations,
        "value": value_of(flat.tree, strategy),
        "exploitability": exploitability(flat.tree, strategy),
    }
    if options.json:
        print(json.dumps(found | {"strategy": [describe(flat, strategy, i) for i in range(len(flat.states))]}))
    else:
        _report(flat, strategy, found, options.show)
    return 0


def find_strategy(flat: Flat, options: Namespace, advance: Callable[[int], None]) -> tuple[np.ndarray, int]:
    """(the strategy [S], how many iterations it took)."""
    if options.method in (DETERMINIZED, UNIFORM):
        return {DETERMINIZED: determinized, UNIFORM: uniform}[options.method](flat.tree), 0
    sampled = options.method == SAMPLED
    run = ExternalSampling(flat.tree, options.seed) if sampled else Cfr(flat.tree, DISCOUNTS[options.method])
    part = -(-options.iterations // PARTS)
    while run.iterations < options.iterations:
        run.run(min(part, options.iterations - run.iterations))
        advance(run.iterations)
        if options.until is not None and exploitability(flat.tree, run.average()) <= options.until:
            break
    return run.average(), run.iterations


def describe(flat: Flat, strategy: np.ndarray, i: int) -> dict[str, Any]:
    """What a strategy does in information set i."""
    state, slots = flat.states[i], range(flat.tree.start[i], flat.tree.start[i + 1])
    return {
        "seat": int(flat.tree.owner[i]),
        "sees": "; ".join(" ".join(line.split()) for line in flat.game.ansi(state).splitlines()),
        "moves": {flat.game.move_text(state, int(flat.moves[slot])): float(strategy[slot]) for slot in slots},
    }


def _report(flat: Flat, strategy: np.ndarray, found: dict[str, Any], show: int) -> None:
    from rich.console import Console

    table = empty_table(f"{flat.game.title}: {found['method']}, {found['iterations']:,} iterations", *HEADS)
    for i in range(min(show, len(flat.states))):
        row = describe(flat, strategy, i)
        table.add_row(row["sees"], ", ".join(f"{move} {100 * often:.1f}" for move, often in row["moves"].items()))
    left = len(flat.states) - show
    console = Console()
    if show:
        console.print(table)
    if show and left > 0:
        console.print(f"{left:,} more situations; --show {len(flat.states)} and --json list them all")
    console.print(f"value for the first player: {found['value']:+.6f}")
    console.print(f"exploitability: {found['exploitability']:.6f}")


if __name__ == "__main__":
    sys.exit(main())
