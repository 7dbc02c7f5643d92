"""Sample games and calibration, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import python_state
from toy_games import endless_game, random_evaluator

from deltaw.envs import games
from deltaw.learn.selfplay.sample import OPENING_PLIES, annotated, play_sample, reliability, scores


def naive_value(evaluator, state) -> float:
    over, result = evaluator.game.rules.outcome(state)
    return float(result) if over else evaluator.opinion(state).value


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "backgammon"])
@pytest.mark.parametrize("head", ["classes", "tanh"])
def test_the_games_are_played_as_they_say(name, head):
    game = games.load(name)
    evaluator = random_evaluator(game, 3, head=head)
    sample = play_sample(evaluator, games=3, seed=7)
    opening = 0 if game.rules.max_chance else OPENING_PLIES
    assert len(sample.rows) > 5
    assert set(sample.ply[np.flatnonzero(np.diff(sample.game, prepend=-1))]) == {opening}
    for number in set(sample.game):
        check_game(game, evaluator, [[a[i] for a in sample] for i in np.flatnonzero(sample.game == number)])


def check_game(game, evaluator, positions) -> None:
    """Every position follows from the one before by its move, the best one; results and errors are those of the
    mover."""
    result = positions[-1][-1]
    for k, (row, _, _, move, outputs, error, own_result) in enumerate(positions):
        state = game.unrow(row)
        opinion = evaluator.opinion(state)
        assert np.allclose(outputs, opinion.chances or [opinion.value], atol=1e-5)
        last = positions[-1][0]
        assert own_result == (result if game.rules.seat(state) == game.rules.seat(game.unrow(last)) else -result)
        if game.rules.max_chance:
            after, child = result_of_a_roll(game, state, move, positions[k + 1][0] if k + 1 < len(positions) else None)
        else:
            child = python_state(game, game.rules.play(state, move))
            after = sign(game, state, child) * naive_value(evaluator, child)
            values = [
                sign(game, state, c) * naive_value(evaluator, c)
                for c in (python_state(game, game.rules.play(state, m)) for m in game.moves(state))
            ]
            assert after == pytest.approx(max(values), abs=1e-5)
        if k + 1 < len(positions):
            assert tuple(child) == tuple(positions[k + 1][0])
            after = sign(game, state, child) * naive_value(evaluator, child)
        else:
            after = result
        assert error == pytest.approx(after - opinion.value, abs=1e-5)


def result_of_a_roll(game, state, move, following):
    """The next position is one that some roll allows by this move."""
    if following is None:
        return None, None
    children = []
    for i in range(game.rules.num_chance(state)):
        rolled = python_state(game, game.rules.chance(state, i)[0])
        if move in game.moves(rolled):
            children.append(python_state(game, game.rules.play(rolled, move)))
    assert tuple(following) in [tuple(child) for child in children]
    return None, game.unrow(following)


def sign(game, state, child) -> int:
    return 1 if game.rules.seat(state) == game.rules.seat(child) else -1


def test_a_game_that_is_broken_off_is_a_draw():
    sample = play_sample(random_evaluator(endless_game(7), 3, head="tanh"), games=2)
    assert sample.ply.tolist() == [4, 5, 6] * 2
    assert not sample.results.any()
    assert sample.errors[[2, 5]] == pytest.approx(-sample.outputs[[2, 5], 0], abs=1e-6)


def test_the_same_seed_gives_the_same_games():
    evaluator = random_evaluator(games.load("tic_tac_toe"), 3)
    one, two, other = (play_sample(evaluator, games=20, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one.rows, other.rows)


def test_reliability_is_that_of_the_bins():
    random = np.random.default_rng(0)
    predicted = np.concatenate([random.random(300), [0.0, 1.0, 0.1]])
    scored = random.integers(0, 3, len(predicted)) / 2
    found = reliability(predicted, scored, bins=7)
    expected, positions = 0.0, 0
    for b in range(7):
        inside = [i for i, p in enumerate(predicted) if b / 7 <= p < (b + 1) / 7 or (b == 6 and p == 1.0)]
        gap = abs(sum(predicted[inside]) / len(inside) - sum(scored[inside]) / len(inside))
        expected += len(inside) / len(predicted) * gap
        positions += len(inside)
    assert found.error == pytest.approx(expected, abs=1e-12)
    assert found.positions.sum() == positions == len(predicted)


def test_perfect_and_hopeless_predictions():
    scored = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    assert reliability(scored, scored).error == 0.0
    assert reliability(1.0 - scored, scored).error == 1.0
    assert np.isnan(reliability(np.zeros(0), np.zeros(0)).error)


def test_scores_of_a_head_over_classes_and_of_one_value():
    game = games.load("backgammon")
    sample = play_sample(random_evaluator(game, 3), games=2)
    p, y = scores(random_evaluator(game, 3), sample)
    assert np.allclose(
        p, [sum(float(c) for c, o in zip(row, game.rules.outcomes, strict=True) if o > 0) for row in sample.outputs]
    )
    assert [bool(score) for score in y] == [result > 0 for result in sample.results]
    scalar = random_evaluator(game, 3, head="tanh")
    sample = play_sample(scalar, games=2)
    p, y = scores(scalar, sample)
    assert np.allclose(p, [0.5 + float(v) / 6 for v in sample.outputs[:, 0]])
    assert np.allclose(y, [0.5 + int(r) / 6 for r in sample.results])


def test_an_annotated_game():
    game = games.load("backgammon")
    evaluator = random_evaluator(game, 3)
    sample = play_sample(evaluator, games=2)
    _, _, *lines = annotated(evaluator, sample, 1)
    assert len(lines) == (sample.game == 1).sum()
    ply, seat, move, value = (word.strip() for word in lines[0].split(" | "))
    state = game.unrow(sample.rows[np.flatnonzero(sample.game == 1)[0]])
    assert (ply, seat) == ("0", str(game.rules.seat(state)))
    assert "/" in move
    assert float(value) == pytest.approx(evaluator.opinion(state).value, abs=1e-3)
