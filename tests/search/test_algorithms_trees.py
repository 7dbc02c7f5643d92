"""The exact algorithms on written trees: they equal the definition, prove what they tell a visitor, and do what the
lectures' figures show.

A new exact algorithm is tested here without a line more.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from exact_search import EXACT_FOR_TWO, WITH_TABLE, check_window
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltaw.envs.control import Stopped
from deltaw.envs.games import trees
from deltaw.envs.kernel import kernel
from deltaw.envs.trees import Chance, Leaf, Max, Min, Node, Turn, forest_game
from deltaw.search.algorithms.and_or import prove
from deltaw.search.evaluators.evaluator import make_evaluator
from deltaw.search.tree.algorithm import algorithms, evaluate_state, make_setup, search
from deltaw.search.tree.stack import Visitor
from deltaw.search.tree.transposition import (
    EXACT,
    LOWER,
    entry_bound,
    entry_depth,
    entry_value,
    find,
    make_table,
    table_key,
)

# --- random trees with any order of turns -----------------------------------------------------------------------------


def random_tree(random: np.random.Generator, left: int, player: int = 0, width: int = 3) -> Any:
    """Up to `width` children, leaves at any depth, few distinct values, and players who may move several times in a
    row."""
    if left == 0 or random.random() < 0.05:
        return int(random.integers(-4, 5))
    turns = [player if random.random() < 0.2 else 1 - player for _ in range(random.integers(1, width + 1))]
    children = [random_tree(random, left - 1, turn, width) for turn in turns]
    return Turn(player, children, static=int(random.integers(-4, 5)))


def only_max(random: np.random.Generator, left: int) -> Any:
    """MAX moves all the time."""
    return Max([only_max(random, left - 1) for _ in range(4)]) if left else int(random.integers(-9, 10))


def uneven_tree(random: np.random.Generator, left: int, player: int = 0) -> Any:
    """Thin, with early leaves, noisy moves, two moves in a row, and passes that are worth anything."""
    if left == 0 or random.random() < 0.1:
        return Leaf(int(random.integers(-4, 5)), noisy=bool(random.random() < 0.2))
    turns = [player if random.random() < 0.2 else 1 - player for _ in range(random.integers(1, 3))]
    children = [uneven_tree(random, left - 1, turn) for turn in turns]
    passed = uneven_tree(random, min(left - 1, 2), 1 - player) if random.random() < 0.2 else None
    static, noisy = int(random.integers(-4, 5)), bool(random.random() < 0.2)
    return Turn(player, children, static=static, noisy=noisy, passed=passed)


ROOTS = np.random.default_rng(3)
WRITTEN = {f"t{i}": random_tree(ROOTS, 6) for i in range(40)}
UNEVEN_HEIGHT = 10
UNEVEN = {f"u{i}": uneven_tree(np.random.default_rng(i), UNEVEN_HEIGHT) for i in range(90)}
UNEVEN["hidden"] = Max([Max([2, 2, 2, 2, Max([4], static=-4)])])  # the best move looks worst
FIGURES = {"A": trees.TREE_A, "A2": trees.tree_a2(-30, 30), "late": Max([1, Min([1, Max([1, 5])])])}
FOREST = forest_game("forest", "Trees for exact searches", {**FIGURES, **WRITTEN, **UNEVEN, "max": only_max(ROOTS, 6)})
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


# --- a visitor that writes down what it hears -------------------------------------------------------------------------


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
    return make_setup(FOREST, STATIC, algorithm, depth, nodes=nodes, visitor=LISTENER, table=make_table(1 << 12))


def heard(setup, name, depth=HEIGHT):
    """Every node in the order in which the search of this tree left it."""
    COUNT[0] = 0
    with contextlib.suppress(Stopped):
        evaluate_state(setup, FOREST.parse(name), depth)
    assert COUNT[0] < len(NUMBERS)
    return [Visit(*NUMBERS[i].tolist(), *BOUNDS[i].tolist()) for i in range(COUNT[0])]


def leaves(name, algorithm, depth=HEIGHT):
    """The nodes at which a search ended, in order."""
    found = heard(forest_bench(algorithm), name, depth)
    return [visit.node for visit in found if visit.depth == 0 or FOREST.rules.outcome(FOREST.state(visit.node))[0]]


def told_truly(visit):
    return visit.lower <= written(visit.node, visit.depth) <= visit.upper


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", EXACT_FOR_TWO)
def test_values_are_those_of_the_written_trees(algorithm):
    """Any order of turns, any depth, any window."""
    setup, random = forest_bench(algorithm), np.random.default_rng(17)
    for name in (*FIGURES, *WRITTEN):
        state = FOREST.parse(name)
        for depth in range(HEIGHT + 1):
            value = written(int(state.node), depth)
            assert evaluate_state(setup, state, depth) == value
            alpha = value + random.integers(-2, 3)
            for beta in (np.nextafter(alpha, np.inf), alpha + 1, alpha + 3):
                check_window(evaluate_state(setup, state, depth, alpha, beta), alpha, beta, value)


def best_moves(state, depth):
    """By the definition, in the game's order."""
    children = [FOREST.rules.play(state, move) for move in FOREST.moves(state)]
    seat = FOREST.rules.seat(state)
    worths = [(1 if FOREST.rules.seat(c) == seat else -1) * written(int(c.node), depth - 1) for c in children]
    return tuple(move for move, worth in enumerate(worths) if worth == max(worths))


DARING = {"fallible": {"p": 1.0}, "null_move": {"guard": 0, "reduction": 1}, "heuristic_pruning": {"factor": 4}}
"""Options with which a search leaves out more. An opponent who makes no mistakes makes the value that of minimax."""


@pytest.mark.parametrize("algorithm", [a.name for a in algorithms().values() if a.players[0] == 2 and not a.root])
def test_no_deeper_search_changes_a_complete_answer(algorithm):
    """Under a limit the levels end where no line was cut off before the end of the game, and nowhere else.

    With a table every tree is searched twice: what the first time left in it must not hide such a line.
    """
    known, early = algorithms()[algorithm], 0
    options = known.options._replace(**DARING[algorithm]) if algorithm in DARING else None
    limits = {"depth": UNEVEN_HEIGHT, "nodes": 10**6, "table": make_table(1 << 12) if known.table else None}
    for name in [*UNEVEN] * (2 if known.table else 1):
        state = FOREST.parse(name)
        found = search(FOREST, STATIC, state, algorithm, options=options, **limits)
        assert found.complete
        early += found.depth < UNEVEN_HEIGHT
        if found.proven or found.depth < UNEVEN_HEIGHT:
            assert found.value == written(int(state.node), UNEVEN_HEIGHT)
            assert found.moves == best_moves(state, UNEVEN_HEIGHT)
    assert early > 10


# --- SSS* -------------------------------------------------------------------------------------------------------------


def test_sss_star_visits_no_leaf_that_alpha_beta_does_not():
    fewer = 0
    for name in WRITTEN:
        for depth in (3, HEIGHT):
            mine, his = leaves(name, "sss_star", depth), leaves(name, "alphabeta", depth)
            assert set(mine) <= set(his)
            assert len(mine) == len(set(mine)) <= len(his)
            fewer += len(mine) < len(his)
    assert fewer > 10


def test_the_list_of_sss_star_grows_where_one_player_moves_several_times():
    """MAX moves six times: 4^6 open strategies, where turns that alternate have 4^3."""
    setup = forest_bench("sss_star")
    assert len(setup.stack.memory.merit) < 4**6
    assert evaluate_state(setup, FOREST.parse("max"), 6) == 9


# --- the lectures' figures --------------------------------------------------------------------------------------------


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


# --- what a visitor is told -------------------------------------------------------------------------------------------

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
    """Stopped in the middle, a search may answer anything, but a visitor has heard, and the table holds, nothing that
    is false."""
    table = make_table(1 << 12)
    for limit in (1, 2, 5, 17, 60, 200):
        for name in list(WRITTEN)[:8]:
            setup = make_setup(FOREST, STATIC, algorithm, HEIGHT, nodes=limit, visitor=LISTENER, table=table)
            assert all(map(told_truly, heard(setup, name)))
    if algorithm in WITH_TABLE:
        check_table(table)
    setup = make_setup(FOREST, STATIC, algorithm, HEIGHT, visitor=LISTENER, table=table)
    for name in list(WRITTEN)[:8]:
        value = written(int(FOREST.parse(name).node), HEIGHT)
        assert evaluate_state(setup, FOREST.parse(name), HEIGHT) == value


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


# --- AND/OR -----------------------------------------------------------------------------------------------------------


def test_proofs_hold_for_every_class_of_outcomes():
    for name in WRITTEN:
        state = FOREST.parse(name)
        value = written(int(state.node), HEIGHT)
        bounds = [prove(FOREST, state, depth, table=make_table(256))[:2] for depth in range(HEIGHT + 1)]
        assert bounds[HEIGHT] == (value, value)
        assert all(a[0] <= b[0] <= value <= b[1] <= a[1] for a, b in itertools.pairwise(bounds))


# --- only the order of values matters (E6), unless there is chance (E7) -----------------------------------------------


def full_tree(depth, player, chance):
    """Three children a node; the game ends one ply beyond the searches, so that they see only what the evaluator
    says."""
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
    root, setup = game.rules.initial(), make_setup(game, judge(game, worth), algorithm, depth)
    values = [-evaluate_state(setup, game.rules.play(root, move), depth - 1) for move in game.moves(root)]
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
