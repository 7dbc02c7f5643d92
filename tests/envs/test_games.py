"""What every game must satisfy, found by discovery: a new file in `envs/games` is tested here without a line more.

The states come from random games with counter-based dice, chance nodes and final states included.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from conftest import python_state, random_game, read_json
from game_names import EVERY_GAME

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import SPARE_MOVES

SEED = 20260101
NUM_GAMES = 6
SAMPLE = 60
"""states a test looks at, spread over the games"""
PLAYOUTS = 20
COUNTERS = ("clock", "move_number")
"""fields that count moves, which keys may leave out"""
LONGEST = 20_000
"""plies (chance nodes count) after which a random game without `max_plies` is called endless"""


@pytest.fixture(params=EVERY_GAME)
def game(request):
    return games.load(request.param)


@cache
def all_states(game_name):
    game = games.load(game_name)
    return [state for number in range(NUM_GAMES) for state in random_game(game, SEED, number, 400)]


def sample(game):
    """About SAMPLE states, first and last ones included."""
    states = all_states(game.name)
    chosen = states[:: max(1, len(states) // SAMPLE)]
    return [*chosen, states[-1]]


def is_decision(game, state):
    return not game.rules.outcome(state)[0] and not game.rules.num_chance(state)


def decisions(game):
    found = [state for state in sample(game) if is_decision(game, state)]
    assert found
    return found


def expanded(game, state):
    """(moves, results as rows of integers)."""
    moves, rows = game.buffers()
    n = game.rules.expand(state, moves, rows)
    return [int(move) for move in moves[:n]], [tuple(int(x) for x in row) for row in rows[:n]]


def active(game, feature_set, state):
    """(indices, values) with room for one feature too many, which would show."""
    index = np.full(feature_set.max_active + 1, -1, np.int32)
    value = np.full(feature_set.max_active + 1, np.nan, np.float32)
    n = game.rules.features(state, np.array(feature_set.spec, np.int64), index, value)
    assert 0 <= n <= feature_set.max_active
    return index[:n].copy(), value[:n].copy()


# --- turns, moves, outcomes ------------------------------------------------------------------------------


def test_seats_are_in_range_and_the_first_player_begins(game):
    assert game.rules.seat(game.rules.initial()) == 0
    assert all(0 <= game.rules.seat(state) < game.rules.num_players for state in sample(game))


def test_a_move_changes_the_seat_of_a_two_player_game(game):
    if game.rules.num_players != 2 or game.rules.hidden:
        pytest.skip("more than two players may have another order, and whoever ends a round of bets may begin the next")
    for state in decisions(game):
        for move in game.moves(state):
            assert game.rules.seat(game.rules.play(state, move)) == 1 - game.rules.seat(state)


def test_there_is_a_move_while_the_game_is_on_and_room_for_all(game):
    for state in decisions(game):
        assert 1 <= len(game.moves(state)) <= game.rules.max_moves


def test_expand_gives_the_results_of_its_moves_and_none_twice(game):
    for state in decisions(game):
        moves, rows = expanded(game, state)
        assert [tuple(python_state(game, game.rules.play(state, move))) for move in moves] == rows
        assert len(set(rows)) == len(rows)


def test_expand_and_legal_moves_lead_to_the_same_set(game):
    for state in decisions(game):
        out = np.empty(game.rules.max_moves, np.int64)
        n = game.rules.legal_moves(state, out)
        played = {tuple(python_state(game, game.rules.play(state, move))) for move in out[:n]}
        assert played == set(expanded(game, state)[1])


def test_noisy_moves_are_the_noisy_ones_of_all_and_they_alone_gain(game):
    moves = np.empty(game.rules.max_moves + SPARE_MOVES, np.int64)
    for state in decisions(game):
        legal = moves[: game.rules.legal_moves(state, moves)].tolist()
        wanted = [move for move in legal if game.rules.noisy(state, move)]
        assert sorted(moves[: game.rules.noisy_moves(state, moves)].tolist()) == sorted(wanted)
        assert {move for move in legal if game.rules.gain(state, move)} <= set(wanted)


def test_nobody_in_danger_passes(game):
    for state in decisions(game):
        if game.rules.in_danger(state):
            assert python_state(game, game.rules.null(state)) == state


def test_outcomes_are_listed_and_symmetric(game):
    rules = game.rules
    assert list(rules.outcomes) == sorted(-value for value in rules.outcomes)
    seen = set()
    for state in all_states(game.name):
        over, value = rules.outcome(state)
        seen.add(bool(over))
        assert value in rules.outcomes if over else value == 0
    assert seen == {False, True}


def test_payoffs_say_what_the_outcome_is_worth_to_everyone(game):
    for state in all_states(game.name):
        over, value = game.rules.outcome(state)
        if over:
            out = np.full(game.rules.num_players, np.nan)
            game.rules.payoffs(state, out)
            assert out[0] == value
            assert set(out) <= set(game.rules.outcomes)
            assert game.rules.num_players > 2 or out[1] == -value


def test_random_games_end(game):
    longest = game.rules.max_plies or LONGEST
    for number in range(PLAYOUTS):
        for ply, state in enumerate(random_game(game, SEED + 1, number, longest + 1)):  # noqa: B007 - the last one
            pass
        assert game.rules.outcome(state)[0] or (game.rules.max_plies and ply == longest)


# --- chance ----------------------------------------------------------------------------------------------


def test_chance_has_probability_one_and_never_changes_the_seat(game):
    nodes = [state for state in sample(game) if game.rules.num_chance(state) and not game.rules.outcome(state)[0]]
    assert bool(nodes) == bool(game.rules.max_chance)
    for state in nodes:
        edges = [game.rules.chance(state, i) for i in range(game.rules.num_chance(state))]
        assert len(edges) <= game.rules.max_chance
        assert math.isclose(sum(probability for _, probability in edges), 1.0, abs_tol=1e-12)
        assert all(probability > 0 for _, probability in edges)
        assert len({tuple(python_state(game, after)) for after, _ in edges}) == len(edges)
        for after, _ in edges:
            assert game.rules.seat(after) == game.rules.seat(state)
            assert game.rules.num_chance(after) == 0


def test_chance_changes_no_feature(game):
    """An evaluator sees the same position before and after the dice."""
    if game.rules.hidden:
        pytest.skip("cards that are dealt are seen")
    nodes = [state for state in sample(game) if game.rules.num_chance(state) and not game.rules.outcome(state)[0]]
    for state in nodes:
        after, _ = game.rules.chance(state, game.rules.num_chance(state) - 1)
        for feature_set in game.feature_sets.values():
            for before, now in zip(active(game, feature_set, state), active(game, feature_set, after), strict=True):
                np.testing.assert_array_equal(before, now)


def test_chance_is_written_and_read(game):
    for state in sample(game):
        if not game.rules.outcome(state)[0]:
            for i in range(game.rules.num_chance(state)):
                assert game.find_chance(state, game.chance_text(state, i)) == i


# --- what evaluators see ---------------------------------------------------------------------------------


def test_features_are_sorted_finite_and_in_range(game):
    for feature_set in game.feature_sets.values():
        for state in sample(game):
            index, value = active(game, feature_set, state)
            assert np.all(np.diff(index) > 0)
            assert not len(index) or (index[0] >= 0 and index[-1] < feature_set.num_features)
            assert np.all(np.isfinite(value))
            assert np.all(value != 0)


def test_weights_are_summed_over_the_features(game):
    for feature_set in game.feature_sets.values():
        weight = np.random.default_rng(SEED).normal(size=feature_set.num_features + 1).astype(np.float32)
        spec = np.array(feature_set.spec, np.int64)
        for state in sample(game):
            index, value = active(game, feature_set, state)
            scratch = np.empty(feature_set.max_active, np.int32), np.empty(feature_set.max_active, np.float32)
            found = game.rules.weigh(state, spec, weight, *scratch)
            assert found == pytest.approx(weight[index].astype(float) @ value + weight[-1], rel=1e-5, abs=1e-5)


def test_every_feature_has_one_name(game):
    assert game.default_features in game.feature_sets
    for feature_set in game.feature_sets.values():
        names = feature_set.names()
        assert len(names) == len(set(names)) == feature_set.num_features


def test_features_are_the_movers_view(game):
    """States that differ only in who sits where look the same: nothing may depend on the colour."""
    if "seat" not in game.state._fields:
        pytest.skip("the seat follows from the board")
    for state in decisions(game):
        other = state._replace(seat=1 - state.seat)
        assert game.rules.outcome(state) == game.rules.outcome(other)
        assert game.moves(state) == game.moves(other)
        for feature_set in game.feature_sets.values():
            for mine, his in zip(active(game, feature_set, state), active(game, feature_set, other), strict=True):
                np.testing.assert_array_equal(mine, his)


def test_value_baselines_are_finite_and_within_the_outcomes(game):
    for baseline in game.baselines.values():
        if baseline.kind == "value":
            values = [baseline.function(state) for state in sample(game)]
            assert all(game.rules.outcomes[0] <= value <= game.rules.outcomes[-1] for value in values)
            assert len(set(values)) > 1 or baseline.name == "zero"  # which knows nothing, on purpose


def test_payoffs_baselines_are_within_the_outcomes(game):
    for baseline in game.baselines.values():
        if baseline.kind == "payoffs":
            for state in sample(game):
                out = np.full(game.rules.num_players, np.nan)
                baseline.function(state, out)
                assert np.all((game.rules.outcomes[0] <= out) & (out <= game.rules.outcomes[-1]))


def test_rank_baselines_are_finite(game):
    for baseline in game.baselines.values():
        if baseline.kind == "rank":
            state = decisions(game)[0]
            for move in game.moves(state):
                assert math.isfinite(baseline.function(state, move, game.rules.play(state, move)))


def test_cells_are_small_and_never_negative(game):
    out = np.full(game.rules.num_cells, -1, np.int64)
    for state in sample(game):
        game.rules.cells(state, out)
        assert out.min() >= 0
        assert out.max() < 64


# --- keys, rows, texts -----------------------------------------------------------------------------------


def test_rows_round_trip(game):
    for state in sample(game):
        row = np.empty(game.rules.width, np.int64)
        game.rules.store(state, row)
        assert python_state(game, game.rules.load(row)) == state
        assert game.unrow(game.row(state)) == state
        np.testing.assert_array_equal(game.row(state), row)


def test_keys_are_equal_exactly_for_equal_states(game):
    """Even hashed keys must not collide in so small a sample."""
    positions = {}
    for state in all_states(game.name):
        key = int(game.rules.key(state))
        assert int(game.rules.key(game.state(*state))) == key
        position = [number for field, number in state._asdict().items() if field not in COUNTERS]
        assert positions.setdefault(key, position) == position


def test_a_formatted_position_parses_to_the_same_view(game):
    """The text need not say who sits where or which dice lie; the board and the mover's features it does."""
    for state in sample(game):
        if game.rules.outcome(state)[0]:
            continue
        text = game.format(state)
        again = game.parse(text)
        assert game.format(again) == text
        index, value = active(game, game.features(), state)
        index_again, value_again = active(game, game.features(), again)
        np.testing.assert_array_equal(index, index_again)
        np.testing.assert_array_equal(value, value_again)


def test_move_texts_are_distinct_and_found_again(game):
    for state in decisions(game):
        moves = game.moves(state)
        texts = [game.move_text(state, move) for move in moves]
        assert len(set(texts)) == len(texts)
        assert [game.find_move(state, text) for text in texts[:40]] == moves[:40]


@pytest.mark.parametrize("text", ["nonsense", "99/98", "?"])
def test_bad_texts_are_refused_with_what_was_written(game, text):
    state = decisions(game)[0]
    for read in (game.parse, lambda text: game.find_move(state, text)):
        with pytest.raises(InputError) as caught:
            read(text)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)


def test_unknown_names_are_refused_with_those_that_exist(game):
    with pytest.raises(InputError, match=game.default_features):
        game.features("none_such")
    with pytest.raises(InputError, match=game.name):
        games.load("none_such")


def test_probes_are_decisions_or_dice_to_come(game):
    for _, text in game.probes:
        state = game.parse(text)
        assert isinstance(state, game.state)
        assert not game.rules.outcome(state)[0]


def test_the_board_is_drawn(game):
    state = sample(game)[0]
    assert game.ansi(state).strip()
    assert min(game.draw(state).size) >= 100


# --- actions ---------------------------------------------------------------------------------------------


def test_actions_spell_exactly_the_legal_moves(game):
    """From the empty word, the mask admits just the words that end in a legal result."""
    rules = game.rules
    for state in decisions(game)[:12]:
        wanted = set(expanded(game, state)[1])
        if len(wanted) > 200:
            continue
        assert spelled(game, state, 0, set()) == wanted
    assert rules.num_actions > 0


def spelled(game, state, word, seen):
    """Results of all complete words that go on from `word`."""
    mask = np.zeros(game.rules.num_actions, np.int8)
    game.rules.action_mask(state, np.int64(word), mask)
    assert mask.any()
    found = set()
    for action in np.flatnonzero(mask):
        longer, complete = game.rules.spell(state, np.int64(word), action)
        if complete:
            found.add(tuple(python_state(game, game.rules.play(state, longer))))
        elif int(longer) not in seen:
            seen.add(int(longer))
            found |= spelled(game, state, int(longer), seen)
    return found


def test_observations_are_finite_and_filled(game):
    for state in sample(game):
        out = np.full(game.rules.observation_size, np.nan, np.float32)
        game.rules.observe(state, np.int64(0), out)
        assert np.all(np.isfinite(out))


# --- tic-tac-toe, counted out ----------------------------------------------------------------------------


@cache
def tic_tac_toe_tree():
    """(states by ply, games by (length, value for X), minimax value of the start, nodes of the full tree)."""
    game = games.load("tic_tac_toe")
    levels, finished, layer = [], Counter(), Counter({python_state(game, game.rules.initial()): 1})
    nodes = 0
    while layer:
        levels.append(set(layer))
        nodes += sum(layer.values())
        following: Counter = Counter()
        for state, paths in layer.items():
            over, value = game.rules.outcome(state)
            if over:
                finished[len(levels) - 1, int(value) * (1 - 2 * int(game.rules.seat(state)))] += paths
                continue
            for row in expanded(game, state)[1]:
                following[game.state(*row)] += paths
        layer = following
    return levels, finished, nodes


def test_tic_tac_toe_counts():
    known = read_json("tic_tac_toe/counts.json")
    levels, finished, nodes = tic_tac_toe_tree()
    game = games.load("tic_tac_toe")
    assert [len(level) for level in levels] == known["states_by_ply"]
    assert sum(len(level) for level in levels) == known["states"]
    assert sum(bool(game.rules.outcome(state)[0]) for level in levels for state in level) == known["terminal_states"]
    assert sum(finished.values()) == known["games"]
    assert nodes == known["minimax_nodes_full_tree"]
    by_length, by_winner = Counter(), Counter()
    for (length, value), paths in finished.items():
        by_length[str(length)] += paths
        by_winner[value] += paths
    assert by_length == known["games_by_length"]
    assert by_winner == {
        1: known["first_player_wins"],
        -1: known["second_player_wins"],
        0: known["draws"],
    }


def test_tic_tac_toe_is_a_draw():
    game = games.load("tic_tac_toe")

    @cache
    def value(state):
        over, result = game.rules.outcome(state)
        return int(result) if over else max(-value(game.state(*row)) for row in expanded(game, state)[1])

    assert value(python_state(game, game.rules.initial())) == 0
    assert value(game.parse("X-O------")) == 1  # a corner answered beside it loses
