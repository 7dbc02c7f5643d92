"""Many games at once: rows that play by the same rules, seeds, illegal actions and limits of the vector environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from front_games import payoff, same
from game_names import some_games

from deltaw.envs.errors import InputError
from deltaw.envs.fronts import environment_id
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.fronts.vector import BoardGameVectorEnv


def random_actions(info, rng):
    return (rng.random(info["action_mask"].shape) * info["action_mask"]).argmax(axis=1)


@some_games
def test_vector_rows_play_by_the_same_rules(name):
    """Each row is replayed on the kernels: states, masks, rewards and final views, through several autoresets."""
    env, rng = gym.make_vec(environment_id(name), num_envs=5).unwrapped, np.random.default_rng(1)
    assert isinstance(env, BoardGameVectorEnv)
    game = env.game
    assert env.metadata["autoreset_mode"] == gym.vector.AutoresetMode.SAME_STEP
    observations, info = env.reset(seed=2)
    words, ends = [0] * 5, 0
    for _ in range(400):
        before = env.states()
        for i, state in enumerate(before):
            single = BoardGameEnv(game)
            single._state, single._word, single._over = state, words[i], False
            assert same(observations[i], single.observation())
            assert same(info["action_mask"][i], single._mask())
            assert info["mover"][i] == single.mover
        assert observations in env.observation_space
        actions = random_actions(info, rng)
        observations, rewards, terminated, truncated, info = env.step(actions)
        for i, action in enumerate(actions):
            word, complete = game.rules.spell(before[i], words[i], int(action))
            words[i] = 0 if complete else int(word)
            child = game.rules.play(before[i], word) if complete else before[i]
            over, _ = game.rules.outcome(child)
            assert terminated[i] == over
            assert rewards[i] == payoff(game, child, 0)
            if over:
                ends += 1
                single = BoardGameEnv(game)
                single._state = child
                assert same(info["final_obs"][i], single.observation())
                assert not info["final_info"]["action_mask"][i].any()
                assert info["final_info"]["mover"][i] == single.mover
            if terminated[i] or truncated[i]:
                words[i] = 0
        assert ("final_obs" in info) == bool((terminated | truncated).any())
        if "final_obs" in info:
            assert np.array_equal(info["_final_obs"], terminated | truncated)
        if ends >= 3:
            return
    raise AssertionError(f"only {ends} games ended")


@some_games
def test_a_vector_row_depends_on_its_seed_alone(name):
    def column(seed, num_envs, row):
        env = BoardGameVectorEnv(name, num_envs)
        _, info = env.reset(seed=seed)
        seen = []
        for _ in range(60):
            _, rewards, _, _, info = env.step(info["action_mask"].argmax(axis=1))
            seen.append((env.states()[row], rewards[row]))
        return seen

    assert column(7, 3, 2) == column(9, 1, 0) == column([1, 9], 2, 1)


def test_vector_dice_differ_between_rows_and_games():
    env = BoardGameVectorEnv("backgammon", 200)
    env.reset(seed=0)
    first = [state.roll for state in env.states()]
    env.reset()
    second = [state.roll for state in env.states()]
    env.reset(seed=0)
    assert len(set(first)) == 15
    assert first != second
    assert [state.roll for state in env.states()] == first


def test_vector_arrays_are_new_at_every_call():
    env = BoardGameVectorEnv("tic_tac_toe", 2)
    observations, info = env.reset(seed=0)
    mask = info["action_mask"]
    kept = observations.copy(), mask.copy()
    mask[:] = 0
    assert env.action_masks().all()
    env.step([0, 8])
    assert np.array_equal(observations, kept[0])


def test_vector_illegal_actions():
    env = BoardGameVectorEnv("tic_tac_toe", 3)
    env.reset(seed=0)
    env.step([0, 1, 2])
    _, rewards, terminated, truncated, info = env.step([0, 2, 77])
    assert rewards.tolist() == [1, 0, 1]
    assert terminated.tolist() == [True, False, True]
    assert not truncated.any()
    assert info["final_info"]["illegal_action"].tolist() == [0, 0, 77]
    assert info["final_info"]["_illegal_action"].tolist() == [True, False, True]
    assert info["action_mask"].sum(axis=1).tolist() == [9, 7, 9]
    strict = BoardGameVectorEnv("tic_tac_toe", 2, illegal="raise")
    strict.reset(options={"position": "XOXXOOOX-"})
    with pytest.raises(InputError, match="action 6 is illegal in game 1; legal: 8"):
        strict.step([8, 6])


def test_vector_limits_and_shapes():
    env = gym.make_vec("deltaw/TicTacToe-v0", num_envs=2, max_episode_steps=3)
    env.reset(seed=0)
    for actions in ([0, 0], [1, 1]):
        assert not env.step(actions)[3].any()
    _, rewards, terminated, truncated, info = env.step([2, 2])
    assert truncated.all()
    assert not terminated.any()
    assert not rewards.any()
    assert (info["action_mask"] == 1).all()
    with pytest.raises(InputError, match=r"shape \(3,\); it must be \(2,\)"):
        env.step([0, 1, 2])
    with pytest.raises(InputError, match="3 seeds for 2 games"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(InputError, match="call reset"):
        BoardGameVectorEnv("tic_tac_toe", 1).step([0])


def test_vector_statistics_wrapper_counts_episodes():
    env = gym.wrappers.vector.RecordEpisodeStatistics(gym.make_vec("deltaw/TicTacToe-v0", num_envs=4))
    _, info = env.reset(seed=0)
    rng, lengths = np.random.default_rng(0), []
    for _ in range(40):
        _, _, terminated, _, info = env.step(random_actions(info, rng))
        if terminated.any():
            lengths += info["episode"]["l"][terminated].tolist()
    assert len(lengths) >= 12
    assert 5 <= min(lengths) <= max(lengths) <= 9
