"""TDLeaf, RootStrap and TreeStrap against their definitions: plain minimax in Python, every update summed by hand in float64."""

from __future__ import annotations

import functools
import io
import math
from typing import Any

import numpy as np
import pytest
import torch

from envs import games
from envs.bits import EXPLORE, OPENING, random_unit, random_word
from envs.errors import InputError
from envs.game import Game
from envs.trees import Max, Min, Turn, forest_game
from learn import root_strap, td_leaf, tree_strap
from learn.backend import Serial
from learn.bootstrap import Step, learn_from_nodes, make_samples, node_error
from learn.config import EvaluatorConfig, TuplesConfig
from learn.nodes import DROPPED, KEPT, begin_nodes, keep_node, keeper, make_nodes
from learn.pupil import NetworkPupil
from learn.searched import Settings, make_position, make_search
from learn.start import fresh
from learn.step_rules import make_rule
from learn.td_leaf import make_trace, play_and_trace, returns_of
from search.deep import deep
from search.evaluator import Evaluator
from search.leaf import Leaf
from search.stack import NOBODY
from tests.conftest import python_state, random_game

RATE = 0.03
METHODS = ("td_leaf", "root_strap", "tree_strap")
MODULES = {"td_leaf": td_leaf, "root_strap": root_strap, "tree_strap": tree_strap}


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
        self.leaf = Leaf(view.leaf.evaluate, view.leaf.weights._replace(weight=self.weight))  # type: ignore[attr-defined]
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
    search, nodes = make_search(toy.game, name, depth, toy.work), make_nodes(toy.game, 4096, least)
    begin_nodes(nodes)
    arguments = (toy.game.rules, toy.leaf, keeper(nodes), state, np.int64(depth), np.int64(version), search.desk)
    value, _, _ = search.run(*arguments)
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
    """The proven bounds contain each node's minimax value, the root's is exact, and the update is the definition applied to them."""
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


def test_treestrap_on_the_root_alone_is_rootstrap():
    knobs = {"depth": 2, "step_size": 0.01, "step_size_end": 0.01, "searches": 50, "opening": 2}
    root = make("root_strap", **knobs)
    tree = make("tree_strap", least_depth=2, **knobs)
    for _ in range(3):
        root.step()
        tree.step()
    assert root.games == tree.games > 5
    assert (root.pupil.weight == tree.pupil.weight).all()
    assert not (root.pupil.weight == make("root_strap").pupil.weight).all()


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
    search, nodes = make_search(toy.game, "minimax", 3, toy.work), make_nodes(toy.game, 10, 1)
    begin_nodes(nodes)
    search.run(toy.game.rules, toy.leaf, keeper(nodes), state, np.int64(3), np.int64(1), search.desk)
    assert nodes.counts[KEPT] == 10
    assert nodes.counts[DROPPED] > 50
    assert np.isfinite(learn(toy, nodes)).all()


# --- TDLeaf -------------------------------------------------------------------------------------------------------


def traced(toy: Toy, depth: int, searches: int, trace: float, explore: float) -> np.ndarray:
    """The weights after so many searches of the compiled TDLeaf."""
    search, position = make_search(toy.game, "alphabeta", depth, toy.work), make_position(toy.game)
    learning = (make_trace(len(toy.weight), toy.game.rules.width), trace, toy.rule, toy.samples, Step(RATE, 0.0, False))
    settings, found = Settings(5, depth, explore, 0), np.zeros(toy.game.rules.width, np.int64)
    play_and_trace(toy.game.rules, search, toy.leaf, NOBODY, position, settings, *learning, searches, found)
    return toy.weight


def white(game: Game, state: Any, value: float) -> float:
    return value if game.rules.seat(state) == 0 else -value


def next_state(game: Game, values: list[float], state: Any, number: int, ply: int, explore: float) -> tuple[Any, bool]:
    """What self-play does: the first of the best moves, or a random one."""
    behind = [child for child, _ in children(game, state)]
    if explore > 0 and random_unit(5, number, ply, EXPLORE) < explore:
        return behind[random_word(5, number, ply, OPENING) % len(behind)], True
    return behind[int(np.argmax(values))], False


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_tdleaf_at_depth_1_is_td_of_the_positions_after_moves(trace):
    toy = Toy(start())
    game, w, e, searches = toy.game, toy.weight.copy(), np.zeros(len(toy.weight)), 0
    for number in range(6):
        state, ply = python_state(game, game.rules.initial()), 0
        e[:] = 0.0
        while not game.rules.outcome(state)[0]:
            values = []
            for child, sign in children(game, state):
                over, result = game.rules.outcome(child)
                values.append(sign * (result if over else toy.value(child, w)))
            after, _ = next_state(game, values, state, number, ply, 0.0)
            if ply > 0:  # dW_t = c (v_{t+1} - v_t) e,  e = lambda e + grad v_t
                sign = white(game, state, 1.0)
                e = trace * e + sign * toy.gradient(state, w)
                w = w + RATE * (white(game, state, max(values)) - sign * toy.value(state, w)) * e
            state, ply, searches = after, ply + 1, searches + 1
    assert traced(toy, 1, searches, trace, 0.0) == pytest.approx(w, abs=1e-12)


def test_tdleaf_is_its_definition_with_random_moves():
    """Depth 2: the best line's last position learns from the next search; a random move breaks the chain, unless it ends the game."""
    toy, depth, trace, explore = Toy(start()), 2, 0.6, 0.3
    game, w, searches, broken = toy.game, toy.weight.copy(), 0, 0
    for number in range(8):
        state, ply, waiting, e = python_state(game, game.rules.initial()), 0, None, np.zeros(len(toy.weight))
        over = False

        def learn_from(waiting: tuple | None, target: float, last: bool, w: np.ndarray, e: np.ndarray) -> tuple:
            if waiting is None:
                return w, e
            leaf, explored = waiting
            if explored and not last:
                return w, e * 0.0
            ended, result = game.rules.outcome(leaf)
            own = white(game, leaf, float(result) if ended else toy.value(leaf, w))
            e = trace * e + (0.0 if ended else white(game, leaf, 1.0) * toy.gradient(leaf, w))
            return w + RATE * (target - own) * e, e

        while not over:
            behind = children(game, state)
            lines = [minimax(toy, child, depth - 1, {}, w) for child, _ in behind]
            values = [sign * line[0] for (_, sign), line in zip(behind, lines, strict=True)]
            best = int(np.argmax(values))
            w_before = w
            w, e = learn_from(waiting, white(game, state, values[best]), False, w, e)
            assert w is w_before or waiting is not None
            after, explored = next_state(game, values, state, number, ply, explore)
            waiting, state, ply, searches = (lines[best][1], explored), after, ply + 1, searches + 1
            broken += explored
            over, result = game.rules.outcome(state)
        w, e = learn_from(waiting, white(game, state, float(result)), True, w, e)
    assert broken > 5
    assert traced(toy, depth, searches, trace, explore) == pytest.approx(w, abs=1e-12)


def test_the_forward_view_of_a_game_is_the_sum_of_the_backward_one():
    """Frozen weights: sum (G_t - v_t) g_t = sum d_t e_t, random moves included; g_t are unit vectors, so that nothing can cancel."""
    random = np.random.default_rng(0)
    values, explored, result, trace = random.normal(size=9), random.random(9) < 0.3, 1.0, 0.6
    explored[3], explored[8] = True, True
    e, backward = np.zeros(9), np.zeros(9)
    for t in range(9):
        last = t == 8
        if explored[t] and not last:
            e[:] = 0.0
            continue
        e = trace * e + np.eye(9)[t]
        backward += ((result if last else values[t + 1]) - values[t]) * e
    played = [td_leaf.Played(np.array([t]), values[t], bool(explored[t])) for t in range(9)]
    rows, targets = returns_of(played, result, trace)
    forward = np.zeros(9)
    forward[rows[:, 0]] = targets - values[rows[:, 0]]
    assert forward == pytest.approx(backward, abs=1e-12)


# --- the learners -------------------------------------------------------------------------------------------------


def make(name: str, evaluator: Evaluator | None = None, *, seed: int = 1, budget: int = 1000, **knobs: Any) -> Any:
    module = MODULES[name]
    options = module.Options(**{"depth": 2, "searches": 40, "opening": 2, **knobs})
    return module.make(options, evaluator or start(), seed=seed, budget=budget, backend=Serial())


def weights_of(evaluator: Evaluator) -> np.ndarray:
    return np.concatenate([evaluator.tensors[name].ravel() for name in sorted(evaluator.tensors)])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("knobs", [{"step_rule": "tcl"}, {"average": 0.9}, {"shape": "network", "average": 0.5}])
def test_a_learner_goes_on_exactly(name, knobs):
    knobs = dict(knobs)
    evaluator = start(shape=knobs.pop("shape", "lines"))
    whole, first = make(name, evaluator, **knobs), make(name, evaluator, **knobs)
    for _ in range(5):
        metrics = whole.step()
    for _ in range(2):
        first.step()
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    other = make(name, evaluator, **knobs)
    other.step()  # what a learner did before it is restored does not matter
    other.restore(torch.load(file, weights_only=True))
    for _ in range(3):
        again = other.step()
    assert again == metrics
    assert (weights_of(other.evaluator()) == weights_of(whole.evaluator())).all()
    assert whole.finite()


@pytest.mark.parametrize("name", METHODS)
def test_a_seed_decides_everything(name):
    runs = [make(name, seed=seed) for seed in (1, 1, 2)]
    for run in runs:
        run.step()
    one, same, other = (weights_of(run.evaluator()) for run in runs)
    assert (one == same).all()
    assert not (one == other).all()


def test_the_step_counts_what_it_did():
    metrics = make("tree_strap", search="minimax", depth=2, explore=0.0, opening=0).step()
    scalars = metrics.scalars
    assert 0 < scalars["train/share_outside"] <= 1.0
    assert scalars["train/updates_per_search"] * 40 <= metrics.positions
    assert scalars["train/lost"] == 0
    assert 5 <= scalars["play/game_length"] <= 9
    assert scalars["train/nodes"] > 20


def test_treestrap_learns_never_to_lose_tic_tac_toe():
    """Two plies deep, against every line of the opponent, from either side."""
    knobs = {"step_size": 0.02, "step_size_end": 0.0005, "opening": 4, "explore": 0.2, "searches": 200}
    learner = make("tree_strap", in_turn=True, budget=4000, **knobs)
    while learner.games < 4000:
        learner.step()
    assert len(losses(start(), 2)) > 20
    assert not losses(learner.evaluator(), 2)


@pytest.mark.parametrize("name", METHODS)
def test_learning_loses_fewer_games_and_errs_less(name):
    learner = make(name, step_size=0.02, step_size_end=0.001, opening=4, explore=0.1, searches=200)
    errors = []
    while learner.games < 1000:
        errors.append(learner.step().scalars["train/td_error"])
    assert len(losses(learner.evaluator(), 2)) < len(losses(start(), 2)) / 3
    assert np.mean(errors[-3:]) < errors[0]


@pytest.mark.parametrize("name", METHODS)
def test_weights_that_diverge_are_noticed_and_break_nothing(name):
    learner = make(name, start(head="identity"), step_size=1e30, step_size_end=1e30)
    for _ in range(5):
        learner.step()
    assert not learner.finite()
    assert learner.games > 10


def losses(evaluator: Evaluator, depth: int) -> list[Any]:
    """Positions in which a player who searches so deep has lost, whatever side he plays and whatever the other one does."""
    game = evaluator.game
    view = deep(game, evaluator)
    search = make_search(game, "alphabeta", depth, view.work)

    @functools.cache
    def lost(state: Any, own_turn: bool) -> tuple:
        over, result = game.rules.outcome(state)
        if over:
            return (state,) if (result < 0) == own_turn and result != 0 else ()
        if own_turn:
            arguments = (game.rules, view.leaf, NOBODY, state, np.int64(depth), np.int64(1), search.desk)
            _, best, _ = search.run(*arguments)
            return lost(python_state(game, game.rules.load(search.desk.root.rows[best])), False)
        return tuple(found for child, _ in children(game, state) for found in lost(child, True))

    initial = python_state(game, game.rules.initial())
    return [*lost(initial, True), *lost(initial, False)]


def test_a_network_is_drawn_into_the_bounds_and_not_further():
    pupil = make("tree_strap", start(shape="network"), optimizer="sgd").pupil
    assert isinstance(pupil, NetworkPupil)
    rows = np.array([pupil.game.row(state) for state in some_states()])
    before, _ = pupil.network.evaluator().values(rows)
    wide = np.stack([before - 0.1, before + 0.1], axis=1)
    assert pupil.learn(rows, wide, 0.1, 8, 0) == 0
    assert (pupil.network.evaluator().values(rows)[0] == before).all()
    above = np.stack([before + 0.2, before + 0.3], axis=1)
    assert pupil.learn(rows, above, 0.1, 8, 0) == len(rows)
    after, _ = pupil.network.evaluator().values(rows)
    assert (after > before).any()
    assert np.abs(above[:, 0] - after).sum() < np.abs(above[:, 0] - before).sum()


def test_a_network_moves_by_the_mean_of_error_times_gradient():
    """One step of plain gradient descent, against central differences of the evaluator's values: here in the last bias."""
    pupil = make("tree_strap", start(shape="network"), optimizer="sgd").pupil
    rows = np.array([pupil.game.row(state) for state in some_states()])
    bounds = np.array([[0.5, 0.75], [-np.inf, -0.25], [-1.0, 1.0], [-np.inf, np.inf]])[: len(rows)]
    bias = pupil.network.layers[-1].bias

    def values(shift: float) -> np.ndarray:
        with torch.no_grad():
            bias.add_(shift)
            found, _ = pupil.network.evaluator().values(rows)
            bias.add_(-shift)
        return found

    slope = (values(1e-2) - values(-1e-2)) / 2e-2
    errors = [node_error(value, *bound) for value, bound in zip(values(0.0), bounds, strict=True)]
    assert sum(error != 0 for error in errors) == 2
    before = bias.item()
    pupil.learn(rows, bounds, 0.1, 8, 0)
    assert bias.item() - before == pytest.approx(0.1 * np.mean(errors * slope), rel=1e-2)


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "line"),
    [
        ("td_leaf", {"trace": 1.5}, "learner.trace=1.5 is outside 0 .. 1"),
        ("td_leaf", {"depth": 0}, "learner.depth=0 is outside 1 .. 64"),
        ("root_strap", {"depth": 65}, "learner.depth=65 is outside 1 .. 64"),
        ("root_strap", {"explore": -0.1}, "learner.explore=-0.1 is outside 0 .. 1"),
        ("root_strap", {"step_rule": "rmsprop"}, "learner.step_rule='rmsprop' is not one of"),
        ("tree_strap", {"search": "mtdf"}, "learner.search='mtdf' is not one of alphabeta, minimax"),
        ("tree_strap", {"least_depth": 3}, "learner.least_depth=3 is outside 1 .. 2"),
        ("tree_strap", {"searches": 0}, "learner.searches=0 must be at least 1"),
        ("tree_strap", {"opening": -1}, "learner.opening=-1 must be at least 0"),
        ("tree_strap", {"step_size": math.nan}, "learner.step_size=nan must be at least 0"),
    ],
)
def test_knobs_that_make_no_sense(name, knobs, line):
    with pytest.raises(InputError, match=line.replace(".", r"\.")):
        make(name, **knobs)


@pytest.mark.parametrize("name", METHODS)
def test_games_and_evaluators_that_do_not_fit(name):
    with pytest.raises(InputError, match="searches games without chance; backgammon has dice"):
        make(name, start("backgammon", "default"))
    with pytest.raises(InputError, match="is for two players; tic_tac_toe_three has 3"):
        make(name, start("tic_tac_toe_three", "default"))
    with pytest.raises(InputError, match="trains one value, not chances: "):
        make(name, start(head="classes"))
