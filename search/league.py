"""Let every player meet every other one, and rate them: `deltaw league`.

    deltaw league othello outputs/RUN/past positional mobility --games 100
    deltaw league connect_four A.safetensors B.safetensors@depth=4 points_2
    deltaw league othello positional mobility FILE.safetensors --theory     whom to choose where players beat in circles
    deltaw arena backgammon network linear pubeval --plot league.png        the same, from the arena

How the ratings are made is told in `search/matches/league.py`.
"""

from __future__ import annotations

import sys

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.matches.league import GAMES
from deltaw.search.matches.round_robin import run


def parser() -> Parser:
    p = Parser(prog="deltaw league", description="Everyone against everyone, rated; random has 0 Elo.")
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument(
        "players", nargs="+", metavar="player", help="named as in deltaw arena, or a folder of evaluator files"
    )
    p.add_argument("--games", type=int, default=GAMES, help="of each pairing, even (default %(default)s)")
    p.add_argument("--plies", type=int, default=1, choices=(1, 2), help="plies that evaluators look ahead")
    p.add_argument("--noise", type=float, default=0.0, help="probability that a move is random, whoever is on turn")
    p.add_argument("--opening-plies", type=int, help="random moves at the start (default 0; 2 for games without dice)")
    p.add_argument("--seed", type=int, default=0, help="of dice and openings (default %(default)s)")
    p.add_argument("--threads", type=int, help="default: one a core; changes no result")
    p.add_argument("--plot", metavar="FILE", help="draw the cross table: .png, .svg or .pdf")
    p.add_argument("--theory", action="store_true", help="add Nash mixture, alpha-rank and cycles (extra `theory`)")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    for name, least in (("threads", 1), ("opening_plies", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise InputError(f"--{name.replace('_', '-')} must be at least {least}, not {value}")
    return run(games.load(options.game), options.players, options)


if __name__ == "__main__":
    sys.exit(main())
