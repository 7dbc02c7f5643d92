"""Connect Four: rules and features against a naive board, notation, and the solver against Pons' positions and plain
negamax."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from conftest import DATA, ROOT, python_state, random_game, read_json

from deltaw.envs import games
from deltaw.envs.control import NODES, STOP, Stopped, make_control
from deltaw.envs.errors import InputError
from deltaw.envs.games.connect_four.features import POINTS_SCALE, points_1, points_2
from deltaw.envs.games.connect_four.rules import State
from deltaw.envs.kernel import JIT
from deltaw.search.databases.database import load_databases
from deltaw.search.solvers.connect_four import SMALLEST_TABLE, Solver

GAME = games.load("connect_four")
RULES = GAME.rules
SEED = 20260404
EMPTY = "/".join(["-------"] * 6)


@cache
def random_states():
    """States of random games, last ones included."""
    return [state for number in range(40 if JIT else 8) for state in random_game(GAME, SEED, number)]


def state_of(board):
    """A position whose upper rows are empty."""
    rows = board.split("/")
    return GAME.parse("/".join(["-------"] * (6 - len(rows)) + rows))


# --- a naive board: {(column, row): "me" or "his"} -----------------------------------------------------------------

STEPS = {"row": (1, 0), "column": (0, 1), "falling": (1, -1), "rising": (1, 1)}
LINES = [
    (name, [(column + i * dx, row + i * dy) for i in range(4)])
    for name, (dx, dy) in STEPS.items()
    for column in range(7)
    for row in range(6)
    if column + 3 * dx < 7 and 0 <= row + 3 * dy < 6
]


def naive_board(state):
    names = {(column, row): 7 * column + row for column in range(7) for row in range(6)}
    return {
        place: "me" if state.me >> bit & 1 else "his"
        for place, bit in names.items()
        if (state.me | state.all) >> bit & 1
    }


def has_line(board, side):
    return any(all(board.get(place) == side for place in line) for _, line in LINES)


def completing(board, side):
    """Empty squares that complete a line."""
    lines = [line for _, line in LINES if [board[place] for place in line if place in board] == [side] * 3]
    return {place for line in lines for place in line if place not in board}


def landing(board, column):
    return column, sum((column, row) in board for row in range(6))


def open_lines(board, side, stones, names):
    """Lines in the directions `names` that hold exactly so many stones of one side, and nothing else."""
    found = 0
    for name, line in LINES:
        held = [board[place] for place in line if place in board]
        found += name in names and held == [side] * stones
    return found


def naive_points(board, side):
    straight, diagonal = ("row", "column"), ("falling", "rising")
    return sum(
        points * open_lines(board, side, stones, names)
        for points, stones, names in ((10, 2, straight), (20, 2, diagonal), (100, 3, straight), (200, 3, diagonal))
    )


def test_there_are_69_lines():
    assert len(LINES) == 69


# --- rules --------------------------------------------------------------------------------------------------------


def test_the_rules_are_those_of_a_naive_board():
    for state in random_states():
        board = naive_board(state)
        over, value = RULES.outcome(state)
        assert not has_line(board, "me")
        assert (over, value) == (has_line(board, "his") or len(board) == 42, -1 if has_line(board, "his") else 0)
        if over:
            stones = list(board.values()).count("his")
            assert RULES.score(state) == (stones - 22 if value else 0)
            continue
        assert GAME.moves(state) == [c for c in (3, 2, 4, 1, 5, 0, 6) if landing(board, c)[1] < 6]
        for move in GAME.moves(state):
            turned = {place: "his" if side == "me" else "me" for place, side in board.items()}
            after = turned | {landing(board, move): "his"}
            assert naive_board(python_state(GAME, RULES.play(state, move))) == after


def test_noisy_moves_win_or_prevent_a_win():
    seen = set()
    for state in random_states():
        if RULES.outcome(state)[0]:
            continue
        board = naive_board(state)
        hot = completing(board, "me") | completing(board, "his")
        for move in GAME.moves(state):
            seen.add(bool(RULES.noisy(state, move)))
            assert RULES.noisy(state, move) == (landing(board, move) in hot)
    assert seen == {False, True}


def test_passing_the_turn_swaps_the_sides():
    state = GAME.parse("44537")
    passed = python_state(GAME, RULES.null(state))
    assert naive_board(passed) == {place: "his" if side == "me" else "me" for place, side in naive_board(state).items()}
    assert python_state(GAME, RULES.null(passed)) == state
    assert RULES.key(passed) != RULES.key(state)


def test_cells_go_row_by_row_and_mirror():
    out = np.empty(42, np.int64)
    for state in random_states()[::7]:
        board = naive_board(state)
        RULES.cells(state, out)
        assert [("", "me", "his")[code] for code in out] == [board.get((i % 7, i // 7), "") for i in range(42)]
        mirrored = GAME.parse("/".join(row[::-1] for row in GAME.format(state).split("/")))
        image = np.empty(42, np.int64)
        RULES.cells(mirrored, image)
        np.testing.assert_array_equal(image, out[GAME.symmetries[1]])


# --- features -----------------------------------------------------------------------------------------------------


def named_features(state, name="lines"):
    feature_set = GAME.features(name)
    index, value = np.empty(feature_set.max_active, np.int32), np.empty(feature_set.max_active, np.float32)
    n = RULES.features(state, np.array(feature_set.spec, np.int64), index, value)
    names = feature_set.names()
    return {names[index[i]]: value[i] for i in range(n)}


def naive_features(state):
    board, found = naive_board(state), {}
    for (column, row), side in board.items():
        found[f"{'me' if side == 'me' else 'opponent'}_{'abcdefg'[column]}{row + 1}"] = 1
    first = "me" if len(board) % 2 == 0 else "his"
    for side, name in (("me", "me"), ("his", "opponent")):
        for stones in (1, 2, 3):
            found[f"{name}_lines_{stones}"] = open_lines(board, side, stones, STEPS)
        threats = completing(board, side)
        own = {place for place in threats if (place[1] % 2 == 0) == (side == first)}
        found[f"{name}_threats_own_rows"] = len(own)
        found[f"{name}_threats_other_rows"] = len(threats - own)
        found[f"{name}_threats_now"] = sum(place == landing(board, place[0]) for place in threats)
    return {name: count for name, count in found.items() if count}


def test_features_are_counted_right():
    for state in random_states()[::3]:
        expected = naive_features(state)
        assert named_features(state) == expected
        stones = {name: one for name, one in expected.items() if "lines" not in name and "threats" not in name}
        assert named_features(state, "cells") == stones


def test_points_are_counted_right():
    for state in random_states()[::3]:
        board = naive_board(state)
        mine, his = naive_points(board, "me"), naive_points(board, "his")
        assert points_1(state) * POINTS_SCALE == pytest.approx(mine)
        assert points_2(state) * POINTS_SCALE == pytest.approx(mine - his)


@pytest.mark.parametrize(
    ("board", "own", "both"),
    [
        ("OO-XX--", 20, 20),  # c1-f1 and d1-g1; his a1 and b1 have no free line in common
        ("O------/O--X---/O--X---/X--X---", 110, -10),  # O moves: a2-a5, a3-a6; X has d1-d4, d2-d5, a1-d1
        ("-----X-/O---XO-/XO-OXXO", 30, 10),  # X has e1-e4 and c4-f1; O has d4-g1
    ],
)
def test_points_by_hand(board, own, both):
    state = state_of(board)
    assert (points_1(state) * POINTS_SCALE, points_2(state) * POINTS_SCALE) == pytest.approx((own, both))


def two_plies(state, baseline):
    """The moves that a player thinks best who looks two plies ahead."""

    def value(state, plies):
        over, result = RULES.outcome(state)
        if over or plies == 0:
            return float(result) if over else float(baseline(state))
        return max(-value(child, plies - 1) for child in children(state))

    values = {move: -value(python_state(GAME, RULES.play(state, move)), 1) for move in GAME.moves(state)}
    return {move for move in values if values[move] == max(values.values())}


def children(state):
    return [python_state(GAME, RULES.play(state, move)) for move in GAME.moves(state)]


def test_counting_the_opponents_stones_too_changes_the_choice():
    """The lecture's example: two plies ahead, its two evaluations disagree in some positions."""
    states = [state for state in random_states()[:80] if not RULES.outcome(state)[0]][:40]
    assert any(not two_plies(state, points_1) & two_plies(state, points_2) for state in states)


# --- notation -----------------------------------------------------------------------------------------------------


def test_both_notations_name_the_same_position():
    board = "-------/-------/---O---/---X---/--OO---/--XX---"
    assert GAME.parse("444433") == GAME.parse(board) == GAME.parse(board.lower().replace("-", "."))
    assert GAME.format(GAME.parse("444433")) == board
    assert GAME.parse(EMPTY) == python_state(GAME, RULES.initial()) == State(0, 0)


def test_every_state_of_a_game_is_written_and_read():
    for state in random_states():
        assert GAME.parse(GAME.format(state)) == state


def test_moves_are_columns_from_1():
    state = GAME.parse("4444445")
    assert [GAME.move_text(state, move) for move in GAME.moves(state)] == ["3", "5", "2", "6", "1", "7"]
    assert GAME.find_move(state, "7") == 6
    with pytest.raises(InputError, match="'4' is not a legal move"):
        GAME.find_move(state, "4")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "''"),
        ("   ", "''"),
        ("start", "'start' is no position"),
        ("45a", "'45a' is no position"),
        ("480", "move 2 of '480' is 8: columns are 1 to 7"),
        ("140", "move 3 of '140' is 0"),
        ("33333332", "move 7 of '33333332' is 3: that column is full"),
        ("41414141", "move 8 of '41414141' comes after the end: move 7 completed four"),
        ("---X---", "six rows"),
        ("-------/---X---", "6 rows of 7"),
        (EMPTY + "/-------", "6 rows of 7"),
        (EMPTY[:-1] + "Z", "of X, O and -"),
        (EMPTY[:-1] + "O", "0 X and 1 O"),
        (EMPTY[:-2] + "XX", "2 X and 0 O"),
        ("/".join(["-------"] * 4 + ["---X---", "-------"]), "above an empty square in column 4"),
        ("/".join(["-------"] * 4 + ["OOO----", "XXXX---"])[:-1] + "O", "X has four although the last move was O's"),
        ("/".join(["-------"] * 3 + ["-----X-", "OOOO-O-", "XXXX-X-"]), "O has four although the last move was X's"),
        ("/".join(["-------"] * 4 + ["OOOO---", "XXXX---"]), "X has four although"),
        ("/".join(["-------"] * 2 + ["X------"] * 2 + ["XOOO---", "XXXXOOO"]), "no single last move of X"),
    ],
)
def test_bad_positions_are_refused_with_the_reason(text, reason):
    with pytest.raises(InputError) as caught:
        GAME.parse(text)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_stone_may_complete_two_lines():
    assert RULES.outcome(state_of("OOO-OOO/XXXXXXX")) == (True, -1)


def test_pictures_show_the_end():
    ongoing, won = GAME.parse("445566"), GAME.parse("4455667")
    assert GAME.ansi(won).splitlines()[-2:] == [". . . X X X X", "1 2 3 4 5 6 7"]
    assert "\033[" in GAME.ansi(won, color=True)
    white = (255, 255, 255)
    assert white in GAME.draw(won).convert("RGB").get_flattened_data()
    assert white not in GAME.draw(ongoing).convert("RGB").get_flattened_data()


# --- the solver ---------------------------------------------------------------------------------------------------


def pons(name, stride=1):
    """(moves, score) of Pascal Pons' positions: L3 late, L2 in the middle, L1 early."""
    lines = (DATA / "connect_four" / name).read_text().splitlines()[::stride]
    return [(moves, int(score)) for moves, score in map(str.split, lines)]


def solved(solver, text, best=False):
    return solver.solve(GAME.parse(text), make_control(), best=best)


STRIDES = {"Test_L3_R1": 1, "Test_L2_R1": 1, "Test_L1_R1": 1} if JIT else {"Test_L3_R1": 50, "Test_L2_R1": 250}


@pytest.mark.parametrize("name", STRIDES)
def test_pons_positions(name):
    solver = Solver()
    for moves, score in pons(name, STRIDES[name]):
        assert solved(solver, moves).score == score, moves


def test_the_smallest_table_gives_the_same_scores():
    solver = Solver(SMALLEST_TABLE)
    for moves, score in pons("Test_L2_R1", 10 if JIT else 250):
        assert solved(solver, moves).score == score, moves


@pytest.mark.skipif(not JIT, reason="counts are the same, but take minutes")
def test_number_of_nodes():
    """A change for speed alone keeps these numbers."""
    solver, nodes = Solver(), {}
    for name in ("Test_L3_R1", "Test_L2_R1", "Test_L1_R1"):
        solver.clear()
        nodes[name] = sum(solved(solver, moves).nodes for moves, _ in pons(name))
    assert nodes == {"Test_L3_R1": 23206, "Test_L2_R1": 161463, "Test_L1_R1": 1087311}


def negamax(columns, memory):
    """The score by plain exhaustive search; `columns` are strings from the bottom, the first player's stones `x`."""
    if columns in memory:
        return memory[columns]
    stones = sum(map(len, columns))
    mover, best = "xo"[stones % 2], None
    for i, column in enumerate(columns):
        if len(column) < 6:
            child = (*columns[:i], column + mover, *columns[i + 1 :])
            if plain_line(child, i):
                worth = 22 - (stones // 2 + 1)
            elif stones == 41:
                worth = 0
            else:
                worth = -negamax(child, memory)
            best = worth if best is None else max(best, worth)
    memory[columns] = best
    return best


def plain_line(columns, last):
    """Whether the top stone of column `last` is part of four in a line."""
    row, stone = len(columns[last]) - 1, columns[last][-1]

    def run(dx, dy):
        length, x, y = 0, last + dx, row + dy
        while 0 <= x < 7 and 0 <= y < len(columns[x]) and columns[x][y] == stone:
            length, x, y = length + 1, x + dx, y + dy
        return length

    return any(run(dx, dy) + run(-dx, -dy) >= 3 for dx, dy in STEPS.values())


def late_positions(stones, count):
    """Positions of games in which nobody completes a line, as columns and states."""
    rng, found = np.random.default_rng(SEED), []
    while len(found) < count:
        columns, moves = ("",) * 7, ""
        while len(moves) < stones:
            played = {i: (*columns[:i], columns[i] + "xo"[len(moves) % 2], *columns[i + 1 :]) for i in range(7)}
            going_on = [i for i in played if len(played[i][i]) <= 6 and not plain_line(played[i], i)]
            if not going_on:
                break
            i = int(rng.choice(going_on))
            columns, moves = played[i], moves + str(i + 1)
        else:
            found.append((columns, GAME.parse(moves)))
    return found


@pytest.mark.parametrize(("stones", "count"), [(29, 12), (33, 40), (38, 40), (41, 20)] if JIT else [(36, 6), (41, 3)])
def test_the_solver_equals_plain_negamax(stones, count):
    solver = Solver()
    for columns, state in late_positions(stones, count):
        memory = {}
        solution = solver.solve(state, make_control())
        assert solution.score == negamax(columns, memory), GAME.format(state)
        assert solution.best == plain_best(columns, memory), GAME.format(state)


def plain_best(columns, memory):
    score, mover = memory[columns], "xo"[sum(map(len, columns)) % 2]
    best = []
    for i in (3, 2, 4, 1, 5, 0, 6):
        if len(columns[i]) < 6:
            child = (*columns[:i], columns[i] + mover, *columns[i + 1 :])
            stones = sum(map(len, child))
            if plain_line(child, i):
                worth = 22 - (stones + 1) // 2
            else:
                worth = 0 if stones == 42 else -negamax(child, memory)
            best += [i] if worth == score else []
    return tuple(best)


@pytest.mark.parametrize(("name", "stride"), [("Test_L3_R1", 10), ("Test_L2_R1", 10), ("Test_L1_R1", 100)])
def test_best_moves_are_those_whose_results_keep_the_score(name, stride):
    solver, judge = Solver(), Solver()
    for moves, score in pons(name, stride) if JIT else pons("Test_L3_R1", 250):
        state = GAME.parse(moves)
        worths = {move: -judge.solve(python_state(GAME, RULES.play(state, move)), make_control(), best=False).score
                  for move in GAME.moves(state)}  # fmt: skip
        solution = solver.solve(state, make_control())
        assert solution.score == score == max(worths.values())
        assert solution.best == tuple(move for move in GAME.moves(state) if worths[move] == score)


def test_finished_games_and_wins_at_once():
    solver = Solver()
    won = solved(solver, "4455667", best=True)
    assert (won.score, won.best, won.nodes) == (-18, (), 0)
    winning = solved(solver, "445566", best=True)
    assert (winning.score, winning.best) == (18, (2, 6))
    drawn = [child for _, state in late_positions(41, 5) for child in children(state) if RULES.outcome(child)[1] == 0]
    assert drawn
    assert solver.solve(drawn[0], make_control())[:2] == (0, ())


def test_a_stop_is_obeyed_and_leaves_the_solver_sound():
    solver, (moves, score) = Solver(), pons("Test_L1_R1")[0]
    stop = make_control()
    stop[STOP] = 1
    with pytest.raises(Stopped):
        solver.solve(GAME.parse(moves), stop)
    for limit in (0, 1, 10, 100):
        control = make_control(nodes=limit)
        with pytest.raises(Stopped):
            solver.solve(GAME.parse(moves), control)
        assert control[NODES] == limit + 1
    if JIT:
        assert solved(solver, moves).score == score


def test_the_table_outlives_a_position_and_nodes_add_up():
    solver, control = Solver(), make_control()
    moves, _ = pons("Test_L2_R1")[0]
    first = solver.solve(GAME.parse(moves), control, best=False)
    second = solver.solve(GAME.parse(moves), control, best=False)
    assert 0 < second.nodes < first.nodes
    assert control[NODES] == first.nodes + second.nodes
    solver.clear()
    assert solver.solve(GAME.parse(moves), control, best=False) == first


@pytest.mark.parametrize("entries", [0, -8, 1000, SMALLEST_TABLE // 2, SMALLEST_TABLE + 1, 1 << 50])
def test_impossible_tables_are_refused(entries):
    with pytest.raises(InputError) as caught:
        Solver(entries)
    assert str(entries) in str(caught.value)


CODE = """
from deltaw.envs import games
from deltaw.envs.control import make_control
from deltaw.search.solvers.connect_four import Solver
game, solver = games.load("connect_four"), Solver(1 << 12)
for line in open("tests/data/connect_four/Test_L3_R1").readlines()[::60]:
    print(solver.solve(game.parse(line.split()[0]), make_control()))
"""


def test_interpreted_it_does_the_same():
    def printed(**variables):
        run = [sys.executable, "-c", CODE]
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
        return subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    text = printed(NUMBA_DISABLE_JIT="1")
    assert "Solution(score=" in text
    assert text == printed(NUMBA_DISABLE_JIT="0")


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="billions of nodes")
def test_the_first_player_wins_in_the_centre():
    solution = Solver(1 << 24).solve(RULES.initial(), make_control())
    assert (solution.score, solution.best) == (1, (3,))


# --- the shipped book -------------------------------------------------------------------------------------------------


def test_the_book_knows_the_opening():
    """The values of the seven first moves (Allis 1988, Tromp 1995), and that the centre is the only good one."""
    (book,) = [b for b in load_databases(GAME) if b.description.kind == "book"]
    start = GAME.rules.initial()
    assert book.find(start).value == 1
    assert book.moves(start) == [3]
    known = read_json("connect_four/perft.json")["first_move_values_columns_1..7"]
    assert [-book.find(GAME.rules.play(start, np.int64(column))).value for column in range(7)] == known
    assert book.find(GAME.parse("44444")) is None


def test_the_book_agrees_with_its_own_deeper_positions():
    """A position is worth the best of its successors, for all positions of the first three plies."""
    (book,) = [b for b in load_databases(GAME) if b.description.kind == "book"]
    for moves in ("", "1", "4", "12", "44", "37", "434", "171"):
        state = GAME.parse(moves) if moves else GAME.rules.initial()
        values = [-book.find(GAME.rules.play(state, np.int64(move))).value for move in GAME.moves(state)]
        assert book.find(state).value == max(values)
