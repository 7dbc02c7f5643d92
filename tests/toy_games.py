"""Games drawn as explicit trees, and evaluators with random weights: small things whose answers are known.

A tree is nested: `Max`, `Min` and `Chance` nodes over integer leaves, which are worth so much to MAX. MAX has seat 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from envs.errors import InputError
from envs.game import Baseline, FeatureSet, Game, make_rules
from envs.kernel import kernel
from search.evaluator import Evaluator, make_evaluator


class Max(NamedTuple):
    children: list[Any]


class Min(NamedTuple):
    children: list[Any]


class Chance(NamedTuple):
    children: list[tuple[float, Any]]


class State(NamedTuple):
    node: int
    seat: int


def trees_d(a: int = 1, b: int = 2, c: int = 3, d: int = 4) -> Max:
    """Trees D of the lectures: order matters only without chance; `trees_d(1, 20, 30, 400)` is the order-preserving change."""
    return Max([Chance([(0.9, Min([b, b])), (0.1, Min([c, c]))]), Chance([(0.9, Min([a, a])), (0.1, Min([d, d]))])])


TREE_A = Max([Min([3, 12, 8]), Min([2, 4, 6]), Min([14, 5, 2])])


def tree_game(tree: Max | Min) -> Game:
    """A tree as a game; a move is the number of a child, and the baseline `zero` knows nothing."""
    kinds, children, probabilities, values = flatten(tree)
    outcomes = tuple(sorted({0} | {int(sign * value) for value in values for sign in (-1, 1)}))
    most = children.shape[1]

    @kernel
    def at(node):
        """Whoever decides at a node (or behind it, at a chance node) is on turn; at a leaf MAX."""
        below = node
        while kinds[below] == CHANCE:
            below = children[below, 0]
        return State(np.int64(node), np.int64(kinds[below] == MIN))

    @kernel
    def initial():
        return at(np.int64(0))

    @kernel
    def seat(state):
        return state.seat

    @kernel
    def legal_moves(state, out):
        n = 0
        while n < most and children[state.node, n] > 0:
            out[n] = n
            n += 1
        return n

    @kernel
    def play(state, move):
        return at(children[state.node, move])

    @kernel
    def outcome(state):
        return kinds[state.node] == LEAF, values[state.node] * (1 - 2 * state.seat)

    @kernel
    def num_chance(state):
        n = 0
        if kinds[state.node] == CHANCE:
            while n < most and children[state.node, n] > 0:
                n += 1
        return n

    @kernel
    def chance(state, i):
        return at(children[state.node, i]), probabilities[state.node, i]

    @kernel
    def features(state, spec, index, value):
        index[0] = state.node
        value[0] = 1.0
        return 1

    @kernel
    def cells(state, out):
        out[0] = state.node

    rules = make_rules(
        State,
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        features=features,
        cells=cells,
        num_cells=1,
        max_moves=most,
        outcomes=outcomes,
        max_chance=most,
        num_chance=num_chance,
        chance=chance,
    )
    nodes = FeatureSet("node", (0,), len(kinds), 1, lambda: [str(i) for i in range(len(kinds))])
    return Game(
        name="tree",
        title="A tree",
        state=State,
        rules=rules,
        feature_sets={"node": nodes},
        default_features="node",
        parse=_no_notation,
        format=lambda state: str(int(state.node)),
        move_text=lambda state, move: str(int(move)),
        ansi=lambda state, color=False: str(int(state.node)),
        draw=_no_notation,
        baselines={"zero": Baseline("zero", "value", _zero, "every position is worth nothing")},
    )


MAX, MIN, CHANCE, LEAF = range(4)
KINDS = {Max: MAX, Min: MIN, Chance: CHANCE}


def flatten(tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Kind [N], children [N, M] (0: none), probabilities [N, M] and values for MAX [N] of the nodes, the root first."""
    nodes: list[Any] = [tree]
    links: list[list[tuple[int, float]]] = []
    for node in nodes:  # grows
        links.append([])
        for child in node.children if type(node) in KINDS else ():
            probability, below = child if type(node) is Chance else (0.0, child)
            links[-1].append((len(nodes), probability))
            nodes.append(below)
    most = max(map(len, links))
    children, probabilities = np.zeros((len(nodes), most), np.int64), np.zeros((len(nodes), most))
    for i, below in enumerate(links):
        for k, (child, probability) in enumerate(below):
            children[i, k], probabilities[i, k] = child, probability
    kinds = np.array([KINDS.get(type(node), LEAF) for node in nodes], np.int64)
    values = np.array([0 if type(node) in KINDS else node for node in nodes], np.int64)
    return kinds, children, probabilities, values


@kernel
def _zero(state):
    return 0.0


def _no_notation(thing: Any) -> Any:
    raise InputError(f"{thing} has no notation: a tree is for tests")


# --- evaluators -------------------------------------------------------------------------------------------------------


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
