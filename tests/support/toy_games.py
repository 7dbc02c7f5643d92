"""Evaluators with random weights, and a game without an end: small things that several tests need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs import games
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator


def tables_of_each_seat(seed: int = 2) -> Evaluator:
    """A small n-tuple network for Connect Four with random weights of its own for each seat."""
    game = games.load("connect_four")
    features = game.tuples([[0, 1, 7, 8], [3, 10, 17]], per_seat=True)
    random = np.random.default_rng(seed)
    tensors = {"weight0": random.normal(0, 0.2, (features.num_features, 1)), "bias0": random.normal(0, 0.2, 1)}
    return make_evaluator(game, tensors, features=features, head="tanh")


def random_evaluator(game: Game, seed: int, *, head: str = "classes", hidden: int = 8) -> Evaluator:
    """A small network with random weights: opinions without sense, but different everywhere."""
    features = game.features()
    outputs = len(game.rules.outcomes) if head == "classes" else 1
    random = np.random.default_rng(seed)
    tensors = {
        "weight0": random.normal(0, 0.5, (features.num_features, hidden)),
        "bias0": random.normal(0, 0.5, hidden),
        "weight1": random.normal(0, 0.5, (hidden, outputs)),
        "bias1": random.normal(0, 0.5, outputs),
    }
    return make_evaluator(game, tensors, features=features, head=head)


class Turn(NamedTuple):
    seat: int


@kernel
def _first_turn():
    return Turn(np.int64(0))


@kernel
def _pass_on(state, move):
    return Turn(np.int64(1 - state.seat))


@kernel
def _one_move(state, out):
    out[0] = 0
    return 1


@kernel
def _never_over(state):
    return False, np.int64(0)


@kernel
def _whose_turn(state, spec, index, value):
    index[0] = state.seat
    value[0] = 1.0
    return 1


@kernel
def _seat(state):
    return state.seat


@kernel
def _seat_as_cell(state, out):
    out[0] = state.seat


def endless_game(max_plies: int) -> Game:
    """Nothing ever happens, until the game is broken off; each seat has a feature."""
    rules = make_rules(
        Turn, initial=_first_turn, seat=_seat, legal_moves=_one_move, play=_pass_on, outcome=_never_over,
        features=_whose_turn, cells=_seat_as_cell, num_cells=1, max_moves=1, outcomes=(-1, 0, 1), max_plies=max_plies,
    )  # fmt: skip
    return Game(
        "endless", "Endless", Turn, rules,
        {"seat": FeatureSet("seat", (1,), 2, 1, lambda: ["first", "second"])}, "seat",
        parse=lambda text: Turn(int(text)), format=lambda state: str(state.seat), move_text=lambda state, move: "pass",
        ansi=str, draw=lambda state: None,
    )  # fmt: skip
