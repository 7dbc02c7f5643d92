"""Play a match of two players, or a round robin of more: `deltaw arena`.

    deltaw arena backgammon network pubeval --games 1000
    deltaw arena othello NEW.safetensors@depth=4 OLD.safetensors@depth=4 --games 4000 --sprt 0 20
    deltaw arena connect_four FILE.safetensors@ties=random perfect --first-only --games 300
    deltaw arena backgammon network linear pubeval --plot league.png

Games come in pairs with the same dice and swapped seats; see `search/matches/match.py` for this, for noise and for
the luck adjustment, `search/matches/sequential.py` for the test that ends a match early, and
`search/players/spec.py` for how players are named. Three players or more, or a folder of evaluator files, are a
round robin (`deltaw league`). +- is one standard error.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from deltaw.envs import games
from deltaw.envs.cli import INTERRUPTED, Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import DEFAULT, find_evaluator, leaf_of, shipped
from deltaw.search.matches import league, round_robin
from deltaw.search.matches.match import SLOTS, Elo, Match, MatchResult, check_two_players, elo, match
from deltaw.search.matches.sequential import LIMIT, Hypotheses
from deltaw.search.players.find import find_player, leaf_in
from deltaw.search.players.players import GNUBG, Player
from deltaw.search.players.plies import CANDIDATES
from deltaw.search.players.spec import parse_player

__all__ = ["Match", "MatchResult", "main", "match"]

GAMES = 1000
"""of a match, unless said otherwise"""

PLAYER_HELP = (
    "a shipped evaluator, an evaluator file, a baseline, random, perfect (where the game is solved) or gnubg; "
    "then perhaps @SETTING=VALUE,... of plies, ties=random, depth, nodes, seconds, algorithm, book: "
    "FILE@depth=8 plays with the engine"
)


def parser() -> Parser:
    p = Parser(
        prog="deltaw arena",
        description="Play a match in pairs of games with the same dice; with more players, everyone against everyone.",
    )
    p.add_argument("game", help=f"one of {', '.join(games.names())}")
    p.add_argument("first", help=PLAYER_HELP)
    p.add_argument("second", nargs="?", help="its opponent, named in the same way")
    p.add_argument(
        "others", nargs="*", metavar="other", help="more players, or folders of evaluator files: a round robin"
    )
    until = (
        f"even; at most so many with --until-error or --sprt (default {GAMES}; "
        f"of each pairing of a round robin {league.GAMES})"
    )
    p.add_argument("--games", type=int, help=until)
    plies = "plies that %s player looks ahead, as TD-Gammon counts them (default 1; gnubg counts one less)"
    p.add_argument("--plies", type=int, default=1, choices=(1, 2), help=plies % "the first")
    p.add_argument("--opponent-plies", type=int, default=1, choices=(1, 2), help=plies % "the second")
    p.add_argument(
        "--candidates", type=int, default=CANDIDATES, help="moves a second ply looks at (default %(default)s)"
    )
    p.add_argument("--full-width", action="store_true", help="a second ply looks at all moves")
    p.add_argument("--seed", type=int, default=0, help="of dice and openings (default %(default)s)")
    p.add_argument(
        "--luck",
        default="auto",
        metavar="NAME",
        help="evaluator of the luck adjustment, or none; auto (default): a player's own, where a player is slow",
    )
    p.add_argument("--until-error", type=float, metavar="E", help="stop when the standard error is at most E")
    sprt = "play until ELO0 or ELO1 is accepted as what the first is better by (errors 5 %% each)"
    p.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help=sprt)
    opening = "random moves at the start (default 0; 2 for games without dice and with swapped seats)"
    p.add_argument("--opening-plies", type=int, help=opening)
    p.add_argument("--noise", type=float, default=0.0, help="probability that a move is random, whoever is on turn")
    p.add_argument("--first-only", action="store_true", help="the first player begins every game: no pairs")
    p.add_argument("--slots", type=int, default=SLOTS, help="games side by side (default %(default)s)")
    p.add_argument("--threads", type=int, help="default: one a core; changes no result")
    p.add_argument("--plot", metavar="FILE", help="of a round robin: draw the cross table as .png, .svg or .pdf")
    p.add_argument("--theory", action="store_true", help="of a round robin: Nash mixture, alpha-rank and cycles")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_intermixed_args(argv)
    check_options(options)
    game = games.load(options.game)
    named = [options.first, *([options.second] if options.second else []), *options.others]
    if len(named) > 2 or any(map(os.path.isdir, named)):
        check_round_robin(options)
        options.games = league.GAMES if options.games is None else options.games
        return round_robin.run(game, named, options)
    if options.second is None:
        parser().error("the following arguments are required: second")
    if options.plot:
        raise InputError("--plot draws the cross table of a round robin: name at least three players")
    if options.theory:
        raise InputError("--theory is about a round robin: name at least three players")
    options.games = GAMES if options.games is None else options.games
    candidates = 0 if options.full_width else options.candidates
    check_two_players(game, "a match")
    first = find_player(game, options.first, options.plies, candidates, options.threads)
    second = find_player(game, options.second, options.opponent_plies, candidates, options.threads)
    luck, luck_name = find_luck(game, options, first, second)
    contest = start(game, options, first, second, luck)
    interrupted = play_out(contest)
    result = contest.result()
    if interrupted:
        print(f"interrupted after {result.games} games in complete pairs", file=sys.stderr)
    if result.games:
        report(game, result, luck_name, options)
    return INTERRUPTED if interrupted else 0


def check_options(options: Any) -> None:
    """InputError for numbers out of range."""
    for name, least in (("candidates", 1), ("slots", 1), ("threads", 1), ("opening_plies", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise InputError(f"--{name.replace('_', '-')} must be at least {least}, not {value}")
    if options.until_error is not None and not options.until_error > 0.0:
        raise InputError(f"--until-error must be above 0, not {options.until_error:g}")
    if options.sprt is not None and options.until_error is not None:
        raise InputError("--sprt and --until-error exclude each other: each says when the match ends")


def check_round_robin(options: Any) -> None:
    """InputError for options that only a match of two has."""
    usual = parser()
    for name in ("opponent_plies", "candidates", "full_width", "luck", "until_error", "sprt", "first_only", "slots"):
        if getattr(options, name) != usual.get_default(name):
            raise InputError(f"--{name.replace('_', '-')} is for a match of two players, not for a round robin")


def find_luck(game: Game, options: Any, first: Player, second: Player) -> tuple[Leaf | None, str | None]:
    """The evaluator of the luck adjustment and its name.

    `auto` takes the first player's, the second's, or the shipped one, where a player is slow. Valuing all rolls
    costs about as much as a move at 2 plies: against two players at 1 ply, the same error comes sooner from more
    games.
    """
    name = options.luck
    slow = is_slow(options.first, options.plies) or is_slow(options.second, options.opponent_plies)
    if name == "none" or (name == "auto" and not (slow and game.rules.max_chance)):
        return None, None
    if name != "auto":
        return leaf_of(find_evaluator(game, name)), name
    for player, named in ((first, options.first), (second, options.second)):
        leaf = leaf_in(player)
        if leaf is not None:
            return leaf, named
    return (leaf_of(find_evaluator(game, DEFAULT)), DEFAULT) if DEFAULT in shipped(game) else (None, None)


def is_slow(text: str, plies: int) -> bool:
    """Whether a player takes much longer for a move than 1 ply of its evaluator does."""
    spec = parse_player(text)
    return spec.how.searches or (spec.how.plies or plies) > 1 or spec.name == GNUBG


def start(game: Game, options: Any, first: Player, second: Player, luck: Leaf | None) -> Match:
    """The match, after a first step of a small one: kernels are compiled or loaded before the clock runs."""
    limits = {
        "slots": options.slots, "threads": options.threads, "opening_plies": options.opening_plies,
        "noise": options.noise, "first_only": options.first_only, "luck": luck,
    }  # fmt: skip
    test = None if options.sprt is None else Hypotheses(*options.sprt)
    ends = {"until_error": options.until_error, "sequential": test}
    contest = Match(game, first, second, options.games, options.seed, **limits, **ends)
    Match(game, first, second, 2, **limits).step()
    contest.restart_clock()
    return contest


def play_out(contest: Match) -> bool:
    """Play to the end with a progress bar on a terminal; True if Ctrl-C came first."""
    try:
        with progress_bar(len(contest.record.over)) as advance:
            while not contest.done:
                contest.step()
                advance(contest)
    except KeyboardInterrupt:
        return True
    return False


@contextlib.contextmanager
def progress_bar(games: int) -> Iterator[Callable[[Match], None]]:
    """A function that shows how far a match is; silent when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda contest: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("games, {task.fields[standing]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=games, standing="")

        def advance(contest: Match) -> None:
            result = contest.result()
            mean, error = result.best
            standing = "" if math.isnan(error) else f"{mean:+.3f} ± {error:.3f}"
            if result.log_likelihood_ratio is not None:
                standing += f", LLR {result.log_likelihood_ratio:+.2f}"
            bar.update(task, completed=contest.ended, standing=standing)

        yield advance


def report(game: Game, result: MatchResult, luck_name: str | None, options: Any) -> None:
    """The result on stdout."""
    if options.json:
        print(json.dumps(as_json(game, result, luck_name, options)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{game.title}: {result.first} against {result.second}", show_header=False)
    for name, text in lines(game, result, luck_name):
        table.add_row(name, text)
    Console().print(table)


def lines(game: Game, result: MatchResult, luck_name: str | None) -> list[tuple[str, str]]:
    """(what, text) of the report's table."""
    unit = "points a game"
    table = [(unit, f"{result.mean:+.4f} ± {_number(result.standard_error)}")]
    if result.adjusted_mean is not None and result.adjusted_error is not None:
        text = f"{result.adjusted_mean:+.4f} ± {_number(result.adjusted_error)}"
        table.append((f"{unit}, luck-adjusted", f"{text}  (luck by {luck_name})"))
    for value in sorted({abs(value) for value in (*game.rules.outcomes, *result.outcomes)} - {0}):
        counts = f"{result.outcomes.get(value, 0)} : {result.outcomes.get(-value, 0)}"
        table.append((outcome_name(game, value), counts))
    if 0 in game.rules.outcomes or 0 in result.outcomes:
        table.append(("draws", str(result.outcomes.get(0, 0))))
    table += rating_lines(game, result)
    speed = f"{result.games} in {result.seconds:.1f} s, {result.games_per_second:.0f} a second"
    return [*table, ("games", speed), ("", f"± is one standard error; {protocol(result)}")]


def rating_lines(game: Game, result: MatchResult) -> list[tuple[str, str]]:
    """(what, text): the score, the Elo difference, the pairs, and the sequential test."""
    table = []
    difference = elo(result) if max(game.rules.outcomes) == 1 else None
    if max(game.rules.outcomes) == 1:
        table.append(("score", f"{100 * result.score:.1f} ± {_number(50 * result.standard_error, 1)} %"))
    if difference is not None:
        table.append(("Elo", elo_text(difference)))
    if result.pentanomial is not None and (difference is not None or result.hypotheses is not None):
        table.append(("pairs scoring 0, 1/2, 1, 3/2, 2", " ".join(map(str, result.pentanomial))))
    if result.hypotheses is not None:
        low, high = result.hypotheses
        verdict = "undecided" if result.accepted is None else f"accepted: {result.accepted:g}"
        ratio = f"LLR {result.log_likelihood_ratio:+.2f} of ±{LIMIT:.2f}"
        table.append((f"Elo {low:g} against {high:g}", f"{verdict}  ({ratio})"))
    return table


def elo_text(difference: Elo) -> str:
    text = f"{difference.difference:+.0f} ± {_number(difference.error, 0)}"
    if math.isnan(difference.error):
        return text
    return f"{text}, 95 % from {difference.low:+.0f} to {difference.high:+.0f}"


def protocol(result: MatchResult) -> str:
    """How the games were played, in words."""
    games = "the first player began every game" if result.first_only else f"{result.games // 2} pairs"
    noise = f", {100 * result.noise:g} % random moves" if result.noise else ""
    stopped = "; a match that stops by a test flatters the winner" if result.accepted is not None else ""
    return f"{games}{noise}, seed {result.seed}{stopped}"


def outcome_name(game: Game, value: int) -> str:
    """What a win of this size is called."""
    if max(game.rules.outcomes) == 1:
        return "wins : losses"
    names = {1: "single games"} | {size: f"{name}s" for size, name in game.win_names.items()} if game.win_names else {}
    return names.get(value, f"games by {value}") + " won : lost"


def _number(error: float, digits: int = 4) -> str:
    return "?" if math.isnan(error) else f"{error:.{digits}f}"


def as_json(game: Game, result: MatchResult, luck_name: str | None, options: Any) -> dict[str, Any]:
    """The result as plain JSON: what is not finite becomes null, outcome values become texts."""
    difference = elo(result) if max(game.rules.outcomes) == 1 else None
    fields = result._asdict() | {
        "outcomes": {str(value): n for value, n in result.outcomes.items()},
        "score": result.score,
        "elo": None if difference is None else plain(difference._asdict()),
        "games_per_second": result.games_per_second,
        "luck": luck_name,
        "plies_first": parse_player(options.first).how.plies or options.plies,
        "plies_second": parse_player(options.second).how.plies or options.opponent_plies,
    }
    return plain(fields)


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Without numbers that JSON does not have."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in fields.items()}


if __name__ == "__main__":
    raise SystemExit(main())
