"""The Othello solver against exhaustive search and against other programs' endgames; compiled and interpreted rules and
solver agree."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, ROOT, random_game
from test_othello import GAMES, OTHELLO, RULES, SEED, SHORTEST, played

from deltaw.envs.control import LIMIT, NODES, STOP, Stopped, make_control
from deltaw.envs.errors import InputError
from deltaw.envs.games.othello.notation import black_and_white, squares_of
from deltaw.envs.games.othello.rules import PASS, State
from deltaw.envs.kernel import JIT, kernel
from deltaw.search.solvers.exact import find_solver
from deltaw.search.solvers.othello import Solver
from deltaw.search.solvers.othello_judge import safe_discs


def positions_with(empties: range, number: int) -> list[State]:
    """Positions of random games with so many empty squares, none of them over."""
    found: list[State] = []
    for n in range(10_000):
        for state in random_game(OTHELLO, SEED + 1, n):
            if squares_of(state).count("-") in empties and not RULES.outcome(state)[0]:
                found.append(state)
        if len(found) >= number:
            return found[:number]
    raise AssertionError("too few positions")


# --- the solver -------------------------------------------------------------------------------------------------------


@kernel
def full_search(rules, state, ply, moves):
    """Negamax without any pruning: what the solver must equal."""
    if rules.outcome(state)[0]:
        return np.int64(rules.score(state))
    best = np.int64(-99)
    for i in range(rules.legal_moves(state, moves[ply])):
        best = max(best, -full_search(rules, rules.play(state, moves[ply, i]), ply + 1, moves))
    return best


def full_solution(state: State) -> tuple[int, tuple[int, ...]]:
    moves = np.empty((24, RULES.max_moves), np.int64)
    values = {m: -int(full_search(RULES, RULES.play(state, m), np.int64(0), moves)) for m in OTHELLO.moves(state)}
    score = max(values.values())
    return score, tuple(move for move, value in values.items() if value == score)


def solve(state: State, solver: Solver | None = None, **options):
    return (solver or Solver(1 << 12)).solve(state, make_control(), **options)


@pytest.mark.parametrize("empties", [range(1, 5), range(5, 7), range(7, 9)])
def test_solver_equals_full_search(empties):
    solver = Solver(1 << 8)
    for state in positions_with(empties, 60 if empties.stop < 9 else 25) if JIT else positions_with(range(1, 4), 5):
        found, known = solve(state, solver), full_solution(state)
        assert (found.score, found.best) == known
        assert solve(state, solver, best=False)._replace(nodes=0) == (known[0], (), 0)


def test_larger_tables_and_memories_change_no_answer():
    kept = Solver(1 << 16)
    for state in positions_with(range(11, 13), 10) if JIT else []:
        answers = {solve(state, solver)[:2] for solver in (Solver(2), Solver(1 << 10), kept, kept)}
        assert len(answers) == 1


def test_finished_and_forced_positions():
    over = played(SHORTEST)
    assert solve(over) == (-64, (), 0)
    state = next(s for s in positions_with(range(2, 8), 2000 if JIT else 50) if OTHELLO.moves(s) == [PASS])
    assert solve(state)[:2] == full_solution(state) == (-solve(RULES.play(state, PASS)).score, (PASS,))


def endgames() -> list[tuple[State, int]]:
    lines = [line.split() for line in (DATA / "othello/endgame_10_16.tsv").read_text().splitlines() if line[0] != "#"]
    return [(OTHELLO.parse(f"{board} {side}"), int(score)) for board, side, _, score in lines]


@pytest.mark.parametrize("part", [pytest.param(k, marks=pytest.mark.slow if k else ()) for k in range(5)])
@pytest.mark.skipif(not JIT, reason="hours")
def test_endgames_of_10_to_16_empty_squares(part):
    solver = Solver(1 << 18)
    for state, score in endgames()[part::5]:
        assert solve(state, solver, best=False).score == score


def ffo() -> list:
    """(number, position, score, {move: score}) of the FFO endgame suite; the slow ones marked."""
    lines = [line.split() for line in (DATA / "othello/ffo_1_39.tsv").read_text().splitlines() if line[0] != "#"]
    for number, board, side, _, score, *rest in lines:
        listed = {move.lower(): int(value) for move, value in (item.split(":") for item in rest)}
        marks = pytest.mark.slow if int(number) > 23 else ()
        yield pytest.param(f"{board} {side}", int(score), listed, marks=marks, id=number)


@pytest.mark.parametrize(("position", "score", "listed"), list(ffo()))
@pytest.mark.skipif(not JIT, reason="hours")
def test_ffo_scores_and_all_best_moves(position, score, listed):
    state = OTHELLO.parse(position)
    found = solve(state, Solver(1 << 20))
    assert found.score == score
    if listed:
        best = {OTHELLO.move_text(state, move) for move in found.best}
        assert best == {move for move, value in listed.items() if value == score}
        assert solve(state, Solver(1 << 20), best=False).score == score


@pytest.mark.skipif(not JIT, reason="minutes")
def test_ffo_scores_of_every_listed_move():
    solver, checked = Solver(1 << 18), 0
    for item in list(ffo())[:12]:
        position, _, listed = item.values
        state = OTHELLO.parse(position)
        for text, value in listed.items():
            result = RULES.play(state, OTHELLO.find_move(state, text))
            assert solve(result, solver, best=False).score == -value
            checked += 1
    assert checked > 50


def test_solving_stops_when_told_and_goes_on_afterwards():
    state, score = endgames()[-1]
    solver, control = Solver(1 << 12), make_control()
    control[STOP] = 1
    with pytest.raises(Stopped):
        solver.solve(state, control)
    for nodes in (0, 1, 100, 5000):
        for best in (True, False):
            control = make_control(nodes)
            with pytest.raises(Stopped):
                solver.solve(state, control, best=best)
            assert control[NODES] < nodes + 5000
    control[LIMIT] = 1 << 60
    if JIT:
        assert solver.solve(state, control).score == score


@pytest.mark.skipif(not JIT, reason="seconds mean little there")
def test_the_start_is_not_solved_in_a_moment():
    with pytest.raises(Stopped):
        find_solver(OTHELLO).solve(RULES.initial(), seconds=0.3)


@pytest.mark.parametrize("entries", [0, 1, 3, 1000, -4])
def test_tables_of_odd_sizes_are_refused(entries):
    with pytest.raises(InputError, match=f"a table of {entries} entries: a power of two"):
        Solver(entries)


def test_a_table_beyond_the_memory_is_refused_before_it_is_made():
    with pytest.raises(InputError, match="GiB are free"):
        Solver(1 << 50)


@kernel
def safe_of(me, opponent):
    return safe_discs(me, opponent)


def test_safe_discs_stay():
    """In every random game, counts of safe discs never fall, and at the end at least so many discs are there."""
    for number in range(GAMES):
        before = [0, 0]
        for state in random_game(OTHELLO, SEED + 2, number):
            me, opponent = np.int64(state.me), np.int64(state.opponent)
            now = [int(safe_of(me, opponent)), int(safe_of(opponent, me))]
            now = now if state.seat == 0 else now[::-1]
            assert now[0] >= before[0]
            assert now[1] >= before[1]
            before = now
        assert all(a <= mask.bit_count() for a, mask in zip(now, black_and_white(state), strict=True))
        assert not JIT or sum(now) > 20


# --- interpreted ------------------------------------------------------------------------------------------------------

REPORT = """
import sys; sys.path.insert(0, "tests")
import numpy as np
from test_othello import OTHELLO, RULES, active, random_game
from test_othello_solver import positions_with, safe_of, solve
for state in list(random_game(OTHELLO, 3))[::6]:
    boards = np.int64(state.me), np.int64(state.opponent)
    ranks = [OTHELLO.baselines["criteria"].function(state, m, RULES.play(state, m)) for m in OTHELLO.moves(state)]
    values = [OTHELLO.baselines[name].function(state) for name in ("positional", "mobility")]
    print(OTHELLO.format(state), OTHELLO.moves(state), int(RULES.key(state)), [f"{x:.5f}" for x in ranks + values])
    print(int(safe_of(*boards)), {k: round(v, 4) for k, v in active("expert", state).items()})
for state in positions_with(range(8, 9), 1) + positions_with(range(3, 6), 3):
    print(solve(state))
"""


@pytest.mark.skipif(not JIT, reason="runs both ways itself")
def test_compiled_and_interpreted_agree():
    reports = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", REPORT], cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        reports.append(done.stdout)
    assert reports[0] == reports[1]
    assert reports[0].count("\n") > 20
