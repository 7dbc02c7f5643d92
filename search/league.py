"""A league: every player meets every other one, and all get a rating.

    deltaw league othello outputs/RUN/past positional mobility --games 100
    deltaw league connect_four A.safetensors B.safetensors@depth=4 points_2
    deltaw arena backgammon network linear pubeval --plot league.png        the same, from the arena

Each pairing is a match in pairs with swapped seats (`deltaw.search.matches.match`), all with the same seed, so with the same openings. Ratings are
Bradley-Terry's (`deltaw.search.matches.ratings`) on the Elo scale, where `random`, which joins every league, has 0. In games with larger
outcomes a win is a win for the rating, whatever its size; there the cross table shows points a game.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import INTERRUPTED, Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.matches.match import Match, check_two_players, match
from deltaw.search.matches.ratings import PRIOR, Ratings, bradley_terry
from deltaw.search.players.players import PERFECT, RANDOM, Player, find_player
from deltaw.search.players.spec import parse_player
from deltaw.search.terminal.progress import counting

GAMES = 100
"""of a pairing, unless said otherwise"""


class LeagueResult(NamedTuple):
    """Ratings and the cross table, strongest first. K players."""

    game: str
    names: tuple[str, ...]
    elo: tuple[float, ...]
    error: tuple[float, ...]
    """standard errors, of the distance to `random`"""
    points: tuple[tuple[float, ...], ...]
    """[K, K]: what the row's player took from the column's, a draw counting half"""
    played: tuple[tuple[int, ...], ...]
    """[K, K]"""
    mean: tuple[tuple[float, ...], ...]
    """[K, K]: points a game of the row's player against the column's"""
    mean_error: tuple[tuple[float | None, ...], ...]
    """[K, K]: its standard error, from pairs; None for a single pair"""
    seed: int
    counts_points: bool = False
    """whether games are won by different numbers of points"""


class Tables(NamedTuple):
    """A league in progress."""

    played: np.ndarray
    """float64 [K, K]"""
    points: np.ndarray
    """float64 [K, K]"""
    mean: np.ndarray
    """float64 [K, K]: points a game"""
    mean_error: np.ndarray
    """float64 [K, K]"""


def league(
    game: Game,
    players: dict[str, Player],
    games_each: int,
    seed: int = 0,
    *,
    noise: float = 0.0,
    opening_plies: int | None = None,
    tables: Tables | None = None,
    progress: Callable[[int], None] | None = None,
) -> LeagueResult:
    """All pairings of `players`, by name, of `games_each` games; the anchor is `random`, or else the first. `progress` is
    called with the number of pairings played. `tables` [K, K] of zeros hold what was played if the league is broken off."""
    names = list(players)
    if len(names) < 2:
        raise InputError(f"a league needs at least 2 players, not {len(names)}")
    tables = empty_tables(len(names)) if tables is None else tables
    for done, (i, j) in enumerate(pairings(names), 1):
        first, second = players[names[i]], players[names[j]]
        result = match(game, first, second, games_each, seed, noise=noise, opening_plies=opening_plies)
        tables.played[i, j] = tables.played[j, i] = result.games
        tables.points[i, j] = result.score * result.games
        tables.points[j, i] = result.games - tables.points[i, j]
        tables.mean[i, j], tables.mean[j, i] = result.mean, -result.mean
        tables.mean_error[i, j] = tables.mean_error[j, i] = result.standard_error
        if progress is not None:
            progress(done)
    return standings(game, names, tables, seed)


def empty_tables(players: int) -> Tables:
    return Tables(*(np.zeros((players, players)) for _ in Tables._fields))


def anchor_of(names: Sequence[str]) -> int:
    """Who has 0 Elo."""
    return names.index(RANDOM) if RANDOM in names else 0


def pairings(names: Sequence[str]) -> list[tuple[int, int]]:
    """All pairs i < j, those of the anchor first: all have a rating as soon as it has met everyone."""
    anchor = anchor_of(names)
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return sorted(pairs, key=lambda pair: anchor not in pair)


def standings(game: Game, names: Sequence[str], tables: Tables, seed: int) -> LeagueResult:
    """The result, from the tables as they are. Raises InputError where some players cannot be compared yet."""
    ratings: Ratings = bradley_terry(tables.played, tables.points, anchor_of(names))
    order = np.argsort(-ratings.elo, kind="stable")
    square = np.ix_(order, order)
    return LeagueResult(
        game.name,
        tuple(names[i] for i in order),
        tuple(ratings.elo[order].tolist()),
        tuple(ratings.error[order].tolist()),
        tuple(map(tuple, tables.points[square].tolist())),
        tuple(map(tuple, tables.played[square].astype(int).tolist())),
        tuple(map(tuple, (tables.mean[square] + 0.0).tolist())),
        tuple(tuple(None if math.isnan(x) else x for x in row) for row in tables.mean_error[square].tolist()),
        seed,
        max(game.rules.outcomes) > 1,
    )


# --- who plays ----------------------------------------------------------------------------------------------------


def find_players(game: Game, texts: Sequence[str], plies: int = 1, threads: int | None = None) -> dict[str, Player]:
    """Players by short names: each text names one as in `deltaw arena`, or a folder and with it all evaluator files there.
    `random` joins. Raises InputError for a folder without any, and for a player named twice."""
    wanted: list[str] = []
    for text in texts:
        wanted += _folder(text) if os.path.isdir(text) else [text]
    if RANDOM not in wanted:
        wanted.append(RANDOM)
    twice = sorted({text for text in wanted if wanted.count(text) > 1})
    if twice:
        raise InputError(f"{twice[0]} is named twice: a player meets others, not itself")
    found = {}
    for name, text in zip(short_names(wanted), wanted, strict=True):
        spec = parse_player(text)
        looks_ahead = not spec.searches and spec.name not in (RANDOM, PERFECT)
        found[name] = find_player(game, text, plies if looks_ahead else 1, threads=threads)
    return found


def short_names(texts: Sequence[str]) -> list[str]:
    """One name each, all different: a file's without folder and ending; with its folder where two have the same; else the text."""
    specs = [parse_player(text) for text in texts]
    labels = [spec.label for spec in specs]
    longer = [f"{Path(spec.name).parent.name}/{spec.label}" for spec in specs]
    names = [label if labels.count(label) == 1 else long for label, long in zip(labels, longer, strict=True)]
    return [name if names.count(name) == 1 else text for name, text in zip(names, texts, strict=True)]


def _folder(text: str) -> list[str]:
    files = sorted(str(file) for file in Path(text).glob("*.safetensors"))
    if not files:
        raise InputError(f"the folder {text} holds no evaluator files (*.safetensors)")
    return files


# --- the command --------------------------------------------------------------------------------------------------


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
    p.add_argument("--plot", metavar="FILE", help="draw the cross table: .png, .svg or .pdf (extra plot)")
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


def run(game: Game, texts: Sequence[str], options: Any) -> int:
    """A league of the players that `texts` name, by the options of `parser`; its exit status. Raises InputError."""
    check_two_players(game, "a match")
    players = find_players(game, texts, options.plies, options.threads)
    _check(game, options)
    names, tables = list(players), empty_tables(len(players))
    rules = {"noise": options.noise, "opening_plies": options.opening_plies, "tables": tables}
    try:
        with counting(len(pairings(names)), "pairings") as advance:
            result = league(game, players, options.games, options.seed, progress=advance, **rules)
    except KeyboardInterrupt:
        played = int((tables.played > 0).sum()) // 2
        print(f"interrupted after {played} of {len(pairings(names))} pairings", file=sys.stderr)
        if played >= len(names) - 1:
            report(game, standings(game, names, tables, options.seed), options)
        return INTERRUPTED
    report(game, result, options)
    return 0


def _check(game: Game, options: Any) -> None:
    """InputError before anything is played."""
    nobody = find_player(game, RANDOM)
    Match(game, nobody, nobody, options.games, options.seed, noise=options.noise)
    if options.plot:
        from deltaw.search.matches.cross_table import check_picture

        check_picture(options.plot)


def report(game: Game, result: LeagueResult, options: Any) -> None:
    """The result on stdout, and as a picture where one is wanted."""
    title = f"{game.title}: a league of {len(result.names)}"
    if options.json:
        print(json.dumps(result._asdict() | {"noise": options.noise}))
    else:
        show(result, title, options)
    if options.plot:
        from deltaw.search.matches.cross_table import draw

        draw(result, f"{title}, {options.games} games a pairing", options.plot)
        print(f"wrote {options.plot}", file=sys.stderr)


def show(result: LeagueResult, title: str, options: Any) -> None:
    """The table, on the terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    numbers = [str(i) for i in range(1, len(result.names) + 1)]
    for head in ("", "player", "Elo", "±", *numbers):
        table.add_column(head, justify="left" if head == "player" else "right", overflow="fold")
    for i, name in enumerate(result.names):
        cells = [cell(result, i, j) for j in range(len(result.names))]
        table.add_row(numbers[i], name, f"{result.elo[i]:+.0f}", f"{result.error[i]:.0f}", *cells)
    unit = "points a game" if result.counts_points else "score in %"
    table.caption = (
        f"{options.games} games a pairing, seed {result.seed}; columns: {unit}; ± is one standard error of the distance to "
        f"{RANDOM}; each two are given {PRIOR} more games, drawn"
    )
    Console().print(table)


def cell(result: LeagueResult, i: int, j: int) -> str:
    """What player i took from player j: percent of the points, or points a game where games have sizes."""
    if not result.played[i][j]:
        return "-"
    if result.counts_points:
        return f"{result.mean[i][j]:+.2f}"
    return f"{100 * result.points[i][j] / result.played[i][j]:.0f}"


def rating_text(result: LeagueResult, i: int) -> str:
    return f"{result.elo[i]:+.0f} ± {result.error[i]:.0f} Elo"


if __name__ == "__main__":
    sys.exit(main())
