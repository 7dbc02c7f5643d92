"""Symmetry classes: the counts everyone knows, the promises of `Game.symmetries`, and keys against a naive oracle."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from conftest import random_game, read_json
from game_names import EVERY_GAME

from deltaw.envs import games
from deltaw.search.databases.symmetry import WORD_CELLS, class_keys, symmetries_of

SYMMETRIC = [name for name in EVERY_GAME if games.load(name).symmetries is not None]
TIC_TAC_TOE = games.load("tic_tac_toe")
PLIES = 4


@cache
def opening_rows(name: str, plies: int | None = PLIES) -> np.ndarray:
    """Every position of the first plies, mirrored ones too."""
    game = games.load(name)
    seen = layer = {tuple(map(int, game.rules.initial()))}
    ply = 0
    while layer and ply != plies:
        states = [game.state(*row) for row in layer]
        layer = {row for s in states if not game.rules.outcome(s)[0] for row in results(game, s)} - seen
        seen, ply = seen | layer, ply + 1
    return np.array(sorted(seen))


def results(game, state) -> list[tuple]:
    moves, rows = game.buffers()
    n = game.rules.expand(state, moves, rows)
    return [tuple(row) for row in rows[:n].tolist()]


def board(game, row) -> np.ndarray:
    out = np.empty(game.rules.num_cells, np.int64)
    game.rules.cells(game.unrow(row), out)
    return out


def naive_class(game, row) -> tuple:
    """The smallest of a position's images, cell by cell."""
    cells = board(game, row)
    return min(tuple(cells[p] for p in permutation) for permutation in game.symmetries.tolist())


# --- what games promise ---------------------------------------------------------------------------------------------


def test_games_with_symmetries_are_found():
    assert {"tic_tac_toe", "connect_four"} <= set(SYMMETRIC)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetries_are_a_group_of_permutations(name):
    game = games.load(name)
    permutations = [tuple(p) for p in game.symmetries.tolist()]
    identity = tuple(range(game.rules.num_cells))
    assert game.symmetries.shape == (len(permutations), game.rules.num_cells)
    assert permutations[0] == identity
    assert all(tuple(sorted(p)) == identity for p in permutations)
    assert len(set(permutations)) == len(permutations)
    assert {tuple(p[i] for i in q) for p in permutations for q in permutations} == set(permutations)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_cells_say_everything_but_the_seat(name):
    """Otherwise two positions of one class could differ in what a key does not see."""
    game = games.load(name)
    states = {tuple(map(int, s)): s for number in range(30) for s in random_game(game, 3, number)}
    views = {tuple(board(game, np.array(s, np.int64))) for s in states}
    seatless = {tuple(x for field, x in zip(s._fields, s, strict=True) if field != "seat") for s in states.values()}
    assert len(views) == len(seatless)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_positions_of_a_class_play_alike(name):
    """The same end, and moves to the same classes."""
    game, known = games.load(name), {}
    rows = opening_rows(name, 3)
    for row, key in zip(rows, class_keys(game, rows), strict=True):
        state = game.unrow(row)
        over, value = game.rules.outcome(state)
        if over:
            looks = (int(value), ())
        else:
            looks = (0, tuple(sorted(class_keys(game, np.array(results(game, state))).tolist())))
        assert known.setdefault(int(key), looks) == looks
    assert len(known) < len(rows)


# --- keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYMMETRIC)
def test_keys_are_those_of_a_naive_oracle(name):
    """Two positions have one key exactly where their smallest images are equal."""
    game, rows = games.load(name), opening_rows(name)
    keys = class_keys(game, rows).tolist()
    pairs = {(key, naive_class(game, row)) for key, row in zip(keys, rows, strict=True)}
    assert len({key for key, _ in pairs}) == len({image for _, image in pairs}) == len(pairs)
    assert min(keys) >= 0


def test_small_boards_have_exact_keys_and_large_ones_hashes():
    assert TIC_TAC_TOE.rules.num_cells <= WORD_CELLS < games.load("connect_four").rules.num_cells
    rows = opening_rows("tic_tac_toe", None)
    for row, key in list(zip(rows, class_keys(TIC_TAC_TOE, rows).tolist(), strict=True))[::50]:
        digits = [key >> 6 * (8 - i) & 63 for i in range(9)]
        assert tuple(digits) == naive_class(TIC_TAC_TOE, row)


def test_a_game_without_symmetries_keeps_its_own_keys():
    game = games.load("backgammon")
    rows = np.array([game.row(state) for state in random_game(game, 5, 0, 40)])
    assert len(symmetries_of(game)) == 0
    assert class_keys(game, rows).tolist() == [int(game.rules.key(game.unrow(row))) for row in rows]


INTERPRETED = """
from conftest import random_game
from deltaw.envs import games
from deltaw.search.databases.symmetry import class_keys
import numpy as np
for name in ("tic_tac_toe", "connect_four"):
    game = games.load(name)
    print(class_keys(game, np.array([game.row(state) for state in random_game(game, 9)])).tolist())
"""


def test_compiled_equals_interpreted():
    def printed(**environment: str) -> str:
        variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
        done = subprocess.run(
            [sys.executable, "-c", INTERPRETED], env=variables, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert printed(NUMBA_DISABLE_JIT="1") == printed()


# --- counts ---------------------------------------------------------------------------------------------------------


def test_tic_tac_toe_has_765_classes():
    known = read_json("tic_tac_toe/counts.json")
    rows = opening_rows("tic_tac_toe", None)
    over = np.array([bool(TIC_TAC_TOE.rules.outcome(TIC_TAC_TOE.unrow(row))[0]) for row in rows])
    assert len(rows) == known["states"] == 5478
    assert len(np.unique(class_keys(TIC_TAC_TOE, rows))) == known["states_up_to_symmetry"] == 765
    assert len(np.unique(class_keys(TIC_TAC_TOE, rows[over]))) == known["terminal_up_to_symmetry"]
