"""Evaluators with random weights: small things that tests of games, searches and learners need."""

from __future__ import annotations

import numpy as np

from deltaw.envs import games
from deltaw.envs.game import Game
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
