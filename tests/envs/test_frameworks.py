"""Other people's frameworks: Stable-Baselines3 and PettingZoo with their own checkers, and what is said where one is
missing.

Gymnasium's checker is run in `test_fronts.py`, OpenSpiel's rules in `test_openspiel.py`.
"""

from __future__ import annotations

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
from conftest import ROOT, python_state
from front_games import choose
from game_names import some_games

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts import environment_id
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.fronts.versus import VersusEnv


def payoffs(game: Any, state: Any) -> list[float]:
    """Of a finished game, by seats, straight from the rules."""
    out = np.empty(game.rules.num_players)
    game.rules.payoffs(state, out)
    return np.roll(out, game.rules.seat(state)).tolist()


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


@some_games
@pytest.mark.parametrize("versus", [False, True])
def test_stable_baselines_finds_nothing_wrong(name, versus):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(environment_id(name, versus)).unwrapped)


@some_games
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
    argv = "deltaw/NimVersus-v0 --opponent deltaw.search.doors.policy:Policy:parity --steps 2000 --games 40"
    assert example.main(argv.split()) == 0
    before, after = capsys.readouterr().out.splitlines()
    assert before.startswith("before training: ")
    assert after.startswith("after training: ")
    assert after.endswith("points a game against deltaw.search.doors.policy:Policy:parity (95 %, 40 games)")


def test_the_examples_interval_holds_the_mean_of_many_games(example):
    """A model that plays at random: its 95 % intervals from few games must hold the score of many in about 95 of 100
    cases."""
    rng = np.random.default_rng(0)

    class Anything:
        def predict(self, observation, action_masks, deterministic):
            return choose(action_masks, rng), None

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

UNAVOIDABLE = [
    # a dict with a mask, as PettingZoo's own board games, which its test knows by name
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be",
    "Observation numpy array is all zeros",  # an empty board
    "Observation is a single number",  # trees_three: a node of a small tree
    "reset option 'options' is ignored",  # the test hands over one of its own
]


@some_games
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
        env.step(None if terminated or truncated else choose(observation["action_mask"], rng))
    return seen


@some_games
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
            action = choose(legal, rng)
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


@some_games
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


@some_games
@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_identically_and_alone(name, twin_of, aec):
    env = aec.raw_env(name)
    env.reset(seed=3)
    env.step(choose(env.front.action_masks(), np.random.default_rng(3)))
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
        env.step(choose(env.last()[0]["action_mask"], rng))
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


# --- without the extras -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "use", "extra"),
    [
        ("pettingzoo", "import deltaw.envs.fronts.aec", "zoo"),
        ("pyspiel", "from deltaw.search.doors import openspiel; openspiel.spiel_game('nim')", "peers"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(missing, use, extra):
    code = f"import sys; sys.modules[{missing!r}] = None; {use}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("deltaw.envs.errors.InputError: ")
    assert last.endswith(f'pip install "deltaw[{extra}]"')
