"""Searches below chance nodes: the textbook's against the lectures' numbers, known totals, a plain Python recursion and
the batched two plies; Star1 and Star2 against the textbook's."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, random_game
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.bits import popcount
from deltaw.envs.control import NODES, Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline
from deltaw.envs.games.backgammon.notation import from_board
from deltaw.envs.games.backgammon.rules import count, stacked
from deltaw.envs.games.trees_chance import tree_d
from deltaw.envs.kernel import JIT, kernel
from deltaw.envs.trees import Chance, Max, Min, Node, Turn, forest_game
from deltaw.search.algorithms import star2
from deltaw.search.players.plies import make_bench, score_moves, value_one_deeper
from deltaw.search.tree.algorithm import evaluate_state, make_setup, search
from deltaw.search.tree.stack import Visitor

BACKGAMMON = games.load("backgammon")
TIC_TAC_TOE = games.load("tic_tac_toe")
TREES = games.load("trees_chance")
ZERO = TREES.baselines["zero"]
STARS = ["star1", "star2"]


def move_values(game, evaluator, state, depth, algorithm="expectiminimax"):
    """Of each move, for the mover, in the game's order."""
    setup, values = make_setup(game, evaluator, algorithm, depth), []
    for move in game.moves(state):
        child = game.rules.play(state, move)
        value = evaluate_state(setup, child, depth - 1)
        values.append(value if game.rules.seat(child) == game.rules.seat(state) else -value)
    return values


def value_of(game, evaluator, state, depth, algorithm="expectiminimax"):
    return evaluate_state(make_setup(game, evaluator, algorithm, depth), state, depth)


def plain(game, evaluate, state, depth):
    """The four lines of the definition, in Python. `evaluate`(state) -> value for its mover."""
    over, value = game.rules.outcome(state)
    if over:
        return float(value)
    if depth == 0:
        return evaluate(state)
    outcomes = [game.rules.chance(state, i) for i in range(game.rules.num_chance(state))]
    if outcomes:
        return sum(p * plain(game, evaluate, rolled, depth) for rolled, p in outcomes)
    best = -float("inf")
    for move in game.moves(state):
        child = game.rules.play(state, move)
        value = plain(game, evaluate, child, depth - 1)
        best = max(best, value if game.rules.seat(child) == game.rules.seat(state) else -value)
    return best


# --- trees of the lectures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tree", "values", "choice"), [("D", (2.1, 1.3), 0), ("D-stretched", (21.0, 40.9), 1)])
def test_trees_d(tree, values, choice):
    root = TREES.parse(tree)
    assert move_values(TREES, ZERO, root, 2) == pytest.approx(values, abs=1e-12)
    found = search(TREES, ZERO, root, "expectiminimax", depth=2)
    assert found.moves == (choice,)
    assert found.value == pytest.approx(values[choice], abs=1e-12)


def test_depth_counts_moves_and_chance_is_free():
    root = TREES.parse("D")
    setups = [make_setup(TREES, ZERO, "expectiminimax", depth) for depth in range(3)]
    values = [evaluate_state(setup, root, depth) for depth, setup in enumerate(setups)]
    assert [setup.stack.control[NODES] for setup in setups] == [1, 1 + 2, 1 + 2 + 4 + 8]
    assert values[:2] == [0, 0]  # leaves before the dice, by `zero`
    assert search(TREES, ZERO, root, "expectiminimax", depth=0).moves == ()
    assert search(TREES, ZERO, root, "expectiminimax", depth=1).moves == (0, 1)


# --- tic-tac-toe: minimax without chance ------------------------------------------------------------------------------


def test_tic_tac_toe_at_every_depth_equals_the_plain_recursion():
    open_lines = TIC_TAC_TOE.baselines["open_lines"]
    setup, evaluate = make_setup(TIC_TAC_TOE, open_lines, "expectiminimax", 5), functools.cache(open_lines.function)
    compared = 0
    for number in range(6):
        for state in list(random_game(TIC_TAC_TOE, seed=5, number=number))[3:]:
            for depth in range(6):
                assert evaluate_state(setup, state, depth) == plain(TIC_TAC_TOE, evaluate, state, depth)
                compared += 1
    assert compared > 100


# --- backgammon -------------------------------------------------------------------------------------------------------


def test_one_checker_on_the_six_point_bears_off_in_27_of_36_rolls():
    """The opponent bears off his last checker for sure, so the race is worth 27/36 - 9/36; both have borne off 14, so
    no gammon."""
    one = BACKGAMMON.rules.load(np.zeros(6, np.int64))._replace(me_low=1 << 5, opponent_low=1)
    after = one._replace(me_low=1, opponent_low=1 << 5, seat=1)  # the other side first
    for algorithm in ("expectiminimax", *STARS):
        setup = make_setup(BACKGAMMON, RACE, algorithm, 3)
        assert evaluate_state(setup, one, 2) == pytest.approx(0.5, abs=1e-12)
        assert evaluate_state(setup, one, 3) == pytest.approx(0.5, abs=1e-12)
        assert evaluate_state(setup, after, 1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("head", ["classes", "tanh"])
def test_backgammon_races_equal_the_plain_recursion(head):
    evaluator = random_evaluator(BACKGAMMON, 2, head=head)
    evaluate = functools.cache(lambda state: evaluator.opinion(state).value)
    for me, his in (([0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 2, 0]), ([2, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0])):
        state = _home_race(me, his)
        for depth in (1, 2):
            expected = plain(BACKGAMMON, evaluate, state, depth)
            assert value_of(BACKGAMMON, evaluator, state, depth) == pytest.approx(expected, abs=1e-5)
        rolled = BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, "21"))[0]
        expected = plain(BACKGAMMON, evaluate, rolled, 2)
        assert value_of(BACKGAMMON, evaluator, rolled, 2) == pytest.approx(expected, abs=1e-5)


def _home_race(me, his):
    return from_board([*me, *[0] * 20], [*his, *[0] * 20])


@pytest.mark.parametrize("head", ["classes", "identity"])
def test_batched_two_plies_equal_depth_two(head):
    """Contact positions of random games, after the dice (all moves) and before them."""
    evaluator = random_evaluator(BACKGAMMON, 3, head=head)
    leaf = evaluator.leaf
    bench = make_bench(leaf, BACKGAMMON)
    rolled = before = 0
    for state in list(random_game(BACKGAMMON, seed=8, most=40))[5::7]:
        if BACKGAMMON.rules.num_chance(state):
            value = value_one_deeper(BACKGAMMON.rules, leaf, state, bench)
            assert value == pytest.approx(value_of(BACKGAMMON, evaluator, state, 1), abs=1e-5)
            before += 1
            continue
        values = np.array(move_values(BACKGAMMON, evaluator, state, 2))
        n, best = score_moves(BACKGAMMON.rules, leaf, state, 2, 0, 0.0, bench)
        np.testing.assert_allclose(bench.values[:n], values, atol=1e-5)
        assert values[best] == pytest.approx(values.max(), abs=1e-5)
        rolled += 1
    assert rolled >= 2
    assert before >= 2


def test_values_do_not_depend_on_who_has_which_seat():
    setup = make_setup(BACKGAMMON, random_evaluator(BACKGAMMON, 3), "expectiminimax", 1)
    for state in list(random_game(BACKGAMMON, seed=9, most=30))[2::9]:
        other = state._replace(seat=1 - state.seat)
        assert evaluate_state(setup, state, 1) == evaluate_state(setup, other, 1)


# --- Star1 and Star2 --------------------------------------------------------------------------------------------------


def lucky_tree(random: np.random.Generator, left: int, player: int = 0) -> Any:
    """Up to three children, dice of up to three outcomes, players who may move twice, leaves at any depth and behind
    dice."""
    if left == 0 or random.random() < 0.1:
        return int(random.integers(-9, 10))
    turns = [player if random.random() < 0.2 else 1 - player for _ in range(random.integers(1, 4))]
    children = []
    for turn in turns:
        odds = random.dirichlet(np.ones(random.integers(1, 4))) if random.random() < 0.6 else ()
        below = [lucky_tree(random, left - 1, turn) for _ in range(max(1, len(odds)))]
        dice = [(float(p), child) for p, child in zip(odds, below, strict=False)]
        children.append(Chance(dice, static=int(random.integers(-9, 10))) if dice else below[0])
    return Turn(player, children, static=int(random.integers(-9, 10)))


def well_ordered_tree(random: np.random.Generator, left: int, player: int = 0) -> tuple[Any, float]:
    """Six moves a node, the best first, and dice of four equal outcomes after each but the last; and the value."""
    if left == 0:
        leaf = int(random.integers(-9, 10))
        return leaf, leaf
    below = []
    for _ in range(6):
        outcomes = [well_ordered_tree(random, left - 1, 1 - player) for _ in range(4 if left > 1 else 1)]
        value = sum(value for _, value in outcomes) / len(outcomes)
        below.append((value, Chance([(0.25, tree) for tree, _ in outcomes]) if left > 1 else outcomes[0][0]))
    below.sort(key=lambda child: (2 * player - 1) * child[0])
    return Turn(player, [child for _, child in below]), below[0][0]


RANDOM = np.random.default_rng(6)
HEIGHT = 5
WRITTEN = {f"t{i}": lucky_tree(RANDOM, HEIGHT) for i in range(60)}
TREE_NAMES = [name for name, tree in WRITTEN.items() if isinstance(tree, Node)]
ORDERED = {f"ordered{i}": well_ordered_tree(RANDOM, 3)[0] for i in range(4)}
BEYOND = Max(
    [
        Chance([(0.5, Min([4, 1])), (0.5, Min([Max([3]), 4]))], static=30),
        Min([Max([2], static=-20), 2]),
    ]
)
FIGURES = {"D": tree_d(1, 2, 3, 4), "beyond": BEYOND}
LUCKY = forest_game("lucky", "Random trees with dice", WRITTEN | ORDERED | FIGURES)
STATIC = LUCKY.baselines["static"]
ROUNDING = 1e-12 * 18
"""U - L is 18"""


@functools.cache
def worth(node: int, depth: int) -> float:
    return plain(LUCKY, STATIC.function, LUCKY.state(node), depth)


@kernel
def _keep(memory, state, depth, lower, upper):
    """The tightest bounds that were told of every node and depth."""
    bounds = memory[state.node, depth]
    bounds[0], bounds[1] = max(bounds[0], lower), min(bounds[1], upper)


TOLD = np.empty((LUCKY.features().num_features, HEIGHT + 1, 2))
KEEPER = Visitor(_keep, TOLD)


@functools.cache
def lucky_setup(algorithm):
    return make_setup(LUCKY, STATIC, algorithm, HEIGHT, visitor=KEEPER)


def lucky_search(name, algorithm, depth, options=None):
    return search(LUCKY, STATIC, LUCKY.parse(name), algorithm, depth=depth, options=options, visitor=KEEPER)


@pytest.mark.parametrize("algorithm", ["expectiminimax", *STARS])
def test_trees_with_dice_have_their_value_in_any_window(algorithm):
    setup, random, pruned = lucky_setup(algorithm), np.random.default_rng(8), 0
    for name in TREE_NAMES:
        state = LUCKY.parse(name)
        for depth in range(HEIGHT + 1):
            value = worth(int(state.node), depth)
            assert evaluate_state(setup, state, depth) == pytest.approx(value, abs=ROUNDING)
            alpha = value + random.choice([-30, -2, -0.1, 0, 0.1, 2, 30])
            for beta in (np.nextafter(alpha, np.inf), alpha + 0.2, alpha + 3, alpha + 40):
                found = evaluate_state(setup, state, depth, alpha, beta)
                assert found > alpha or value <= found + ROUNDING
                assert found < beta or value >= found - ROUNDING
                assert found <= alpha or found >= beta or found == pytest.approx(value, abs=ROUNDING)
                pruned += found != pytest.approx(value, abs=1e-9)
    assert pruned == 0 if algorithm == "expectiminimax" else pruned > 100


@pytest.mark.parametrize("algorithm", ["expectiminimax", *STARS])
def test_bounds_that_a_visitor_hears_are_proven(algorithm):
    setup, random = lucky_setup(algorithm), np.random.default_rng(9)
    TOLD[:, :, 0], TOLD[:, :, 1] = -np.inf, np.inf
    for name in TREE_NAMES:
        alpha = random.integers(-6, 5)
        evaluate_state(setup, LUCKY.parse(name), HEIGHT, alpha, alpha + 1)
    heard = np.argwhere(np.isfinite(TOLD).any(axis=2)).tolist()
    assert len(heard) > 500
    for node, depth in heard:
        assert TOLD[node, depth, 0] - 1e-9 <= worth(node, depth) <= TOLD[node, depth, 1] + 1e-9


@pytest.mark.parametrize("algorithm", STARS)
def test_choices_equal_the_textbooks_ties_included(algorithm):
    for name in TREE_NAMES:
        known = lucky_search(name, "expectiminimax", HEIGHT)
        found = lucky_search(name, algorithm, HEIGHT)
        assert found.moves == known.moves
        assert found.value == pytest.approx(known.value, abs=ROUNDING)
    assert lucky_search("D", algorithm, 2).moves == (0,)


def test_pruning_saves_nodes():
    """Star1's windows do some, Star2's probes much where good moves come first."""

    def nodes(algorithm, options=None):
        return sum(lucky_search(name, algorithm, 3, options).nodes for name in ORDERED)

    plainly, one, two = (nodes(algorithm) for algorithm in ("expectiminimax", *STARS))
    assert one < 0.8 * plainly
    assert two < 0.5 * one
    assert nodes("star2", star2.Options(probed=0)) == one


@pytest.mark.parametrize("algorithm", STARS)
def test_values_beyond_the_outcomes_are_brought_to_the_nearest(algorithm):
    """L and U are -9 and 9; the static values 30 and -20 count as 9 and -9."""
    setup = lucky_setup(algorithm)
    assert [-evaluate_state(setup, LUCKY.parse(f"beyond/{move}"), 0) for move in (0, 1)] == [9, 0]
    assert [-evaluate_state(setup, LUCKY.parse(f"beyond/{move}"), 1) for move in (0, 1)] == [0.5, -9]


@kernel
def _race(state):
    """Who is ahead, by pips and safe points, in games: between -3 and 3."""
    lead = 4.0
    for bit in range(25):
        mine = count(state.me_low, state.me_high, bit)
        lead += (bit + 1) * (count(state.opponent_low, state.opponent_high, bit) - mine)
    lead += 4 * popcount(stacked(state.me_low, state.me_high))
    lead -= 4 * popcount(stacked(state.opponent_low, state.opponent_high))
    return 3.0 * np.tanh(lead / 150.0)


RACE = Baseline("race", "value", _race, "pips and points")


def race_search(state, algorithm, depth):
    """(value, nodes)"""
    setup = make_setup(BACKGAMMON, RACE, algorithm, depth)
    return evaluate_state(setup, state, depth), int(setup.stack.control[NODES])


def test_backgammon_at_two_plies_takes_fewer_nodes():
    line = list(random_game(BACKGAMMON, seed=8, most=60))[3::8]
    states = [state for state in line if not BACKGAMMON.rules.num_chance(state)]
    plainly, one, two = ([race_search(state, name, 2) for state in states] for name in ("expectiminimax", *STARS))
    values = [value for value, _ in plainly]
    assert len(states) > 3
    assert [value for value, _ in one] == pytest.approx(values, abs=1e-12)
    assert [value for value, _ in two] == pytest.approx(values, abs=1e-12)
    nodes = [sum(count for _, count in found) for found in (plainly, one, two)]
    assert nodes[1] < nodes[0]
    assert nodes[2] < 0.7 * nodes[0]


@pytest.mark.slow
def test_backgammon_at_three_plies_takes_far_fewer_nodes():
    state = list(random_game(BACKGAMMON, seed=8, most=60))[3]
    plainly, two = (race_search(state, name, 3) for name in ("expectiminimax", "star2"))
    assert plainly[0] == pytest.approx(two[0], abs=1e-12)
    assert two[1] < plainly[1] / 3


# --- limits, bad input, fresh processes -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["expectiminimax", *STARS])
def test_limits(algorithm):
    state = next(state for state in random_game(BACKGAMMON, seed=8) if not BACKGAMMON.rules.num_chance(state))
    with pytest.raises(Stopped):
        evaluate_state(make_setup(BACKGAMMON, RACE, algorithm, 2, nodes=100), state, 2)


def test_a_negative_depth_is_refused():
    with pytest.raises(InputError, match="depth -1 is negative"):
        search(TREES, ZERO, TREES.rules.initial(), "expectiminimax", depth=-1)


def test_searches_without_chance_are_refused_where_there_is_some():
    with pytest.raises(InputError, match="alphabeta knows no chance, which trees_chance has; use expectiminimax"):
        make_setup(TREES, ZERO, "alphabeta", 1)


@pytest.mark.skipif(not JIT, reason="nothing is cached where nothing is compiled")
def test_the_recursive_kernel_survives_its_cache(tmp_path):
    """Numba issue 6061: a cached recursive kernel can crash the next process."""
    code = (
        "from envs import games; from deltaw.search.tree.algorithm import search\n"
        "game = games.load('trees_chance')\n"
        "print(search(game, game.baselines['zero'], game.parse('D'), 'expectiminimax', depth=2)[:3])"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True) for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout == "(0, (0,), 2.1)\n"
    assert "compiling" in runs[0].stderr
    assert "compiling" not in runs[1].stderr
