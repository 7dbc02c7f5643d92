"""The textbook search against the lectures' numbers, known totals, a plain Python recursion, and the batched two plies."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, random_game, read_json
from toy_games import TREE_A, random_evaluator, tree_game, trees_d

from envs import games
from envs.errors import InputError
from envs.kernel import JIT
from search.expectiminimax import expectiminimax_moves, make_stack, search
from search.named import leaf_of
from search.plies import make_bench, score_moves, value_one_deeper

BACKGAMMON = games.load("backgammon")
TIC_TAC_TOE = games.load("tic_tac_toe")


def move_values(game, leaf, state, depth):
    stack, values = make_stack(leaf, game, depth), np.empty(game.rules.max_moves)
    n = expectiminimax_moves(game.rules, leaf, state, np.int64(depth), stack, values)
    return values[:n].copy()


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


# --- trees of the lectures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "values", "choice"),
    [(trees_d(), (2.1, 1.3), 0), (trees_d(1, 20, 30, 400), (21.0, 40.9), 1)],
    ids=["1 2 3 4", "1 20 30 400"],
)
def test_trees_d(tree, values, choice):
    game = tree_game(tree)
    leaf, root = leaf_of(game.baselines["zero"]), game.rules.initial()
    assert move_values(game, leaf, root, 2) == pytest.approx(values, abs=1e-12)
    found = search(game, leaf, root, 2)
    assert found.moves == (choice,)
    assert found.value == pytest.approx(values[choice], abs=1e-12)


def test_depth_counts_moves_and_chance_is_free():
    game = tree_game(trees_d())
    leaf, root = leaf_of(game.baselines["zero"]), game.rules.initial()
    found = [search(game, leaf, root, depth) for depth in range(3)]
    assert [result.nodes for result in found] == [1, 1 + 2, 1 + 2 + 4 + 8]
    assert [result.value for result in found[:2]] == [0, 0]  # leaves before the dice, by `zero`
    assert found[0].moves == ()
    assert found[1].moves == (0, 1)


def test_tree_a():
    game = tree_game(TREE_A)
    leaf, root = leaf_of(game.baselines["zero"]), game.rules.initial()
    assert move_values(game, leaf, root, 2).tolist() == [3, 2, 2]
    assert search(game, leaf, root, 2)[:2] == (3.0, (0,))


# --- tic-tac-toe: minimax without chance ----------------------------------------------------------------------------------


def test_tic_tac_toe_is_a_draw():
    known = read_json("tic_tac_toe.json")
    leaf = leaf_of(TIC_TAC_TOE.baselines["open_lines"])
    found = search(TIC_TAC_TOE, leaf, TIC_TAC_TOE.parse("---------"), 9)
    assert found == (0.0, tuple(range(9)), known["minimax_nodes_full_tree"])


def test_tic_tac_toe_at_every_depth_equals_the_plain_recursion():
    leaf = leaf_of(TIC_TAC_TOE.baselines["open_lines"])
    evaluate = functools.cache(TIC_TAC_TOE.baselines["open_lines"].function)
    compared = 0
    for number in range(6):
        for state in list(random_game(TIC_TAC_TOE, seed=5, number=number))[3:]:
            for depth in range(6):
                mine = search(TIC_TAC_TOE, leaf, state, depth).value
                assert mine == plain(TIC_TAC_TOE, evaluate, state, depth)
                compared += 1
    assert compared > 100


# --- backgammon ------------------------------------------------------------------------------------------------------------


def test_one_checker_on_the_six_point_bears_off_in_27_of_36_rolls():
    """The opponent bears off his last checker for sure, so the race is worth 27/36 - 9/36; both have borne off 14, so no gammon."""
    one = BACKGAMMON.rules.load(np.zeros(6, np.int64))._replace(me_low=1 << 5, opponent_low=1)
    leaf = random_evaluator(BACKGAMMON, 1).leaf
    assert search(BACKGAMMON, leaf, one, 2).value == pytest.approx(0.5, abs=1e-12)
    assert search(BACKGAMMON, leaf, one, 3).value == pytest.approx(0.5, abs=1e-12)
    after = one._replace(me_low=1, opponent_low=1 << 5, seat=1)  # the other side first
    assert search(BACKGAMMON, leaf, after, 1).value == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("head", ["classes", "tanh"])
def test_backgammon_races_equal_the_plain_recursion(head):
    evaluator = random_evaluator(BACKGAMMON, 2, head=head)
    evaluate = functools.cache(lambda state: evaluator.opinion(state).value)
    for me, his in (([0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 2, 0]), ([2, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0])):
        state = _home_race(me, his)
        for depth in (1, 2):
            expected = plain(BACKGAMMON, evaluate, state, depth)
            assert search(BACKGAMMON, evaluator.leaf, state, depth).value == pytest.approx(expected, abs=1e-5)
        rolled = BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, "21"))[0]
        expected = plain(BACKGAMMON, evaluate, rolled, 2)
        assert search(BACKGAMMON, evaluator.leaf, rolled, 2).value == pytest.approx(expected, abs=1e-5)


def _home_race(me, his):
    from envs.games.backgammon.notation import from_board

    return from_board([*me, *[0] * 20], [*his, *[0] * 20])


@pytest.mark.parametrize("head", ["classes", "identity"])
def test_batched_two_plies_equal_depth_two(head):
    """Contact positions of random games, after the dice (all moves) and before them."""
    leaf = random_evaluator(BACKGAMMON, 3, head=head).leaf
    bench = make_bench(leaf, BACKGAMMON)
    rolled = before = 0
    for state in list(random_game(BACKGAMMON, seed=8, most=40))[5::7]:
        if BACKGAMMON.rules.num_chance(state):
            value = value_one_deeper(BACKGAMMON.rules, leaf, state, bench)
            assert value == pytest.approx(search(BACKGAMMON, leaf, state, 1).value, abs=1e-5)
            before += 1
            continue
        values = move_values(BACKGAMMON, leaf, state, 2)
        n, best = score_moves(BACKGAMMON.rules, leaf, state, 2, 0, 0.0, bench)
        np.testing.assert_allclose(bench.values[:n], values, atol=1e-5)
        assert values[best] == pytest.approx(values.max(), abs=1e-5)
        rolled += 1
    assert rolled >= 2
    assert before >= 2


def test_values_do_not_depend_on_who_has_which_seat():
    leaf = random_evaluator(BACKGAMMON, 4).leaf
    for state in list(random_game(BACKGAMMON, seed=9, most=30))[2::9]:
        other = state._replace(seat=1 - state.seat)
        assert search(BACKGAMMON, leaf, state, 1) == search(BACKGAMMON, leaf, other, 1)


# --- bad input and fresh processes -----------------------------------------------------------------------------------------


def test_a_negative_depth_is_refused():
    with pytest.raises(InputError, match="depth -1 is negative"):
        search(TIC_TAC_TOE, leaf_of(TIC_TAC_TOE.baselines["open_lines"]), TIC_TAC_TOE.rules.initial(), -1)


@pytest.mark.skipif(not JIT, reason="nothing is cached where nothing is compiled")
def test_the_recursive_kernel_survives_its_cache(tmp_path):
    """Numba issue 6061: a cached recursive kernel can crash the next process."""
    code = (
        "from envs import games; from search.named import leaf_of; from search.expectiminimax import search\n"
        "game = games.load('tic_tac_toe')\n"
        "print(search(game, leaf_of(game.baselines['open_lines']), game.parse('X---O----'), 4).value)"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True) for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout != ""
    assert "compiling" in runs[0].stderr
    assert "compiling" not in runs[1].stderr
