"""The parts of a turn: where a game ends, and what it is then worth."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import python_state, random_game
from toy_games import endless_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.path import make_path
from deltaw.envs.record import Event, GameRecord, read_json_lines, write_json_lines
from deltaw.envs.turn import end, explore, noisy_move, open_game, payoffs_by_seat, value_for


def test_a_game_ends_by_its_rules_or_as_a_draw_after_max_plies():
    game = endless_game(3)
    assert [bool(end(game.rules, make_path(game.rules), game.rules.initial(), plies)[0]) for plies in range(5)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert end(game.rules, make_path(game.rules), game.rules.initial(), 3) == (True, 0)
    unlimited = endless_game(0)
    assert not end(unlimited.rules, make_path(unlimited.rules), unlimited.rules.initial(), 1_000_000)[0]
    won = games.load("tic_tac_toe").parse("xxxoo....")
    assert end(games.load("tic_tac_toe").rules, make_path(game.rules), won, 5) == (True, -1)


@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_three"])
def test_payoffs_are_those_of_the_seats(name):
    game = games.load(name)
    for number in range(5):
        *before, last = random_game(game, 1, number)
        out, by_turns = np.full(game.rules.num_players, 9.0), np.empty(game.rules.num_players)
        payoffs_by_seat(game.rules, before[-1], out)
        assert not out.any()
        payoffs_by_seat(game.rules, last, out)
        game.rules.payoffs(last, by_turns)
        seat = game.rules.seat(last)
        assert [out[(seat + i) % len(out)] for i in range(len(out))] == by_turns.tolist()
        if len(out) == 2:
            assert [value_for(game.rules, last, by_turns[0], s) for s in (0, 1)] == out.tolist()


def test_random_moves_of_an_opening_never_end_the_game():
    game = games.load("tic_tac_toe")
    row = np.empty(game.rules.width, np.int64)
    lengths = [open_game(game.rules, 1, number, 9, row, make_path(game.rules), *game.buffers()) for number in range(50)]
    assert 4 <= min(lengths) < max(lengths) <= 8
    assert not game.rules.outcome(game.unrow(row))[0]
    short = endless_game(3)
    assert open_game(short.rules, 1, 0, 9, row[:1], make_path(short.rules), *short.buffers()) == 2


def test_random_moves_come_as_often_as_they_should_and_are_all_alike():
    game, tries = games.load("tic_tac_toe"), 4000
    state, buffers = python_state(game, game.rules.initial()), game.buffers()
    explored = [explore(1, number, 2, 0.3, 9, 4) for number in range(tries)]
    noisy = [
        noisy_move(game.rules, make_path(game.rules), state, 1, number, 2, 0.3, *buffers) for number in range(tries)
    ]
    for chosen in ([move for move, random in explored if random], [move for move in noisy if move >= 0]):
        assert len(chosen) == pytest.approx(0.3 * tries, abs=4 * np.sqrt(0.21 * tries))
        counts = np.bincount(chosen, minlength=9)
        assert len(counts) == 9
        assert counts == pytest.approx(np.full(9, len(chosen) / 9), abs=4 * np.sqrt(len(chosen) / 9))
    assert {move for move, random in explored if not random} == {4}


def test_a_recorded_game_that_was_broken_off_is_a_draw():
    game = endless_game(2)
    record = GameRecord(game.rules.initial(), ("one", "two"), (Event(False, 0),) * 2, None)
    text = write_json_lines(game, [record])
    assert read_json_lines(game, text)[0].payoffs == (0.0, 0.0)
    with pytest.raises(InputError, match="game 1, step 3: 'pass' comes after the end of the game"):
        read_json_lines(game, text.replace('"steps": [', '"steps": ["pass", '))
