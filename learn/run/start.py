"""Where a run begins: an evaluator with fresh weights, or one that has learned before."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.tuples import random_walks, straight_lines
from deltaw.learn.run.config import EvaluatorConfig, RunConfig, TuplesConfig
from deltaw.learn.weights.networks import Network
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator
from deltaw.search.evaluators.named import compiled, find_evaluator

MOST_WEIGHTS = 100_000_000
"""of a network: with what Adam keeps of each, 1.6 GB"""


def start_of(game: Game, run: RunConfig) -> Evaluator:
    """The evaluator that the configuration describes, or names with `start_from`. Raises InputError."""
    if run.start_from:
        evaluator = compiled(find_evaluator(game, run.start_from))
        if not isinstance(evaluator, Evaluator):
            raise InputError(f"start_from={run.start_from}: a handmade player has no weights to train")
        return evaluator
    return fresh(game, run.game.features, run.evaluator, run.seed)


def fresh(game: Game, features: str | None, shape: EvaluatorConfig, seed: int) -> Evaluator:
    """An evaluator that knows nothing: small random weights, an n-tuple network zeros."""
    if shape.tuples is None:
        inputs = game.features(features)
        weights = sum(a * b for a, b in pairwise([inputs.num_features, *shape.hidden]))
        if weights > MOST_WEIGHTS:
            raise InputError(
                f"evaluator.hidden={list(shape.hidden)} would make {weights:,} weights; {MOST_WEIGHTS:,} are the most"
            )
        network = Network(game, inputs, list(shape.hidden), shape.head, shape.activation)
        network.initialize(seed)
        return network.evaluator()
    if shape.hidden or shape.head == "classes":
        raise InputError(
            f"evaluator.tuples make one sum: evaluator.hidden={list(shape.hidden)} must be empty and "
            f"evaluator.head={shape.head} tanh or identity"
        )
    tuples = tuple_features(game, shape.tuples)
    tensors = {"weight0": np.zeros((tuples.num_features, 1), np.float32), "bias0": np.zeros(1, np.float32)}
    return make_evaluator(game, tensors, features=tuples, head=shape.head)


def tuple_features(game: Game, config: TuplesConfig) -> FeatureSet:
    """The feature set of the n-tuple network that `config` describes."""
    tuples = [tuple(cells) for cells in config.cells]
    if config.walks or config.lines:
        if game.board is None:
            raise InputError(
                f"{game.name} has no board to walk over: name the cells of the tuples in evaluator.tuples.cells"
            )
        symmetries = game.symmetries if config.symmetric else None
        for length in config.lines:
            tuples += straight_lines(game.board, length, symmetries)
        tuples += random_walks(game.board, config.walks, config.length, config.seed)
    return game.tuples(tuples, symmetric=config.symmetric, per_seat=config.per_seat)
