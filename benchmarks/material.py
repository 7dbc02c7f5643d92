"""What is measured on: positions of random games, networks, and play of a network that has learned a little.

An untrained network moves its checkers back and forth, and its games are many times as long: speeds in games would
mean nothing. So one learns for some thousand games first (seconds; kept for this process only), and all
measurements of play share it.

Letters: n positions, W integers a state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import Settings
from deltaw.envs import games
from deltaw.envs.bits import TIE
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path, make_path, reach
from deltaw.envs.turn import end, random_move, roll
from deltaw.learn.learners import td_forward
from deltaw.learn.selfplay.forward import ForwardTD
from deltaw.learn.selfplay.lockstep import Settings as PlaySettings
from deltaw.learn.weights.networks import Network
from deltaw.learn.workers.backend import Serial

SEED = 1
EVERY = 7
"""one of so many positions of a random game is taken, so that a sample holds many games"""
BACKGAMMON = "backgammon"
HIDDEN = 80
SMALL_SET = "tesauro_pips"
STEP_SIZE = 3e-3
BUDGET = 200_000
"""games over which the step size would fall to zero"""


# --- random games -------------------------------------------------------------------------------------------------


@functools.cache
def random_rows(name: str, n: int) -> np.ndarray:
    """Positions int64 [n, W] of random games of the game called `name`, before the dice."""
    game = games.load(name)
    rows = np.empty((n, game.rules.width), np.int64)
    fill_random(game.rules, np.int64(SEED), np.int64(EVERY), make_path(game.rules), *game.buffers(), rows)
    return rows


@kernel
def fill_random(rules, seed, every, path, moves, children, rows):
    """Fill rows [n, W] with one in `every` of the positions of random games; returns the moves made."""
    current = np.empty(rules.width, np.int64)
    rules.store(rules.initial(), current)
    n, made, number, ply = 0, 0, 0, 0
    while n < len(rows):
        if made % every == 0:
            rows[n] = current
            n += 1
        state = roll(rules, rules.load(current), seed, number, ply)
        current[:] = children[random_move(rules, path, state, seed, number, ply, TIE, moves, children)]
        reach(rules, path, state)
        made, ply = made + 1, ply + 1
        if end(rules, path, rules.load(current), ply)[0]:
            begin_path(rules, path)
            rules.store(rules.initial(), current)
            number, ply = number + 1, 0
    return made


class Families(NamedTuple):
    """The results of some decisions, one decision after the other."""

    rows: np.ndarray
    """int64 [n, W]"""
    begins: np.ndarray
    """int64 [decisions + 1]: decision d has the results begins[d] .. begins[d + 1]"""


def families(game: Game, rows: np.ndarray) -> Families:
    """All results of the decisions rows [n, W]."""
    moves, children = game.buffers()
    found = []
    for state in map(game.unrow, rows):
        found.append(children[: game.rules.expand(state, moves, children)].copy())
    return Families(np.concatenate(found), np.cumsum([0, *map(len, found)]))


@kernel
def roll_rows(rules, rows, seed, rolled):
    """rolled [n, W] = the positions rows [n, W] after one throw of the dice each."""
    for i in range(len(rows)):
        rules.store(roll(rules, rules.load(rows[i]), seed, i, 0), rolled[i])


def decisions_of(game: Game, rows: np.ndarray) -> np.ndarray:
    """Decisions int64 [n, W]: positions with the dice thrown."""
    rolled = np.empty_like(rows)
    roll_rows(game.rules, rows, np.int64(SEED), rolled)
    return rolled


def in_turn(rows: Any, chunk: int, do: Callable[[Any], object]) -> Callable[[], int]:
    """Work for `rate`: `do` the next `chunk` rows (an array or a list), from the start again after the last; a unit
    is a row."""
    at = 0

    def work() -> int:
        nonlocal at
        part = rows[at : at + chunk]
        at = 0 if at + chunk >= len(rows) else at + chunk
        do(part)
        return len(part)

    return work


# --- networks -----------------------------------------------------------------------------------------------------


def network(features: str, hidden: int = HIDDEN) -> Network:
    """An untrained backgammon network with one hidden layer, He-initialised."""
    game = games.load(BACKGAMMON)
    fresh = Network(game, game.features(features), [hidden], "classes")
    fresh.initialize(SEED)
    return fresh


class Trained(NamedTuple):
    """A network that has learned from some games, with the learner that goes on from there."""

    learner: ForwardTD
    length: float
    """positions of one game of its self-play"""
    decisions: np.ndarray
    """int64 [decisions, W] of its games, in random order"""


@functools.cache
def trained(features: str, settings: Settings) -> Trained:
    """Forward-view TD with one thread: `settings.games` games with HIDDEN units, then a sample of its play
    from a quarter as many games or more."""
    options = td_forward.Options(trace=0.5, step_size=STEP_SIZE)
    learner = td_forward.make(options, network(features).evaluator(), seed=SEED, budget=BUDGET, backend=Serial())
    while learner.games < settings.games:
        learner.step()
    played, ended, known, found = 0, 0, 0, []
    while known < settings.decisions or 4 * ended < settings.games:
        batch = learner.play.play(play_settings(learner))
        found.append(batch.rows)
        known += len(batch.rows)
        played, ended = played + options.slots * options.plies, ended + batch.games
    rows = np.random.default_rng(SEED).permutation(np.concatenate(found))[: settings.decisions]
    return Trained(learner, played / ended, decisions_of(learner.play.game, rows))


def play_settings(learner: ForwardTD) -> PlaySettings:
    """What the learner itself plays with."""
    return PlaySettings(learner.seed, learner.options.trace, learner.options.explore, learner.options.plies)
