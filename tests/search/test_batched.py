"""Plies in batches choose what the compiled plies choose, on the same values."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import random_game
from game_names import some_games
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.inputs import inputs_of, width_of
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.players.agent import Agent
from deltaw.search.players.batched import BatchedPlayer, best_replies, one_deeper, score_decisions
from deltaw.search.players.players import Decisions, EvaluatorPlayer

GAMES = ("backgammon", "connect_four", "tic_tac_toe", "othello")


@functools.cache
def evaluator(name: str, head: str = "classes") -> Evaluator:
    return random_evaluator(games.load(name), 5, head=head)


@functools.cache
def decisions(name: str, count: int) -> np.ndarray:
    """Rows [count, W] of decisions of random games."""
    game, rows, number = games.load(name), [], 0
    while len(rows) < count:
        number += 1
        rows += [
            game.row(state)
            for state in random_game(game, 3, number)
            if not game.rules.num_chance(state) and not game.rules.outcome(state)[0]
        ]
    return np.array(rows[:count])


def keyed(rows: np.ndarray) -> Decisions:
    return Decisions.of(rows, np.stack([np.arange(len(rows)), np.arange(len(rows)) % 7], axis=1))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("ties", [False, True], ids=["first", "random"])
@pytest.mark.parametrize("plies", [1, 2])
def test_moves_are_those_of_the_compiled_player(name, plies, ties):
    count = 300 if plies == 1 else 12 if name == "backgammon" else 60
    ours, rows = evaluator(name), decisions(name, count)
    limits = {"candidates": 4, "margin": 0.5, "threads": 1, "ties": ties}
    compiled = EvaluatorPlayer(ours.game, ours.leaf, "a", plies, **limits)
    batched = BatchedPlayer(ours.game, ours, "b", plies, **limits)
    expected, values = compiled.decide(keyed(rows), 9)
    chosen, measured = batched.decide(keyed(rows), 9)
    np.testing.assert_allclose(measured, values, atol=1e-5)  # siblings are summed by differences there, afresh here
    assert np.array_equal(chosen.moves, expected.moves)
    assert np.array_equal(chosen.rows, expected.rows)


def test_full_width_looks_at_every_move():
    ours, rows = evaluator("tic_tac_toe"), decisions("tic_tac_toe", 40)
    limits = {"candidates": 0, "threads": 1}
    expected = EvaluatorPlayer(ours.game, ours.leaf, "a", 2, **limits).choose(keyed(rows), 0)
    chosen = BatchedPlayer(ours.game, ours, "b", 2, **limits).choose(keyed(rows), 0)
    assert np.array_equal(chosen.moves, expected.moves)
    scored = next(score_decisions(ours.game, ours, Decisions.of(rows), 2, 0))
    assert (scored.plies == 2).all()


@pytest.mark.parametrize("plies", [1, 2])
def test_tied_moves(plies):
    """All openings of tic-tac-toe that are mirror images of the best are equally good."""
    game = games.load("tic_tac_toe")
    shipped, start = find_evaluator(game, "ntuple"), Decisions.of(game.row(game.rules.initial())[None])
    expected = EvaluatorPlayer(game, shipped.leaf, "a", plies, threads=1).tied(start)
    found = BatchedPlayer(game, shipped, "b", plies, threads=1).tied(start)
    assert np.array_equal(found.moves, expected.moves)
    assert np.array_equal(found.rows, expected.rows)
    assert len(found.moves) == (4 if plies == 1 else 1), "the corners look best, until the replies are seen"


def test_many_decisions_are_cut_into_pieces(monkeypatch):
    """Wherever the cut falls, the answers are the same."""
    ours, rows = evaluator("backgammon"), decisions("backgammon", 50)
    whole, values = BatchedPlayer(ours.game, ours, "b", threads=1).decide(keyed(rows), 0)
    monkeypatch.setattr("deltaw.search.players.batched.ROOM", 1)  # room for one decision
    assert len(list(score_decisions(ours.game, ours, Decisions.of(rows)))) > 1
    pieces, measured = BatchedPlayer(ours.game, ours, "b", threads=3).decide(keyed(rows), 0)
    assert np.array_equal(pieces.moves, whole.moves)
    assert np.array_equal(pieces.rows, whole.rows)
    assert np.array_equal(measured, values)


@pytest.mark.parametrize("head", ["classes", "tanh"])
def test_two_plies_are_the_average_over_rolls(head):
    """Against the agent of compiled searches: values and outputs of positions before the roll."""
    ours = evaluator("backgammon", head)
    game, agent = ours.game, Agent(ours.game, evaluator("backgammon", head), plies=2)
    before = decisions("backgammon", 6).copy()
    before[:, 4] = 0  # not yet rolled
    values, outputs = one_deeper(game, ours, before)
    for row, value, output in zip(before, values, outputs, strict=True):
        opinion = agent.value(game.unrow(row))
        assert value == pytest.approx(opinion.value, abs=1e-5)
        if opinion.chances is not None:
            np.testing.assert_allclose(output, opinion.chances, atol=1e-5)
        else:
            assert output[0] == pytest.approx(value)


def test_finished_games_have_their_results():
    game, ours = games.load("tic_tac_toe"), evaluator("tic_tac_toe")
    *_, last = random_game(game, 5)
    result = game.rules.outcome(last)[1]
    values, outputs = one_deeper(game, ours, game.row(last)[None])
    assert values[0] == result
    assert outputs[0].tolist() == [float(outcome == result) for outcome in game.rules.outcomes]


def test_nothing_to_score():
    ours = evaluator("tic_tac_toe")
    none = np.empty((0, ours.game.rules.width), np.int64)
    assert list(score_decisions(ours.game, ours, Decisions.of(none))) == []
    assert best_replies(ours.game, ours, Decisions.of(none))[1].shape == (0, 3)


@some_games
def test_inputs_are_the_features_one_by_one(name):
    game = games.load(name)
    states = [state for state in random_game(game, 2) if not game.rules.outcome(state)[0]]
    for features in game.feature_sets.values():
        dense = inputs_of(game, features, np.array([game.row(state) for state in states]))
        assert dense.shape == (len(states), width_of(features))
        index, value = np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32)
        for state, x in zip(states, dense, strict=True):
            n = game.rules.features(state, np.array(features.spec, np.int64), index, value)
            assert dict(zip(index[:n].tolist(), value[:n].tolist(), strict=True)) == {
                int(i): float(x[i]) for i in np.flatnonzero(x)
            }
