"""Othello: rules against a naive board of rows and columns, notation, published endgames, and a solver that stops when told."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import DATA, python_state, random_game

from envs import games
from envs.errors import InputError
from envs.games.othello.rules import PASS
from search.control import LIMIT, STOP, Stopped, make_control
from search.solvers.othello import Solver

OTHELLO = games.load("othello")
START = python_state(OTHELLO, OTHELLO.rules.initial())
SEED = 20260808
STEPS = [(c, r) for c in (-1, 0, 1) for r in (-1, 0, 1) if (c, r) != (0, 0)]


# --- a naive board: text of 64 characters, the mover X ---------------------------------------------------------------------


def seen_by_mover(state) -> str:
    cells = np.empty(64, np.int64)
    OTHELLO.rules.cells(state, cells)
    return "".join("-XO"[cell] for cell in cells)


def turned(board: str, square: int) -> list[int]:
    """Squares whose discs a move turns."""
    found: list[int] = []
    if square == PASS:
        return found
    for column_step, row_step in STEPS:
        column, row, line = square % 8 + column_step, square // 8 + row_step, []
        while 0 <= column < 8 and 0 <= row < 8 and board[8 * row + column] == "O":
            line.append(8 * row + column)
            column, row = column + column_step, row + row_step
        if 0 <= column < 8 and 0 <= row < 8 and board[8 * row + column] == "X":
            found += line
    return found


def naive_moves(board: str) -> list[int]:
    return [square for square in range(64) if board[square] == "-" and turned(board, square)]


def naive_play(board: str, square: int) -> str:
    cells = list(board)
    for k in turned(board, square):
        cells[k] = "X"
    if square != PASS:
        cells[square] = "X"
    return swapped("".join(cells))


def swapped(board: str) -> str:
    return board.translate(str.maketrans("XO", "OX"))


def naive_score(board: str) -> int:
    mine, his = board.count("X"), board.count("O")
    empty = 64 - mine - his
    return (mine > his) * empty - (mine < his) * empty + mine - his


def naive_value(board: str) -> int:
    """The exact score for X, who is on turn, by plain recursion."""
    moves = naive_moves(board)
    if moves:
        return max(-naive_value(naive_play(board, move)) for move in moves)
    return -naive_value(swapped(board)) if naive_moves(swapped(board)) else naive_score(board)


# --- rules -----------------------------------------------------------------------------------------------------------------


def states(count: int = 12):
    return [state for number in range(count) for state in random_game(OTHELLO, SEED, number)]


def test_moves_and_flips_are_those_of_a_naive_board():
    passes = 0
    for state in states()[::3]:
        board = seen_by_mover(state)
        over, value = OTHELLO.rules.outcome(state)
        naive = naive_moves(board)
        assert over == (not naive and not naive_moves(swapped(board)))
        if over:
            assert OTHELLO.rules.score(state) == naive_score(board)
            assert value == np.sign(naive_score(board))
            continue
        passes += not naive
        assert sorted(OTHELLO.moves(state)) == (naive or [PASS])
        for move in OTHELLO.moves(state):
            after = OTHELLO.rules.play(state, move)
            assert seen_by_mover(after) == naive_play(board, move)
            assert OTHELLO.rules.seat(after) != OTHELLO.rules.seat(state)
    assert passes


def test_corners_come_first():
    seen = 0
    for state in states(6):
        if not OTHELLO.rules.outcome(state)[0]:
            corners = [move in (0, 7, 56, 63) for move in OTHELLO.moves(state)]
            seen += any(corners)
            assert corners == sorted(corners, reverse=True)
    assert seen


def test_notation_goes_round():
    for state in states(4):
        text = OTHELLO.format(state)
        assert len(text.split()[0]) == 64
        assert python_state(OTHELLO, OTHELLO.parse(text)) == state
    assert OTHELLO.move_text(START, 19) == "d3"
    assert OTHELLO.find_move(START, "d3") == 19


@pytest.mark.parametrize(
    "text",
    [
        "",
        "X",
        "-" * 63 + " X",
        "-" * 65 + " X",
        "-" * 27 + "OX------XO" + "-" * 27,
        "-" * 27 + "OX------XZ" + "-" * 27 + " X",
        "-" * 27 + "OX------XO" + "-" * 27 + " Y",
    ],
)
def test_bad_positions(text):
    with pytest.raises(InputError) as raised:
        OTHELLO.parse(text)
    assert "\n" not in str(raised.value)


def test_symmetries_keep_the_number_of_moves():
    for state in states(2)[::5]:
        board = seen_by_mover(state)
        for permutation in OTHELLO.symmetries:
            assert len(naive_moves("".join(board[i] for i in permutation))) == len(naive_moves(board))


# --- the solver ---------------------------------------------------------------------------------------------------------------


@functools.cache
def solver() -> Solver:
    return Solver()


def problems(name: str) -> list[list[str]]:
    lines = (DATA / "othello" / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def endings(empties: int, count: int):
    found = [s for s in states(60) if seen_by_mover(s).count("-") == empties and not OTHELLO.rules.outcome(s)[0]]
    return found[:count]


@pytest.mark.parametrize("empties", [1, 2, 3, 4, 5, 6])
def test_the_solver_agrees_with_plain_recursion(empties):
    for state in endings(empties, 12 if empties < 6 else 5):
        board = seen_by_mover(state)
        solution = solver().solve(state, make_control())
        assert solution.score == naive_value(board)
        moves = naive_moves(board) or [PASS]
        worth = {move: -naive_value(naive_play(board, move)) for move in moves}
        assert set(solution.best) == {move for move in moves if worth[move] == solution.score}


def check_endings(chosen: list[list[str]]) -> None:
    for board, mover, _, score in chosen:
        assert solver().solve(OTHELLO.parse(f"{board} {mover}"), make_control(), best=False).score == int(score)


def test_a_sample_of_endgames_is_solved():
    check_endings(problems("endgame_10_16.tsv")[::7])


@pytest.mark.slow
def test_all_endgames_are_solved():
    check_endings(problems("endgame_10_16.tsv"))


def check_ffo(chosen: list[list[str]]) -> None:
    """The score, and every move that the suite lists with it."""
    for _, board, mover, _, best, moves in chosen:
        state = OTHELLO.parse(f"{board} {mover}")
        solution = solver().solve(state, make_control())
        assert solution.score == int(best)
        listed = dict(pair.split(":") for pair in moves.split())
        wanted = {move.lower() for move, score in listed.items() if int(score) == int(best)}
        assert {OTHELLO.move_text(state, move) for move in solution.best} == wanted


def test_the_first_positions_of_the_ffo_suite():
    check_ffo(problems("ffo_1_39.tsv")[:8])


@pytest.mark.slow
def test_the_whole_ffo_suite():
    check_ffo(problems("ffo_1_39.tsv"))


def test_the_solver_stops():
    _, board, mover, *_ = problems("ffo_1_39.tsv")[35]
    state = OTHELLO.parse(f"{board} {mover}")
    for slot, value in ((STOP, 1), (LIMIT, 5000)):
        control = make_control()
        control[slot] = value
        with pytest.raises(Stopped):
            Solver().solve(state, control)


def test_a_finished_game_has_its_score():
    last = next(s for s in states(1) if OTHELLO.rules.outcome(s)[0])
    assert solver().solve(last, make_control())[:2] == (OTHELLO.rules.score(last), ())
