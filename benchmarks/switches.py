"""What each idea of the engine is worth in chess: matches of the engine with it against the engine without it.

    python -m benchmarks.switches                                        400 games a row, 0.1 s a move: a night
    python -m benchmarks.switches --only null_move --games 40 --seconds 0.02
    python -m benchmarks.switches --book FILE.bin                        an opening book in Polyglot's format, too

Both players have the same time for each move and the same evaluator, and all other options are those with which the
engine plays the game. Games come in pairs with the same random opening and seats swapped; those of the book begin at
the start. Each row is printed when it is known, as a line of a Markdown table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.matches.match import OPENING_PLIES, elo, match
from deltaw.search.players.find import find_player

GAME = "chess"
SWITCHES = {
    "quiescence": ("quiet_plies", "8"),
    "check_extension": ("danger_extension", "1"),
    "singular_extension": ("singular_margin", "0.1"),
    "null_move": ("null_reduction", "2"),
    "late_move_reductions": ("late_moves", "3"),
    "endgame_tables": ("endgames", "yes"),
}
"""idea -> (setting of a player, its value); 0 or no is without"""
BOOK = "book"


def parser() -> Parser:
    parse = Parser("python -m benchmarks.switches", description="Elo of each idea of the engine, in chess.")
    parse.add_argument("--evaluator", default="material", metavar="NAME", help="of both players (default %(default)s)")
    parse.add_argument("--only", nargs="*", metavar="IDEA", help=f"of {', '.join(SWITCHES)}")
    parse.add_argument("--book", metavar="FILE", help="also what this opening book is worth")
    parse.add_argument("--games", type=int, default=400, help="of each row (default %(default)s)")
    parse.add_argument("--seconds", type=float, default=0.1, help="for each move (default %(default)s)")
    parse.add_argument("--threads", type=int, default=1, help="games at the same time (default %(default)s)")
    parse.add_argument("--seed", type=int, default=0, help="of the openings (default %(default)s)")
    return parse


def rows(only: list[str] | None, book: str | None) -> Iterator[tuple[str, str, str, int]]:
    """(idea, setting with it, setting without it, random moves at the start)"""
    unknown = set(only or ()) - set(SWITCHES)
    if unknown:
        raise InputError(f"no idea {', '.join(sorted(unknown))}; there are {', '.join(SWITCHES)}")
    for idea, (option, value) in SWITCHES.items():
        if not only or idea in only:
            yield idea, f",{option}={value}", f",{option}={'no' if value == 'yes' else 0}", OPENING_PLIES
    if book:
        yield BOOK, f",book={book}", "", 0


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    game = games.load(GAME)
    print("| idea | Elo | 95 % | won, drawn, lost | games |\n|---|---:|---|---|---:|", flush=True)
    for idea, on, off, opening_plies in rows(options.only, options.book):
        texts = [f"{options.evaluator}@seconds={options.seconds}{setting}" for setting in (on, off)]
        players = [find_player(game, text, threads=options.threads) for text in texts]
        limits = {"opening_plies": opening_plies, "threads": options.threads}
        result = match(game, *players, options.games, options.seed, **limits)
        found, counts = elo(result), [result.outcomes.get(value, 0) for value in (1, 0, -1)]
        told = "? | ?" if found is None else f"{found.difference:+.0f} | {found.low:+.0f} to {found.high:+.0f}"
        print(f"| {idea.replace('_', ' ')} | {told} | {', '.join(map(str, counts))} | {result.games} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
