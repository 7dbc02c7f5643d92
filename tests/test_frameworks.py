"""Other people's frameworks: Stable-Baselines3, PettingZoo and OpenSpiel, with their own checkers and our players in them.

Gymnasium's checker is run in `test_fronts.py`.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib.util
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ROOT, python_state, random_game
from gymnasium.error import ResetNeeded

from envs import environment_id, games
from envs.errors import InputError
from envs.front import BoardGameEnv, actions_of
from envs.versus import VersusEnv
from search.agent import Agent
from search.named import find_evaluator
from search.players import find_player
from search.policy import Policy
from search.searcher import Limits

NAMES = games.names()
each_game = pytest.mark.parametrize("name", NAMES)
BOTH_KNOW = ["tic_tac_toe", "connect_four", "othello", "nim", "backgammon"]


def pick(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def payoffs(game: Any, state: Any) -> list[float]:
    """Of a finished game, by seats, straight from the rules."""
    out = np.empty(game.rules.num_players)
    game.rules.payoffs(state, out)
    return np.roll(out, game.rules.seat(state)).tolist()


def decisions(game: Any, seed: int, most: int = 120) -> list[Any]:
    states = random_game(game, seed, most=most)
    return [s for s in states if not game.rules.outcome(s)[0] and not game.rules.num_chance(s)]


# --- Stable-Baselines3 --------------------------------------------------------------------------------------------


@pytest.fixture
def contrib():
    """sb3-contrib, with one thread: networks as small as these only wait for more."""
    contrib = pytest.importorskip("sb3_contrib")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield contrib
    torch.set_num_threads(threads)


@each_game
@pytest.mark.parametrize("versus", [False, True])
def test_stable_baselines_finds_nothing_wrong(name, versus):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(environment_id(name, versus)).unwrapped)


@each_game
def test_maskable_ppo_trains_out_of_the_box(name, contrib):
    """In strict environments: one action outside the mask, and it would raise."""
    env = gym.make(environment_id(name, versus=True), illegal="raise")
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=1, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))


@pytest.fixture
def example(contrib):
    spec = importlib.util.spec_from_file_location("maskable_ppo", ROOT / "docs" / "examples" / "maskable_ppo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_learns_and_reports(example, capsys):
    argv = "deltaw/NimVersus-v0 --opponent search.policy:Policy:parity --steps 2000 --games 40"
    assert example.main(argv.split()) == 0
    before, after = capsys.readouterr().out.splitlines()
    assert before.startswith("before training: ")
    assert after.startswith("after training: ")
    assert after.endswith("points a game against search.policy:Policy:parity (95 %, 40 games)")


def test_the_examples_interval_holds_the_mean_of_many_games(example):
    """A model that plays at random: its 95 % intervals from few games must hold the score of many in about 95 of 100 cases."""
    rng = np.random.default_rng(0)

    class Anything:
        def predict(self, observation, action_masks, deterministic):
            return pick(action_masks, rng), None

    env = VersusEnv("tic_tac_toe", seat=0)
    many, half = example.score(Anything(), env, 2000, seed=0)
    assert many == pytest.approx(0.585 - 0.288, abs=2 * half)  # of all random games X wins 58.5 %, O 28.8 %
    few = [example.score(Anything(), env, 60, seed=10_000 + 60 * i) for i in range(40)]
    assert 33 <= sum(abs(mean - many) < half for mean, half in few) <= 40


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("deltaw/Nim-v0", "unknown id 'deltaw/Nim-v0'; there are: deltaw/BackgammonVersus-v0"),
        ("--opponent nobody", "unknown opponent 'nobody'"),
        ("--games 1", "--games must be at least 2, not 1"),
    ],
)
def test_the_example_explains_bad_input(example, capsys, argv, message):
    assert example.main(argv.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


# --- PettingZoo ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def aec():
    pytest.importorskip("pettingzoo")
    from envs import aec

    return aec


UNAVOIDABLE = [
    "Observation is not a NumPy array",  # a dict with a mask, as PettingZoo's own board games, which its test knows by name
    "Observation space for each agent probably should be",
    "Observation numpy array is all zeros",  # an empty board
    "Observation is a single number",  # trees_three: a node of a small tree
    "reset option 'options' is ignored",  # the test hands over one of its own
]


@each_game
def test_pettingzoo_finds_nothing_wrong(name, aec):
    from pettingzoo.test import api_test, seed_test

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in UNAVOIDABLE:
            warnings.filterwarnings("ignore", message=message)
        api_test(aec.env(name), num_cycles=300)
        api_test(aec.raw_env(name), num_cycles=30)
        seed_test(lambda: aec.env(name), num_cycles=100)


def turns(env: Any, rng: np.random.Generator) -> list[Any]:
    """The rest of a random game: what every agent saw and got at each of its turns, the farewells included."""
    seen = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        seen.append(
            (agent, observation["observation"].tolist(), observation["action_mask"].tolist(), reward, dict(info))
        )
        env.step(None if terminated or truncated else pick(observation["action_mask"], rng))
    return seen


@each_game
def test_agents_act_in_the_order_of_the_rules_and_get_their_payoffs(name, aec):
    """Replayed on the kernels, letter by letter."""
    env, rng = aec.env(name), np.random.default_rng(1)
    for seed in range(3):
        env.reset(seed=seed)
        front, rules = env.unwrapped.front, env.unwrapped.front.game.rules
        total = dict.fromkeys(env.possible_agents, 0.0)
        assert env.agents == [f"player_{seat}" for seat in range(rules.num_players)]
        while not any(env.terminations.values()):
            state, word, actor = front.state, front.word, env.agent_selection
            assert actor == f"player_{rules.seat(state)}"
            legal = np.zeros(rules.num_actions, np.int8)
            rules.action_mask(state, word, legal)
            for agent in env.agents:
                mask = env.observe(agent)["action_mask"]
                assert mask.dtype == np.int8
                assert np.array_equal(mask, legal if agent == actor else np.zeros_like(legal))
                assert env.infos[agent] == {"mover": rules.seat(state)}
            action = pick(legal, rng)
            longer, complete = rules.spell(state, word, action)
            env.step(action)
            for agent, reward in env.rewards.items():
                total[agent] += reward
            if complete:
                moved = python_state(front.game, rules.play(state, longer))
                assert rules.num_chance(moved) or front.state == moved
                assert front.word == 0
            else:
                assert (front.state, front.word, env.agent_selection) == (state, longer, actor)
        assert list(total.values()) == payoffs(front.game, front.state)


@each_game
def test_farewells_bring_everybody_his_payoff(name, aec):
    env = aec.env(name)
    env.reset(seed=4)
    final = {agent: (reward, mask) for agent, _, mask, reward, _ in turns(env, np.random.default_rng(4))}
    front = env.unwrapped.front
    expected = payoffs(front.game, front.state)
    assert [final[agent][0] for agent in env.possible_agents] == expected
    assert not any(any(mask) for _, mask in final.values())
    if front.game.rules.num_players == 2:
        assert sum(expected) == 0


@each_game
@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_identically_and_alone(name, twin_of, aec):
    env = aec.raw_env(name)
    env.reset(seed=3)
    env.step(pick(env.front.action_masks(), np.random.default_rng(3)))
    if any(env.terminations.values()):  # a game of one turn each is copied at its beginning
        env.reset(seed=3)
    twin, before = twin_of(env), env.front.state
    ahead = turns(twin, np.random.default_rng(4))
    assert (env.front.state, env.agents) == (before, env.possible_agents)
    assert ahead == turns(env, np.random.default_rng(4))


def test_a_guarded_environment_copies_too(aec):
    env = aec.env("backgammon")
    env.reset(seed=3)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = turns(env, np.random.default_rng(4))
    assert all(turns(twin, np.random.default_rng(4)) == expected for twin in twins)


def test_dice_come_from_the_seed_alone(aec):
    def rolls(seed: int) -> list[int]:
        env, found = aec.env("backgammon"), []
        env.reset(seed=seed)
        for _ in range(30):
            found.append(env.unwrapped.front.state.roll)
            env.step(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0])
        return found

    np.random.seed(0)
    global_state = np.random.get_state()[1].tolist()
    first = rolls(5)
    assert first == rolls(5) != rolls(6)
    assert len(set(first)) > 5
    assert np.random.get_state()[1].tolist() == global_state


def test_a_new_game_in_the_middle_of_the_farewells(aec):
    env, rng = aec.env("tic_tac_toe_three"), np.random.default_rng(0)
    env.reset(seed=0)
    while not any(env.terminations.values()):
        env.step(pick(env.last()[0]["action_mask"], rng))
    env.step(None)
    assert len(env.agents) == 2
    env.reset()
    assert (env.agents, env.agent_selection) == (["player_0", "player_1", "player_2"], "player_0")
    assert {agent for agent, *_ in turns(env, rng)} == {"player_0", "player_1", "player_2"}


@pytest.mark.parametrize(
    ("name", "position", "expected"),
    [
        ("tic_tac_toe", "X---O----", [-1.0, 1.0]),
        ("tic_tac_toe", "X--------", [1.0, -1.0]),
        ("tic_tac_toe_three", "X---/O---/----", [0.5, 0.5, -1.0]),
    ],
)
def test_an_illegal_action_ends_the_game_against_its_agent(name, position, expected, aec):
    env = aec.env(name)
    env.reset(options={"position": position})
    loser = env.agent_selection
    env.step(0)
    assert list(env.rewards.values()) == expected
    assert all(env.terminations.values())
    assert {agent: info.get("illegal_action") for agent, info in env.infos.items()} == {
        agent: 0 if agent == loser else None for agent in env.agents
    }
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)


def test_a_strict_environment_goes_on_after_an_illegal_action(aec):
    env = aec.env("tic_tac_toe", illegal="raise")
    env.reset(options={"position": "XOXXOOOX-"})
    with pytest.raises(InputError, match="action 0 is illegal here; legal: 8"):
        env.step(0)
    env.step(8)
    assert all(env.terminations.values())


def test_a_long_game_is_broken_off(aec):
    game = games.load("connect_four")
    short = dataclasses.replace(game, rules=game.rules._replace(max_plies=3))
    env = aec.env(short)
    env.reset(seed=0)
    for _ in range(3):
        assert not any(env.truncations.values())
        env.step(3)
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    assert set(env.rewards.values()) == {0.0}


def test_reset_to_a_position_and_dice(aec):
    env = aec.env("backgammon")
    env.reset(seed=1, options={"position": "b7sNAAAwgG0BAA", "dice": "31"})
    assert (env.unwrapped.front.position(), env.unwrapped.front.state.roll) == ("b7sNAAAwgG0BAA", 4)
    with pytest.warns(UserWarning, match="reset option 'postion' is ignored; there are: position, dice"):
        env.reset(options={"postion": "start"})
    with pytest.raises(InputError, match="Position ID"):
        env.reset(options={"position": "hello"})


def test_pettingzoo_renders_the_same_boards(aec):
    for mode in ("ansi", "rgb_array"):
        env, front = aec.env("othello", render_mode=mode), BoardGameEnv("othello", render_mode=mode)
        env.reset()
        front.reset()
        assert np.array_equal(env.render(), front.render())
    assert env.metadata["name"] == "othello_v0"
    with pytest.raises(InputError, match="unknown render_mode '3d'"):
        aec.env("othello", render_mode="3d")


# --- our players in environments ----------------------------------------------------------------------------------


@each_game
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
            _, reward, over, _, info = env.step(pick(info["action_mask"], rng))
        assert reward <= 0
        lost += reward < 0
    assert lost > 20


def versus_game(opponent: Any, name: str = "backgammon") -> list[Any]:
    env, rng, seen = VersusEnv(name, opponent=opponent), np.random.default_rng(1), []
    _, info = env.reset(seed=5)
    for _ in range(25):
        _, _, over, _, info = env.step(pick(info["action_mask"], rng))
        seen.append(env.state)
        if over:
            break
    return seen


def test_an_opponent_by_text_is_the_same_opponent():
    game = games.load("backgammon")
    expected = versus_game(Policy(game, "linear"))
    assert versus_game("search.policy:Policy:linear") == expected
    assert versus_game(Policy(game, Agent(game, find_evaluator(game, "linear")))) == expected
    assert versus_game(Policy(game, find_player(game, "linear", threads=1))) == expected
    assert versus_game("search.policy:Policy:pubeval") != expected


def test_an_opponent_draws_from_the_environments_generator():
    opponent = "search.policy:Policy:open_lines@ties=random"
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
        VersusEnv("tic_tac_toe", opponent="search.policy:Policy:nobody")
    with pytest.raises(InputError, match=r"opponent 'search.policy:Nobody:random' cannot be imported"):
        VersusEnv("tic_tac_toe", opponent="search.policy:Nobody:random")
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


# --- OpenSpiel ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spiel():
    pytest.importorskip("pyspiel")
    from search import spiel

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


# --- without the extras -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "use", "extra"),
    [
        ("pettingzoo", "import envs.aec", "zoo"),
        ("pyspiel", "from search import spiel; spiel.spiel_game('nim')", "peers"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(missing, use, extra):
    code = f"import sys; sys.modules[{missing!r}] = None; {use}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("envs.errors.InputError: ")
    assert last.endswith(f'pip install "deltaw[{extra}]"')
