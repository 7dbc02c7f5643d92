"""Explicit trees: notation, turns, marks, and the worked examples counted by a recursion over what was written down."""

from __future__ import annotations

import math

import numpy as np
import pytest
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.forest import IS_LEAF
from deltaw.envs.game import Game
from deltaw.envs.games import trees, trees_chance, trees_three
from deltaw.envs.trees import CHANCE, LEAF, Chance, Leaf, Max, Min, Node, Turn, forest_game, plant, random_tree
from deltaw.search.tree.algorithm import search

TREES, DICE, THREE = games.load("trees"), games.load("trees_chance"), games.load("trees_three")


def home(text: str) -> Game:
    """The game that a position of the worked examples for two belongs to."""
    return DICE if text.split("/")[0] in ("mixed", "D", "D-stretched") else TREES


ODD = forest_game(
    "odd",
    "Unusual turns",
    {
        "twice": Max([Max([1, Min([5, 2])], static=3), Min([Min([4, -6]), 0])]),
        "min": Min([Max([1, 2]), -3], static=-1),
        "dice": Chance([(0.5, Min([1, 2])), (0.25, 8), (0.25, -4)]),
        "luck": Max([Chance([(0.5, 3), (0.5, 1)]), 1]),
        "leaf": 7,
    },
)


def value(tree) -> float:
    """Worth to MAX of a written tree."""
    if not isinstance(tree, Node) or tree.player == LEAF:
        return tree.worth if isinstance(tree, Node) else tree
    below = [value(child) for child in tree.children]
    if tree.player == CHANCE:
        return sum(p * v for p, v in zip(tree.odds, below, strict=True))
    return min(below) if tree.player else max(below)


def max_n(tree):
    """Payoffs to everybody where each maximises his own; the first of equals."""
    if not isinstance(tree, Node):
        return tree
    return max((max_n(child) for child in tree.children), key=lambda payoffs: payoffs[tree.player])


def searched(game, text, depth=9, baseline="zero"):
    """Worth to MAX of a position, by the textbook search."""
    state = game.parse(text)
    found = search(game, game.baselines[baseline], state, "expectiminimax", depth=depth)
    return found.value if game.rules.seat(state) == 0 else -found.value


def static(game, text):
    return game.baselines["static"].function(game.parse(text))


# --- notation ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [TREES, DICE, THREE, ODD], ids=lambda game: game.name)
def test_every_node_has_a_notation_of_its_own(game):
    names = game.features().names()
    assert len(set(names)) == len(names)
    for node, name in enumerate(names):
        assert game.parse(name).node == node
        assert game.format(game.parse(name)) == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B", "'B' names no tree; there are: A, A2"),
        ("A/3", "'A/3' leads nowhere: A has 0, 1, 2"),
        ("A/0/0/0", "'A/0/0/0' leads nowhere: A/0/0 has no children"),
        ("A/pass", "'A/pass' leads nowhere"),
        ("A/", "'A/' leads nowhere"),
        ("", "'' names no tree"),
    ],
)
def test_bad_positions(text, message):
    with pytest.raises(InputError, match=message):
        TREES.parse(text)


@pytest.mark.parametrize(
    ("trees", "num_players", "message"),
    [
        ({}, 2, "without trees"),
        ({"a b": 1}, 2, "'a b' is no name"),
        ({"a/b": 1}, 2, "'a/b' is no name"),
        ({"a": Max([])}, 2, "without children"),
        ({"a": Turn(2, [1])}, 2, "player 2 is not among the 2 players"),
        ({"a": Turn(0, [(1, 2, 3)])}, 2, r"payoffs \(1, 2, 3\)"),
        ({"a": Turn(0, [4])}, 3, "4 should be a tuple"),
        ({"a": Turn(0, [(1, 2)])}, 3, r"payoffs \(1, 2\) are not one for each of 3"),
        ({"a": Chance([(0.5, 1), (0.4, 2)])}, 2, "add up to 1"),
        ({"a": Chance([(1.5, 1), (-0.5, 2)])}, 2, "must be positive"),
        ({"a": Chance([(0.5, Max([1])), (0.5, Min([1]))])}, 2, r"the players \[0, 1\] decide"),
        ({"a": Chance([(1.0, Chance([(1.0, 1)]))])}, 2, "chance node follows"),
        ({"a": 1}, 17, "17 players"),
    ],
)
def test_trees_that_make_no_sense(trees, num_players, message):
    with pytest.raises(InputError, match=message):
        plant(trees, num_players)


@pytest.mark.parametrize(
    ("worth", "message"),
    [
        (0.5, "the payoff 0.5 of a leaf is no whole number"),
        (10**400, "the payoff of 1329 bits is no number from -2"),
        (-(10**5000), "the payoff of 16610 bits is no number"),
        (math.nan, "the payoff nan is no number"),
        (-math.inf, "the payoff -inf is no number"),
        (1 << 54, "the payoff of 55 bits is no number"),
        ("12", "the payoff '1' is no number"),
        (None, "the payoff None is no number"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_payoffs_are_whole_numbers_that_have_room(worth, message):
    with pytest.raises(InputError, match=message):
        plant({"a": Max([worth])}, 2)


def test_static_values_and_probabilities_are_finite_numbers():
    assert plant({"a": Max([1 << 53, -1.0], static=0.5)}, 2).flat.worth[:3, 0].tolist() == [0.5, 1 << 53, -1]
    for node in (Max([1], static=math.inf), Chance([(10**5000, 1)]), Chance([(math.nan, 1), (1.0, 2)])):
        with pytest.raises(InputError, match="is no number from"):
            plant({"a": node}, 2)


# --- turns, marks, values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seat"),
    [
        ("twice", 0), ("twice/0", 0), ("twice/0/0", 1), ("twice/0/1", 1), ("twice/0/1/0", 0), ("twice/1/0", 1),
        ("twice/1/0/0", 0), ("min", 1), ("min/0", 0), ("min/1", 0), ("dice", 1), ("dice/0", 1), ("dice/1", 1),
        ("luck/0", 1), ("luck/0/0", 1), ("leaf", 0),
    ],
)  # fmt: skip
def test_whose_turn_it_is(text, seat):
    assert ODD.rules.seat(ODD.parse(text)) == seat


@pytest.mark.parametrize(
    ("text", "worth"), [("twice", 2), ("twice/1", -6), ("min", -3), ("dice", 1.5), ("luck", 2), ("leaf", 7)]
)
def test_values_flip_exactly_when_the_seat_changes(text, worth):
    assert searched(ODD, text) == pytest.approx(worth, abs=1e-12)


def test_static_values_are_the_movers():
    assert [static(ODD, text) for text in ("twice/0", "min", "min/0")] == [3, 1, 0]
    assert [static(TREES, text) for text in ("horizon/1", "horizon/1/0")] == [-1, -8]
    assert [static(THREE, text) for text in ("alliance/0", "short/2")] == [4, 4]


def test_noisy_moves_and_passing():
    state = DICE.parse("mixed/1/0")
    assert [bool(DICE.rules.noisy(state, move)) for move in (0, 1)] == [True, True]
    assert [bool(DICE.rules.noisy(DICE.parse("mixed"), move)) for move in (0, 1, 2)] == [False, True, False]
    passing = DICE.parse("mixed/2")
    assert DICE.moves(passing) == [0, 1]
    assert DICE.format(DICE.rules.null(passing)) == "mixed/2/pass"
    assert DICE.rules.seat(DICE.rules.null(passing)) != DICE.rules.seat(passing)
    assert DICE.rules.null(state) == state


def test_an_evaluator_sees_a_node_behind_the_dice_as_before():
    index, value = np.zeros(1, np.int32), np.zeros(1, np.float32)
    seen = []
    for text in ("D", "D/0", "D/0/0", "D/0/1", "D/1"):
        DICE.rules.features(DICE.parse(text), np.zeros(1, np.int64), index, value)
        seen.append(DICE.features().names()[index[0]])
    assert seen == ["D", "D/0", "D/0", "D/0", "D/1"]


def test_leaves_may_be_written_out():
    assert plant({"a": Max([Leaf(3, noisy=True), 4])}, 2).ansi(0).splitlines()[1].split() == ["0", "3", "noisy"]


# --- the worked examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tree", "worth"),
    [
        ("mixed", trees_chance.MIXED, 3), ("A", trees.TREE_A, 3), ("A2", trees.tree_a2(-30, -30), 0),
        ("A2-between", trees.tree_a2(5, -5), 0), ("A2-high", trees.tree_a2(30, 30), 0),
        ("D", trees_chance.tree_d(1, 2, 3, 4), 2.1), ("D-stretched", trees_chance.tree_d(1, 20, 30, 400), 40.9),
        ("horizon", trees.HORIZON, 0), ("singular", trees.SINGULAR, 0), ("continuation", trees.CONTINUATION, 9),
        ("zugzwang", trees.ZUGZWANG, 5), ("null-move", trees.NULL_MOVE, 1), ("fallible", trees.FALLIBLE, 2),
    ],
)  # fmt: skip
def test_values_of_the_examples(name, tree, worth):
    assert value(tree) == pytest.approx(worth)
    assert searched(home(name), name) == pytest.approx(worth, abs=1e-12)


@pytest.mark.parametrize(("name", "fooled_at"), [("horizon", 1), ("singular", 1), ("continuation", 3)])
def test_a_search_cut_off_too_early_is_fooled(name, fooled_at):
    evaluator, state = TREES.baselines["static"], TREES.parse(name)
    early, late, full = (search(TREES, evaluator, state, depth=depth).moves for depth in (fooled_at, fooled_at + 1, 9))
    assert early != late == full


@pytest.mark.parametrize(("name", "right"), [("zugzwang", False), ("null-move", True)])
def test_whether_passing_tells_what_moving_is_worth(name, right):
    """Null-move pruning skips the second move where a pass leaves MAX no more than the first move does."""
    first, passed, second = (searched(TREES, f"{name}/{way}") for way in ("0", "1/pass", "1"))
    assert passed <= first
    assert (second <= first) == right


def test_tree_b():
    assert max_n(trees_three.TREE_B) == (1, 2, 6)
    picked = [max_n(c) for b in trees_three.TREE_B.children for c in b.children]
    assert picked == [(1, 2, 6), (6, 1, 2), (1, 5, 2), (5, 4, 5)]
    assert [max_n(b)[0] for b in trees_three.TREE_B.children] == [1, 1]


def test_alliances_change_the_choice():
    each = [max_n(b) for b in trees_three.ALLIANCE.children]
    assert [payoffs[0] for payoffs in each] == [5, 2]
    allied = [min(leaf[0] for c in b.children for leaf in c.children) for b in trees_three.ALLIANCE.children]
    assert allied == [0, 2]
    assert max_n(trees_three.SHORT) == (6, 0, 3)


def test_payoffs_begin_with_the_mover():
    state, out = THREE.parse("B/0/0/0"), np.empty(3)
    assert THREE.rules.seat(state) == 0
    THREE.rules.payoffs(state, out)
    assert out.tolist() == [1, 2, 6]
    state = THREE.parse("short/1/0")
    assert THREE.rules.seat(state) == 2
    THREE.rules.payoffs(state, out)
    assert out.tolist() == [2, 1, 6]
    THREE.baselines["static_payoffs"].function(THREE.parse("short/1"), out)
    assert out.tolist() == [4, 2, 3]


# --- many trees -------------------------------------------------------------------------------------------------------


def test_random_trees_have_the_values_that_were_written():
    random = np.random.default_rng(1)
    written = {f"t{i}": random_tree(random, 4, 3, chance=0.2 * (i % 2)) for i in range(120)}
    game = forest_game("random", "Random trees", written)
    assert game.rules.max_chance == 2
    for name, tree in written.items():
        assert searched(game, name) == pytest.approx(value(tree), abs=1e-12)


def test_a_large_forest_works():
    """Arrays above a megabyte are no longer part of the machine code; the rules are the same."""
    random = np.random.default_rng(2)
    written = {f"t{i}": random_tree(random, 6, 6, 3) for i in range(150)}
    game = forest_game("large", "A large forest", written)
    assert game.features().num_features > 150_000
    for name in ("t0", "t149"):
        assert searched(game, name) == value(written[name])


def test_a_network_can_look_at_trees():
    network = random_evaluator(TREES, 1)
    values = {search(TREES, network, TREES.parse(name), depth=0).value for name in ("A", "horizon", "fallible")}
    assert len(values) == 3


# --- text and picture -------------------------------------------------------------------------------------------------


def test_the_text_shows_the_tree_and_the_place():
    lines = TREES.ansi(TREES.parse("horizon/1")).splitlines()
    assert lines[0] == "  horizon  MAX"
    assert lines[8:] == [">   1  MIN static 1 noisy", "      0  MAX static -8 noisy", "        0  -8", "        1  -8"]
    assert "\033[1m>" in TREES.ansi(TREES.parse("horizon/1"), color=True)
    assert "p=0.75 MIN" in DICE.ansi(DICE.parse("mixed"))
    assert THREE.ansi(THREE.parse("short")).splitlines()[2] == "    1  B static (3,4,2)"


def test_pictures_are_large_enough_and_not_too_large():
    forest = plant({"one": 1, "wide": Max([Min([0] * 40) for _ in range(50)])}, 2)
    assert np.sum(forest.flat.flags & IS_LEAF > 0) == 2001
    assert forest.draw(0).size >= (100, 100)
    assert forest.draw(1).size[0] < 4200


def test_the_picture_shows_where_the_game_is():
    pictures = [np.array(DICE.draw(DICE.parse(name))) for name in ("mixed", "mixed/1", "mixed/1/1")]
    assert (pictures[0] != pictures[1]).any()
    assert (pictures[1] != pictures[2]).any()
