"""Games whose positions come again, and games with a hidden card, at the fronts and in files."""

from __future__ import annotations

import numpy as np
import pytest
from path_games import SHOWN, corridor, one_card

from deltaw.envs.errors import InputError
from deltaw.envs.fronts.aec import raw_env
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.fronts.vector import BoardGameVectorEnv
from deltaw.envs.fronts.versus import VersusEnv
from deltaw.envs.game import FORBIDDEN
from deltaw.envs.path import COUNT, make_path, past_key, reach, recurrence, step_back
from deltaw.envs.record import read_json_lines, write_json_lines
from deltaw.envs.rules import make_rules
from deltaw.envs.turn import end, open_game, roll
from deltaw.search.doors.policy import Policy
from deltaw.search.matches.recording import play_games
from deltaw.search.players.players import RandomPlayer

DRAWN, FORBIDS = corridor(3), corridor(FORBIDDEN)
ONWARD, BACK, WAIT = 1, 0, 2


def played(game, moves):
    """The state and the path after these moves."""
    state, path = game.state(*game.rules.initial()), make_path(game.rules)
    for move in moves:
        reach(game.rules, path, state)
        state = game.rules.play(state, move)
    return state, path


def test_the_third_occurrence_is_a_draw_and_a_wait_forgets_the_first():
    for moves, over in (
        ([ONWARD] * 2, False),  # there and back again
        ([ONWARD] * 4, True),
        ([ONWARD] * 3 + [WAIT], False),
        ([WAIT] + [ONWARD] * 4, True),
        ([ONWARD] * 2 + [WAIT] + [ONWARD] * 2, False),
    ):
        state, path = played(DRAWN, moves)
        assert tuple(end(DRAWN.rules, path, state, len(moves))) == (over, 0)


def test_a_path_forgets_its_oldest_decisions_only():
    rules = DRAWN.rules
    state, path = played(DRAWN, [ONWARD] * 2)
    for _ in range(100):  # more than it has room for
        reach(rules, path, state)
    assert len(path) - 2 > path[COUNT] - 1 >= rules.path_plies
    step_back(rules, path)
    assert path[COUNT] >= rules.path_plies


def test_paths_through_the_same_positions_have_one_key():
    def key_after(moves):
        state, path = played(DRAWN, moves)
        return past_key(DRAWN.rules, path, state)

    assert key_after([ONWARD, ONWARD, BACK]) != key_after([BACK])
    assert key_after([WAIT]) == key_after([ONWARD, ONWARD, WAIT]) == 0
    state, path = played(DRAWN, [])
    assert recurrence(DRAWN.rules, path, state) == -1


def test_what_belongs_together():
    initial = DRAWN.rules.initial
    needed = {
        name: getattr(DRAWN.rules, name) for name in ("seat", "legal_moves", "play", "outcome", "features", "cells")
    }
    sizes = {"initial": initial, "num_cells": 7, "max_moves": 3, "outcomes": (-1, 0, 1)}
    for wrong in ({"repetition": 2}, {"path_plies": 9}, {"repetition_key": DRAWN.rules.key}):
        with pytest.raises(ValueError, match="belong together"):
            make_rules(DRAWN.state, **needed, **sizes, **wrong)
    with pytest.raises(ValueError, match="sample_chance"):
        make_rules(DRAWN.state, **needed, **sizes, num_chance=one_card().rules.num_chance)


# --- fronts ----------------------------------------------------------------------------------------------------------


def test_a_repetition_ends_an_episode():
    env = BoardGameEnv(DRAWN)
    env.reset(seed=1)
    steps = [env.step(ONWARD) for _ in range(4)]
    assert [step[2:4] for step in steps] == [(False, False)] * 3 + [(True, False)]
    assert [step[1] for step in steps] == [0.0] * 4
    assert not steps[-1][-1]["action_mask"].any()
    twin = raw_env(DRAWN)
    twin.reset(seed=1)
    for _ in range(4):
        twin.step(ONWARD)
    assert twin.terminations == {"player_0": True, "player_1": True}
    assert twin.rewards == {"player_0": 0.0, "player_1": 0.0}


def test_a_forbidden_move_is_not_in_the_mask():
    env = BoardGameEnv(FORBIDS, illegal="raise")
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [1, 1, 1]
    *_, info = env.step(ONWARD)
    assert info["action_mask"].tolist() == [1, 0, 1]  # back to where it began
    with pytest.raises(InputError, match="action 1 is illegal"):
        env.step(ONWARD)


@pytest.mark.parametrize("game", [DRAWN, FORBIDS], ids=["drawn", "forbidden"])
def test_many_games_side_by_side_are_the_same_games(game):
    rows, rng = BoardGameVectorEnv(game, 5), np.random.default_rng(3)
    twins = [BoardGameEnv(game) for _ in range(5)]
    _, infos = rows.reset(seed=7)
    for twin in twins:
        twin.reset(seed=0)
    ends = 0
    for _ in range(60):
        masks = infos["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        _, rewards, over, broken, infos = rows.step(actions)
        for i, twin in enumerate(twins):
            assert twin.action_masks().tolist() == masks[i].astype(bool).tolist()
            _, reward, ended, truncated, _ = twin.step(actions[i])
            assert (reward, ended, truncated) == (rewards[i], over[i], broken[i])
            if ended:
                ends += 1
                twin.reset()
    assert ends > 5


@pytest.mark.parametrize("opponent", ["random", "odd", Policy(FORBIDS, "odd"), Policy(FORBIDS, "odd@depth=2")], ids=str)
def test_opponents_keep_to_what_is_allowed(opponent):
    env, rng = VersusEnv(FORBIDS, opponent=opponent), np.random.default_rng(1)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))


def test_an_opponent_need_not_know_of_paths_and_a_policy_acts_by_the_one_of_the_environment():
    env = VersusEnv(DRAWN, opponent=lambda game, state, np_random: ONWARD, seat=0)
    env.reset(seed=1)
    assert [env.step(ONWARD)[2] for _ in range(2)] == [False, True]
    policy, alone = Policy(FORBIDS, "odd"), BoardGameEnv(FORBIDS, illegal="raise")
    alone.reset(seed=1)
    while alone.action_masks().any():
        alone.step(policy.action(alone))


@pytest.mark.parametrize("listed", [True, False])
def test_random_play_sees_nothing_of_the_hidden_card(listed):
    """Observations and masks depend on the mover's own card and the moves alone, with every other card beside it."""
    game = one_card(listed)
    env, rng, seen, cards = BoardGameEnv(game), np.random.default_rng(1), {}, {}
    for seed in range(300):
        _, info = env.reset(seed=seed)
        while info["action_mask"].any():
            state = env.state
            key = int(game.rules.information_key(state))
            view = (env.observation().tolist(), info["action_mask"].tolist())
            assert seen.setdefault(key, view) == view
            cards.setdefault(key, set()).add(int(state.theirs))
            *_, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    assert all(len(others) == 4 for others in cards.values())
    assert len(cards) == 10


def test_a_card_that_is_dealt_anew_is_every_other_card_as_often():
    game = one_card()
    state = game.state(2, 5, 1, 0, 1)
    drawn = np.array([game.rules.determinize(state, word * 7919)[1] for word in range(400)])
    assert sorted(set(drawn.tolist())) == [1, 3, 4, 5]
    assert all(80 <= count <= 120 for count in np.unique(drawn, return_counts=True)[1])


def test_a_deal_that_is_not_listed_is_drawn():
    game, listed = one_card(False), one_card()
    assert not game.rules.exact_chance
    assert listed.rules.exact_chance
    deals = {tuple(roll(game.rules, game.rules.initial(), 1, number, 0))[:2] for number in range(400)}
    assert len(deals) == 20
    row = np.empty(game.rules.width, np.int64)
    assert open_game(game.rules, 1, 1, 1, row, make_path(game.rules), *game.buffers()) in (0, 1)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [DRAWN, FORBIDS, one_card(), one_card(False)], ids=lambda game: game.name)
def test_games_are_recorded_and_read_again(game):
    records = play_games(game, [RandomPlayer(game), RandomPlayer(game)], 12, seed=4, opening_plies=0)
    assert read_json_lines(game, write_json_lines(game, records)) == records
    assert all(record.payoffs is not None for record in records)
    drawn = [record for record in records if record.payoffs == (0.0, 0.0)]
    assert bool(drawn) == (game is DRAWN)


def test_a_move_after_the_draw_and_a_forbidden_move_are_named():
    head = '{"game": "%s", "players": ["a", "b"], "start": "start", "steps": %s, "payoffs": null}'
    with pytest.raises(InputError, match="game 1, step 5: 'on' comes after the end"):
        read_json_lines(DRAWN, head % (DRAWN.name, '["on", "on", "on", "on", "on"]'))
    with pytest.raises(InputError, match="game 1, step 2: 'on' leads to a position that has occurred before"):
        read_json_lines(FORBIDS, head % (FORBIDS.name, '["on", "on"]'))


def test_a_shown_card_ends_the_game():
    game = one_card()
    after = game.rules.play(game.state(4, 2, 1, 0, 1), 0)
    assert after.stage == SHOWN
    assert tuple(game.rules.outcome(after)) == (True, -1)
