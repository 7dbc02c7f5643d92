"""Answers to many positions: JSON lines in, and one answer a line as soon as it is read.

    {"position": "4HPwATDgc/ABMA", "dice": [3, 1]}          dice may be "31", or be missing: value before the roll
    {"position": ..., "dice": [3, 1], "moves": [
      {"move": "8/5 6/5", "result": position with the opponent on roll, "equity": 0.16, "chances": {"win": 0.55, ...},
       "plies": 1}, ...]}
    {"position": ..., "dice": null, "equity": 0.07, "chances": {...}, "plies": 1}
    {"position": ..., "dice": [7, 1], "error": "..."}       the line was bad; the exit status will be 2

A rank-only evaluator (pubeval) has `"equity": null` and no chances; so have scalar ones no chances. By a search and by
a solver:

    {"position": ..., "dice": null, "equity": 0.2, "moves": [{"move": ..., "result": ..., "equity": 0.2}, ...],
     "variation": ["4", ...], "algorithm": "engine", "depth": 14, "nodes": 1200345, "seconds": 0.98, "complete": false}
    {"position": ..., "dice": null, "score": 2, "best": ["4"], "nodes": 1503}

`distance` is added where a win or loss is proven: plies to the end of the game. `complete` is false where a limit ended
the search early.

With `--rollout N` the best moves (or the position before its roll) have besides `"rollout": {"equity": 0.17, "error":
0.01}`, an average over N games (`search/analysis/rollout.py`). `--match FILE` reviews the games of a file instead
(`search/analysis/review.py`).
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from deltaw.envs.cli import BAD_INPUT
from deltaw.envs.errors import InputError, cut
from deltaw.envs.game import Game
from deltaw.envs.texts import read_json
from deltaw.search.analysis.answers import Answers

PIPED_WIDTH = 200
"""columns of a table that is not written to a terminal"""

# --- positions and dice -----------------------------------------------------------------------------------------------


def read_position(game: Game, text: str, dice: str | None) -> Any:
    """The state that a person means; raises InputError."""
    state = game.read_position(text)
    if dice is None:
        return state
    if game.rules.max_chance == 0:
        raise InputError(f"{game.name} has no dice, but {dice!r} were given")
    return game.rules.chance(state, game.find_chance(state, dice))[0]


def roll_of(game: Game, state: Any) -> tuple[Any, int] | None:
    """(the state before its roll, number of the roll), where `state` holds dice (an XGID can bring them)."""
    if game.dice is None or getattr(state, game.dice) <= 0:
        return None
    before = state._replace(**{game.dice: 0})
    return before, next(i for i in range(game.rules.num_chance(before)) if game.rules.chance(before, i)[0] == state)


def dice_of(game: Game, state: Any) -> list[int] | None:
    """The dice inside a rolled state."""
    rolled = roll_of(game, state)
    return None if rolled is None else [int(digit) for digit in game.chance_text(*rolled)]


# --- batches ----------------------------------------------------------------------------------------------------------


def answer_batch(
    answers: Answers, lines: Iterable[str], top: int | None = None
) -> Iterator[tuple[dict[str, Any], bool]]:
    """(answer, whether the line was good) of every line that is not blank; complaints also go to stderr, with the
    line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        request: dict[str, Any] = {}
        try:
            request = _read_request(line)
            yield _answer_request(answers, request, top), True
        except InputError as error:
            print(f"error: line {number}: {error}", file=sys.stderr)
            yield {"position": request.get("position"), "dice": request.get("dice"), "error": str(error)}, False


def _read_request(line: str) -> dict[str, Any]:
    request = read_json(line)
    if not isinstance(request, dict):
        raise InputError(f'{cut(line.strip())} is no object; a line is {{"position": ..., "dice": [3, 1]}}')
    return request


def answer(
    answers: Answers, position: str, state: Any, dice: list[int] | None, top: int | None = None
) -> dict[str, Any]:
    """The analysis of one position as JSON writes it."""
    return {"position": position, "dice": dice} | answers.as_json(state, top)


def _answer_request(answers: Answers, request: dict[str, Any], top: int | None) -> dict[str, Any]:
    position = request.get("position")
    if not isinstance(position, str):
        raise InputError(f'{cut(json.dumps(request))} needs a "position", a text')
    dice = _dice_text(request.get("dice"))
    state = read_position(answers.game, position, dice)
    return answer(answers, position, state, _dice_list(answers.game, state, dice), top)


def _dice_text(dice: Any) -> str | None:
    """`3,1` from [3, 1]; a text is left to the game."""
    if dice is None or isinstance(dice, str):
        return dice
    if isinstance(dice, list) and all(isinstance(die, int) for die in dice):
        return ",".join(str(die) for die in dice)
    raise InputError(f'"dice" is {cut(json.dumps(dice))}; it must be two numbers, such as [3, 1] or "31", or null')


def _dice_list(game: Game, state: Any, text: str | None) -> list[int] | None:
    """The dice in the order in which they were given, or as the position brought them."""
    return dice_of(game, state) if text is None else [int(die) for die in re.findall(r"\d", text)]


def run_batch(answers: Answers, source: str, top: int | None, out: TextIO) -> int:
    """Answer every line of a file, or of standard input for `-`; 2 if one of them was bad, else 0."""
    status = 0
    with _opened(source) as lines:
        for result, good in answer_batch(answers, lines, top):
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


def shielded(argv: Sequence[str] | None) -> list[str]:
    """The arguments, with a space before those that look like options to argparse but are positions, such as
    `--X-O----`."""
    odd = re.compile(r"-(?!-[a-z]|-$|h$).")
    return [
        f" {argument}" if odd.match(argument) else argument for argument in (sys.argv[1:] if argv is None else argv)
    ]
