"""The exact algorithms: equal minimax on every game that is found, prove forced wins, save nodes, and say the same in a
fresh process.

A new exact algorithm, and a new game, are tested here without a line more. Written trees are searched in
`test_algorithms_trees.py`.
"""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, random_game, read_json
from exact_search import EXACT_FOR_TWO, WITH_TABLE, check_window
from game_names import EVERY_GAME, mostly_slow
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.control import NODES, STOP, Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline
from deltaw.envs.kernel import JIT, kernel
from deltaw.search.algorithms.and_or import prove
from deltaw.search.algorithms.max_n import payoffs
from deltaw.search.tree.algorithm import algorithms, evaluate_state, make_setup, search
from deltaw.search.tree.stack import Visitor
from deltaw.search.tree.transposition import make_table

WITHOUT_CHANCE = [name for name in EXACT_FOR_TWO if not algorithms()[name].chance]
"""the others are as fit for games without chance, but are compared there in the slow tests only: compiling them takes
its time"""

DETERMINISTIC = [
    name for name in EVERY_GAME if games.load(name).rules.num_players == 2 and not games.load(name).rules.max_chance
]
TIC_TAC_TOE, THREE, DICE = (games.load(name) for name in ("tic_tac_toe", "trees_three", "trees_chance"))
OPEN_LINES = TIC_TAC_TOE.baselines["open_lines"]
START = TIC_TAC_TOE.parse("---------")

DEEPEST = 6
MOST_NODES = 3000
"""of minimax, roughly, a compared position"""


# --- equality with minimax --------------------------------------------------------------------------------------------


def evaluator_of(game):
    """The game's first handmade values; a random network where it has none."""
    handmade = [baseline for baseline in game.baselines.values() if baseline.kind == "value"]
    return handmade[0] if handmade else random_evaluator(game, 1)


@functools.cache
def setup_of(game_name, algorithm):
    game = games.load(game_name)
    return make_setup(game, evaluator_of(game), algorithm, DEEPEST)


def moves_affordable(moves: int, random: np.random.Generator) -> int:
    deepest = min(DEEPEST, int(math.log(MOST_NODES) / math.log(max(moves, 2))))
    return int(random.integers(0, deepest + 1))


def branching(game, state) -> int:
    """Moves here, or after the first of them if these are more: out of check in chess there are few, then many."""
    if game.rules.outcome(state)[0]:
        return 1
    moves = game.moves(state)
    child = game.rules.play(state, moves[0])
    return max(len(moves), 0 if game.rules.outcome(child)[0] else len(game.moves(child)))


@functools.cache
def positions(game_name, count):
    """(state, depth, value by minimax) from random games."""
    game, random, found = games.load(game_name), np.random.default_rng(7), []
    setup = setup_of(game_name, "minimax")
    for number in range(count):
        for state in random_game(game, seed=11, number=number):
            depth = moves_affordable(branching(game, state), random)
            found.append((state, depth, evaluate_state(setup, state, depth)))
            if len(found) == count:
                return found
    return found


def check_equality(game_name, algorithm, count):
    """The value with an open window, and what fail-soft promises of a random one around it."""
    setup, random = setup_of(game_name, algorithm), np.random.default_rng(13)
    for state, depth, value in positions(game_name, count):
        assert evaluate_state(setup, state, depth) == value, (state, depth)
        alpha = value + random.choice([-0.5, -1e-3, 0.0, 1e-3, 0.5])
        beta = random.choice([np.nextafter(alpha, np.inf), alpha + 1e-3, alpha + 0.7])
        check_window(evaluate_state(setup, state, depth, alpha, beta), alpha, beta, value)


@pytest.mark.parametrize("algorithm", WITHOUT_CHANCE)
def test_values_equal_minimax(algorithm):
    check_equality("tic_tac_toe", algorithm, 400)


@pytest.mark.parametrize(
    "game_name", mostly_slow((name for name in DETERMINISTIC if name not in ("tic_tac_toe", "trees")), ["connect_four"])
)
def test_values_equal_minimax_in_every_other_game(game_name):
    check_equality(game_name, "mtdf", 300)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
@pytest.mark.parametrize("game_name", DETERMINISTIC)
def test_values_equal_minimax_on_many_positions(game_name, algorithm):
    check_equality(game_name, algorithm, 3000)


@pytest.mark.parametrize("algorithm", WITH_TABLE)
def test_a_tiny_table_changes_no_value(algorithm):
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, algorithm, DEEPEST, table=make_table(8))
    for state, depth, value in positions("tic_tac_toe", 60):
        assert evaluate_state(setup, state, depth) == value


def check_ties(algorithm):
    for state, depth, _ in positions("tic_tac_toe", 200)[::4]:
        if not TIC_TAC_TOE.rules.outcome(state)[0]:
            depth = max(depth, 1)
            plain = search(TIC_TAC_TOE, OPEN_LINES, state, "minimax", depth=depth, full=True).ranked
            best = {move.move for move in plain if move.value == plain[0].value}
            found = search(TIC_TAC_TOE, OPEN_LINES, state, algorithm, depth=depth)
            assert set(found.moves) == best
            assert found.value == plain[0].value


def test_every_tied_move_is_found_and_no_other():
    check_ties("negascout")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
def test_every_tied_move_is_found_by_every_algorithm(algorithm):
    check_ties(algorithm)


LATE = "-O-O-XO-XXXXXXXXXXXXOXOXXXXOXOOXXXOXOXOXXOXOOOOXOOOXXOO-OOOOOOO- X"
"""Othello, a lost end with passes: levels that grow by no node are not the last ones"""


def test_an_answer_is_complete_only_where_no_line_was_cut_off():
    othello = games.load("othello")
    found = search(othello, othello.baselines["positional"], othello.parse(LATE), "negascout", depth=14, nodes=10**6)
    assert (found.value, found.complete, found.proven) == (-1, True, True)
    assert found.depth < 14
    early = search(othello, othello.baselines["positional"], othello.parse(LATE), "negascout", depth=14, nodes=200)
    assert (early.complete, early.proven) == (False, False)


@kernel
def _count(memory, state, depth, lower, upper):
    memory[0] += 1


def test_the_variation_is_found_within_the_limits_of_the_search():
    """A search that time has stopped shows the line of its last level; a node limit holds for the line too."""
    game, visits = games.load("othello"), np.zeros(1, np.int64)
    positional, start = game.baselines["positional"], game.rules.initial()
    found = search(game, positional, start, "alphabeta", depth=40, seconds=1)
    assert not found.complete
    assert len(found.variation) > 1
    for nodes in (300, 1000, 3000):
        visits[0] = 0
        found = search(game, positional, start, "alphabeta", depth=40, nodes=nodes, visitor=Visitor(_count, visits))
        assert visits[0] <= nodes
        assert len(found.variation) <= found.depth


# --- whole tic-tac-toe ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", WITHOUT_CHANCE)
def test_tic_tac_toe_is_a_draw(algorithm):
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, algorithm, 9)
    assert evaluate_state(setup, START, 9) == 0
    assert setup.stack.control[NODES] <= read_json("tic_tac_toe/counts.json")["minimax_nodes_full_tree"]


@pytest.mark.parametrize("algorithm", ["minimax", "negamax", "max_n"])
def test_the_whole_tree_of_tic_tac_toe(algorithm):
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, algorithm, 9)
    assert evaluate_state(setup, START, 9) == 0
    assert setup.stack.control[NODES] == read_json("tic_tac_toe/counts.json")["minimax_nodes_full_tree"] == 549_946


@pytest.mark.parametrize("bound", [1, 2])
def test_the_nodes_of_alpha_beta_are_known(bound):
    known = read_json("tic_tac_toe/counts.json")["alphabeta_nodes_row_major_order_failsoft"]
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, "alphabeta", 9)
    evaluate_state(setup, START, 9, -bound, bound)
    assert setup.stack.control[NODES] == known[f"window(-{bound},{bound})"]


def test_a_stopped_search_says_so():
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, "sss_star", 9)
    setup.stack.control[STOP] = 1
    with pytest.raises(Stopped):
        evaluate_state(setup, START, 9)


# --- how many nodes ---------------------------------------------------------------------------------------------------


def nodes_on(states, algorithm, depth):
    """Nodes of searches of Connect Four, level by level, as people use them."""
    game, total = games.load("connect_four"), 0
    for state in states:
        setup = make_setup(game, evaluator_of(game), algorithm, depth, table=make_table(1 << 14))
        for level in range(1, depth + 1):
            evaluate_state(setup, state, level)
        total += int(setup.stack.control[NODES])
    return total


def test_each_idea_saves_nodes():
    states = [list(random_game(games.load("connect_four"), seed=2, number=number))[6] for number in range(20)]
    counts = [nodes_on(states, name, 6) for name in ("minimax", "alphabeta", "negascout", "alphabeta_table", "mtdf")]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 10 * counts[1]
    assert counts[1] > 1.8 * counts[4]


def test_sss_star_is_refused_where_its_list_may_outgrow_the_machine():
    with pytest.raises(InputError, match=r"SSS\* at depth 40, with up to 9\^20 open strategies, needs .* GiB"):
        make_setup(TIC_TAC_TOE, OPEN_LINES, "sss_star", 40)


# --- three players ----------------------------------------------------------------------------------------------------


def test_tree_b():
    """max^n on the lectures' figure: C, B and A choose, and A keeps the first of two equals."""
    shares = THREE.baselines["static_payoffs"]
    assert payoffs(THREE, shares, THREE.parse("B"), 3).tolist() == [1, 2, 6]
    below = [payoffs(THREE, shares, THREE.parse(f"B/{b}/{c}"), 1).tolist() for b in (0, 1) for c in (0, 1)]
    assert below == [[1, 2, 6], [6, 1, 2], [1, 5, 2], [5, 4, 5]]
    found = search(THREE, shares, THREE.parse("B"), "max_n", depth=3)
    assert (found.move, found.moves, found.value) == (0, (0, 1), 1)
    assert found.variation == (0, 0, 0)


def test_max_n_cuts_off_with_a_value_for_everybody():
    shares = THREE.baselines["static_payoffs"]
    assert payoffs(THREE, shares, THREE.parse("alliance"), 1).tolist() == [5, 4, 1]
    assert payoffs(THREE, shares, THREE.parse("alliance/0"), 0).tolist() == [5, 4, 1]
    assert payoffs(THREE, shares, THREE.parse("short"), 9).tolist() == [6, 0, 3]
    assert payoffs(TIC_TAC_TOE, OPEN_LINES, START, 9).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("baseline", "message"), [("static", "to the mover, not to each of 3 players; .* static_payoffs")]
)
def test_max_n_needs_to_know_what_a_state_is_worth_to_everybody(baseline, message):
    with pytest.raises(InputError, match=message):
        make_setup(THREE, THREE.baselines[baseline], "max_n", 2)


def test_three_players_are_for_max_n_alone():
    with pytest.raises(InputError, match="alphabeta is not for 3 players, which trees_three has; use max_n"):
        make_setup(THREE, THREE.baselines["static"], "alphabeta", 2)
    with pytest.raises(InputError, match="static_payoffs values a state for every player"):
        make_setup(TIC_TAC_TOE, THREE.baselines["static_payoffs"], "alphabeta", 2)


# --- AND/OR -----------------------------------------------------------------------------------------------------------


def test_tic_tac_toe_is_no_win_for_x():
    assert prove(TIC_TAC_TOE, START, 9)[:2] == (0, 0)
    assert prove(TIC_TAC_TOE, START, 4)[:2] == (-1, 1)  # nobody can have three stones in a row that early
    assert prove(TIC_TAC_TOE, START, 5)[:2] == (-1, 1)


@pytest.mark.parametrize(
    ("position", "depth", "bounds"),
    [
        ("XX-OO----", 1, (1, 1)),  # wins at once
        ("X-OO-XX--", 1, (-1, 1)),
        ("X---O---X", 6, (0, 0)),
        ("X--------", 8, (0, 0)),
        ("XO--X---O", 3, (1, 1)),  # two threats at once
        ("XO--X---O", 2, (-1, 1)),  # seen one ply too late
        ("XO-XX---O", 2, (-1, -1)),  # O cannot parry both
    ],
)
def test_forced_wins_are_found(position, depth, bounds):
    assert prove(TIC_TAC_TOE, TIC_TAC_TOE.parse(position), depth)[:2] == bounds


@kernel
def _nothing(state):
    return 0.0


ZERO = Baseline("zero", "value", _nothing, "every position is worth nothing")


@pytest.mark.parametrize("game_name", ["tic_tac_toe", pytest.param("connect_four", marks=pytest.mark.slow)])
def test_proofs_are_what_minimax_finds_by_finished_games_alone(game_name):
    game = games.load(game_name)
    setup = make_setup(game, ZERO, "alphabeta", DEEPEST)
    forced = 0
    for number in range(6):
        for state in list(random_game(game, seed=21, number=number))[3:-1]:
            value, proof = evaluate_state(setup, state, DEEPEST), prove(game, state, DEEPEST)
            assert proof.lower <= value <= proof.upper
            assert (proof.lower == 1) == (value == 1)
            assert (proof.upper == -1) == (value == -1)
            forced += value != 0
    assert forced > 10


def test_as_an_algorithm_and_or_answers_between_its_bounds():
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, "and_or", 9)
    middle = TIC_TAC_TOE.parse("----X----")
    assert evaluate_state(setup, middle, 1) == OPEN_LINES.function(middle)  # nothing proven: the evaluator's opinion
    assert evaluate_state(setup, middle, 8) == 0
    found = search(TIC_TAC_TOE, OPEN_LINES, TIC_TAC_TOE.parse("XO--X---O"), "and_or", depth=3)
    assert found.value == 1


def test_a_proof_can_be_limited():
    with pytest.raises(Stopped):
        prove(TIC_TAC_TOE, START, 9, nodes=50)
    with pytest.raises(InputError, match="and_or knows no chance"):
        prove(DICE, DICE.rules.initial(), 2)


# --- fresh processes --------------------------------------------------------------------------------------------------

EVERY_ALGORITHM = """
from deltaw.envs import games
from deltaw.search.tree.algorithm import algorithms, evaluate_state, make_setup
wanted = {wanted}
for name, algorithm in algorithms().items():
    trees = ("tic_tac_toe", "open_lines", "X---O----", 4), ("trees_chance", "static", "mixed", 4)
    for game, baseline, text, depth in trees:
        game = games.load(game)
        fits = algorithm.players[0] <= game.rules.num_players <= algorithm.players[1]
        if fits and algorithm.chance >= (game.rules.max_chance > 0) and (not wanted or name in wanted):
            setup = make_setup(game, game.baselines[baseline], name, depth)
            value = evaluate_state(setup, game.parse(text), depth)
            print(name, game.name, value, setup.stack.control[1])
"""


def run_every(folder, wanted=(), jit=True):
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(folder),
        "PYTHONPATH": str(ROOT),
        "NUMBA_DISABLE_JIT": str(int(not jit)),
    }
    code = EVERY_ALGORITHM.format(wanted=tuple(wanted))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="nothing is cached where nothing is compiled")
def test_every_algorithm_survives_its_cache(tmp_path):
    """Numba issue 6061: a cached recursive kernel can crash the next process. Interpreted, the same source says the
    same."""
    first, second, interpreted = run_every(tmp_path), run_every(tmp_path), run_every(tmp_path, jit=False)
    assert "compiling" in first.stderr
    assert "compiling" not in second.stderr
    assert first.stdout == second.stdout == interpreted.stdout
    assert {line.split()[0] for line in first.stdout.splitlines()} == set(algorithms())


@pytest.mark.skipif(not JIT, reason="compares with compiled searches")
def test_interpreted_searches_say_the_same(tmp_path):
    lines = run_every(tmp_path, WITHOUT_CHANCE, jit=False).stdout.splitlines()
    here = [line.split() for line in lines if " tic_tac_toe " in line]
    assert [name for name, *_ in here] == WITHOUT_CHANCE
    for name, _, value, nodes in here:
        setup = make_setup(TIC_TAC_TOE, OPEN_LINES, name, 4)
        assert evaluate_state(setup, TIC_TAC_TOE.parse("X---O----"), 4) == float(value)
        assert setup.stack.control[NODES] == int(nodes)
