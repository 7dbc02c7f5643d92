"""Say what an evaluator, a search or a solver thinks of a position: `deltaw analyze`.

    deltaw analyze backgammon 4HPwATDgc/ABMA --dice 31 --plies 2
    deltaw analyze connect_four 32164625 --seconds 2
    deltaw analyze connect_four 32164625 --solve
    deltaw analyze tic_tac_toe X---O---- --algorithm mtdf --depth 5 --evaluator open_lines
    deltaw analyze backgammon 4HPwATDgc/ABMA --dice 31 --rollout 200
    deltaw analyze backgammon --match games.mat --plies 2
    deltaw analyze backgammon --batch positions.jsonl > answers.jsonl

A position is written as its game usually is (`start`; backgammon: Position ID, XGID; Connect Four: the columns played;
Othello: 64 characters and the side to move; docs/formats.md has all). Without dice the answer is the value before the
roll. Equities are for the player who moves, in outcome units (backgammon: points a game); chances of a gammon include
those of a backgammon, and so on.

A batch is JSON lines (`search/analysis/batch.py`). `--rollout N` plays the games after the best moves to their end N
times (`search/analysis/rollout.py`); `--match FILE` reviews the games of a file instead (`search/analysis/review.py`).
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import read_games
from deltaw.envs.texts import whole
from deltaw.search.analysis.answers import TABLE_MOVES, AgentAnswers, Answers, SolveAnswers
from deltaw.search.analysis.batch import PIPED_WIDTH, _dice_list, answer, read_position, run_batch, shielded
from deltaw.search.analysis.review import WORST, as_table, review
from deltaw.search.analysis.review import as_json as review_json
from deltaw.search.analysis.rollout import CANDIDATES, USUAL_NOISE, RollOutAnswers
from deltaw.search.evaluators.named import default_evaluator, find_evaluator
from deltaw.search.players.agent import Agent
from deltaw.search.players.how import ENGINE, Limits, read_how, settle
from deltaw.search.terminal.progress import counting
from deltaw.search.tree.algorithm import algorithms


def parser() -> Parser:
    parse = Parser("deltaw analyze", description="What an evaluator, a search or a solver thinks of a position.")
    parse.add_argument("game", help="a game, such as backgammon")
    parse.add_argument("position", nargs="?", help="in the game's notation: Position ID, XGID ... (default: start)")
    parse.add_argument("--dice", help="what was rolled, such as 31; without: the value before the roll")
    parse.add_argument(
        "--evaluator", help="a name or a file (default: the shipped network, or the game's first baseline)"
    )
    plies = parse.add_argument_group("by plies and chances (default for games of dice)")
    plies.add_argument("--plies", type=int, choices=(1, 2), help="1: my move; 2: and the best reply to every roll")
    plies.add_argument("--candidates", type=_count, help="at 2 plies search only so many moves deeper (default: all)")
    searching = parse.add_argument_group("by a search (default for games without chance)")
    names = ", ".join([ENGINE, *algorithms()])
    searching.add_argument("--algorithm", metavar="NAME", help=f"{names} (default: what fits the game)")
    searching.add_argument("--depth", type=int, help="moves (default: no limit for the engine, else 4)")
    searching.add_argument(
        "--seconds", type=float, help="time for a position (default: 1 for the engine if nothing else limits it)"
    )
    searching.add_argument("--nodes", type=int, help="positions looked at")
    searching.add_argument("--solve", action="store_true", help="the exact score and every best move")
    rolled = parse.add_argument_group("by roll-outs: games played to their end, the same dice for every move")
    rolled.add_argument(
        "--rollout", type=_count, metavar="N", help=f"N games for each of the best {CANDIDATES} moves, or of --top"
    )
    rolled.add_argument("--seed", type=int, default=0, help="of their dice (default 0)")
    rolled.add_argument(
        "--noise", type=float, help=f"probability of a random move (default 0; {USUAL_NOISE} for games without chance)"
    )
    rolled.add_argument("--threads", type=_count, help="default: one a core; changes no value")
    many = parse.add_argument_group("many positions")
    many.add_argument(
        "--match", metavar="FILE", help="review the games of a file, such as games.mat: what every decision lost"
    )
    many.add_argument("--batch", metavar="FILE", help="answer JSON lines from a file, or from standard input for -")
    parse.add_argument(
        "--top", type=_count, help=f"only so many moves (table: {TABLE_MOVES}; JSON: all) or mistakes (table: {WORST})"
    )
    parse.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parse


def _count(text: str) -> int:
    number = whole(text)
    if number < 1:
        raise ValueError
    return number


_count.__name__ = "count"  # argparse: "invalid count value: '0'"


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(shielded(argv))
    game = games.load(options.game)
    _check(options)
    if options.match:
        return review_match(game, options)
    position = (options.position or "start").strip()
    state = None if options.batch else read_position(game, position, options.dice)
    answers = _answers(game, options)
    if options.batch:
        return run_batch(answers, options.batch, options.top, sys.stdout)
    if options.json:
        print(json.dumps(answer(answers, position, state, _dice_list(game, state, options.dice), options.top)))
    else:
        show(answers, state, options.top)
    return 0


def _check(options: Namespace) -> None:
    """InputError for options that do not go together."""
    for source in ("batch", "match"):
        if getattr(options, source) and (options.position or options.dice):
            raise InputError(f"--{source} reads positions and dice from its lines: give none on the command line")
    if options.match and (options.batch or options.rollout or options.solve):
        raise InputError("--match reviews games by plies or by a search: without --batch, --rollout and --solve")
    if not options.rollout and (options.noise is not None or options.seed or options.threads):
        raise InputError("--seed, --noise and --threads belong to --rollout")
    if options.rollout and options.solve:
        raise InputError("--solve is exact: there is nothing to roll out")
    if options.solve and (options.algorithm or options.evaluator or options.plies or options.candidates):
        raise InputError("--solve needs no --algorithm, --evaluator, --plies and --candidates: the score is exact")


def _answers(game: Game, options: Namespace) -> Answers:
    if options.solve:
        return SolveAnswers(game, Limits(options.depth, options.seconds, options.nodes))
    if options.rollout:
        keyed = {"noise": options.noise, "candidates": options.top or CANDIDATES, "threads": options.threads}
        return RollOutAnswers(_agent(game, options), options.rollout, options.seed, **keyed)
    return AgentAnswers(_agent(game, options))


def _agent(game: Game, options: Namespace) -> Agent:
    """Who ranks moves: by plies or by a search."""
    evaluator = find_evaluator(game, options.evaluator) if options.evaluator else default_evaluator(game)
    how = settle(game, evaluator, read_how(options, candidates=0), plies=1)
    return Agent(game, evaluator, **how._replace(endgames=True)._asdict())


def review_match(game: Game, options: Namespace) -> int:
    """The review of a file's games on stdout."""
    records = read_games(game, options.match)
    agent = _agent(game, options)
    with counting(len(records), "games") as advance:
        found = review(agent, records, advance)
    if options.json:
        print(json.dumps(review_json(found, options.top)))
    else:
        print_all(as_table(found, options.top or WORST))
    return 0


def show(answers: Answers, state: Any, top: int | None) -> None:
    """The board and a table, on the terminal."""
    lines = answers.as_table(state, top or TABLE_MOVES)
    print_all(lines, lambda color: answers.game.ansi(state, color=color))


def print_all(lines: Sequence[Any], board: Callable[[bool], str] | None = None) -> None:
    """Text and tables on stdout: in colour on a terminal unless NO_COLOR is set, and as wide as they are where nobody
    looks."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    if board is not None:
        print(board(console.is_terminal and not console.no_color), flush=True)
    for line in lines:
        console.print(line)


if __name__ == "__main__":
    raise SystemExit(main())
