"""Compare a player's moves and values with the truth, where it is known: `deltaw oracle`.

    deltaw oracle connect_four FILE.safetensors --positions 1000

What is compared is told in `search/analysis/oracle.py`.
"""

from __future__ import annotations

import json
import math
import sys

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.analysis.oracle import OracleResult, find_oracle, move_accuracy, random_decisions, read_decisions
from deltaw.search.players.find import find_player
from deltaw.search.terminal.progress import counting


def parser() -> Parser:
    p = Parser(prog="deltaw oracle", description="Compare a player's moves and values with the truth.")
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument("player", help="named as in deltaw.search.arena: FILE, FILE@depth=8, random ...")
    p.add_argument("--positions", type=int, default=1000, help="of random games (default %(default)s)")
    p.add_argument(
        "--from-ply", type=int, help="earliest ply of a position (default 8 Connect Four, 48 Othello, else 0)"
    )
    p.add_argument("--file", metavar="FILE", help="take the positions from this file, one a line")
    p.add_argument("--plies", type=int, default=1, choices=(1, 2), help="plies an evaluator looks ahead")
    p.add_argument("--seed", type=int, default=0, help="of the positions (default %(default)s)")
    p.add_argument("--threads", type=int, help="default: one a core; changes no result")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.threads is not None and options.threads < 1:
        raise InputError(f"--threads must be at least 1, not {options.threads}")
    if not 0 <= options.seed < 1 << 63:
        raise InputError(f"the seed must be at least 0 and below 2^63, not {options.seed}")
    game = games.load(options.game)
    oracle = find_oracle(game, options.threads)
    player = find_player(game, options.player, options.plies, threads=options.threads)
    if options.file:
        rows, seed = read_decisions(game, options.file), None
    else:
        rows, seed = random_decisions(game, options.positions, options.seed, options.from_ply), options.seed
    with counting(len(rows), "positions") as advance:
        result = move_accuracy(game, player, rows, seed, oracle=oracle, progress=advance)
    _report(game, result, options.json)
    return 0


def _report(game: Game, result: OracleResult, as_json: bool) -> None:
    if as_json:
        bins = None if result.calibration is None else [b._asdict() for b in result.calibration]
        fields = result._asdict() | {"calibration": bins}
        print(json.dumps({k: None if isinstance(x, float) and math.isnan(x) else x for k, x in fields.items()}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{game.title}: {result.player} beside the truth", show_header=False)
    for name, text in lines(result):
        table.add_row(name, text)
    Console().print(table)


def lines(result: OracleResult) -> list[tuple[str, str]]:
    """(what, text) of the report's table."""
    table = [
        ("optimal moves", f"{100 * result.optimal:.1f} ± {100 * result.optimal_error:.1f} %"),
        ("moves that keep the result", f"{100 * result.keeps:.1f} ± {100 * result.keeps_error:.1f} %"),
    ]
    if result.value_error is not None and result.calibration is not None:
        table.append(("value error |v - z|", f"{result.value_error:.3f} ± {result.value_error_error:.3f}"))
        table.append(("calibration error", f"{result.calibration_error:.3f}"))
        for b in result.calibration:
            table.append((f"  v {b.value:+.2f}", f"z {b.outcome:+.2f}  ({b.positions} positions)"))
    source = "positions of a file" if result.seed is None else f"positions of random games, seed {result.seed}"
    return [*table, ("", f"± is one standard error; {result.positions} {source}")]


if __name__ == "__main__":
    sys.exit(main())
