"""What the tests of learning from searches share: fresh evaluators, a linear one in float64, plain minimax, and the
compiled search and update."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from conftest import python_state, random_game

from deltaw.envs import games
from deltaw.envs.game import Game
from deltaw.envs.path import make_path
from deltaw.learn.bootstrapping.games import make_search
from deltaw.learn.bootstrapping.nodes import begin_nodes, keep_node, keeper, make_nodes
from deltaw.learn.bootstrapping.strap import Step, learn_from_nodes, make_samples
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.steps.step_rules import make_rule
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.deep import deep

RATE = 0.03


@functools.cache
def start(name: str = "tic_tac_toe", shape: str = "lines", head: str = "tanh") -> Evaluator:
    """A fresh evaluator: over a feature set, over symmetric tuples (indices repeat), or a network."""
    game = games.load(name)
    config = EvaluatorConfig(head=head)
    if shape == "tuples":
        config.tuples = TuplesConfig(cells=[[0, 1, 2], [1, 4, 7], [4]])
    if shape == "network":
        config.hidden = [5]
    return fresh(game, game.default_features, config, 1)


class Toy:
    """A linear evaluator in float64 with random weights: compiled, and as a sum in Python."""

    def __init__(self, evaluator: Evaluator, seed: int = 0, weight: np.ndarray | None = None) -> None:
        self.game = evaluator.game
        view = deep(self.game, evaluator)
        size = len(view.leaf.weights.weight)  # type: ignore[attr-defined]
        self.weight = np.random.default_rng(seed).normal(0, 0.2, size) if weight is None else weight.copy()
        self.leaf = view.leaf._replace(weights=view.leaf.weights._replace(weight=self.weight))  # type: ignore[attr-defined]
        self.work, self.spec = view.work, np.array(evaluator.description.spec, np.int64)
        self.tanh, self.scale = evaluator.description.head == "tanh", float(max(self.game.rules.outcomes))
        self.rule = make_rule("constant", size, np.float64)
        self.samples = make_samples(len(self.work.active), 4096)

    def x(self, state: Any) -> np.ndarray:
        index, value = np.zeros(len(self.work.active), np.int32), np.zeros(len(self.work.active), np.float32)
        n = self.game.rules.features(state, self.spec, index, value)
        dense = np.zeros(len(self.weight))
        np.add.at(dense, index[:n], value[:n])
        dense[-1] = 1.0
        return dense

    def value(self, state: Any, weight: np.ndarray | None = None) -> float:
        a = float(self.x(state) @ (self.weight if weight is None else weight))
        return self.scale * math.tanh(a) if self.tanh else a

    def gradient(self, state: Any, weight: np.ndarray | None = None) -> np.ndarray:
        v = self.value(state, weight)
        return self.x(state) * (self.scale * (1.0 - (v / self.scale) ** 2) if self.tanh else 1.0)


def children(game: Game, state: Any) -> list[tuple[Any, float]]:
    """(state, sign) behind every move; sign -1 where the turn changes."""
    mover = game.rules.seat(state)
    behind = [python_state(game, game.rules.play(state, move)) for move in game.moves(state)]
    return [(child, 1.0 if game.rules.seat(child) == mover else -1.0) for child in behind]


def minimax(toy: Toy, state: Any, depth: int, seen: dict, weight: np.ndarray | None = None) -> tuple[float, Any]:
    """(value for the mover, the best line's last state); seen[state, depth] = value of all nodes."""
    over, result = toy.game.rules.outcome(state)
    if over:
        return float(result), state
    if depth == 0:
        return toy.value(state, weight), state
    found = []
    for child, sign in children(toy.game, state):
        value, leaf = minimax(toy, child, depth - 1, seen, weight)
        found.append((sign * value, leaf))
    best = max(found, key=lambda pair: pair[0])
    seen[state, depth] = best[0]
    return best


def searched(toy: Toy, name: str, state: Any, depth: int, version: int = 1, least: int = 1) -> tuple[Any, Any, float]:
    """The compiled search's nodes with the root, the search, and the root's value."""
    search, nodes = make_search(toy.game, name, depth, toy.leaf, toy.work), make_nodes(toy.game, 4096, least)
    begin_nodes(nodes)
    arguments = (
        toy.leaf,
        keeper(nodes),
        make_path(toy.game.rules),
        state,
        np.int64(depth),
        np.int64(version),
        search.desk,
    )
    value, _, _ = search.run(toy.game.rules, *arguments)
    keep_node(nodes, state, np.int64(depth), value, value)
    return nodes, search, float(value)


def learn(toy: Toy, nodes: Any, in_turn: bool = False) -> np.ndarray:
    """The compiled update's change of the weights."""
    before = toy.weight.copy()
    step = Step(RATE, 0.0, in_turn)
    learn_from_nodes(toy.game.rules, toy.leaf.weights, nodes, toy.rule, toy.samples, step, np.zeros(7))
    change = toy.weight - before
    toy.weight[:] = before
    return change


def some_states(name: str = "tic_tac_toe") -> list[Any]:
    """Decisions at the beginning, in the middle and near the end of random games."""
    game = games.load(name)
    found = []
    for number, ply in ((0, 0), (1, 2), (2, 3), (3, 5)):
        found.append(list(random_game(game, 3, number))[ply])
    return [state for state in found if not game.rules.outcome(state)[0]]
