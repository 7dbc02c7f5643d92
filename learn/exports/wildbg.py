"""The inputs of wildbg's networks, and an evaluator's first layer rewritten for them.

wildbg (github.com/carsten-wenderdel/wildbg, crates/engine/src/inputs.rs, 0.2 and later) describes a position, x to
move, by

    contact   202 = checkers off of x, of o; then four numbers each for x on the bar, x on points 1 .. 24, o on the bar,
              o on points 1 .. 24
    race      186 = the same without the places that are empty in a race: the bars, x on 24, o on 1

Points are counted from x's end for both sides. The four numbers for n checkers: 1 if n = 1, 1 if n = 2, 1 if n >= 3,
and n - 3 above three. Tesauro's inputs and pip counts (`envs/games/backgammon/features.py`) are sums of these: there is
a matrix T with

    features = inputs T,    so    inputs (T W) = features W

A network over `tesauro` or `tesauro_pips` with the first layer W therefore becomes one over wildbg's inputs with the
first layer T W, and computes the same values.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon.features import START_PIPS
from deltaw.search.evaluators.evaluator import Description, Evaluator
from deltaw.search.evaluators.onnx_file import Encoder
from deltaw.search.players.gnubg import read_boards

HEAD = "wildbg"
CONTACT, RACE = f"{HEAD}-contact", f"{HEAD}-race"
FITTING = ("tesauro", "tesauro_pips")
"""feature sets that are sums of wildbg's inputs"""
ME, OPPONENT = "me", "opponent"
OFF, BAR = 0, 25
"""places of checkers, beside the points 1 .. 24 counted from their own end"""


def check_features(description: Description, head: str) -> None:
    """InputError where wildbg's inputs do not tell what the evaluator's features tell."""
    if description.features not in FITTING:
        raise InputError(
            f"head={head} needs the features {' or '.join(FITTING)}, which wildbg's inputs determine; "
            f"this evaluator has {description.features!r} (head={HEAD} gives wildbg's outputs over its own inputs)"
        )


class Input(NamedTuple):
    """One of wildbg's inputs."""

    side: str
    """me (wildbg's x) or opponent (its o)"""
    place: int
    """a point from this side's end, BAR or OFF"""
    part: str = ""
    """which of the place's four numbers"""
    checkers: int = 1
    """how many checkers one unit of it stands for"""

    @property
    def name(self) -> str:
        place = {OFF: "off", BAR: "bar"}.get(self.place, str(self.place))
        return f"{self.side}_{place}" + (f"_{self.part}" if self.part else "")


PARTS = (("is_1", 1), ("is_2", 2), ("is_3_or_more", 3), ("above_3", 1))


@functools.cache
def wanted(head: str) -> tuple[Input, ...]:
    """The inputs in wildbg's order: the opponent's points by their numbers from my end."""
    contact = head == CONTACT
    mine = [BAR, *range(1, 25)] if contact else [*range(1, 24)]
    his = [BAR, *range(24, 0, -1)] if contact else [*range(23, 0, -1)]
    places = [*((ME, place) for place in mine), *((OPPONENT, place) for place in his)]
    return (Input(ME, OFF), Input(OPPONENT, OFF), *(Input(*place, *part) for place in places for part in PARTS))


def input_names(head: str) -> list[str]:
    return [wanted_input.name for wanted_input in wanted(head)]


def encoder(head: str) -> Encoder:
    return Encoder(head, len(wanted(head)), functools.partial(encode, head))


def encode(head: str, rows: np.ndarray) -> np.ndarray:
    """wildbg's inputs float32 [n, 202 or 186] of backgammon states `rows` int64 [n, 6]."""
    boards = _boards(rows)
    out = np.empty((len(rows), len(wanted(head))), np.float32)
    for k, (side, place, part, _) in enumerate(wanted(head)):
        board = boards[:, 1 if side == ME else 0]
        n = 15 - board.sum(axis=1) if place == OFF else board[:, place - 1]
        numbers = {"": n, "is_1": n == 1, "is_2": n == 2, "is_3_or_more": n >= 3, "above_3": np.maximum(n - 3, 0)}
        out[:, k] = numbers[part]
    return out


def _boards(rows: np.ndarray) -> np.ndarray:
    """Checkers int64 [n, 2, 25] of the opponent and of me, on the points from their own end and on the bar."""
    boards = np.empty((len(rows), 2, BAR), np.int64)
    read_boards(rows, boards)
    return boards


def is_race(rows: np.ndarray) -> np.ndarray:
    """bool [n]: whether the sides have passed each other."""
    rearmost = (np.arange(1, BAR + 1) * (_boards(rows) > 0)).max(axis=2)
    return rearmost.sum(axis=1) < BAR


# --- the first layer --------------------------------------------------------------------------------------------------


def folded(evaluator: Evaluator, head: str) -> np.ndarray:
    """The first layer's weights float32 [202 or 186, H] over wildbg's inputs."""
    return (sums(evaluator.features.names(), head) @ evaluator.tensors["weight0"]).astype(np.float32)


def sums(names: list[str], head: str) -> np.ndarray:
    """T float64 [inputs, F]: what one unit of each input adds to the features called `names`."""
    table, column = np.zeros((len(wanted(head)), len(names))), {name: i for i, name in enumerate(names)}
    for row, given in enumerate(wanted(head)):
        for name, amount in _added(given).items():
            if name in column:
                table[row, column[name]] = amount
    return table


def _added(given: Input) -> dict[str, float]:
    """Tesauro's features that one unit of an input adds to, and how much."""
    side, place, part, checkers = given
    if place == OFF:
        return {f"{side}_off": 1.0 / 15.0}
    pips = {f"{side}_pips": place * checkers / START_PIPS}
    if place == BAR:
        return pips | {f"{side}_bar": checkers / 2.0}
    if part == "above_3":
        return pips | {f"{side}_{place}_more": 0.5}
    return pips | {f"{side}_{place}_{least}": 1.0 for least in range(1, checkers + 1)}
