"""Boards as environments show them: pictures and text of every game, and backgammon in detail."""

from __future__ import annotations

import functools

import gymnasium as gym
import numpy as np
import pytest
from front_games import backgammon_state, finish
from game_names import every_game

from deltaw.envs import games
from deltaw.envs.fronts.front import BoardGameEnv


@every_game
def test_rendering(name):
    env = BoardGameEnv(name, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape[2] == 3
    assert len(np.unique(first.reshape(-1, 3), axis=0)) >= 2
    finish(env, np.random.default_rng(0), {"action_mask": env._mask()})
    last = env.render()
    assert last.shape == first.shape
    assert (last != first).any()
    text = BoardGameEnv(name, render_mode="ansi")
    text.reset(seed=0)
    assert len(text.render().splitlines()) >= 3
    assert BoardGameEnv(name).render() is None


def test_backgammon_text_board():
    game = games.load("backgammon")
    state = backgammon_state({2: 7, 22: 2, 25: 1}, {25: 2}, "31")
    lines = game.ansi(state).splitlines()
    assert lines[0] == f" Position ID: {game.format(state)}"
    assert [line[21] for line in lines[2:7]] == [" ", " ", " ", "O", "O"]
    assert [line[36:39] for line in lines[8:13]] == [" 7 ", " X ", " X ", " X ", " X "]
    assert lines[7].endswith("X rolled 3-1")
    assert lines[2].endswith("O: 50 pips, 13 off")
    assert lines[12].endswith("5 off")
    colored = game.ansi(state, color=True)
    assert "\033[" in colored
    assert "\033[" not in game.ansi(state)


def test_the_backgammon_picture_stays_put_when_the_turn_passes():
    """Seat 0 is at the bottom whoever moves, so only the numbers of the points change."""
    game = games.load("backgammon")
    state = backgammon_state({24: 2, 6: 7, 3: 1, 25: 1}, {13: 4, 2: 1})
    turned = state._replace(
        me_low=state.opponent_low, me_high=state.opponent_high,
        opponent_low=state.me_low, opponent_high=state.me_high, seat=1,
    )  # fmt: skip
    board = functools.partial(np.array, dtype=np.int16)
    middle = (slice(45, 655), slice(30, 870))
    assert np.abs(board(game.draw(state))[middle] - board(game.draw(turned))[middle]).max() <= 2
    assert (board(game.draw(state)) != board(game.draw(turned))).any()


def test_human_mode_is_gymnasiums_wrapper():
    with pytest.warns(UserWarning, match="HumanRendering"):
        env = gym.make("deltaw/TicTacToe-v0", render_mode="human")
    assert env.render_mode == "human"
    assert env.unwrapped.render_mode == "rgb_array"
