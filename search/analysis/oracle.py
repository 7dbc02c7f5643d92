"""The oracle: a player's moves and values beside the truth, where the truth is known.

The truth comes from shipped tables and from solvers (`search/players/perfect.py`): tic-tac-toe, nim and other small
games from the start, Connect Four from ply 8 on, Othello from ply 48 on, with 12 squares empty or a few more after
passes. Measured over decisions with at least two moves:

    optimal       share of decisions in which the move is one of the best: the result, and as fast a win (as slow a
                  loss, as many discs) as there is, where scores say so
    keeps         share in which the move keeps the result of perfect play (win, draw or loss)
    value error   mean |v - z|: v the value that the player gives the decision (the best move's, after its search), z
                  the outcome of perfect play, both in outcome units for the mover
    calibration   for each of ten classes of v: how many, mean v, mean z; their error is the mean |mean v - mean z| over
                  decisions

Positions: one from each of as many random games as are needed, at a ply drawn uniformly from those of the game that
qualify; keyed by (seed, game, ply). Or those of a file, one a line. +- is one standard error, by the number of
positions.

Letters: n positions, W integers a state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import EXPLORE, OPENING, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import Event, begin, follow, initial_state, is_over
from deltaw.envs.turn import random_move
from deltaw.search.players.perfect import Exact, Verdict
from deltaw.search.players.players import Decisions, Player

MOST_NODES = 2_000_000_000
"""what the truth about one position may take: a minute or two"""
BATCH = 64
"""positions judged between two steps of the progress bar"""
CLASSES = 10
MOST_GAMES = 50
"""random games a wanted position, before it is said that there are too few"""


class Bin(NamedTuple):
    """A class of values that lie close together."""

    positions: int
    value: float
    """mean value that the player gave"""
    outcome: float
    """mean outcome of perfect play"""


class OracleResult(NamedTuple):
    """How a player compares with the truth."""

    game: str
    player: str
    positions: int
    optimal: float
    optimal_error: float
    keeps: float
    keeps_error: float
    value_error: float | None
    """None for a player that gives no values"""
    value_error_error: float | None
    """its standard error"""
    calibration_error: float | None
    calibration: tuple[Bin, ...] | None
    seed: int | None
    """None: the positions came from a file"""


class Facts(NamedTuple):
    """One entry a position; arrays [n]."""

    optimal: np.ndarray
    """bool"""
    keeps: np.ndarray
    """bool"""
    value: np.ndarray
    """float64: what the player thinks; NaN where it does not say"""
    outcome: np.ndarray
    """int64: of perfect play"""


def find_oracle(game: Game, threads: int | None = None) -> Exact:
    """The truth about a game. Raises InputError where there is none, and says what there is instead."""
    if game.rules.max_chance > 0:
        raise InputError(
            f"{game.name} has no oracle: with dice nothing here knows the exact worth of a move; measure points a game "
            f"instead, such as deltaw arena {game.name} FILE OPPONENT"
        )
    return Exact(game, threads, MOST_NODES)


def move_accuracy(
    game: Game,
    player: Player,
    rows: np.ndarray,
    seed: int | None = 0,
    *,
    oracle: Exact | None = None,
    progress: Callable[[int], None] | None = None,
) -> OracleResult:
    """`player` on the decisions `rows` int64 [n, W], n >= 1; `progress` is called with the number of those done. An
    `oracle` that is used again remembers what it has solved."""
    truth = find_oracle(game) if oracle is None else oracle
    facts = []
    for start in range(0, len(rows), BATCH):
        facts.append(_compare(game, player, truth, rows[start : start + BATCH], start, seed or 0))
        if progress is not None:
            progress(min(start + BATCH, len(rows)))
    return _summary(game, player, Facts(*(np.concatenate(parts) for parts in zip(*facts, strict=True))), seed)


def _compare(game: Game, player: Player, truth: Exact, rows: np.ndarray, start: int, seed: int) -> Facts:
    keys = np.stack([np.arange(start, start + len(rows)), np.zeros(len(rows), np.int64)], axis=1)
    decisions, decide = Decisions.of(rows, keys), getattr(player, "decide", None)
    if decide is None:
        (_, chosen), values = player.choose(decisions, seed), np.full(len(rows), math.nan)
    else:
        (_, chosen), values = decide(decisions, seed)
    verdicts = truth.judge(rows)
    outcomes = np.array([verdict.outcome for verdict in verdicts])
    optimal = np.array([_is_among(row, verdict) for row, verdict in zip(chosen, verdicts, strict=True)])
    keeps = optimal.copy()
    doubtful = np.flatnonzero(~optimal)
    for i, after in zip(doubtful, truth.outcomes(chosen[doubtful]), strict=True):
        turned = game.rules.seat(game.unrow(chosen[i])) != game.rules.seat(game.unrow(rows[i]))
        keeps[i] = (-after if turned else after) == outcomes[i]
    return Facts(optimal, keeps, values, outcomes)


def _is_among(row: np.ndarray, verdict: Verdict) -> bool:
    return bool((verdict.best.rows == row).all(axis=1).any())


def _summary(game: Game, player: Player, facts: Facts, seed: int | None) -> OracleResult:
    optimal, keeps = _mean(facts.optimal), _mean(facts.keeps)
    result = OracleResult(game.name, player.name, len(facts.optimal), *optimal, *keeps, None, None, None, None, seed)
    if np.isnan(facts.value).any():
        return result
    error, error_of_it = _mean(np.abs(facts.value - facts.outcome))
    bins = calibration_of(facts.value, facts.outcome, max(game.rules.outcomes))
    return result._replace(
        value_error=error,
        value_error_error=error_of_it,
        calibration_error=sum(b.positions * abs(b.value - b.outcome) for b in bins) / result.positions,
        calibration=bins,
    )


def _mean(numbers: np.ndarray) -> tuple[float, float]:
    """Mean and standard error."""
    error = float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return float(numbers.mean()), error


def calibration_of(values: np.ndarray, outcomes: np.ndarray, top: float) -> tuple[Bin, ...]:
    """The classes of equal width between -top and top that are not empty; values beyond belong to the outermost."""
    which = np.clip(((values + top) / (2.0 * top) * CLASSES).astype(np.int64), 0, CLASSES - 1)
    found = (which == k for k in range(CLASSES))
    return tuple(Bin(int(k.sum()), float(values[k].mean()), float(outcomes[k].mean())) for k in found if k.any())


# --- positions ----------------------------------------------------------------------------------------------------


def random_decisions(game: Game, n: int, seed: int = 0, from_ply: int | None = None) -> np.ndarray:
    """Decisions int64 [n, W] with at least two moves, one from each of n random games, from ply `from_ply` on (None:
    from where the game is quickly solved). Raises InputError where random games have hardly any."""
    first = game.solved_from if from_ply is None else from_ply
    if n < 1 or first < 0:
        raise InputError(f"{n} positions from ply {first} on: at least 1 from ply 0 on are needed")
    rows: list[np.ndarray] = []
    for number in range(MOST_GAMES * n):
        found = [
            row for ply, row in enumerate(_random_game(game, seed, number)) if ply >= first and _is_open(game, row)
        ]
        if found:
            rows.append(found[int(random_word(seed, number, 0, OPENING)) % len(found)])
            if len(rows) == n:
                return np.array(rows)
    raise InputError(
        f"{len(rows)} of {MOST_GAMES * n} random games of {game.name} have a decision from ply {first} on; "
        f"{n} are wanted"
    )


def _random_game(game: Game, seed: int, number: int) -> Iterator[np.ndarray]:
    """Rows of the positions of one random game of a deterministic game."""
    course, buffers = begin(game, initial_state(game)), game.buffers()
    while not is_over(game, course):
        yield game.row(course.state)
        keyed = (seed, number, course.plies, EXPLORE)
        drawn = random_move(game.rules, course.path, course.state, *keyed, *buffers)
        course = follow(game, course, Event(False, int(buffers[0][drawn])))


def _is_open(game: Game, row: np.ndarray) -> bool:
    """Whether there is a choice."""
    return len(game.moves(game.unrow(row))) > 1


def read_decisions(game: Game, path: str | Path) -> np.ndarray:
    """Decisions int64 [n, W] from a file with one position a line, as `game.read_position` reads them; empty lines and
    those that begin with # are passed over. Raises InputError, with the number of the line."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read positions from {path}: {getattr(error, 'strerror', None) or error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            state = game.read_position(line)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        if game.rules.outcome(state)[0] or not _is_open(game, game.row(state)):
            raise InputError(f"{path}, line {number}: {line.strip()} is no decision between moves")
        rows.append(game.row(state))
    if not rows:
        raise InputError(f"{path} holds no positions")
    return np.array(rows)
