"""OpenSpiel: both sides have the same rules, and our players play there."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import numpy as np
import pytest
from conftest import python_state

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search.doors.policy import Policy

BOTH_KNOW = ["tic_tac_toe", "connect_four", "othello", "nim", "backgammon"]


@pytest.fixture(scope="module")
def spiel():
    pytest.importorskip("pyspiel")
    from deltaw.search import spiel

    return spiel


@pytest.mark.parametrize(
    ("name", "number", "outcomes"),
    [
        ("tic_tac_toe", 40, {-1, 0, 1}),
        ("connect_four", 10, {-1, 1}),
        ("othello", 8, {-1, 0, 1}),
        ("nim", 30, {-1, 1}),
        ("backgammon", 4, {-3, -2, -1, 1, 2, 3}),
    ],
)
def test_both_sides_have_the_same_rules(name, number, outcomes, spiel):
    found = spiel.cross_check(name, number, seed=1)
    assert found.differences == ()
    assert sum(found.endings.values()) == number
    assert set(found.endings) <= outcomes
    assert len(found.endings) >= 2
    assert found.results > 2 * found.decisions > 8 * number


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_KNOW)
def test_both_sides_have_the_same_rules_in_many_games(name, spiel):
    assert spiel.cross_check(name, 200, seed=2).differences == ()


def broken(name: str, **kernels: Any) -> Any:
    """The game with other rules, uncompiled."""
    game = games.load(name)
    return dataclasses.replace(game, rules=game.rules._replace(**kernels))


OTHELLO = games.load("othello")


def fewest_discs_win(state):
    over, value = OTHELLO.rules.outcome(state)
    return over, -value


def test_the_cross_check_sees_wrong_rules(spiel, monkeypatch):
    nim, backgammon = games.load("nim"), games.load("backgammon")

    def one_too_few(state, moves, rows):
        return max(1, nim.rules.expand(state, moves, rows) - 1)

    def uneven(state, i):
        rolled, probability = backgammon.rules.chance(state, i)
        return rolled, probability * (0.5 if i == 3 else 1.0)

    for game, what in (
        (broken("nim", expand=one_too_few), "only one side has"),
        (broken("othello", outcome=fewest_discs_win), "for seat 0; OpenSpiel: over"),
        (broken("backgammon", chance=uneven), "chances"),
    ):
        monkeypatch.setattr(
            spiel.games, "load", lambda name, game=game, load=games.load: game if name == game.name else load(name)
        )
        differences = spiel.cross_check(game.name, 1).differences
        monkeypatch.undo()
        assert differences
        assert what in differences[0].what


def their_game(spiel: Any, name: str) -> Any:
    import pyspiel

    return pyspiel.load_game("nim", {"is_misere": False}) if name == "nim" else pyspiel.load_game(name)


@pytest.mark.parametrize(
    ("name", "player", "least"),
    [
        ("tic_tac_toe", "perfect", 0),
        ("connect_four", "linear@depth=4", 1),
        ("othello", "positional@depth=2", None),
        ("nim", "nim_sum", None),
        ("backgammon", "network", None),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_our_players_play_there(name, player, least, seat, spiel):
    """Against OpenSpiel's own random bot, refereed by OpenSpiel."""
    from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
    from open_spiel.python.bots.uniform_random import UniformRandomBot

    game, rng = their_game(spiel, name), np.random.RandomState(seat)
    bots = [UniformRandomBot(i, rng) for i in range(2)]
    bots[seat] = spiel.SpielBot(game, seat, player)
    returns = [evaluate_bots(game.new_initial_state(), bots, rng)[seat] for _ in range(5)]
    assert sum(returns) >= 3
    assert least is None or min(returns) >= least


def test_a_bot_plays_what_the_player_plays(spiel):
    """Actions of Connect Four have the same numbers on both sides."""
    game = their_game(spiel, "connect_four")
    bot, policy, state = spiel.SpielBot(game, 0, "linear"), Policy("connect_four", "linear"), game.new_initial_state()
    ours = games.load("connect_four").rules.initial()
    while not state.is_terminal():
        action = bot.step(state)
        assert action == policy.move(ours)
        state.apply_action(action)
        ours = games.load("connect_four").rules.play(ours, action)


def after_a_double(spiel: Any) -> Any:
    """A state of their backgammon before the first half of a double."""
    rng, state = np.random.default_rng(0), their_game(spiel, "backgammon").new_initial_state()
    while True:
        dice = state.observation_tensor(0)[-2:]
        if not state.is_chance_node() and dice[0] == dice[1]:
            return state
        state.apply_action(int(rng.choice(state.legal_actions())))


@pytest.mark.parametrize("player", ["network", "pubeval"])
def test_a_double_is_two_turns_there(player, spiel):
    state, game = after_a_double(spiel), games.load("backgammon")
    mover, ours = state.current_player(), spiel.our_state(state)
    wanted = python_state(game, game.rules.play(ours, Policy(game, player).move(ours)))
    bot = spiel.SpielBot(state.get_game(), mover, player)
    state.apply_action(bot.step(state))
    assert state.current_player() == mover
    newcomer = spiel.SpielBot(state.get_game(), mover, player)  # who has not seen the first half
    assert newcomer.step(state) == bot.step(state)
    state.apply_action(bot.step(state))
    assert state.is_chance_node()
    assert spiel.our_state(state, 1 - mover) == wanted


def test_a_double_begun_by_somebody_else(spiel):
    state = after_a_double(spiel)
    results, bot = {}, spiel.SpielBot(state.get_game(), state.current_player(), "pubeval")
    for action in state.legal_actions():
        with contextlib.suppress(InputError):
            results[action] = bot.step(state.child(action))
    assert 0 < len(results) < len(state.legal_actions())
    other = next(action for action in state.legal_actions() if action not in results)
    with pytest.raises(InputError, match="would not have begun this turn so"):
        bot.step(state.child(other))


def test_games_that_only_one_side_knows(spiel):
    import pyspiel

    with pytest.raises(InputError, match="do not both know 'chess'; they do: tic_tac_toe, connect_four"):
        spiel.spiel_game("chess")
    for text, message in (
        ("nim", "is_misere must be False, not True"),
        ("connect_four(rows=5)", "rows must be 6, not 5"),
        ("backgammon(hyper_backgammon=true)", "hyper_backgammon must be False, not True"),
        ("hex", "do not both know 'hex'"),
    ):
        with pytest.raises(InputError, match=message):
            spiel.SpielBot(pyspiel.load_game(text), 0, "random")
    with pytest.raises(InputError, match="no player 'nobody'"):
        spiel.SpielBot(pyspiel.load_game("othello"), 0, "nobody")
    large = pyspiel.load_game("nim", {"is_misere": False, "pile_sizes": "3;16"})
    with pytest.raises(InputError, match=r"piles \[3, 16\]: Nim has up to 7 heaps of up to 15 here"):
        spiel.SpielBot(large, 0, "nim_sum").step(large.new_initial_state())


def test_the_command_line_of_the_cross_check(spiel, capsys, monkeypatch):
    assert spiel.main(["nim", "--games", "3"]) == 0
    assert "nim: 3 random games" in capsys.readouterr().out
    wrong = broken("othello", outcome=fewest_discs_win)
    monkeypatch.setattr(spiel.games, "load", lambda name, load=games.load: wrong if name == "othello" else load(name))
    assert spiel.main(["othello", "--games", "1"]) == 1
    assert "1 differences" in capsys.readouterr().out
    for argv, message in (
        (["chess"], "do not both know 'chess'"),
        (["nim", "--games", "0"], "--games must be at least 1, not 0"),
    ):
        assert spiel.main(argv) == 2
        assert message in capsys.readouterr().err
