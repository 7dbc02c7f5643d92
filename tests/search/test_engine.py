"""The engine: minimax to the bit when plain, sound bounds for visitors, quick wins, and a legal move under any
limit."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from conftest import DATA, ROOT, python_state, random_game
from game_names import EVERY_GAME, mostly_slow

from deltaw.envs import games
from deltaw.envs.bits import random_word
from deltaw.envs.control import NODES, SIGNALS
from deltaw.envs.errors import InputError
from deltaw.envs.games.trees import HORIZON, SINGULAR, ZUGZWANG
from deltaw.envs.kernel import kernel
from deltaw.envs.trees import Max, Turn, forest_game
from deltaw.search.tree.algorithm import evaluate_state, find_algorithm, make_setup, search
from deltaw.search.tree.engine import Engine, default_options
from deltaw.search.tree.engine_node import PLAIN, Options
from deltaw.search.tree.stack import Visitor

SEED = 20260703
TIC_TAC_TOE = games.load("tic_tac_toe")
START = python_state(TIC_TAC_TOE, TIC_TAC_TOE.rules.initial())
LINES = TIC_TAC_TOE.baselines["open_lines"]


def searchable() -> list:
    """Games that the engine plays, by discovery."""
    loaded = (games.load(name) for name in EVERY_GAME)
    fitting = (game.name for game in loaded if game.rules.num_players == 2 and game.rules.max_chance == 0)
    return mostly_slow(fitting, ("tic_tac_toe", "connect_four"))


@pytest.fixture(scope="module", params=searchable())
def game(request):
    return games.load(request.param)


def evaluator_of(game):
    return next(baseline for baseline in game.baselines.values() if baseline.kind == "value")


def decisions(game, count: int, seed: int = SEED) -> list[Any]:
    """Decisions of random games, early and late ones."""
    found = []
    for number in range(10_000):
        states = [s for s in random_game(game, seed, number) if not game.rules.outcome(s)[0]]
        found += [states[random_word(seed, number, k, 0) % len(states)] for k in range(2)]
        if len(found) >= count:
            return found[:count]
    raise AssertionError("too few decisions")


def minimax(game, evaluator, state, depth: int) -> float:
    return evaluate_state(make_setup(game, evaluator, "negamax", depth), state, depth)


# --- against minimax --------------------------------------------------------------------------------------------------


def check_plain(game, count: int, depths: tuple[int, ...]) -> None:
    """Value, ties, every move's value and the leaf of the principal variation."""
    evaluator = evaluator_of(game)
    engine = Engine(game, evaluator, options=PLAIN, entries=1 << 12)
    algorithm = find_algorithm("negamax")
    for k, state in enumerate(decisions(game, count)):
        depth = depths[k % len(depths)]
        truth = search(game, evaluator, state, algorithm, depth=depth, full=True)
        found = engine.search(state, depth=depth, ties=True)
        assert found.value == truth.value
        assert set(found.moves) == set(truth.moves)
        assert found.move in truth.moves
        ranked = engine.search(state, depth=depth, full=True).ranked
        assert {move[:2] for move in ranked} == {move[:2] for move in truth.ranked}
        assert worth(game, evaluator, found.leaf, state) == found.value


def worth(game, evaluator, leaf, state) -> float:
    """What the leaf is worth to the mover of `state`, by no search at all."""
    value = minimax(game, evaluator, leaf, 0)
    return (value if game.rules.seat(leaf) == game.rules.seat(state) else -value) + 0.0


def test_plain_options_give_minimax(game):
    check_plain(game, 60, (1, 2, 3, 4))


@pytest.mark.slow
def test_plain_options_give_minimax_on_many_positions(game):
    check_plain(game, 1500, (1, 2, 3, 4, 5))


@kernel
def log_bounds(memory, state, depth, lower, upper):
    n = np.int64(memory[0, 0])
    if n + 1 < len(memory):
        memory[0, 0] = n + 1
        memory[n + 1, 0], memory[n + 1, 1] = lower, upper
        memory[n + 1, 2], memory[n + 1, 3], memory[n + 1, 4] = depth, state.me, state.opponent


def test_a_visitor_sees_proven_bounds():
    memory = np.zeros((3000, 5))
    engine = Engine(TIC_TAC_TOE, LINES, options=PLAIN, visitor=Visitor(log_bounds, memory))
    engine.search(START, depth=5)
    visited = int(memory[0, 0])
    assert visited > 500
    exact = 0
    for lower, upper, depth, me, opponent in memory[1 : visited + 1 : 7]:
        value = minimax(TIC_TAC_TOE, LINES, TIC_TAC_TOE.state(int(me), int(opponent)), int(depth))
        assert lower <= value <= upper
        exact += lower == upper
    assert exact


# --- proven values ----------------------------------------------------------------------------------------------------


def test_tic_tac_toe_is_proven_to_be_a_draw():
    found = Engine(TIC_TAC_TOE, LINES).search(START, depth=30)
    assert (found.value, found.proven, found.complete, found.distance) == (0.0, True, True, None)
    assert len(found.variation) == 9
    assert TIC_TAC_TOE.rules.outcome(found.leaf)[0]


def test_what_a_deep_search_leaves_in_the_table_is_no_proof():
    """The win is 281 moves away. A search 256 moves deep cannot know of it, and its table may not deny it."""
    tree = 1
    for ply in range(280):
        tree = Turn((ply + 1) % 2, [tree])
    game = forest_game("chain", "A far win", {"root": Max([0, tree])})
    engine = Engine(game, game.baselines["static"], options=Options(), entries=1 << 12)
    for depth, value, proven in ((256, 0, False), (290, 1, True)):
        found = engine.search(game.parse("root"), depth=depth)
        assert (found.value, found.proven) == (value, proven)


@pytest.mark.parametrize(
    ("position", "move", "value", "distance"),
    [
        ("XX-OO----", "c1", 1.0, 1),
        ("X-O-X-O--", "c3", 1.0, 1),
        ("X-X-O----", "b1", 0.0, None),
        ("X--OX-O--", "c3", 1.0, 1),
    ],
)
def test_a_win_comes_at_once_and_a_threat_is_met(position, move, value, distance):
    found = Engine(TIC_TAC_TOE, LINES).search(TIC_TAC_TOE.parse(position), depth=9)
    assert TIC_TAC_TOE.move_text(TIC_TAC_TOE.parse(position), found.move) == move
    assert (found.value, found.distance) == (value, distance)


def longest(state) -> tuple[int, int]:
    """(outcome for the mover, plies to it) with quick wins and slow losses, by plain recursion."""
    over, value = TIC_TAC_TOE.rules.outcome(state)
    if over:
        return int(value), 0
    replies = [longest(TIC_TAC_TOE.rules.play(state, move)) for move in TIC_TAC_TOE.moves(state)]
    return max(((-v, p + 1) for v, p in replies), key=lambda r: (r[0], -r[0] * r[1]))


def test_wins_are_quick_and_losses_slow():
    engine = Engine(TIC_TAC_TOE, LINES)
    decided = 0
    for state in decisions(TIC_TAC_TOE, 120):
        if bin(state.me | state.opponent).count("1") < 2:
            continue
        value, plies = longest(state)
        found = engine.search(state, depth=9)
        assert found.value == value
        if value:
            decided += 1
            assert found.distance == plies
    assert decided > 20


def test_table_and_history_change_no_value():
    """A big table, a tiny one, and one that is kept from position to position."""
    kept = Engine(TIC_TAC_TOE, LINES)
    for state in decisions(TIC_TAC_TOE, 40):
        values = {Engine(TIC_TAC_TOE, LINES, entries=entries).search(state, depth=9).value for entries in (2, 1 << 16)}
        assert values == {kept.search(state, depth=9).value}


def test_another_evaluator_does_not_find_the_old_ones_entries():
    engine = Engine(TIC_TAC_TOE, LINES)
    first = engine.search(START, depth=6)
    assert engine.search(START, depth=6).nodes < first.nodes
    from toy_games import random_evaluator

    other = random_evaluator(TIC_TAC_TOE, 3, head="tanh")
    engine.use(other)
    assert engine.search(START, depth=4).value == Engine(TIC_TAC_TOE, other).search(START, depth=4).value


def test_nor_does_another_baseline():
    game = games.load("connect_four")
    one, other = game.baselines["points_1"], game.baselines["points_2"]
    state = game.parse("4435")
    engine = Engine(game, one)
    engine.search(state, depth=6)
    engine.use(other)
    assert engine.search(state, depth=5).value == Engine(game, other).search(state, depth=5).value


# --- selective parts --------------------------------------------------------------------------------------------------

FOREST = forest_game("tactics", "Tactics", {"horizon": HORIZON, "singular": SINGULAR, "zugzwang": ZUGZWANG})


def tactics(tree: str, depth: int, **options: Any) -> tuple[int | None, float]:
    engine = Engine(FOREST, FOREST.baselines["static"], options=Options(**{"table_from": 1, **options}))
    found = engine.search(FOREST.parse(tree), depth=depth)
    return found.move, found.value


def test_quiescence_sees_beyond_the_horizon():
    assert tactics("horizon", 1) == (1, 1.0)
    assert tactics("horizon", 1, quiet_plies=4) == (0, 0.0)
    assert tactics("horizon", 2) == (0, 0.0)


def test_null_move_keeps_this_value():
    """The levels before have put the right move first, so its reply is searched with an open window, where no pass is
    tried. That a pass errs in zugzwang is shown by the textbook form (tests/test_selective.py)."""
    assert tactics("zugzwang", 4) == (1, 5.0)
    assert tactics("zugzwang", 4, null_reduction=1) == (1, 5.0)


def test_quiescence_is_on_where_a_game_marks_moves():
    assert default_options(TIC_TAC_TOE).quiet_plies == 0
    assert default_options(FOREST).quiet_plies > 0


# --- chess ------------------------------------------------------------------------------------------------------------

CHESS = games.load("chess")
MATES = [json.loads(line) for line in (DATA / "chess/mates.json").read_text().splitlines()]


def solve_mate(line: dict[str, Any]) -> None:
    """The quickest mate in n moves lies 2 n - 1 plies away. Nothing may be pruned or searched shallower."""
    plies, options = 2 * line["mate"] - 1, default_options(CHESS)._replace(null_reduction=0, late_moves=0)
    engine = Engine(CHESS, CHESS.baselines["material"], options=options, entries=1 << 16)
    found = engine.search(CHESS.parse(line["fen"]), depth=plies)
    assert (found.value, found.distance, found.proven) == (1.0, plies, True), line
    assert len(found.variation) == plies
    assert tuple(map(int, CHESS.rules.outcome(found.leaf))) == (1, -1)


def test_mates_are_found_at_their_distance():
    assert len(MATES) == 120
    for line in MATES[:40]:
        if line["mate"] <= 3:
            solve_mate(line)


@pytest.mark.slow
@pytest.mark.parametrize("line", MATES, ids=[line["fen"] for line in MATES])
def test_every_mate_is_found_at_its_distance(line):
    solve_mate(line)


def of_chess(fen: str, **limits: Any) -> tuple[str, int | None]:
    """(best move, plies to mate) by material, with the options given and the limit of depth."""
    depth = limits.pop("depth")
    engine = Engine(CHESS, CHESS.baselines["material"], options=Options(**limits), entries=1 << 12)
    found = engine.search(CHESS.parse(fen), depth=depth)
    return CHESS.move_text(CHESS.parse(fen), found.move), found.distance


def test_who_is_in_check_does_not_stand_pat():
    """The rook gives check, and the queen behind the king is lost."""
    skewer = "4q3/8/8/4k3/8/8/8/R6K w - - 0 1"
    assert of_chess(skewer, depth=1, quiet_plies=3) == ("Re1+", None)
    assert of_chess(skewer, depth=1)[0] != "Re1+"


def test_checks_are_searched_deeper():
    corridor = "r5k1/5ppp/8/8/8/8/1Q3PPP/1R4K1 w - - 0 1"
    assert of_chess(corridor, depth=2)[1] is None
    assert of_chess(corridor, depth=2, danger_extension=1) == ("Qb8+", 3)


def test_a_win_in_the_table_is_as_far_from_its_node_as_it_was():
    two_rooks = "8/r2k2r1/6p1/8/1p3b2/6p1/8/6K1 b - - 1 57"
    assert of_chess(two_rooks, depth=5, table_from=1, quiet_plies=8, danger_extension=1) == ("Ra2", 5)


def test_reductions_from_beyond_the_last_move_change_nothing(game):
    for state in decisions(game, 6):
        counts = {
            Engine(game, evaluator_of(game), options=Options(late_moves=late), entries=1 << 12)
            .search(state, depth=5)
            .nodes
            for late in (0, game.rules.max_moves)
        }
        assert len(counts) == 1


def test_late_moves_and_passes_save_nodes():
    """In a middle game of chess."""
    state, nodes = CHESS.parse("r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1B3/PPP1BPPP/R2Q1RK1 w - - 0 9"), []
    for options in ({}, {"late_moves": 3}, {"late_moves": 3, "null_reduction": 2}):
        engine = Engine(CHESS, CHESS.baselines["material"], options=Options(order_from=1, **options), entries=1 << 12)
        nodes.append(engine.search(state, depth=6).nodes)
    assert nodes[0] > 2 * nodes[1]
    assert nodes[1] > nodes[2]


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [{"seconds": 0}, {"seconds": 1e-9}, {"nodes": 0}, {"nodes": 1}, {"nodes": 25}, {"depth": 1}]
)
def test_any_limit_gives_a_legal_move(game, limits):
    engine = Engine(game, evaluator_of(game), entries=1 << 10)
    for state in decisions(game, 5):
        found = engine.search(state, **limits)
        assert found.move in game.moves(state)
        assert math.isfinite(found.value)
        if "nodes" in limits:
            assert found.nodes <= limits["nodes"] + 3  # the recursion unwinds


def test_a_longer_limit_searches_deeper(game):
    state = python_state(game, game.rules.initial())
    depths = [Engine(game, evaluator_of(game)).search(state, nodes=nodes).depth for nodes in (100, 5_000)]
    assert depths[0] <= depths[1]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"depth": -1}, "depth -1"),
        ({"depth": 10**6}, "1000000"),
        ({"seconds": -0.5}, "-0.5"),
        ({"seconds": math.nan}, "nan"),
        ({"nodes": -3}, "-3"),
        ({}, "a limit"),
    ],
)
def test_bad_limits_are_named(limits, text):
    with pytest.raises(InputError, match=text):
        Engine(TIC_TAC_TOE, LINES).search(START, **limits)


@pytest.mark.parametrize(("entries", "text"), [(0, "0 entries"), (3, "3 entries"), (1 << 50, "GiB")])
def test_bad_tables_are_refused(entries, text):
    with pytest.raises(InputError, match=text):
        Engine(TIC_TAC_TOE, LINES, entries=entries)


def test_games_of_chance_and_of_three_are_refused():
    for name, text in (("backgammon", "chance"), ("trees_three", "two players")):
        with pytest.raises(InputError, match=text):
            Engine(games.load(name), games.load(name).baselines.get("zero") or LINES)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_stops_the_search_and_leaves_the_engine_usable(number):
    before = signal.signal(number, signal.default_int_handler)
    deep = Engine(TIC_TAC_TOE, LINES, options=PLAIN)
    deep.search(START, depth=1)
    timer = threading.Timer(0.005, os.kill, (os.getpid(), number))
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the signal comes in the middle of some search
            timer.start()
            for _ in range(1000):
                deep.forget()
                deep.search(START, depth=9, full=True)
    finally:
        signal.signal(number, before)
    assert deep.control[NODES] > 0
    assert deep.search(START, depth=3).move is not None


PROGRAM = """
from deltaw.envs import games
from deltaw.envs.control import SIGNALS
from deltaw.search.tree.engine import Engine
game = games.load("tic_tac_toe")
state = game.unrow(game.row(game.rules.initial()))
print(Engine(game, game.baselines["open_lines"]).search(state, depth=7, ties=True)[:3])
"""


@pytest.mark.slow
def test_a_second_process_finds_sound_kernels_in_the_cache(tmp_path):
    """A recursive kernel that was cached under other types crashes here (numba issue 6061)."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    assert runs[0].stdout == runs[1].stdout
    assert "compiling" in runs[0].stderr
    assert "compiling" not in runs[1].stderr
