"""The exact algorithms: equal minimax on every game that is found, prove what they tell a visitor, and do what the lectures' figures show.

A new exact algorithm, and a new game, are tested here without a line more.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import ROOT, random_game, read_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_games import random_evaluator

from envs import games
from envs.errors import InputError
from envs.game import Baseline
from envs.games import trees
from envs.kernel import JIT, kernel
from envs.trees import Chance, Max, Min, Node, Turn, forest_game
from search.algorithm import algorithms, evaluate_state, make_bench, search
from search.algorithms.and_or import prove
from search.algorithms.max_n import payoffs
from search.control import NODES, STOP, Stopped
from search.evaluator import make_evaluator
from search.stack import Visitor
from search.table import EXACT, LOWER, entry_bound, entry_depth, entry_value, find, make_table, table_key

EXACT_FOR_TWO = [a.name for a in algorithms().values() if a.exact and a.players[0] == 2]
WITHOUT_CHANCE = [name for name in EXACT_FOR_TWO if not algorithms()[name].chance]
"""the others are as fit for games without chance, but are compared there in the slow tests only: compiling them takes its time"""
WITH_TABLE = [name for name in EXACT_FOR_TWO if algorithms()[name].table]
DETERMINISTIC = [
    name for name in games.names() if games.load(name).rules.num_players == 2 and not games.load(name).rules.max_chance
]
TIC_TAC_TOE, THREE, DICE = (games.load(name) for name in ("tic_tac_toe", "trees_three", "trees_chance"))
OPEN_LINES = TIC_TAC_TOE.baselines["open_lines"]
START = TIC_TAC_TOE.parse("---------")

DEEPEST = 6
MOST_NODES = 3000
"""of minimax, roughly, a compared position"""


# --- random trees with any order of turns -----------------------------------------------------------------------------------


def random_tree(random: np.random.Generator, left: int, player: int = 0, width: int = 3) -> Any:
    """Up to `width` children, leaves at any depth, few distinct values, and players who may move several times in a row."""
    if left == 0 or random.random() < 0.05:
        return int(random.integers(-4, 5))
    turns = [player if random.random() < 0.2 else 1 - player for _ in range(random.integers(1, width + 1))]
    children = [random_tree(random, left - 1, turn, width) for turn in turns]
    return Turn(player, children, static=int(random.integers(-4, 5)))


def only_max(random: np.random.Generator, left: int) -> Any:
    """MAX moves all the time."""
    return Max([only_max(random, left - 1) for _ in range(4)]) if left else int(random.integers(-9, 10))


ROOTS = np.random.default_rng(3)
WRITTEN = {f"t{i}": random_tree(ROOTS, 6) for i in range(40)}
FIGURES = {"A": trees.TREE_A, "A2": trees.tree_a2(-30, 30), "late": Max([1, Min([1, Max([1, 5])])])}
FOREST = forest_game("forest", "Trees for exact searches", {**FIGURES, **WRITTEN, "max": only_max(ROOTS, 6)})
STATIC = FOREST.baselines["static"]
HEIGHT = 6


@functools.cache
def written(node: int, depth: int) -> float:
    """Worth to the mover of a node of FOREST, `depth` moves deep, by the definition."""
    state = FOREST.state(node)
    over, result = FOREST.rules.outcome(state)
    if over or depth == 0:
        return float(result if over else STATIC.function(state))
    seat = FOREST.rules.seat(state)
    children = [FOREST.rules.play(state, move) for move in FOREST.moves(state)]
    return max((1 if FOREST.rules.seat(c) == seat else -1) * written(int(c.node), depth - 1) for c in children)


# --- a visitor that writes down what it hears -----------------------------------------------------------------------------------


class Visit(NamedTuple):
    """A node of FOREST as a search left it; bounds for its mover."""

    node: int
    depth: int
    lower: float
    upper: float


@kernel
def _note(memory, state, depth, lower, upper):
    numbers, bounds, count = memory
    i = count[0] % len(numbers)
    numbers[i, 0], numbers[i, 1] = state.node, depth
    bounds[i, 0], bounds[i, 1] = lower, upper
    count[0] += 1


NUMBERS, BOUNDS, COUNT = np.empty((1 << 16, 2), np.int64), np.empty((1 << 16, 2)), np.zeros(1, np.int64)
LISTENER = Visitor(_note, (NUMBERS, BOUNDS, COUNT))


def forest_bench(algorithm, depth=HEIGHT, nodes=None):
    """A fresh search of FOREST, with an empty table."""
    return make_bench(FOREST, STATIC, algorithm, depth, nodes=nodes, visitor=LISTENER, table=make_table(1 << 12))


def heard(bench, name, depth=HEIGHT):
    """Every node in the order in which the search of this tree left it."""
    COUNT[0] = 0
    with contextlib.suppress(Stopped):
        evaluate_state(bench, FOREST.parse(name), depth)
    assert COUNT[0] < len(NUMBERS)
    return [Visit(*NUMBERS[i].tolist(), *BOUNDS[i].tolist()) for i in range(COUNT[0])]


def leaves(name, algorithm, depth=HEIGHT):
    """The nodes at which a search ended, in order."""
    found = heard(forest_bench(algorithm), name, depth)
    return [visit.node for visit in found if visit.depth == 0 or FOREST.rules.outcome(FOREST.state(visit.node))[0]]


def told_truly(visit):
    return visit.lower <= written(visit.node, visit.depth) <= visit.upper


# --- equality with minimax ---------------------------------------------------------------------------------------------------


def evaluator_of(game):
    """The game's first handmade values; a random network where it has none."""
    handmade = [baseline for baseline in game.baselines.values() if baseline.kind == "value"]
    return handmade[0] if handmade else random_evaluator(game, 1)


@functools.cache
def bench_of(game_name, algorithm):
    game = games.load(game_name)
    return make_bench(game, evaluator_of(game), algorithm, DEEPEST)


def moves_affordable(moves: int, random: np.random.Generator) -> int:
    deepest = min(DEEPEST, int(math.log(MOST_NODES) / math.log(max(moves, 2))))
    return int(random.integers(0, deepest + 1))


@functools.cache
def positions(game_name, count):
    """(state, depth, value by minimax) from random games."""
    game, random, found = games.load(game_name), np.random.default_rng(7), []
    bench = bench_of(game_name, "minimax")
    for number in range(count):
        for state in random_game(game, seed=11, number=number):
            over = game.rules.outcome(state)[0]
            depth = moves_affordable(1 if over else len(game.moves(state)), random)
            found.append((state, depth, evaluate_state(bench, state, depth)))
            if len(found) == count:
                return found
    return found


def check_equality(game_name, algorithm, count):
    """The value with an open window, and what fail-soft promises of a random one around it."""
    bench, random = bench_of(game_name, algorithm), np.random.default_rng(13)
    for state, depth, value in positions(game_name, count):
        assert evaluate_state(bench, state, depth) == value, (state, depth)
        alpha = value + random.choice([-0.5, -1e-3, 0.0, 1e-3, 0.5])
        beta = random.choice([np.nextafter(alpha, np.inf), alpha + 1e-3, alpha + 0.7])
        check_window(evaluate_state(bench, state, depth, alpha, beta), alpha, beta, value)


def check_window(found, alpha, beta, value):
    if found <= alpha:
        assert value <= found
    elif found >= beta:
        assert value >= found
    else:
        assert value == found


@pytest.mark.parametrize("algorithm", WITHOUT_CHANCE)
def test_values_equal_minimax(algorithm):
    check_equality("tic_tac_toe", algorithm, 400)


@pytest.mark.parametrize("game_name", [name for name in DETERMINISTIC if name not in ("tic_tac_toe", "trees")])
def test_values_equal_minimax_in_every_other_game(game_name):
    check_equality(game_name, "mtdf", 300)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
@pytest.mark.parametrize("game_name", DETERMINISTIC)
def test_values_equal_minimax_on_many_positions(game_name, algorithm):
    check_equality(game_name, algorithm, 3000)


@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
def test_values_are_those_of_the_written_trees(algorithm):
    """Any order of turns, any depth, any window."""
    bench, random = forest_bench(algorithm), np.random.default_rng(17)
    for name in (*FIGURES, *WRITTEN):
        state = FOREST.parse(name)
        for depth in range(HEIGHT + 1):
            value = written(int(state.node), depth)
            assert evaluate_state(bench, state, depth) == value
            alpha = value + random.integers(-2, 3)
            for beta in (np.nextafter(alpha, np.inf), alpha + 1, alpha + 3):
                check_window(evaluate_state(bench, state, depth, alpha, beta), alpha, beta, value)


@pytest.mark.parametrize("algorithm", WITH_TABLE)
def test_a_tiny_table_changes_no_value(algorithm):
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, algorithm, DEEPEST, table=make_table(8))
    for state, depth, value in positions("tic_tac_toe", 60):
        assert evaluate_state(bench, state, depth) == value


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


# --- whole tic-tac-toe ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", WITHOUT_CHANCE)
def test_tic_tac_toe_is_a_draw(algorithm):
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, algorithm, 9)
    assert evaluate_state(bench, START, 9) == 0
    assert bench.stack.control[NODES] <= read_json("tic_tac_toe/counts.json")["minimax_nodes_full_tree"]


@pytest.mark.parametrize("algorithm", ["minimax", "negamax", "max_n"])
def test_the_whole_tree_of_tic_tac_toe(algorithm):
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, algorithm, 9)
    assert evaluate_state(bench, START, 9) == 0
    assert bench.stack.control[NODES] == read_json("tic_tac_toe/counts.json")["minimax_nodes_full_tree"] == 549_946


@pytest.mark.parametrize("bound", [1, 2])
def test_the_nodes_of_alpha_beta_are_known(bound):
    known = read_json("tic_tac_toe/counts.json")["alphabeta_nodes_row_major_order_failsoft"]
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, "alphabeta", 9)
    evaluate_state(bench, START, 9, -bound, bound)
    assert bench.stack.control[NODES] == known[f"window(-{bound},{bound})"]


# --- how many nodes ---------------------------------------------------------------------------------------------------------------


def nodes_on(states, algorithm, depth):
    """Nodes of searches of Connect Four, level by level, as people use them."""
    game, total = games.load("connect_four"), 0
    for state in states:
        bench = make_bench(game, evaluator_of(game), algorithm, depth, table=make_table(1 << 14))
        for level in range(1, depth + 1):
            evaluate_state(bench, state, level)
        total += int(bench.stack.control[NODES])
    return total


def test_each_idea_saves_nodes():
    states = [list(random_game(games.load("connect_four"), seed=2, number=number))[6] for number in range(20)]
    counts = [nodes_on(states, name, 6) for name in ("minimax", "alphabeta", "negascout", "alphabeta_table", "mtdf")]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 10 * counts[1]
    assert counts[1] > 1.8 * counts[4]


def test_sss_star_visits_no_leaf_that_alpha_beta_does_not():
    fewer = 0
    for name in WRITTEN:
        for depth in (3, HEIGHT):
            mine, his = leaves(name, "sss_star", depth), leaves(name, "alphabeta", depth)
            assert set(mine) <= set(his)
            assert len(mine) == len(set(mine)) <= len(his)
            fewer += len(mine) < len(his)
    assert fewer > 10


def test_sss_star_is_refused_where_its_list_may_outgrow_the_machine():
    with pytest.raises(InputError, match=r"SSS\* at depth 40, with up to 9\^20 open strategies, needs .* GiB"):
        make_bench(TIC_TAC_TOE, OPEN_LINES, "sss_star", 40)


def test_the_list_of_sss_star_grows_where_one_player_moves_several_times():
    """MAX moves six times: 4^6 open strategies, where turns that alternate have 4^3."""
    bench = forest_bench("sss_star")
    assert len(bench.stack.memory.merit) < 4**6
    assert evaluate_state(bench, FOREST.parse("max"), 6) == 9


# --- the lectures' figures ------------------------------------------------------------------------------------------------------


def worths(nodes):
    return [written(node, 0) * (1 if FOREST.rules.seat(FOREST.state(node)) == 0 else -1) for node in nodes]


def known_so_far(tree, seen):
    """[lower, upper] of a written node when these leaves have been looked at, in order; counts them off `seen`."""
    if not isinstance(tree, Node):
        return [seen.pop(0)] * 2 if seen and seen[0] == tree else [-math.inf, math.inf]
    below = [known_so_far(child, seen) for child in tree.children]
    return [(min if tree.player else max)(bounds[k] for bounds in below) for k in (0, 1)]


def test_tree_a_by_minimax():
    assert worths(leaves("A", "minimax")) == [3, 12, 8, 2, 4, 6, 14, 5, 2]
    assert evaluate_state(forest_bench("minimax"), FOREST.parse("A"), 2) == 3
    below = [evaluate_state(forest_bench("minimax"), FOREST.parse(f"A/{move}"), 1) for move in range(3)]
    assert below == [-3, -2, -2]  # for MIN


def test_tree_a_by_alpha_beta():
    assert worths(leaves("A", "alphabeta")) == [3, 12, 8, 2, 14, 5, 2]


@pytest.mark.parametrize(
    ("stage", "looked_at", "root", "inner"),
    [
        ("a", 1, [-math.inf, math.inf], {0: [-math.inf, 3]}),
        ("b", 2, [-math.inf, math.inf], {0: [-math.inf, 3]}),
        ("c", 3, [3, math.inf], {0: [3, 3]}),
        ("d", 4, [3, math.inf], {0: [3, 3], 1: [-math.inf, 2]}),
        ("e", 5, [3, 14], {0: [3, 3], 1: [-math.inf, 2], 2: [-math.inf, 14]}),
        ("after 5", 6, [3, 5], {2: [-math.inf, 5]}),
        ("f", 7, [3, 3], {0: [3, 3], 1: [-math.inf, 2], 2: [2, 2]}),
    ],
)
def test_the_stages_of_tree_a(stage, looked_at, root, inner):
    """What is known of each node when alpha-beta has looked at so many leaves."""
    seen = worths(leaves("A", "alphabeta"))[:looked_at]
    below, here = [], list(seen)
    for child in trees.TREE_A.children:
        count = len(here)
        below.append(known_so_far(child, here))
        if len(here) == count:
            assert below[-1] == [-math.inf, math.inf]
    assert {i: below[i] for i in inner} == inner
    assert [max(bounds[k] for bounds in below) for k in (0, 1)] == root


def test_what_alpha_beta_proves_of_tree_a():
    told = {FOREST.format(FOREST.state(v.node)): (v.lower, v.upper) for v in heard(forest_bench("alphabeta"), "A", 2)}
    assert told["A"] == (3, 3)
    assert told["A/0"] == (-3, -3)  # for MIN, who moves there
    assert told["A/1"] == (-2, math.inf)  # the cut: at most 2 for MAX
    assert "A/1/1" not in told


@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
def test_tree_a2_is_0_whatever_x_and_y_are(algorithm):
    state = FOREST.parse("A2")
    assert evaluate_state(forest_bench(algorithm), state, 2) == 0
    if algorithm in ("alphabeta", "negascout", "scout", "alphabeta_table"):
        assert worths(leaves("A2", algorithm))[:4] == [-20, -20, 0, 0]
        assert len(set(leaves("A2", algorithm))) == 4


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
        make_bench(THREE, THREE.baselines[baseline], "max_n", 2)


def test_three_players_are_for_max_n_alone():
    with pytest.raises(InputError, match="alphabeta is not for 3 players, which trees_three has; use max_n"):
        make_bench(THREE, THREE.baselines["static"], "alphabeta", 2)
    with pytest.raises(InputError, match="static_payoffs values a state for every player"):
        make_bench(TIC_TAC_TOE, THREE.baselines["static_payoffs"], "alphabeta", 2)


# --- what a visitor is told ------------------------------------------------------------------------------------------------------


VISITED = [a.name for a in algorithms().values() if a.name in EXACT_FOR_TWO or a.name == "and_or"]


@pytest.mark.parametrize("algorithm", VISITED)
def test_bounds_that_a_visitor_hears_are_proven(algorithm):
    """Of every node left, for its mover and at the depth at which it was searched; of the root both, and they meet."""
    exact = 0
    for name in (*FIGURES, *list(WRITTEN)[:8]):
        root = int(FOREST.parse(name).node)
        for depth in (2, 4, HEIGHT):
            visits = heard(forest_bench(algorithm), name, depth)
            assert all(map(told_truly, visits))
            exact += sum(visit.lower == visit.upper for visit in visits)
            here = [visit for visit in visits if (visit.node, visit.depth) == (root, depth)]
            if algorithm != "and_or":
                assert max(visit.lower for visit in here) == min(visit.upper for visit in here)
    assert exact > 100


@pytest.mark.parametrize("algorithm", VISITED)
def test_nothing_is_told_or_stored_after_a_stop(algorithm):
    """Stopped in the middle, a search may answer anything, but a visitor has heard, and the table holds, nothing that is false."""
    table = make_table(1 << 12)
    for limit in (1, 2, 5, 17, 60, 200):
        for name in list(WRITTEN)[:8]:
            bench = make_bench(FOREST, STATIC, algorithm, HEIGHT, nodes=limit, visitor=LISTENER, table=table)
            assert all(map(told_truly, heard(bench, name)))
    if algorithm in WITH_TABLE:
        check_table(table)
    bench = make_bench(FOREST, STATIC, algorithm, HEIGHT, visitor=LISTENER, table=table)
    for name in list(WRITTEN)[:8]:
        value = written(int(FOREST.parse(name).node), HEIGHT)
        assert evaluate_state(bench, FOREST.parse(name), HEIGHT) == value


def check_table(table):
    entries = 0
    for node in range(FOREST.features().num_features):
        row = find(table, table_key(FOREST.rules, FOREST.state(node), 0))
        if row >= 0:
            entries += 1
            value, bound = entry_value(table, row), entry_bound(table, row)
            worth = written(node, int(entry_depth(table, row)))
            assert worth == value if bound == EXACT else worth >= value if bound == LOWER else worth <= value
    assert entries > 100


def test_a_stopped_search_says_so():
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, "sss_star", 9)
    bench.stack.control[STOP] = 1
    with pytest.raises(Stopped):
        evaluate_state(bench, START, 9)


# --- AND/OR ------------------------------------------------------------------------------------------------------------------------


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
    bench = make_bench(game, ZERO, "alphabeta", DEEPEST)
    forced = 0
    for number in range(6):
        for state in list(random_game(game, seed=21, number=number))[3:-1]:
            value, proof = evaluate_state(bench, state, DEEPEST), prove(game, state, DEEPEST)
            assert proof.lower <= value <= proof.upper
            assert (proof.lower == 1) == (value == 1)
            assert (proof.upper == -1) == (value == -1)
            forced += value != 0
    assert forced > 10


def test_proofs_hold_for_every_class_of_outcomes():
    for name in WRITTEN:
        state = FOREST.parse(name)
        value = written(int(state.node), HEIGHT)
        bounds = [prove(FOREST, state, depth, table=make_table(256))[:2] for depth in range(HEIGHT + 1)]
        assert bounds[HEIGHT] == (value, value)
        assert all(a[0] <= b[0] <= value <= b[1] <= a[1] for a, b in itertools.pairwise(bounds))


def test_as_an_algorithm_and_or_answers_between_its_bounds():
    bench = make_bench(TIC_TAC_TOE, OPEN_LINES, "and_or", 9)
    middle = TIC_TAC_TOE.parse("----X----")
    assert evaluate_state(bench, middle, 1) == OPEN_LINES.function(middle)  # nothing proven: the evaluator's opinion
    assert evaluate_state(bench, middle, 8) == 0
    found = search(TIC_TAC_TOE, OPEN_LINES, TIC_TAC_TOE.parse("XO--X---O"), "and_or", depth=3)
    assert found.value == 1


def test_a_proof_can_be_limited():
    with pytest.raises(Stopped):
        prove(TIC_TAC_TOE, START, 9, nodes=50)
    with pytest.raises(InputError, match="and_or knows no chance"):
        prove(DICE, DICE.rules.initial(), 2)


# --- only the order of values matters (E6), unless there is chance (E7) --------------------------------------------------------------


def full_tree(depth, player, chance):
    """Three children a node; the game ends one ply beyond the searches, so that they see only what the evaluator says."""
    if depth < 0:
        return int(ROOTS.integers(0, 2)) * 20000 - 10000
    children = [full_tree(depth - 1, 1 - player, chance) for _ in range(3)]
    if not chance or depth < 1:
        return Turn(player, children)
    more = [full_tree(depth - 1, 1 - player, chance) for _ in range(3)]
    return Turn(player, [Chance([(0.25, a), (0.75, b)]) for a, b in zip(children, more, strict=True)])


PLAIN = forest_game("plain", "For order", {"root": full_tree(3, 0, False)})
LUCKY = forest_game("lucky", "For exact values", {"root": full_tree(2, 0, True)})


def judge(game, worth_to_max):
    """An evaluator that says of node i what it is worth to MAX: worth_to_max[i], in float32."""
    signs = np.array([1 - 2 * int(game.rules.seat(game.state(i))) for i in range(len(worth_to_max))])
    tensors = {"weight0": (signs * worth_to_max)[:, None], "bias0": np.zeros(1)}
    return make_evaluator(game, tensors, features=game.features(), head="identity")


def choice(game, worth, algorithm, depth):
    """All best moves of the root."""
    root, bench = game.rules.initial(), make_bench(game, judge(game, worth), algorithm, depth)
    values = [-evaluate_state(bench, game.rules.play(root, move), depth - 1) for move in game.moves(root)]
    return [move for move, value in enumerate(values) if value == max(values)]


def opinions(game, seed):
    return np.random.default_rng(seed).integers(-5, 6, len(game.features().names()))


@pytest.mark.parametrize("algorithm", ["negascout"])
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    steps=st.lists(st.integers(1, 700), min_size=11, max_size=11),
    start=st.integers(-4000, 100),
)
def test_without_chance_only_the_order_of_values_matters(algorithm, seed, steps, start):
    worth = opinions(PLAIN, seed)
    image = start + np.cumsum(steps)  # of -5 .. 5: any increasing function
    assert choice(PLAIN, worth, algorithm, 3) == choice(PLAIN, image[worth + 5], algorithm, 3)


@pytest.mark.parametrize("algorithm", ["expectiminimax"])
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), factor=st.integers(1, 900), offset=st.integers(-4000, 4000))
def test_with_chance_a_positive_linear_change_keeps_the_choice(algorithm, seed, factor, offset):
    worth = opinions(LUCKY, seed)
    assert choice(LUCKY, worth, algorithm, 2) == choice(LUCKY, factor * worth + offset, algorithm, 2)


def test_with_chance_other_increasing_changes_do_not_keep_the_choice():
    changed = 0
    for seed in range(40):
        worth = opinions(LUCKY, seed)
        changed += choice(LUCKY, worth, "expectiminimax", 2) != choice(LUCKY, worth**3, "expectiminimax", 2)
    assert changed > 0


# --- fresh processes ---------------------------------------------------------------------------------------------------------------


EVERY_ALGORITHM = """
from envs import games
from search.algorithm import algorithms, evaluate_state, make_bench
wanted = {wanted}
for name, algorithm in algorithms().items():
    for game, baseline, text, depth in (("tic_tac_toe", "open_lines", "X---O----", 4), ("trees_chance", "static", "mixed", 4)):
        game = games.load(game)
        fits = algorithm.players[0] <= game.rules.num_players <= algorithm.players[1]
        if fits and algorithm.chance >= (game.rules.max_chance > 0) and (not wanted or name in wanted):
            bench = make_bench(game, game.baselines[baseline], name, depth)
            value = evaluate_state(bench, game.parse(text), depth)
            print(name, game.name, value, bench.stack.control[1])
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
    """Numba issue 6061: a cached recursive kernel can crash the next process. Interpreted, the same source says the same."""
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
        bench = make_bench(TIC_TAC_TOE, OPEN_LINES, name, 4)
        assert evaluate_state(bench, TIC_TAC_TOE.parse("X---O----"), 4) == float(value)
        assert bench.stack.control[NODES] == int(nodes)
