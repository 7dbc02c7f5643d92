"""Play a player's moves against all replies of the opponent: `deltaw exhaustive`.

    deltaw exhaustive tic_tac_toe FILE.safetensors

What is counted is told in `search/analysis/exhaustive.py`.
"""

from __future__ import annotations

import json
import sys

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.analysis.exhaustive import LIMIT, SEATS, ExhaustiveResult, play_out
from deltaw.search.players.find import find_player
from deltaw.search.terminal.progress import counting


def parser() -> Parser:
    p = Parser(prog="deltaw exhaustive", description="Play a player's moves against all replies.")
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument("player", help="named as in deltaw.search.arena: FILE, FILE@depth=2, perfect ...")
    p.add_argument("--plies", type=int, default=1, choices=(1, 2), help="plies an evaluator looks ahead")
    p.add_argument("--limit", type=int, default=LIMIT, help="give up at more positions than this (default %(default)s)")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.limit < 1:
        raise InputError(f"--limit must be at least 1, not {options.limit}")
    game = games.load(options.game)
    player = find_player(game, options.player, options.plies, threads=1)
    with counting(options.limit, "positions at most") as advance:
        result = play_out(game, player, limit=options.limit, progress=advance)
    if options.json:
        seats = {name: getattr(result, name)._asdict() for name in SEATS}
        print(json.dumps(result._asdict() | seats | {"can_lose": result.can_lose}))
    else:
        _report(game, result)
    return 0


def _report(game: Game, result: ExhaustiveResult) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{game.title}: every line of {result.player}")
    for head in ("", "won", "drawn", "lost"):
        table.add_column(head, justify="right" if head else "left")
    for name in SEATS:
        table.add_row(f"as {name} player", *(f"{n:,}" for n in getattr(result, name)))
    verdict = "can lose" if result.can_lose else "never loses"
    table.caption = f"{result.player} {verdict}; {result.positions:,} positions"
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
