"""The selective searches: each is what its definition says, errs where it says it errs, and is minimax once it is
switched off.

Every definition is written down a second time here, in plain Python without windows, and compared on random trees and
random positions.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from conftest import random_game
from game_names import EVERY_GAME, mostly_slow
from naive_selective import Slow

from deltaw.envs import games
from deltaw.envs.control import NODES, Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.games import trees
from deltaw.envs.kernel import kernel
from deltaw.envs.trees import Leaf, Max, Min, Node, Turn, forest_game
from deltaw.search.algorithms import (
    fallible,
    heuristic_continuation,
    heuristic_pruning,
    null_move,
    quiescence,
    singular_extension,
)
from deltaw.search.tree.algorithm import evaluate_state, find_algorithm, make_setup, search
from deltaw.search.tree.search_tree import record

# --- trees ------------------------------------------------------------------------------------------------------------


def random_tree(random: np.random.Generator, depth: int, top: bool = True, player: int = 0) -> Any:
    """Up to three children, early leaves, noisy moves, passes, two moves in a row, and static values that are often
    right: node values are drawn around a drift that goes on below."""
    if depth == 0 or (not top and random.random() < 0.1):
        return Leaf(int(random.integers(-9, 10)), noisy=bool(random.random() < 0.4))
    following = [player if random.random() < 0.15 else 1 - player for _ in range(random.integers(1, 4))]
    children = [random_tree(random, depth - 1, False, turn) for turn in following]
    passed = random_tree(random, depth - 1, False, 1 - player) if random.random() < 0.5 else None
    static, noisy = int(random.integers(-9, 10)), bool(random.random() < 0.4)
    return Turn(player, children, static=static, noisy=noisy, passed=passed)


def honest_tree(random: np.random.Generator, depth: int, player: int = 0) -> tuple[Any, int]:
    """A tree without zugzwang, and its value to MAX: whoever may pass gets at most what his best move gives."""
    if depth == 0:
        worth = int(random.integers(-9, 10))
        return Leaf(worth), worth
    below = [honest_tree(random, depth - 1, 1 - player) for _ in range(3)]
    value = (max, min)[player](worth for _, worth in below)
    price = int(random.integers(0, 4))
    static = int(random.integers(-9, 10))
    return Turn(player, [node for node, _ in below], static=static, passed=value + (2 * player - 1) * price), value


def tall(node: Any) -> int:
    return 1 + max(map(tall, node.children), default=-1) if isinstance(node, Node) else 0


TWINS = Max(
    [
        Min([Max([0, 0]), Max([0, 0])]),
        Min([Max([-8, -8], static=-8), Max([-8, -8], static=-8)], static=1),
    ]
)
"""Like `singular`, but two replies refute the second move equally well."""

SACRIFICE = Max(
    [
        Min([Max([3, 2], static=3), Max([4, 4], static=4)], static=3),
        Min([Max([9, 8], static=-2), Max([9, 9], static=-2)], static=-3),
    ]
)
"""The second move looks bad and wins 9."""

REFUTED = Max([Min([Max([2, 3], static=2), Max([-9, -9], static=7)], static=2), Min([1, 1])])
"""The first move loses to the reply that looks worst."""

STUCK = Max([Min([1, 1], static=1), Min([9, 8], static=-5)])
"""After the second move MIN stands well, but every move of his loses."""

TWO_PASSES = Max(
    [
        Min([Max([1, 1]), Max([1, 2])], static=1),
        Min(
            [Max([4, 4], static=4), Max([5, 5], static=5)],
            static=-5,
            passed=Max(
                [Min([-4, -4]), Min([-5, -5])], static=-3, passed=Min([Max([-7, -7]), Max([-8, -8])], static=-6)
            ),
        ),
    ]
)

ROOTS = np.random.default_rng(5)
HONEST = {f"honest{i}": honest_tree(ROOTS, 4) for i in range(12)}
RANDOM = {f"random{i}": random_tree(ROOTS, 5) for i in range(24)}
FOREST = forest_game(
    "forest",
    "Trees for selective searches",
    {
        "horizon": trees.HORIZON,
        "singular": trees.SINGULAR,
        "continuation": trees.CONTINUATION,
        "zugzwang": trees.ZUGZWANG,
        "null-move": trees.NULL_MOVE,
        "fallible": trees.FALLIBLE,
        "twins": TWINS,
        "sacrifice": SACRIFICE,
        "refuted": REFUTED,
        "stuck": STUCK,
        "two-passes": TWO_PASSES,
        **{name: tree for name, (tree, _) in HONEST.items()},
        **RANDOM,
    },
)
STATIC = FOREST.baselines["static"]


def answer(tree: str, algorithm: str, depth: int, **options: Any) -> tuple[int | None, float]:
    """The best move and its value."""
    found = search(FOREST, STATIC, FOREST.parse(tree), algorithm, depth=depth, options=knobs(algorithm, **options))
    return found.move, found.value


def knobs(algorithm: str, **options: Any) -> Any:
    own = find_algorithm(algorithm).options
    return own._replace(**options) if options else None


def value(tree: str, algorithm: str, depth: int, **options: Any) -> float:
    """One run on the root of the tree."""
    setup = make_setup(FOREST, STATIC, algorithm, depth, options=knobs(algorithm, **options))
    return evaluate_state(setup, FOREST.parse(tree), depth)


# --- the definitions once more: tests/naive_selective.py --------------------------------------------------------------

DEFINED = {
    "quiescence": (
        lambda slow, s, d, o: slow.quiescence(s, d, o.quiet_plies),
        [quiescence.Options(k) for k in (1, 3, 8)],
    ),
    "singular_extension": (
        lambda slow, s, d, o: slow.singular_extension(s, d, o.extensions, o.margin, o.reduction),
        [singular_extension.Options(margin, r, e) for margin, r, e in ((0.0, 0, 1), (2.0, 1, 3), (0.5, 2, 4))],
    ),
    "heuristic_continuation": (
        lambda slow, s, d, o: slow.continuation(s, d, o.times, o.extra_plies),
        [heuristic_continuation.Options(plies, times) for plies, times in ((1, 1), (2, 1), (1, 3))],
    ),
    "heuristic_pruning": (
        lambda slow, s, d, o: slow.pruning(s, d, o.factor, o.quiet_plies),
        [heuristic_pruning.Options(factor, quiet) for factor, quiet in ((1, 0), (3, 0), (6, 0), (3, 2), (6, 8))],
    ),
    "ordered": (lambda slow, s, d, o: slow.minimax(s, d), [()]),
}
"""algorithm -> its value by definition, and settings to try; fail-soft windows change none of these values"""


# --- many searches in one call ----------------------------------------------------------------------------------------


@kernel
def run_all(rules, run, leaf, visitor, rows, depth, windows, options, stack, out):
    """out[i]: value for its mover of the state rows[i], searched in the window windows[i]."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        me = np.int64(rules.seat(state))
        out[i] = run(rules, leaf, visitor, state, depth, windows[i, 0], windows[i, 1], me, options, stack)


def values(
    game: Any, evaluator: Any, algorithm: str, states: list, depth: int, options: Any, windows: Any = None
) -> Any:
    setup = make_setup(game, evaluator, algorithm, depth, options=options)
    rows, out = np.array(states, np.int64), np.empty(len(states))
    windows = np.full((len(states), 2), [-np.inf, np.inf]) if windows is None else windows
    arguments = (rows, np.int64(depth), windows, setup.options, setup.stack, out)
    run_all(game.rules, setup.algorithm.run, setup.deep.leaf, setup.visitor, *arguments)
    return out


def forest_states(seed: int, many: int) -> list:
    """Random nodes at which the game is on."""
    random = np.random.default_rng(seed)
    states = [FOREST.unrow(row) for row in random.permutation(len(FOREST.feature_sets["node"].names()))[:, None]]
    return [state for state in states if not FOREST.rules.outcome(state)[0]][:many]


def fail_soft(found: Any, truth: Any, windows: Any) -> Any:
    """Whether each value keeps the promise of a fail-soft search."""
    low, high = windows[:, 0], windows[:, 1]
    return np.where(found <= low, truth <= found, np.where(found >= high, truth >= found, truth == found))


@pytest.mark.parametrize("algorithm", DEFINED)
def test_values_are_those_of_the_definition_in_any_window(algorithm):
    slow, random = Slow(FOREST, STATIC), np.random.default_rng(1)
    define, settings = DEFINED[algorithm]
    states = forest_states(2, 120)
    for options in settings:
        for depth in (0, 1, 2, 4):
            truth = np.array([define(slow, state, depth, options) for state in states])
            np.testing.assert_array_equal(values(FOREST, STATIC, algorithm, states, depth, options), truth)
            low = random.integers(-9, 9, len(states))
            windows = np.stack([low, low + random.integers(1, 6, len(states))], 1).astype(float)
            found = values(FOREST, STATIC, algorithm, states, depth, options, windows)
            assert fail_soft(found, truth, windows).all()


@pytest.mark.parametrize("algorithm", ["quiescence", "singular_extension", "heuristic_continuation"])
def test_values_are_those_of_the_definition_in_a_game_with_noisy_moves(algorithm):
    game, evaluator, states = material("connect_four")
    slow, (define, (*_, options)) = Slow(game, evaluator), DEFINED[algorithm]
    for depth in (0, 1, 2):
        truth = [define(slow, state, depth, options) for state in states[:8]]
        np.testing.assert_array_equal(values(game, evaluator, algorithm, states[:8], depth, options), truth)


# --- switched off, each is minimax ------------------------------------------------------------------------------------

OFF = {
    "quiescence": [lambda game, depth: quiescence.Options(0)],
    "singular_extension": [
        lambda game, depth: singular_extension.Options(extensions=0),
        lambda game, depth: singular_extension.Options(margin=math.inf),
    ],
    "heuristic_continuation": [
        lambda game, depth: heuristic_continuation.Options(extra_plies=0),
        lambda game, depth: heuristic_continuation.Options(times=0),
    ],
    "heuristic_pruning": [lambda game, depth: heuristic_pruning.Options(max(1, depth * game.rules.max_moves))],
    "null_move": [lambda game, depth: null_move.Options(reduction=depth)],
    "fallible": [lambda game, depth: fallible.Options(1.0)],
}


@functools.cache
def material(name: str) -> tuple[Any, Any, list]:
    """A game, an evaluator of it, and random positions."""
    if name == "forest":
        return FOREST, STATIC, forest_states(3, 100)
    game = games.load(name)
    baseline = next(baseline for baseline in game.baselines.values() if baseline.kind == "value")
    states = [state for number in range(4) for state in random_game(game, 7, number)]
    return game, baseline, [state for state in states if not game.rules.outcome(state)[0]][::3][:16]


def deterministic_games() -> list:
    rules = {name: games.load(name).rules for name in EVERY_GAME}
    fitting = [name for name in rules if rules[name].num_players == 2 and rules[name].max_chance == 0]
    names = ["forest", *(name for name in fitting if name != "trees")]  # they stand in the forest
    return mostly_slow(names, ("forest", "connect_four"))


@functools.cache
def minimax_values(name: str, depth: int) -> Any:
    return values(*material(name)[:2], "minimax", material(name)[2], depth, ())


@pytest.mark.parametrize("name", deterministic_games())
@pytest.mark.parametrize("algorithm", OFF)
def test_switched_off_it_is_minimax(algorithm, name):
    game, evaluator, states = material(name)
    for depth in (0, 1, 2, 3):
        for options in OFF[algorithm]:
            found = values(game, evaluator, algorithm, states, depth, options(game, depth))
            np.testing.assert_array_equal(found, minimax_values(name, depth), f"depth {depth}")


# --- the horizon, and where each one errs -----------------------------------------------------------------------------


def test_the_horizon_is_seen_through():
    """Example H: cut off at depth 1, the second move seems to win a pawn."""
    assert answer("horizon", "alphabeta", 1) == (1, 1)
    assert answer("horizon", "alphabeta", 2) == (0, 0)
    for algorithm in ("quiescence", "singular_extension", "heuristic_continuation"):
        assert answer("horizon", algorithm, 1) == (0, 0), algorithm


def test_a_quiet_refutation_is_seen_by_singular_extension_alone():
    assert answer("singular", "singular_extension", 1) == (0, 0)
    for algorithm in ("alphabeta", "quiescence", "heuristic_continuation", "heuristic_pruning"):
        assert answer("singular", algorithm, 1) == (1, 1), algorithm


def test_two_equal_refutations_are_seen_by_none():
    for algorithm in ("singular_extension", "quiescence", "heuristic_continuation"):
        assert answer("twins", algorithm, 1) == (1, 1), algorithm
    assert answer("twins", "alphabeta", 2) == (0, 0)


def test_a_long_chain_is_followed_as_far_as_the_continuation_goes():
    assert answer("continuation", "alphabeta", 3) == (0, 1)
    assert answer("continuation", "heuristic_continuation", 1, extra_plies=2, times=1) == (0, 1)
    assert answer("continuation", "heuristic_continuation", 1, extra_plies=2, times=2) == (1, 9)
    assert answer("continuation", "heuristic_continuation", 1, extra_plies=3, times=1) == (1, 9)


def test_standing_pat_is_wrong_where_every_move_loses():
    assert answer("stuck", "quiescence", 1) == (0, 1)
    assert answer("stuck", "alphabeta", 2) == (1, 8)


def test_quiescence_gives_the_mover_at_least_the_static_value():
    slow, states = Slow(FOREST, STATIC), forest_states(4, 200)
    found = values(FOREST, STATIC, "quiescence", states, 0, quiescence.Options())
    assert (found >= [slow.static(state) for state in states]).all()


# --- ordered alpha-beta -----------------------------------------------------------------------------------------------


def nodes(game: Any, evaluator: Any, states: list, algorithm: str, depth: int, options: Any = None) -> int:
    setup = make_setup(game, evaluator, algorithm, depth, options=options)
    for state in states:
        evaluate_state(setup, state, depth)
    return int(setup.stack.control[NODES])


def test_ordered_moves_cut_off_more():
    game, evaluator, states = material("tic_tac_toe")
    plain, sorted_ = (nodes(game, evaluator, states, algorithm, 5) for algorithm in ("alphabeta", "ordered"))
    assert sorted_ < 0.8 * plain


def test_order_is_stable_and_best_first():
    log = record(FOREST, STATIC, FOREST.parse("singular"), 3, "ordered")
    assert [FOREST.format(node.state) for node in log if node.depth == 2] == ["singular/1", "singular/0"]
    replies = [FOREST.format(node.state) for node in log if node.depth == 1]
    assert replies[:4] == ["singular/1/1", "singular/1/0", "singular/1/2", "singular/0/0"]


# --- heuristic pruning ------------------------------------------------------------------------------------------------


def test_what_looks_bad_is_never_seen():
    assert value("sacrifice", "alphabeta", 3) == 9
    assert value("sacrifice", "heuristic_pruning", 3, factor=1) == 3
    assert value("sacrifice", "heuristic_pruning", 3, factor=6) == 9


def test_a_refutation_that_looks_bad_is_not_seen_either():
    assert value("refuted", "alphabeta", 3) == 1
    assert value("refuted", "heuristic_pruning", 3, factor=2) == 2


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_pruning_visits_no_more_nodes_than_there_are_ways_to_choose_ranks(factor):
    for name in RANDOM:
        log = record(FOREST, STATIC, FOREST.parse(name), 5, "heuristic_pruning", heuristic_pruning.Options(factor))
        for ply in range(6):
            assert sum(node.depth == 5 - ply for node in log) <= math.comb(factor, ply)


def test_pruning_saves_nodes_on_real_positions():
    game, evaluator, states = material("tic_tac_toe")
    pruned = [nodes(game, evaluator, states, "heuristic_pruning", 5, heuristic_pruning.Options(f)) for f in (3, 6, 45)]
    assert pruned[0] < pruned[1] < pruned[2]


# --- null move --------------------------------------------------------------------------------------------------------


def test_a_pass_saves_nodes_where_having_the_move_is_no_disadvantage():
    state = FOREST.parse("null-move")
    options = null_move.Options(reduction=1, guard=0)
    plain = search(FOREST, STATIC, state, "alphabeta", depth=3)
    found = search(FOREST, STATIC, state, "null_move", depth=3, options=options)
    assert (found.move, found.value) == (plain.move, plain.value) == (0, 1)
    assert found.nodes < plain.nodes


def test_a_pass_saves_nodes_on_real_positions():
    game, evaluator, states = material("connect_four")
    plain = nodes(game, evaluator, states, "alphabeta", 5)
    believed, guarded = (
        nodes(game, evaluator, states, "null_move", 5, null_move.Options(1, guard)) for guard in (0, 1)
    )
    assert believed < guarded < plain


@pytest.mark.parametrize("guard", [0, 1])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_without_zugzwang_it_is_minimax(reduction, guard):
    for name, (_, worth) in HONEST.items():
        assert value(name, "null_move", 4, reduction=reduction, guard=guard) == worth, name


def test_zugzwang_deceives_it_and_the_guard_sees_it():
    assert answer("zugzwang", "alphabeta", 4) == (1, 5)
    assert answer("zugzwang", "null_move", 4, reduction=1, guard=0) == (0, 1)
    assert answer("zugzwang", "null_move", 4, reduction=1, guard=1) == (1, 5)


def test_the_guard_is_as_blind_as_its_reduced_depth():
    assert answer("zugzwang", "null_move", 3, reduction=1, guard=1) == (0, 1)


def passes(tree: str, depth: int, alpha: float = -math.inf, beta: float = math.inf, **options: Any) -> set[str]:
    """The nodes behind a pass that were visited."""
    log = record(FOREST, STATIC, FOREST.parse(tree), depth, "null_move", knobs("null_move", **options), alpha, beta)
    return {name for name in (FOREST.format(node.state) for node in log) if "/pass" in name}


def test_nobody_passes_twice_in_a_row():
    visited = passes("two-passes", 4, reduction=1, guard=0)
    assert any(name.startswith("two-passes/1/pass") for name in visited)
    assert not any("pass/pass" in name for name in visited)


def test_no_pass_where_the_value_may_be_proven_or_nothing_is_left_to_save():
    top = FOREST.rules.outcomes[-1]
    assert passes("two-passes/1", 3, 5, 6, reduction=1)
    assert not passes("two-passes/1", 3, top - 1, top, reduction=1)
    assert not passes("two-passes/1", 3, reduction=1)  # an open window
    assert not passes("two-passes/1", 3, 5, 6, reduction=3)


# --- the fallible opponent --------------------------------------------------------------------------------------------


def test_a_mistake_is_hoped_for():
    assert answer("fallible", "fallible", 2, p=1.0) == (0, 2)
    move, worth = answer("fallible", "fallible", 2, p=0.8)
    assert move == 1
    assert worth == pytest.approx(0.8 * 1 + 0.2 * 30)


def test_fallible_is_its_definition_and_grows_as_the_opponent_gets_weaker():
    slow, states = Slow(FOREST, STATIC), forest_states(6, 120)
    before = values(FOREST, STATIC, "minimax", states, 4, ())
    for p in (1.0, 0.9, 0.5, 0.0):
        found = values(FOREST, STATIC, "fallible", states, 4, fallible.Options(p))
        truth = [slow.fallible(state, 4, int(FOREST.rules.seat(state)), p) for state in states]
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)
        assert (found >= before - 1e-12).all()
        before = found


def test_fallible_knows_dice():
    game = games.load("trees_chance")
    slow, evaluator = Slow(game, game.baselines["static"]), game.baselines["static"]
    states = [game.parse(name) for name in ("mixed", "D", "D-stretched", "mixed/1", "D/0")]
    for depth in (1, 2, 3, 4):
        found = values(game, evaluator, "fallible", states, depth, fallible.Options(0.7))
        truth = [slow.fallible(state, depth, int(game.rules.seat(state)), 0.7) for state in states]
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


# --- what all have in common ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [*OFF, "ordered"])
def test_it_stops_at_a_node_limit(algorithm):
    setup = make_setup(FOREST, STATIC, algorithm, 4, nodes=5)
    with pytest.raises(Stopped):
        evaluate_state(setup, FOREST.parse("honest0"), 4)


@pytest.mark.parametrize("algorithm", ["quiescence", "ordered"])
def test_what_a_visitor_hears_is_true(algorithm):
    slow = Slow(FOREST, STATIC)
    for name in RANDOM:
        for node in record(FOREST, STATIC, FOREST.parse(name), 3, algorithm, knobs(algorithm)):
            truth = slow.quiescence(node.state, node.depth, 8 if algorithm == "quiescence" else 0)
            assert node.lower <= truth <= node.upper


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (quiescence.Options(-1), "-1 plies"),
        (singular_extension.Options(margin=-0.5), "margin of -0.5"),
        (singular_extension.Options(margin=math.nan), "margin of nan"),
        (singular_extension.Options(extensions=-2), "-2 extensions"),
        (heuristic_continuation.Options(times=-1), "-1 times"),
        (heuristic_pruning.Options(0), "factor of 0"),
        (null_move.Options(reduction=-1), "reduction of -1"),
        (null_move.Options(guard=7), "guard 7"),
        (fallible.Options(1.5), "p = 1.5"),
        (fallible.Options(math.nan), "p = nan"),
    ],
)
def test_senseless_options_are_refused(options, complaint):
    algorithm = type(options).__module__.rsplit(".", 1)[1]
    with pytest.raises(InputError, match=complaint):
        make_setup(FOREST, STATIC, algorithm, 2, options=options)
