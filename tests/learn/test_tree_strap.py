"""TreeStrap against its definition: plain minimax in Python, every update summed by hand in float64; and the memory of
nodes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from search_learning import RATE, Toy, learn, minimax, searched, some_states, start

from deltaw.envs import games
from deltaw.envs.game import Game
from deltaw.envs.path import make_path
from deltaw.envs.trees import Max, Min, Turn, forest_game
from deltaw.learn.bootstrapping.games import make_search
from deltaw.learn.bootstrapping.nodes import DROPPED, KEPT, begin_nodes, keep_node, keeper, make_nodes
from deltaw.learn.bootstrapping.strap import node_error
from deltaw.learn.run.config import EvaluatorConfig
from deltaw.learn.run.start import fresh

# --- TreeStrap against the definition -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["lines", "tuples"])
def test_treestrap_minimax_is_the_sum_over_the_tree(shape):
    toy = Toy(start(shape=shape))
    for state in some_states():
        seen: dict = {}
        value, _ = minimax(toy, state, 3, seen)
        nodes, _, found = searched(toy, "minimax", state, 3)
        assert found == pytest.approx(value, abs=1e-12)
        rows = nodes.rows[: nodes.counts[KEPT]]
        assert {toy.game.unrow(row) for row in rows if not toy.game.rules.outcome(toy.game.unrow(row))[0]} == {
            s for s, _ in seen
        }
        expected = sum(RATE * (v - toy.value(s)) * toy.gradient(s) for (s, _), v in seen.items())
        assert np.abs(expected).max() > 1e-3
        assert learn(toy, nodes) == pytest.approx(expected, abs=1e-12)


def test_treestrap_alphabeta_learns_from_true_bounds():
    """The proven bounds contain each node's minimax value, the root's is exact, and the update is the definition
    applied to them."""
    toy, pruned, inside = Toy(start()), 0, 0
    for state in some_states():
        seen: dict = {}
        value, _ = minimax(toy, state, 3, seen)
        nodes, _, found = searched(toy, "alphabeta", state, 3)
        assert found == pytest.approx(value, abs=1e-12)
        expected = np.zeros(len(toy.weight))
        for k in range(nodes.counts[KEPT]):
            node, (a, b) = toy.game.unrow(nodes.rows[k]), nodes.bounds[k]
            if toy.game.rules.outcome(node)[0]:
                continue
            exact, h = seen[node, int(nodes.depth[k])], toy.value(node)
            assert a - 1e-12 <= exact <= b + 1e-12
            error = a - h if h < a else b - h if h > b else 0.0
            assert abs(error) <= abs(exact - h) + 1e-12
            inside += error == 0.0
            expected += RATE * error * toy.gradient(node)
        assert learn(toy, nodes) == pytest.approx(expected, abs=1e-12)
        pruned += len(seen) - int(nodes.counts[KEPT])
    assert pruned > 30
    assert inside > 0


def test_taken_in_turn_each_error_is_at_the_weights_of_that_moment():
    toy = Toy(start())
    state = some_states()[1]
    nodes, _, _ = searched(toy, "alphabeta", state, 3)
    weight = toy.weight.copy()
    for k in range(nodes.counts[KEPT]):
        node, (a, b) = toy.game.unrow(nodes.rows[k]), nodes.bounds[k]
        if not toy.game.rules.outcome(node)[0]:
            h = toy.value(node, weight)
            weight += RATE * (max(a - h, 0.0) - max(h - b, 0.0)) * toy.gradient(node, weight)
    assert learn(toy, nodes, in_turn=True) == pytest.approx(weight - toy.weight, abs=1e-12)
    assert np.abs(learn(toy, nodes) - (weight - toy.weight)).max() > 1e-6


def mirrored(tree: Any) -> Any:
    """The same tree with colours swapped: whoever was MAX is MIN, and leaves are worth the opposite."""
    if isinstance(tree, int):
        return -tree
    return Turn(1 - tree.player, [mirrored(child) for child in tree.children])


TREE = Max(
    [Min([Min([3, Max([4, -2])]), Max([1, 5])]), Max([Min([2, 6]), Min([-1, Max([0, 7])])]), Min([Max([1, 2]), 8])]
)
"""in it the same player moves twice in a row, on either side"""
CHAIN = Max([Min([Max([Max([Min([3])])])])])


@functools.cache
def forest() -> Game:
    return forest_game("mirror", "a tree and its mirror", {"tree": TREE, "mirror": mirrored(TREE), "chain": CHAIN})


def forest_toy() -> Toy:
    """Every node and its mirror image are worth the same to the mover."""
    toy = Toy(fresh(forest(), "node", EvaluatorConfig(head="identity"), 1))
    names = forest().feature_sets["node"].names()
    for i, name in enumerate(names):
        if name.startswith("mirror"):
            toy.weight[i] = toy.weight[names.index(name.replace("mirror", "tree"))]
    return toy


@pytest.mark.parametrize("name", ["minimax", "alphabeta"])
def test_a_colour_swapped_mirror_teaches_the_same(name):
    toy = forest_toy()
    names = forest().feature_sets["node"].names()
    tree = learn(toy, searched(toy, name, forest().parse("tree"), 2)[0])
    mirror = learn(toy, searched(toy, name, forest().parse("mirror"), 2)[0])
    pairs = [(i, names.index(n.replace("tree", "mirror"))) for i, n in enumerate(names) if n.startswith("tree")]
    assert np.count_nonzero(tree) > 3
    assert mirror[-1] == tree[-1]
    for i, j in pairs:
        assert mirror[j] == tree[i]
        assert mirror[i] == tree[j] == 0.0


def test_where_nothing_can_be_pruned_alphabeta_is_minimax():
    toy = forest_toy()
    for depth in (1, 2, 3, 4):
        state = forest().parse("chain")
        pruned = learn(toy, searched(toy, "alphabeta", state, depth)[0])
        plain = learn(toy, searched(toy, "minimax", state, depth)[0])
        assert np.count_nonzero(plain) == depth + 1  # the bias included
        assert pruned == pytest.approx(plain, abs=1e-12)


def test_the_error_is_the_distance_to_the_bounds():
    assert node_error(0.2, 0.5, 0.75) == 0.5 - 0.2
    assert node_error(0.875, 0.5, 0.75) == 0.75 - 0.875
    assert node_error(0.625, 0.5, 0.75) == 0.0
    assert node_error(0.625, -np.inf, 0.5) == -0.125
    assert node_error(0.625, -np.inf, np.inf) == 0.0


# --- the memory of nodes ------------------------------------------------------------------------------------------


def test_a_node_is_kept_once_with_its_tightest_bounds():
    game = games.load("tic_tac_toe")
    nodes = make_nodes(game, 2, 1)
    first, second, third = (game.state(1 << i, 0) for i in range(3))
    begin_nodes(nodes)
    keep_node(nodes, first, np.int64(2), -np.inf, 0.5)
    keep_node(nodes, first, np.int64(2), -0.25, np.inf)
    keep_node(nodes, first, np.int64(2), -0.5, 0.75)
    keep_node(nodes, first, np.int64(0), 0.0, 0.0)  # too shallow
    keep_node(nodes, second, np.int64(1), -np.inf, np.inf)  # nothing is known
    assert nodes.counts[KEPT] == 1
    assert tuple(nodes.bounds[0]) == (-0.25, 0.5)
    keep_node(nodes, first, np.int64(1), 0.0, 0.0)  # searched less deep: another node
    keep_node(nodes, third, np.int64(1), 0.0, 0.0)
    assert nodes.counts[KEPT] == 2
    assert nodes.counts[DROPPED] == 1
    begin_nodes(nodes)
    keep_node(nodes, third, np.int64(1), 0.0, 1.0)
    assert (nodes.counts[KEPT], nodes.counts[DROPPED]) == (1, 0)
    assert tuple(nodes.bounds[0]) == (0.0, 1.0)
    assert game.unrow(nodes.rows[0]) == third


def test_a_full_memory_is_no_error():
    toy = Toy(start())
    state = some_states()[0]
    search, nodes = make_search(toy.game, "minimax", 3, toy.leaf, toy.work), make_nodes(toy.game, 10, 1)
    begin_nodes(nodes)
    path = make_path(toy.game.rules)
    search.run(toy.game.rules, toy.leaf, keeper(nodes), path, state, np.int64(3), np.int64(1), search.desk)
    assert nodes.counts[KEPT] == 10
    assert nodes.counts[DROPPED] > 50
    assert np.isfinite(learn(toy, nodes)).all()
