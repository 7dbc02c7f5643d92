"""Games with hidden cards or dice: against plain Python that knows no codes, and what a mover may see."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pytest
from conftest import random_game
from game_names import EVERY_GAME

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.fronts.versus import VersusEnv

HIDDEN = [name for name in EVERY_GAME if games.load(name).rules.hidden]
NUM_GAMES = 500


def finished(name, number=300):
    """The last states of random games."""
    game = games.load(name)
    return [list(random_game(game, 5, i))[-1] for i in range(number)]


def first_players(game, state):
    """What the first player has won."""
    return int(game.rules.outcome(state)[1]) * (1 - 2 * int(game.rules.seat(state)))


# --- what a game is worth --------------------------------------------------------------------------------------------


def test_a_game_of_kuhn_poker_is_won_by_the_card_or_by_a_bet():
    game, seen = games.load("kuhn_poker"), set()
    for state in finished("kuhn_poker"):
        cards, moves = game.format(state).split()
        higher = 1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
        wanted = {"pp": higher, "bp": 1, "bb": 2 * higher, "pbp": -1, "pbb": 2 * higher}[moves]
        assert first_players(game, state) == wanted
        seen.add((cards, moves))
    assert len(seen) == 30


def leduc_winnings(cards, rounds):
    """Of the first player, chip by chip."""
    paid, turns = [1, 1], (2, 4)
    for size, moves in zip(turns, rounds, strict=False):
        for ply, letter in enumerate(moves):
            mover = ply % 2
            if letter == "f":
                return -paid[0] if mover == 0 else paid[1]
            paid[mover] = max(paid) + (size if letter == "r" else 0)
    hands = [(cards[i][0] == cards[2][0], "JQK".index(cards[i][0])) for i in (0, 1)]
    return paid[0] * ((hands[0] > hands[1]) - (hands[0] < hands[1]))


def test_a_game_of_leduc_poker_is_won_by_pairs_cards_or_raises():
    game, outcomes = games.load("leduc_poker"), set()
    for state in finished("leduc_poker", 1500):
        mine, theirs, first, *second = game.format(state).split()
        wanted = leduc_winnings([mine, theirs, *second[:1]], [first, *second[1:]])
        assert first_players(game, state) == wanted
        outcomes.add(abs(wanted))
    assert outcomes == {0, 1, 3, 5, 7, 9, 11, 13}


def test_a_bid_of_liars_dice_is_true_or_not():
    game, seen = games.load("liars_dice"), set()
    for state in finished("liars_dice"):
        dice, *bids = game.format(state).split()
        assert bids.pop() == "liar"
        quantity, face = bids[-1].split("x")
        is_true = dice.count(face) + (dice.count("6") if face != "6" else 0) >= int(quantity)
        bidder = 1 if len(bids) % 2 == 1 else -1
        assert first_players(game, state) == (bidder if is_true else -bidder)
        seen.add((is_true, bidder))
    assert len(seen) == 4


def test_who_begins_the_second_round_of_leduc_poker():
    game = games.load("leduc_poker")
    for moves in ("cc", "rc", "crc", "rrc", "crrc"):
        for board in ("", " Qa"):
            state = game.parse(f"Ja Kb {moves}{board}")
            assert game.rules.seat(state) == 0
            assert game.rules.num_chance(state) == (0 if board else 4)
            assert game.format(state) == f"Ja Kb {moves}{board}"
        assert game.ansi(state).splitlines()[1:4] == ["your card     Ja", "opponent's    ?", "board         Qa"]


# --- what a mover sees ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HIDDEN)
def test_random_play_sees_nothing_that_is_hidden(name):
    """In random games observations, masks, features and text are the same for all states with one information
    key, those that `determinize` deals among them."""
    game, views, worlds = games.load(name), {}, defaultdict(set)
    env, rng = BoardGameEnv(game), np.random.default_rng(1)
    for seed in range(NUM_GAMES):
        _, info = env.reset(seed=seed)
        while info["action_mask"].any():
            dealt = game.rules.determinize(env.state, np.int64(rng.integers(2**62)))
            for state in (env.state, game.unrow(game.row(dealt))):
                key = int(game.rules.information_key(state))
                view = view_of(game, state)
                assert views.setdefault(key, view) == view
                assert game.rules.seat(state) == env.mover
                worlds[key].add(state)
            assert env.observation().tobytes() == views[key][0]
            *_, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    assert sum(len(states) > 1 for states in worlds.values()) > 0.7 * len(worlds)


@pytest.mark.parametrize("name", HIDDEN)
def test_an_agent_never_sees_the_view_of_another(name, aec):
    """At the end of a game against an opponent, and in PettingZoo at every turn."""
    game, rng, ends = games.load(name), np.random.default_rng(1), 0
    env, table = VersusEnv(game), aec.raw_env(game)
    for seed in range(60):
        observation, info = env.reset(seed=seed)
        while info["action_mask"].any():
            observation, _, _, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        assert observation.any() == (env.mover == info["seat"])
        ends += not observation.any()
        table.reset(seed=seed)
        while not any(table.terminations.values()):
            for agent in table.possible_agents:
                assert table.observe(agent)["observation"].any() == (agent == table.agent_selection)
            mask = table.observe(table.agent_selection)["action_mask"]
            table.step(rng.choice(np.flatnonzero(mask)))
    assert 0 < ends < 60


def view_of(game, state):
    """Observation, mask, features and text of a state, as bytes."""
    rules, features = game.rules, game.features()
    observed = np.empty(rules.observation_size, np.float32)
    rules.observe(state, np.int64(0), observed)
    mask = np.empty(rules.num_actions, np.int8)
    rules.action_mask(state, np.int64(0), mask)
    index, value = np.zeros(features.max_active, np.int32), np.zeros(features.max_active, np.float32)
    rules.features(state, np.array(features.spec, np.int64), index, value)
    return observed.tobytes(), mask.tobytes(), index.tobytes(), value.tobytes(), game.ansi(state)


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_dealt_anew_is_every_world_as_often(name):
    game = games.load(name)
    state = game.unrow(game.row(game.rules.chance(game.rules.initial(), 0)[0]))
    rng = np.random.default_rng(2)
    found = [tuple(game.rules.determinize(state, np.int64(word))) for word in rng.integers(2**62, size=4000)]
    worlds, counts = np.unique(np.array(found, np.int64), axis=0, return_counts=True)
    consistent = [game.rules.chance(game.rules.initial(), i)[0] for i in range(game.rules.max_chance)]
    view = game.rules.information_key(state)
    wanted = {tuple(int(x) for x in world) for world in consistent if game.rules.information_key(world) == view}
    assert {tuple(world.tolist()) for world in worlds} == wanted
    assert counts.min() > 0.6 * 4000 / len(wanted)


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("kuhn_poker", ["JJ", "JA", "JK x", "JK ppp", "JK bpb", "?? p", "J", ""]),
        (
            "leduc_poker",
            ["Ja Ja", "Ja", "Ja Kb f", "Ja Kb rrr", "Ja Kb c Qa", "Ja Kb cc Ja", "Ja Kb cc Qa f", "? ? c", "? Kb"],
        ),
        ("liars_dice", ["07", "3", "35 1x7", "35 2x1 1x2", "35 1x2 1x2", "35 liar", "00 1x1", "35 1x2 liar 1x3"]),
    ],
)
def test_bad_positions_are_named(name, texts):
    for text in texts:
        with pytest.raises(InputError, match=re.escape(repr(text))):
            games.load(name).parse(text)


def test_hands_are_hidden_until_the_end():
    game = games.load("kuhn_poker")
    assert game.ansi(game.parse("JK b")).splitlines()[1:] == ["your card   K", "opponent's  ?", "moves       bet"]
    assert game.ansi(game.parse("JK bb")).splitlines()[2] == "opponent's  K"
