"""What an evaluator thinks of a position: every legal play, best first.

    python -m search.analyze backgammon 4HPwATDgc/ABMA --dice 31 --plies 2
    python -m search.analyze tic_tac_toe X---O---- --evaluator open_lines
    python -m search.analyze backgammon --batch positions.jsonl > answers.jsonl

A position is written as its game usually is (backgammon: Position ID, XGID, `start`). Without dice the answer is the value before the roll.
Equities are for the player who moves, in outcome units (backgammon: points a game); chances of a gammon include those of a backgammon, and so on.

A batch is JSON lines, each answered by one line as soon as it is read:

    {"position": "4HPwATDgc/ABMA", "dice": [3, 1]}          dice may be "31", or be missing: value before the roll
    {"position": ..., "dice": [3, 1], "moves": [{"move": "8/5 6/5", "result": position with the opponent on roll, "equity": 0.16,
                                                 "chances": {"win": 0.55, ...}, "plies": 1}, ...]}
    {"position": ..., "dice": null, "equity": 0.07, "chances": {...}, "plies": 1}
    {"position": ..., "dice": [7, 1], "error": "..."}       the line was bad; the exit status will be 2

A rank-only evaluator (pubeval) has `"equity": null` and no chances; so have scalar ones no chances.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from envs import games
from envs.errors import InputError
from envs.game import Game
from search.agent import Agent, RankedMove
from search.cli import BAD_INPUT, Parser, guarded
from search.named import DEFAULT, find_evaluator

DIGITS = 6
"""equities and chances in JSON are rounded to so many decimals"""
TABLE_MOVES = 10
"""rows of the table unless --top asks for others"""

SIZES = {1: "", 2: "gammon", 3: "backgammon"}
"""words for outcomes of more than one point"""
SHORT = {"win_gammon": "G", "win_backgammon": "BG", "lose_gammon": "G", "lose_backgammon": "BG"}
"""heads of narrow columns"""


# --- chances in words ---------------------------------------------------------------------------------------------------


def named_chances(outcomes: Sequence[int], chances: Sequence[float]) -> dict[str, float]:
    """`win`, `draw`, `lose`, and `win_gammon` ... for outcomes of more points: each is the chance of at least so many."""
    named = {}
    for side, sign in (("win", 1), ("lose", -1)):
        for size in sorted({abs(outcome) for outcome in outcomes} - {0}):
            word = SIZES.get(size, str(size))
            at_least = sum(p for outcome, p in zip(outcomes, chances, strict=True) if sign * outcome >= size)
            named[f"{side}_{word}" if word else side] = at_least
    if 0 in outcomes:
        named["draw"] = chances[list(outcomes).index(0)]
    return named


# --- positions and dice ---------------------------------------------------------------------------------------------------


def read_position(game: Game, text: str, dice: str | None) -> Any:
    """The state that a person means; raises InputError."""
    if text == "start":
        state = game.unrow(game.row(game.rules.initial()))
    else:
        state = game.parse(text)
    if dice is None:
        return state
    if game.rules.max_chance == 0:
        raise InputError(f"{game.name} has no dice, but {dice!r} were given")
    return game.rules.chance(state, game.find_chance(state, dice))[0]


def dice_of(game: Game, state: Any) -> list[int] | None:
    """The dice inside a rolled state (an XGID can bring them); by the convention that `roll` 0 is to be rolled."""
    if getattr(state, "roll", 0) <= 0:
        return None
    before = state._replace(roll=0)
    rolls = range(game.rules.num_chance(before))
    text = next(game.chance_text(before, i) for i in rolls if game.rules.chance(before, i)[0] == state)
    return [int(digit) for digit in text]


# --- answers as JSON ------------------------------------------------------------------------------------------------------


def answer(agent: Agent, position: str, state: Any, dice: list[int] | None, top: int | None = None) -> dict[str, Any]:
    """The analysis of one position as JSON writes it."""
    head = {"position": position, "dice": dice}
    if agent.game.rules.num_chance(state) > 0:
        value, chances = agent.value(state)
        return head | _worth(agent.game, value, chances) | {"plies": agent.plies}
    return head | {"moves": [_move(agent.game, ranked) for ranked in agent.rank(state)[:top]]}


def _move(game: Game, ranked: RankedMove) -> dict[str, Any]:
    worth = _worth(game, ranked.value, ranked.chances)
    return {"move": ranked.text, "result": game.format(ranked.state), **worth, "plies": ranked.plies}


def _worth(game: Game, value: float | None, chances: tuple[float, ...] | None) -> dict[str, Any]:
    worth: dict[str, Any] = {"equity": None if value is None else _rounded(value)}
    if chances is not None:
        named = named_chances(game.rules.outcomes, chances)
        worth["chances"] = {name: _rounded(p) for name, p in named.items()}
    return worth


def _rounded(number: float) -> float:
    return round(number, DIGITS) + 0.0  # no -0.0


# --- batches ----------------------------------------------------------------------------------------------------------------


def answer_batch(agent: Agent, lines: Iterable[str], top: int | None = None) -> Iterator[tuple[dict[str, Any], bool]]:
    """(answer, whether the line was good) of every line that is not blank; complaints also go to stderr, with the line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        request: dict[str, Any] = {}
        try:
            request = _read_request(line)
            yield _answer_request(agent, request, top), True
        except InputError as error:
            print(f"error: line {number}: {error}", file=sys.stderr)
            yield {"position": request.get("position"), "dice": request.get("dice"), "error": str(error)}, False


def _read_request(line: str) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{_short(line)} is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise InputError(f'{_short(line)} is no object; a line is {{"position": ..., "dice": [3, 1]}}')
    return request


def _answer_request(agent: Agent, request: dict[str, Any], top: int | None) -> dict[str, Any]:
    position = request.get("position")
    if not isinstance(position, str):
        raise InputError(f'{_short(json.dumps(request))} needs a "position", a text')
    dice = _dice_text(request.get("dice"))
    state = read_position(agent.game, position, dice)
    return answer(agent, position, state, _dice_list(agent.game, state, dice), top)


def _dice_text(dice: Any) -> str | None:
    """`3,1` from [3, 1]; a text is left to the game."""
    if dice is None or isinstance(dice, str):
        return dice
    if isinstance(dice, list) and all(isinstance(die, int) for die in dice):
        return ",".join(str(die) for die in dice)
    raise InputError(f'"dice" is {_short(json.dumps(dice))}; it must be two numbers, such as [3, 1] or "31", or null')


def _dice_list(game: Game, state: Any, text: str | None) -> list[int] | None:
    """The dice in the order in which they were given, or as the position brought them."""
    return dice_of(game, state) if text is None else [int(die) for die in re.findall(r"\d", text)]


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 60 else text[:57] + "..."


def run_batch(agent: Agent, source: str, top: int | None, out: TextIO) -> int:
    """Answer every line of a file, or of standard input for `-`; 2 if one of them was bad, else 0."""
    status = 0
    with _opened(source) as lines:
        for result, good in answer_batch(agent, lines, top):
            print(json.dumps(result), file=out, flush=True)
            status = status if good else BAD_INPUT
    return status


def _opened(source: str) -> contextlib.AbstractContextManager[Iterable[str]]:
    if source == "-":
        return contextlib.nullcontext(sys.stdin)
    try:
        return open(source, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}") from None


# --- tables -----------------------------------------------------------------------------------------------------------------


def show(agent: Agent, state: Any, top: int | None) -> None:
    """The board and a table, on the terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    decision = agent.game.rules.num_chance(state) == 0
    lines = _moves_table(agent, agent.rank(state), top or TABLE_MOVES) if decision else [_value_table(agent, state)]
    print(agent.game.ansi(state, color=console.is_terminal and not console.no_color))
    for line in lines:
        console.print(line)


def _value_table(agent: Agent, state: Any) -> Any:
    value, chances = agent.value(state)
    table = _table(f"{agent.game.title}: the value before the roll", agent, chances is not None)
    table.add_row(*_worth_texts(agent.game, value, chances), str(agent.plies))
    return table


def _moves_table(agent: Agent, ranked: Sequence[RankedMove], top: int) -> list[Any]:
    table = _table(f"{agent.game.title}: the best plays", agent, ranked[0].chances is not None, "", "move")
    for i, move in enumerate(ranked[:top], 1):
        worth = _worth_texts(agent.game, move.value, move.chances)
        table.add_row(str(i), move.text, *worth, str(move.plies), style="bold" * (i == 1))
    more = len(ranked) - top
    return [table, f"[dim]{more} more; --top {len(ranked)} shows all[/dim]"] if more > 0 else [table]


def _table(title: str, agent: Agent, with_chances: bool, *first: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    groups = _chance_groups(agent.game) if with_chances else []
    heads = ["".join(f"{SHORT.get(name, name):>5}" for name in names) + " %" for names in groups]
    for name in [*first, "equity", *heads, "plies"]:
        table.add_column(name, justify="left" if name == "move" else "right", no_wrap=name != "move")
    if any(len(names) > 1 for names in groups):
        table.caption = "G: gammons, BG: backgammons; each chance includes the larger wins or losses"
    return table


def _chance_groups(game: Game) -> list[list[str]]:
    """Names of the chances, one list a column: those of winning, of losing, and a draw."""
    named = named_chances(game.rules.outcomes, [0.0] * len(game.rules.outcomes))
    columns = [[name for name in named if name.startswith(side)] for side in ("win", "lose", "draw")]
    return [names for names in columns if names]


def _worth_texts(game: Game, value: float | None, chances: tuple[float, ...] | None) -> list[str]:
    texts = ["-" if value is None else f"{value:+.4f}"]
    if chances is not None:
        named = named_chances(game.rules.outcomes, chances)
        texts += ["".join(f"{100 * named[name]:5.1f}" for name in names) + "  " for names in _chance_groups(game)]
    return texts


# --- the command --------------------------------------------------------------------------------------------------------------


def parser() -> Parser:
    parse = Parser("python -m search.analyze", description="What an evaluator thinks of a position.")
    parse.add_argument("game", help="a game, such as backgammon")
    parse.add_argument("position", nargs="?", help="in the game's notation: Position ID, XGID ... (default: start)")
    parse.add_argument("--dice", help="what was rolled, such as 31; without: the value before the roll")
    parse.add_argument("--evaluator", default=DEFAULT, help=f"a name or a file (default: the shipped {DEFAULT})")
    parse.add_argument(
        "--plies", type=int, choices=(1, 2), default=1, help="1: my move; 2: and the best reply to every roll"
    )
    parse.add_argument(
        "--candidates", type=_count, default=0, help="at 2 plies search only so many moves deeper (default: all)"
    )
    parse.add_argument("--top", type=_count, help=f"only so many moves (table: {TABLE_MOVES}; JSON: all)")
    parse.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parse.add_argument("--batch", metavar="FILE", help="answer JSON lines from a file, or from standard input for -")
    return parse


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


_count.__name__ = "count"  # argparse: "invalid count value: '0'"


def shielded(argv: Sequence[str] | None) -> list[str]:
    """The arguments, with a space before those that look like options to argparse but are positions, such as `--X-O----`."""
    odd = re.compile(r"-(?!-[a-z]|-$|h$).")
    return [
        f" {argument}" if odd.match(argument) else argument for argument in (sys.argv[1:] if argv is None else argv)
    ]


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(shielded(argv))
    _check(options)
    game = games.load(options.game)
    position = (options.position or "start").strip()
    state = None if options.batch else read_position(game, position, options.dice)
    agent = Agent(game, find_evaluator(game, options.evaluator), plies=options.plies, candidates=options.candidates)
    if options.batch:
        return run_batch(agent, options.batch, options.top, sys.stdout)
    if options.json:
        dice = _dice_list(game, state, options.dice)
        print(json.dumps(answer(agent, position, state, dice, options.top)))
    else:
        show(agent, state, options.top)
    return 0


def _check(options: Namespace) -> None:
    if options.batch and (options.position or options.dice):
        raise InputError("--batch reads positions and dice from its lines: give none on the command line")


if __name__ == "__main__":
    raise SystemExit(main())
