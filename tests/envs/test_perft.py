"""Move sequences counted: against other programs for every game with a file of counts, and what the command says."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest
from command_lines import running
from conftest import DATA, read_json
from game_names import every_game

from deltaw.envs import games
from deltaw.envs.control import LIMIT, make_control
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import JIT
from deltaw.envs.perft import count, divide, main, perft

ENDED_BEFORE = {("othello", 10): 228, ("othello", 11): 228 + 356}
"""games that ended earlier: tables of Othello count them at every later depth as well. 228 end with the ninth move, 356
with the tenth."""

FAST, SLOW = (6_000_000, 500_000_000) if JIT else (2_000, 20_000)


def known_counts():
    """(game, position or None, depth, sequences) of `tests/data/GAME/perft.json`: {"perft": {depth: n}} from the start,
    or a list of positions, each with its counts from depth 1 on."""
    for path in sorted(DATA.glob("*/perft.json")):
        name = path.parent.name
        if name not in games.names():
            continue
        known = read_json(f"{name}/perft.json")
        if isinstance(known, dict):
            known = [{"fen": None, "perft": list(known["perft"].values())}]
        for entry in known:
            for depth, sequences in enumerate(entry["perft"], start=1):
                if sequences <= SLOW:
                    marks = pytest.mark.slow if sequences > FAST else ()
                    yield pytest.param(name, entry["fen"], depth, sequences, marks=marks)


@pytest.mark.parametrize(("name", "position", "depth", "sequences"), list(known_counts()))
def test_counts_of_other_programs(name, position, depth, sequences):
    game = games.load(name)
    state = game.rules.initial() if position is None else game.parse(position)
    assert count(game, state, depth) == sequences - ENDED_BEFORE.get((name, depth), 0)


def test_tic_tac_toe():
    game, known = games.load("tic_tac_toe"), read_json("tic_tac_toe/counts.json")
    depths = range(10) if JIT else range(6)
    found = [count(game, game.rules.initial(), depth) for depth in depths]
    assert found == known["perft_by_depth_0..9"][: len(depths)]
    assert not JIT or found[9] == known["games_by_length"]["9"]
    assert count(game, game.parse("XXXOO----"), 1) == 0
    assert count(game, game.parse("XXXOO----"), 0) == 1


@every_game
def test_a_count_is_the_sum_of_its_parts(name):
    game = games.load(name)
    parts = dict(divide(game, game.rules.initial(), 2))
    assert sum(parts.values()) == count(game, game.rules.initial(), 2) == brute_force(game, game.rules.initial(), 2)


def brute_force(game, state, depth):
    if depth == 0:
        return 1
    if game.rules.outcome(state)[0]:
        return 0
    outcomes = game.rules.num_chance(state)
    if outcomes:
        return sum(brute_force(game, game.rules.chance(state, i)[0], depth) for i in range(outcomes))
    out = np.empty(game.rules.max_moves, np.int64)
    n = game.rules.legal_moves(state, out)
    return n if depth == 1 else sum(brute_force(game, game.rules.play(state, move), depth - 1) for move in out[:n])


def test_dice_are_multiplied_in():
    game = games.load("trees_chance")
    state = game.parse("mixed")
    assert [count(game, state, depth) for depth in range(5)] == [1, 3, 2 + 4 + 2, 4 + 6 + 4, 2]
    assert list(divide(game, game.parse("mixed/1"), 1)) == [("0", 2), ("1", 2)]


def test_a_count_stops():
    game, control = games.load("tic_tac_toe"), make_control()
    control[LIMIT] = 100
    moves = np.empty((9, 9), np.int64)
    assert perft(game.rules, game.rules.initial(), np.int64(9), moves, control) < 127_872


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_table(capsys):
    assert main(["tic_tac_toe", "3", "X---O----"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Tic-tac-toe, 3 moves from X---O----"
    assert lines[1].split() == ["b1", "30"]
    assert len(lines) == 9
    assert lines[-1].split()[:2] == ["total", "210"]


@pytest.mark.parametrize(("depth", "total"), [("0", "1"), ("1", "9")])
def test_small_depths(capsys, depth, total):
    assert main(["tic_tac_toe", depth]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["total", total]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess960", "2"], "unknown game 'chess960'; there are: backgammon"),
        (["tic_tac_toe", "-1"], "depth -1 is negative"),
        (["tic_tac_toe", "2", "XX"], "'XX' is no position"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, message):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["tic_tac_toe"], ["tic_tac_toe", "two"], ["tic_tac_toe", "2", "-", "extra"]])
def test_bad_arguments_are_one_line_and_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_negative_depth_is_refused():
    game = games.load("tic_tac_toe")
    with pytest.raises(InputError, match="depth -2 is negative"):
        count(game, game.rules.initial(), -2)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_stops_a_count_that_would_take_days():
    command = [sys.executable, "-m", "deltaw.envs.perft", "backgammon", "9"]
    with running(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Backgammon, 9 moves")
        time.sleep(0.2)  # into the count
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
