"""Let players play games, and keep the games in a file: `deltaw record`.

    deltaw record backgammon network pubeval --games 10 --to games.mat          gnubg and XG read it
    deltaw record othello mobility positional --games 10 --to games.ggf         NBoard and Edax read it
    deltaw record tic_tac_toe_three random random random --to games.jsonl

`deltaw analyze GAME --match FILE` reviews the games of a file. How they are played is told in
`search/matches/recording.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deltaw.envs import games
from deltaw.envs.cli import INTERRUPTED, Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.record import GameRecord, check_new, write_games
from deltaw.search.matches.recording import play_games
from deltaw.search.players.find import find_player, plies_of
from deltaw.search.terminal.progress import counting


def parser() -> Parser:
    p = Parser(prog="deltaw record", description="Play games and keep them in a file.")
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument("players", nargs="+", metavar="player", help="one for each seat, named as in deltaw arena")
    p.add_argument(
        "--to", required=True, metavar="FILE", help="a new file; .jsonl, or a format of the game: .mat, .ggf, .txt"
    )
    p.add_argument("--games", type=int, default=10, help="default %(default)s")
    p.add_argument("--plies", type=int, default=1, choices=(1, 2), help="plies that evaluators look ahead")
    p.add_argument("--opening-plies", type=int, help="random moves at the start (default 0; 2 for games without dice)")
    p.add_argument("--seed", type=int, default=0, help="of dice and openings (default %(default)s)")
    p.add_argument("--threads", type=int, help="default: one a core; changes no game")
    return p


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(argv)
    for name, least in (("threads", 1), ("opening_plies", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise InputError(f"--{name.replace('_', '-')} must be at least {least}, not {value}")
    game = games.load(options.game)
    check_new(game, options.to)
    players = [
        find_player(game, text, plies_of(text, options.plies), threads=options.threads) for text in options.players
    ]
    done: list[GameRecord] = []
    try:
        with counting(options.games, "games") as advance:
            done = play_games(
                game, players, options.games, options.seed, options.opening_plies, finished=done, progress=advance
            )
    except KeyboardInterrupt:
        print(f"interrupted after {len(done)} of {options.games} games", file=sys.stderr)
        if done:
            write_games(game, options.to, done)
        return INTERRUPTED
    write_games(game, options.to, done)
    print(summary(done, [player.name for player in players], options.to))
    return 0


def summary(records: Sequence[GameRecord], names: Sequence[str], path: str) -> str:
    """`10 games to games.mat: network +0.300 points a game, pubeval -0.300`."""
    means = []
    for name in dict.fromkeys(names):
        points = [
            x
            for record in records
            for player, x in zip(record.players, record.payoffs or (), strict=False)
            if player == name
        ]
        means.append(f"{name} {sum(points) / len(points):+.3f}")
    means[0] += " points a game"
    return f"{len(records)} {'game' if len(records) == 1 else 'games'} to {path}: {', '.join(means)}"


if __name__ == "__main__":
    raise SystemExit(main())
