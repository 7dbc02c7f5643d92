"""Compare a game's rules with OpenSpiel's in random games: `deltaw spiel`.

deltaw spiel backgammon --games 100        needs open_spiel: pip install "deltaw[peers]"
"""

from __future__ import annotations

from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.doors.openspiel import TWINS, cross_check


def parser() -> Parser:
    p = Parser(prog="deltaw spiel", description="Check a game's rules against OpenSpiel's in random games.")
    p.add_argument("game", help=f"one of {', '.join(TWINS)}")
    p.add_argument("--games", type=int, default=20, help="random games (default %(default)s)")
    p.add_argument("--seed", type=int, default=0, help="of the games (default %(default)s)")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.games < 1:
        raise InputError(f"--games must be at least 1, not {options.games}")
    found = cross_check(options.game, options.games, options.seed)
    print(
        f"{found.game}: {found.games} random games, {found.decisions} decisions, {found.results} results of moves "
        f"allowed by both sides, {len(found.differences)} differences"
    )
    for position, what in found.differences:
        print(f"{position}: {what}")
    return 1 if found.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
