"""Our players in environments: policies act in both kinds, as opponents and from a file's name, and travel to other
processes."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import python_state, random_game
from front_games import choose
from game_names import some_games
from gymnasium.error import ResetNeeded

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts import environment_id
from deltaw.envs.fronts.front import BoardGameEnv, actions_of
from deltaw.envs.fronts.versus import VersusEnv
from deltaw.search.doors.policy import Policy
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.how import Limits


def decisions(game: Any, seed: int, most: int = 120) -> list[Any]:
    states = random_game(game, seed, most=most)
    return [s for s in states if not game.rules.outcome(s)[0] and not game.rules.num_chance(s)]


@some_games
def test_actions_spell_the_move_that_was_meant(name):
    game = games.load(name)
    for state in decisions(game, seed=2):
        for move in game.moves(state)[:40]:
            word, complete = 0, False
            for action in actions_of(game, state, move):
                assert not complete
                mask = np.zeros(game.rules.num_actions, np.int8)
                game.rules.action_mask(state, word, mask)
                assert mask[action]
                word, complete = game.rules.spell(state, word, action)
            assert complete
            assert game.rules.play(state, word) == game.rules.play(state, move)


def test_a_move_that_nobody_can_spell():
    game = games.load("tic_tac_toe")
    with pytest.raises(InputError, match="no legal actions lead from 'X--------' and word 0 to the move 0"):
        actions_of(game, game.parse("X--------"), 0)


PLAYERS = [
    ("backgammon", "network"),
    ("backgammon", "pubeval"),
    ("connect_four", "linear@depth=3"),
    ("tic_tac_toe", "perfect"),
    ("tic_tac_toe", "random"),
    ("tic_tac_toe_three", "shares"),
    ("tic_tac_toe_three", "shares@depth=2"),
    ("trees_three", "random"),
]


@pytest.mark.parametrize(("name", "text"), PLAYERS)
def test_a_named_player_acts_in_both_kinds_of_environment(name, text, aec):
    """The same game twice: the policy's actions are legal, and make the moves that it says."""
    game = games.load(name)
    zoo, front = aec.env(name), gym.make(environment_id(name))
    zoo.reset(seed=7)
    front.reset(seed=7)
    one, other = Policy(name, text, seed=1), Policy(game, text, seed=1)
    while not any(zoo.terminations.values()):
        action = one.action(zoo)
        assert action == other.action(front)
        assert zoo.last()[0]["action_mask"][action]
        zoo.step(action)
        front.step(action)
    assert zoo.unwrapped.front.state == front.unwrapped.state


@pytest.mark.parametrize("plies", [1, 2])
def test_an_agent_plays_the_moves_it_chooses(plies):
    game = games.load("backgammon")
    agent = Agent(game, find_evaluator(game, "linear"), plies=plies)
    policy, env = Policy(game, agent), BoardGameEnv("backgammon")
    env.reset(seed=2)
    for _ in range(12):
        state = env.state
        wanted = game.rules.play(state, agent.choose(state))
        while env.word or env.state is state:
            env.step(policy.action(env))
        assert env.state[:4] == tuple(int(x) for x in wanted)[:4]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_perfect_opponent_never_loses(seat):
    env, rng, lost = (
        VersusEnv("tic_tac_toe", seat=seat, opponent=Policy("tic_tac_toe", "perfect")),
        np.random.default_rng(0),
        0,
    )
    for seed in range(60):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(choose(info["action_mask"], rng))
        assert reward <= 0
        lost += reward < 0
    assert lost > 20


def versus_game(opponent: Any, name: str = "backgammon") -> list[Any]:
    env, rng, seen = VersusEnv(name, opponent=opponent), np.random.default_rng(1), []
    _, info = env.reset(seed=5)
    for _ in range(25):
        _, _, over, _, info = env.step(choose(info["action_mask"], rng))
        seen.append(env.state)
        if over:
            break
    return seen


def test_an_opponent_by_text_is_the_same_opponent():
    game = games.load("backgammon")
    expected = versus_game(Policy(game, "linear"))
    assert versus_game("deltaw.search.doors.policy:Policy:linear") == expected
    assert versus_game(Policy(game, Agent(game, find_evaluator(game, "linear")))) == expected
    assert versus_game(Policy(game, find_player(game, "linear", threads=1))) == expected
    assert versus_game("deltaw.search.doors.policy:Policy:pubeval") != expected


def test_an_opponent_draws_from_the_environments_generator():
    opponent = "deltaw.search.doors.policy:Policy:open_lines@ties=random"
    first, again = versus_game(opponent, "tic_tac_toe"), versus_game(opponent, "tic_tac_toe")
    assert first == again


@pytest.mark.parametrize("name", ["backgammon", "connect_four"])
def test_policies_travel(name):
    game = games.load(name)
    limits = Limits(depth=4) if name == "connect_four" else Limits()
    evaluators = [find_evaluator(game, "linear"), next(iter(game.baselines.values()))]
    for player in ["linear", *(Agent(game, evaluator, limits=limits) for evaluator in evaluators)]:
        policy = Policy(name, player)
        twin = pickle.loads(pickle.dumps(policy))
        states = decisions(game, seed=1)[:15]
        assert [twin.move(s) for s in states] == [policy.move(s) for s in states]
        env = VersusEnv(name, opponent=policy)
        env.reset(seed=1)
        assert pickle.loads(pickle.dumps(env)).state == env.state


def test_an_agent_with_a_foreign_evaluator_stays_at_home():
    agent = Agent(games.load("tic_tac_toe"), games.load("tic_tac_toe").baselines["open_lines"])
    agent.evaluator = object()
    with pytest.raises(
        InputError, match="an agent with object cannot be pickled: give the policy the name of its file"
    ):
        pickle.dumps(Policy("tic_tac_toe", agent))


def test_what_a_policy_refuses(aec):
    tic_tac_toe = games.load("tic_tac_toe")
    with pytest.raises(InputError, match="no player 'nobody'"):
        Policy("tic_tac_toe", "nobody")
    with pytest.raises(InputError, match="own_share says what a position is worth to its mover alone"):
        Policy("tic_tac_toe_three", "own_share")
    with pytest.raises(InputError, match="no player 'perfect' for the 3 players of tic_tac_toe_three; random, shares"):
        Policy("tic_tac_toe_three", "perfect")
    with pytest.raises(InputError, match="the agent plays tic_tac_toe, not nim"):
        Policy("nim", Agent(tic_tac_toe, tic_tac_toe.baselines["open_lines"]))
    with pytest.raises(InputError, match="no player 'nobody' for tic_tac_toe"):
        VersusEnv("tic_tac_toe", opponent="deltaw.search.doors.policy:Policy:nobody")
    with pytest.raises(InputError, match=r"opponent 'deltaw.search.doors.policy:Nobody:random' cannot be imported"):
        VersusEnv("tic_tac_toe", opponent="deltaw.search.doors.policy:Nobody:random")
    policy = Policy("tic_tac_toe", "random")
    with pytest.raises(InputError, match="does not play nim"):
        policy.action(BoardGameEnv("nim"))
    with pytest.raises(InputError, match="does not play nim"):
        VersusEnv("nim", opponent=policy, seat=1).reset()
    with pytest.raises(InputError, match="is no environment of this project"):
        policy.action(gym.make("CartPole-v1"))
    with pytest.raises(InputError, match="no move to choose"):
        policy.move(tic_tac_toe.parse("XXXOO----"))
    with pytest.raises(InputError, match="no move to choose"):
        Policy("backgammon", "random").move(games.load("backgammon").parse("start"))
    with pytest.raises(ResetNeeded):
        policy.action(BoardGameEnv("tic_tac_toe"))


def test_a_move_that_somebody_else_has_begun():
    env, policy = BoardGameEnv("backgammon"), Policy("backgammon", "pubeval")
    env.reset(options={"position": "4HPwATDgc/ABMA", "dice": "31"})
    env.step(actions_of(env.game, env.state, env.game.find_move(env.state, "8/5 6/5"))[0])
    before = env.state
    env.step(policy.action(env))  # pubeval plays 8/5 6/5, too
    assert env.word == 0
    assert (
        env.state[2:4]
        == python_state(env.game, env.game.rules.play(before, env.game.find_move(before, "8/5 6/5")))[2:4]
    )
    env.reset(options={"position": "4HPwATDgc/ABMA", "dice": "31"})
    env.step(actions_of(env.game, env.state, env.game.find_move(env.state, "24/20"))[0])
    with pytest.raises(InputError, match="no legal actions lead"):
        policy.action(env)
