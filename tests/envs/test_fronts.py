"""The Gymnasium fronts, for every game there is: API, masks against the move generator, copies, opponents, errors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from conftest import ROOT, python_state, random_game
from front_games import START, backgammon_state, choose, finish, payoff, same
from game_names import some_games
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts import environment_id
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.fronts.vector import BoardGameVectorEnv
from deltaw.envs.fronts.versus import VersusEnv, greedy, is_legal, random_mover
from deltaw.envs.path import outcome


def last_mover(game, state, np_random):
    """An opponent that other tests name as `module:attribute`."""
    return game.moves(state)[-1]


NO_PLAYER = 3


def wrong_mover(game, state, np_random):
    return -7


# --- Gymnasium's own checks ----------------------------------------------------------------------------------


@some_games
@pytest.mark.parametrize("versus", [False, True])
def test_gymnasium_finds_nothing_wrong(name, versus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(environment_id(name, versus)).unwrapped)


def test_ids_are_made_from_names_without_loading_games():
    code = (
        "import sys, gymnasium; from deltaw.envs import fronts, games;"
        "print(all(fronts.environment_id(n, v) in gymnasium.registry for n in games.names() for v in (False, True)),"
        "any(m.startswith('deltaw.envs.games.') for m in sys.modules), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]
    assert environment_id("tic_tac_toe") == "deltaw/TicTacToe-v0"
    assert isinstance(gym.make("deltaw:deltaw/BackgammonVersus-v0").unwrapped, VersusEnv)


# --- both sides ------------------------------------------------------------------------------------------------


@some_games
def test_play_to_the_end(name):
    env, rng = BoardGameEnv(name), np.random.default_rng(1)
    rules = env.game.rules
    for seed in range(3):
        _, info = env.reset(seed=seed)
        steps = finish(env, rng, info)
        assert all(step[1] == 0 for step in steps[:-1])
        assert all(step[0] in env.observation_space for step in steps)
        _, reward, terminated, truncated, info = steps[-1]
        over, value = rules.outcome(env.state)
        assert (terminated, truncated) == (over, not over)
        assert reward == payoff(env.game, env.state, 0)
        if rules.num_players == 2:
            assert reward == (value if rules.seat(env.state) == 0 else -value)
        assert not info["action_mask"].any()
        with pytest.raises(ResetNeeded):
            env.step(0)


@some_games
def test_a_decision_awaits_after_every_action(name):
    env, rng = BoardGameEnv(name), np.random.default_rng(2)
    _, info = env.reset(seed=5)
    for _ in range(40):
        assert env.game.rules.num_chance(env.state) == 0
        assert info["mover"] == env.game.rules.seat(env.state)
        assert info["action_mask"].dtype == np.int8
        assert np.array_equal(env.action_masks(), info["action_mask"] == 1)
        _, _, terminated, truncated, info = env.step(choose(info["action_mask"], rng))
        if terminated or truncated:
            _, info = env.reset()


def spelled_words(rules, state):
    """All complete words that the masks admit."""
    complete, open_words = set(), [0]
    while open_words:
        word = open_words.pop()
        mask = np.zeros(rules.num_actions, np.int8)
        rules.action_mask(state, word, mask)
        assert mask.any()
        for action in np.flatnonzero(mask):
            longer, done = rules.spell(state, word, int(action))
            if done:
                complete.add(int(longer))
            else:
                open_words.append(int(longer))
    return complete


def decisions(game, seed, most):
    rules = game.rules
    states = (s for number in range(3) for s in random_game(game, seed, number, most))
    return [s for s in states if not rules.outcome(s)[0] and not rules.num_chance(s)]


def expanded(game, state):
    codes, rows = game.buffers()
    n = game.rules.expand(state, codes, rows)
    return {tuple(int(x) for x in row) for row in rows[:n]}


@some_games
def test_actions_spell_exactly_the_legal_moves(name):
    game = games.load(name)
    for state in decisions(game, seed=4, most=160):
        results = {tuple(python_state(game, game.rules.play(state, w))) for w in spelled_words(game.rules, state)}
        assert results == expanded(game, state), game.format(state)


@pytest.mark.parametrize(
    ("mine", "his", "dice"),
    [
        (START, START, "66"),
        (START, START, "11"),
        ({6: 1}, {1: 1}, "21"),  # bears off with neither die alone
        ({2: 1}, {1: 1}, "21"),  # either die first, one wins at once
        ({24: 1}, {10: 2, 2: 5}, "63"),  # 15 is blocked, so one die only: the higher
        ({24: 1}, {10: 2, 7: 2}, "63"),  # 18 is blocked as well, so the lower
        ({24: 2, 6: 3}, {10: 2, 7: 2, 3: 1}, "63"),
        ({25: 2, 6: 4}, {6: 2, 4: 2, 1: 3}, "64"),  # no entry: a forced pass
        ({25: 2, 6: 4}, {6: 2, 1: 3}, "64"),  # one enters, the other cannot
        ({25: 3, 13: 2}, {3: 1, 1: 3}, "33"),
        ({25: 1, 8: 3}, {3: 1, 18: 1, 20: 1}, "31"),
    ],
)
def test_backgammon_actions_in_awkward_positions(mine, his, dice):
    game, state = games.load("backgammon"), backgammon_state(mine, his, dice)
    results = {tuple(python_state(game, game.rules.play(state, w))) for w in spelled_words(game.rules, state)}
    assert results == expanded(game, state)


@pytest.mark.parametrize("illegal_seat", [0, 1])
def test_an_illegal_action_ends_the_game_against_its_seat(illegal_seat):
    env = BoardGameEnv("tic_tac_toe")
    env.reset(options={"position": "X---O----" if illegal_seat == 0 else "X--------"})
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (-1.0 if illegal_seat == 0 else 1.0, True, False)
    assert info["illegal_action"] == 0
    with pytest.raises(ResetNeeded):
        env.step(1)


@some_games
@pytest.mark.parametrize("action", [-1, 10_000])
def test_an_action_out_of_range_is_illegal(name, action):
    env = BoardGameEnv(name)
    env.reset(seed=0)
    assert env.step(action)[4]["illegal_action"] == action


def test_a_strict_environment_names_the_legal_actions():
    env = BoardGameEnv("tic_tac_toe", illegal="raise")
    env.reset(options={"position": "XOXXOOOX-"})
    with pytest.raises(InputError, match=r"action 0 is illegal here; legal: 8"):
        env.step(0)
    assert env.step(8)[2]


@some_games
def test_equal_seeds_equal_games(name):
    def game_of(env, seed):
        rng = np.random.default_rng(8)
        _, info = env.reset(seed=seed)
        return finish(env, rng, info)

    first, again = game_of(BoardGameEnv(name), 11), game_of(BoardGameEnv(name), 11)
    assert len(first) == len(again)
    assert all(same(a, b) for a, b in zip(first, again, strict=True))


def test_other_seeds_other_dice():
    env = BoardGameEnv("backgammon")
    assert len({env.reset(seed=seed) and env.state.roll for seed in range(20)}) > 5


def test_dice_have_their_frequencies():
    env, rolls = BoardGameEnv("backgammon"), np.zeros(22)
    env.reset(seed=0)
    for _ in range(4000):
        env.reset(options={"position": "4HPwATDgc/ABMA"})
        rolls[env.state.roll] += 1
    expected = np.array([1 if h == low else 2 for h in range(1, 7) for low in range(1, h + 1)]) * 4000 / 36
    assert (((rolls[1:] - expected) ** 2 / expected).sum()) < 45  # chi-squared, 20 degrees of freedom: p = 0.001


# --- reset options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dice", ["31", "13", [3, 1], (1, 3), np.array([3, 1]), 31])
@pytest.mark.parametrize("position", [None, "b7sNAAAwgG0BAA"])
def test_reset_to_a_position_and_dice(position, dice):
    env = BoardGameEnv("backgammon")
    env.reset(seed=1, options={"dice": dice} | ({"position": position} if position else {}))
    assert env.state.roll == 4
    assert env.position() == (position or "4HPwATDgc/ABMA")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("backgammon", {"postion": "start"}, "unknown reset option 'postion'; allowed: position, dice"),
        ("backgammon", {"position": "hello"}, "Position ID"),
        ("backgammon", {"dice": "44"}, "never a double"),
        ("backgammon", {"dice": "17"}, "no dice"),
        ("tic_tac_toe", {"dice": "31"}, "not possible here"),
        ("tic_tac_toe", {"position": "XXXOO----"}, "the game is over in position 'XXXOO----'"),
    ],
)
def test_bad_reset_options(name, options, message):
    with pytest.raises(InputError, match=message):
        BoardGameEnv(name).reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "chess960"}, "unknown game 'chess960'"),
        ({"game": "tic_tac_toe", "illegal": "ignore"}, "unknown illegal 'ignore'; allowed: end, raise"),
        ({"game": "tic_tac_toe", "render_mode": "3d"}, "unknown render_mode '3d'; allowed: None, ansi, rgb_array"),
    ],
)
@pytest.mark.parametrize("front", [BoardGameEnv, VersusEnv, BoardGameVectorEnv])
def test_bad_arguments(front, arguments, message):
    with pytest.raises(InputError, match=message):
        front(**arguments)


# --- copies -----------------------------------------------------------------------------------------------------------


def through_pickle(env):
    return pickle.loads(pickle.dumps(env))


@some_games
@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize("front", [BoardGameEnv, VersusEnv])
def test_a_copy_goes_on_identically_and_alone(name, twin_of, front):
    env, rng = front(name), np.random.default_rng(3)
    _, info = env.reset(seed=3)
    info = env.step(choose(info["action_mask"], rng))[-1]
    if not info["action_mask"].any():  # a game of one turn each is copied at its beginning
        _, info = env.reset(seed=3)
    twin = twin_of(env)
    before = env.state
    ahead = finish(twin, np.random.default_rng(4), info)
    assert env.state == before
    assert same(env.action_masks(), info["action_mask"] == 1)
    assert all(same(a, b) for a, b in zip(ahead, finish(env, np.random.default_rng(4), info), strict=True))


def test_a_wrapped_environment_copies_too():
    env = gym.make("deltaw/Backgammon-v0")
    _, info = env.reset(seed=1)
    twin = copy.deepcopy(env)
    action = choose(info["action_mask"], np.random.default_rng(0))
    assert same(env.step(action), twin.step(action))
    assert twin.unwrapped is not env.unwrapped


# --- against an opponent ----------------------------------------------------------------------------------------------


@some_games
@pytest.mark.parametrize("opponent", ["random", "baseline", "test_fronts:last_mover", last_mover])
def test_it_is_always_the_agents_turn(name, opponent):
    if opponent == "baseline":
        opponent = next(iter(games.load(name).baselines), "random")
    rng = np.random.default_rng(6)
    for seat in range(games.load(name).rules.num_players):
        env = VersusEnv(name, seat=seat, opponent=opponent)
        _, info = env.reset(seed=9)
        assert info["mover"] == info["seat"] == seat
        steps = finish(env, rng, info)
        assert all(step[-1]["mover"] == seat for step in steps[:-1])
        assert steps[-1][1] == payoff(env.game, env.state, seat)
        assert steps[-1][2] == outcome(env.game.rules, env._path, env.state)[0]


@some_games
def test_the_agents_seat_is_drawn_unless_given(name):
    env = VersusEnv(name)
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(20)} == set(range(env.game.rules.num_players))
    assert env.reset(seed=0, options={"seat": 1})[1]["mover"] == 1


def test_greedy_completes_a_line_and_plays_the_ranked_move():
    game, rng = games.load("tic_tac_toe"), np.random.default_rng(0)
    player = greedy(game.baselines["open_lines"])
    assert player(game, game.parse("XX-OO----"), rng) == 2
    backgammon = games.load("backgammon")
    state = backgammon.parse("start")._replace(roll=4)
    move = greedy(backgammon.baselines["pubeval"])(backgammon, state, rng)
    assert backgammon.move_text(state, move) == "8/5 6/5"


def test_the_random_mover_makes_every_legal_move():
    game, rng = games.load("tic_tac_toe"), np.random.default_rng(0)
    state = game.parse("XO-XO----")
    assert {int(random_mover(game, state, rng)) for _ in range(100)} == {2, 5, 6, 7, 8}


def test_the_agent_loses_to_its_own_illegal_action():
    env = VersusEnv("tic_tac_toe", seat=1)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(99)
    assert (reward, terminated, info["illegal_action"]) == (-1.0, True, 99)


def test_an_opponents_win_is_the_agents_loss():
    env = VersusEnv("tic_tac_toe", seat=0, opponent=lambda game, state, rng: 5)
    env.reset(options={"position": "X--OO-X--"})
    assert env.step(8)[1:4] == (-1.0, True, False)
    with pytest.raises(InputError, match="before seat 1 has a turn"):
        VersusEnv("tic_tac_toe", seat=1, opponent=lambda *_: 2).reset(options={"position": "XX-OO----"})


@pytest.mark.parametrize(
    ("opponent", "message"),
    [
        ("pubevil", r"unknown opponent 'pubevil'; .* one of: random, pubeval"),
        (7, "unknown opponent 7"),
        ("no_such_module:player", "cannot be imported"),
        ("test_fronts:nobody", "cannot be imported"),
        ("test_fronts:NO_PLAYER", "must be callable"),
    ],
)
def test_bad_opponents(opponent, message):
    with pytest.raises(InputError, match=message):
        VersusEnv("backgammon", opponent=opponent)


def test_a_move_is_legal_by_its_result():
    game = games.load("backgammon")
    state = backgammon_state(START, START, "31")
    high_first, low_first = 8 | 6 << 5, 6 | 8 << 5 | 1 << 20  # 8/5 6/5 and 6/5 8/5: two codes, one play
    assert is_legal(game, state, high_first)
    assert is_legal(game, state, low_first)
    assert not is_legal(game, state, 8 | 7 << 5)


def test_three_players_opponents_and_payoffs():
    last = VersusEnv("trees_three", seat=1, opponent=[lambda *_: 1, lambda *_: 0])  # C plays 1, A plays 0
    last.reset(options={"position": "B"})
    assert last.position() == "B/0"
    assert last.step(1)[1:4] == (4.0, True, False)
    assert last.position() == "B/0/1/1"
    greedy_c = VersusEnv("trees_three", seat=1, opponent=["static_payoffs", "random"])
    greedy_c.reset(options={"position": "B/1"})
    assert greedy_c.step(0)[1] == 5.0  # C takes his 2 of (1,5,2), not his 1


def test_three_players_illegal_actions():
    env = BoardGameEnv("trees_three")
    env.reset()
    assert env.step(7)[1:4] == (-1.0, True, False)
    env.reset(options={"position": "B/0"})
    assert env.step(7)[1:4] == (0.5, True, False)
    vector = BoardGameVectorEnv("trees_three", 2)
    vector.reset(options={"position": "B/0"})
    assert vector.step([7, 1])[1].tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("opponent", "message"),
    [
        ("static", "worth to its mover alone, so with 3 players .* can: static_payoffs"),
        (["random"], r"1 opponents \['random'\]; trees_three needs 2"),
        (["random", "nobody"], "unknown opponent 'nobody'"),
    ],
)
def test_bad_opponents_of_three(opponent, message):
    with pytest.raises(InputError, match=message):
        VersusEnv("trees_three", opponent=opponent)


def test_an_opponent_that_cheats_is_caught():
    with pytest.raises(InputError, match="played -7, illegal in"):
        VersusEnv("backgammon", seat=1, opponent="test_fronts:wrong_mover").reset(seed=0)
