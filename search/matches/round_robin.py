"""A round robin for commands: every player meets every other one, with a progress bar, and a table and a picture at the
end."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from deltaw.envs.cli import INTERRUPTED
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.equilibria.normal_form import EXTRA
from deltaw.search.matches.empirical_game import EmpiricalGame, empirical_game, lines
from deltaw.search.matches.league import (
    LeagueResult,
    cell,
    empty_tables,
    find_players,
    league,
    pairings,
    standings,
)
from deltaw.search.matches.match import Match, check_two_players
from deltaw.search.matches.ratings import PRIOR
from deltaw.search.players.find import find_player
from deltaw.search.players.players import RANDOM
from deltaw.search.terminal.progress import counting
from deltaw.search.terminal.tables import empty_table

LEAST_GAMES = 4
"""of a pairing, for errors to be known"""


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
            report(game, standings(game, names, tables, options.seed), options, whole=False)
        return INTERRUPTED
    report(game, result, options)
    return 0


def _check(game: Game, options: Any) -> None:
    """InputError before anything is played."""
    nobody = find_player(game, RANDOM)
    Match(game, nobody, nobody, options.games, options.seed, noise=options.noise)
    if options.theory and options.games < LEAST_GAMES:
        raise InputError(f"--theory needs at least {LEAST_GAMES} games a pairing, not {options.games}")
    if options.theory and not (find_spec("quantecon") and find_spec("scipy")):
        raise InputError(EXTRA)
    if options.plot:
        from deltaw.search.matches.cross_table import check_picture

        check_picture(options.plot)


def report(game: Game, result: LeagueResult, options: Any, whole: bool = True) -> None:
    """The result on stdout, and as a picture where one is wanted; the theory of a `whole` league alone."""
    title = f"{game.title}: a league of {len(result.names)}"
    theory = empirical_game(result, options.seed) if options.theory and whole else None
    if options.json:
        told = {} if theory is None else {"theory": theory._asdict()}
        print(json.dumps(result._asdict() | {"noise": options.noise} | told))
    else:
        show(result, title, options)
        if theory is not None:
            show_theory(result, theory)
    if options.plot:
        from deltaw.search.matches.cross_table import draw

        shares = None if theory is None else theory.nash
        draw(result, f"{title}, {options.games} games a pairing", options.plot, shares)
        print(f"wrote {options.plot}", file=sys.stderr)


def show_theory(result: LeagueResult, theory: EmpiricalGame) -> None:
    """What the theory says, on the terminal."""
    from rich.console import Console
    from rich.markup import escape

    table = empty_table("The league as a game, in %", "player", "Nash", "5 to 95 % of draws", "alpha-rank")
    for name, nash, low, high, rank in zip(
        result.names, theory.nash, theory.low, theory.high, theory.alpha_rank, strict=True
    ):
        table.add_row(escape(name), f"{100 * nash:.1f}", f"{100 * low:.1f} - {100 * high:.1f}", f"{100 * rank:.1f}")
    console = Console()
    console.print(table)
    for line in lines(result, theory):
        console.print(escape(line), highlight=False)


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
        f"{options.games} games a pairing, seed {result.seed}; columns: {unit}; ± is one standard error of the "
        f"distance to {RANDOM}; each two are given {PRIOR} more games, drawn"
    )
    Console().print(table)
