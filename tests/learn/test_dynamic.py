"""Dynamic evaluation: learning during play against one opponent, held against a naive TD(lambda) with dense traces, and
a count of habits by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from deltaw.envs import games
from deltaw.envs.bits import EXPLORE, EXPLORED_MOVE, OPENING, random_unit, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.turn import roll
from deltaw.learn.adapt import main
from deltaw.learn.learners import dynamic
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.adapt import Adapter, Settings, play_and_adapt
from deltaw.learn.selfplay.opponent_model import Habit, NoisyPlayer, OpponentModel
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.workers.backend import Serial
from deltaw.search.evaluators.evaluator import Evaluator, save_evaluator
from deltaw.search.matches.match import paired
from deltaw.search.players.find import find_player
from deltaw.search.players.players import Decisions

SETTINGS = Settings(step_size=0.01, trace=0.7, explore=0.0, own=False, opening_plies=2, seed=5)


def start_of(
    name: str, features: str, head: str = "tanh", spread: float = 0.1, tuples: TuplesConfig | None = None
) -> Evaluator:
    """A linear evaluator with random weights."""
    start = fresh(games.load(name), features, EvaluatorConfig(head=head, tuples=tuples), 1)
    size = len(linear_weights(start, "test"))
    return with_weights(start, np.random.default_rng(3).normal(0, spread, size).astype(np.float32), {})


class NaiveTD:
    """The rule in plain Python: dense float64 vectors, e <- lambda e + grad v, W <- W + c (v' - v) e, from the side of
    the player who adapts."""

    def __init__(self, start: Evaluator, opponent, settings: Settings) -> None:
        self.game, self.start, self.opponent, self.settings = start.game, start, opponent, settings
        self.weight = linear_weights(start, "test").astype(np.float64)

    def x(self, state) -> np.ndarray:
        features = self.start.features
        index, value = np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32)
        dense = np.zeros(len(self.weight))
        for j in range(self.game.rules.features(state, np.array(features.spec), index, value)):
            dense[index[j]] += value[j]
        dense[-1] = 1.0
        return dense

    def value(self, state, me: int) -> tuple[float, np.ndarray]:
        """v and its gradient from my side."""
        x = self.x(state)
        total, sign = float(self.weight @ x), 1.0 if self.game.rules.seat(state) == me else -1.0
        if self.start.description.head == "identity":
            return sign * total, sign * x
        scale = max(self.game.rules.outcomes)
        return sign * scale * math.tanh(total), sign * scale * (1 - math.tanh(total) ** 2) * x

    def results(self, state) -> np.ndarray:
        codes, rows = self.game.buffers()
        return rows[: self.game.rules.expand(state, codes, rows)].copy()

    def choose(self, state, me: int) -> np.ndarray:
        rows = self.results(state)
        values = []
        for row in rows:
            child = self.game.unrow(row)
            over, result = self.game.rules.outcome(child)
            own = result if self.game.rules.seat(child) == me else -result
            values.append(own if over else self.value(child, me)[0])
        return rows[int(np.argmax(values))]

    def play(self, number: int) -> int:
        rules, s, pair, me = self.game.rules, self.settings, number // 2, number % 2
        state, ply = self.game.state(*map(int, rules.initial())), 0
        while ply < s.opening_plies:
            rows = self.results(roll(rules, state, s.seed, pair, ply))
            child = self.game.unrow(rows[random_word(s.seed, pair, ply, OPENING) % len(rows)])
            if rules.outcome(child)[0]:
                break
            state, ply = child, ply + 1
        last, trace = None if s.own else state, np.zeros_like(self.weight)
        while True:
            rolled = roll(rules, state, s.seed, pair, ply)
            mine, explored = rules.seat(rolled) == me, False
            if mine:
                explored = random_unit(s.seed, number, ply, EXPLORE) < s.explore
                rows = self.results(rolled)
                random_row = rows[random_word(s.seed, number, ply, EXPLORED_MOVE) % len(rows)]
                row = random_row if explored else self.choose(rolled, me)
            else:
                row = self.opponent.choose(
                    Decisions.of(self.game.row(rolled)[None], np.array([[number, ply]])), s.seed
                ).rows[0]
            state, ply = self.game.unrow(row), ply + 1
            over, result = rules.outcome(state)
            z = result if rules.seat(state) == me else -result
            if explored and not over:
                last, trace = None, np.zeros_like(self.weight)
            if last is not None and (over or mine or not s.own):
                v, gradient = self.value(last, me)
                trace = s.trace * trace + gradient
                self.weight += s.step_size * ((z if over else self.value(state, me)[0]) - v) * trace
            if over:
                return int(z)
            if mine or not s.own:
                last = state


def check_against_naive(
    start: Evaluator, opponent: str, settings: Settings, number_of_games: int, memory: int | None = None
) -> None:
    player = NoisyPlayer(start.game, find_player(start.game, opponent, threads=1), 0.2)
    adapter, naive = Adapter(start, player, settings), NaiveTD(start, player, settings)
    if memory is not None:
        adapter._memory = adapter._room(memory)
    before = adapter.weight.copy()
    for number in range(number_of_games):
        assert adapter.play(number) == naive.play(number)
    assert np.abs(adapter.weight - before).max() > 1e-3
    np.testing.assert_allclose(adapter.weight, naive.weight, rtol=0, atol=2e-5)


VARIANTS = {
    "the lecture's rule": {"trace": 0.0},
    "traces": {},
    "monte carlo": {"trace": 1.0},
    "own positions": {"own": True},
    "exploring": {"explore": 0.3},
    "exploring, own positions": {"explore": 0.3, "own": True},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_is_td_lambda_from_the_side_of_the_player_who_adapts(variant):
    check_against_naive(start_of("tic_tac_toe", "lines"), "open_lines", SETTINGS._replace(**VARIANTS[variant]), 12)


@pytest.mark.parametrize("own", [False, True])
def test_with_an_identity_head_and_a_memory_that_must_grow(own):
    start = start_of("connect_four", "lines", head="identity", spread=0.01)
    check_against_naive(start, "points_2", SETTINGS._replace(own=own, step_size=0.002), 4, memory=2)


def test_n_tuples_whose_entries_repeat():
    tuples = TuplesConfig(lines=[3], cells=[[0, 1, 2, 3], [4, 5, 7, 8]])
    settings = SETTINGS._replace(seed=7)  # no two moves lead to mirror images, of which rounding would choose one
    check_against_naive(start_of("tic_tac_toe", "cells", tuples=tuples), "criteria", settings, 12)


@pytest.mark.slow
def test_with_dice():
    check_against_naive(
        start_of("backgammon", "expert"), "pubeval", SETTINGS._replace(opening_plies=0, step_size=0.001), 2
    )


# --- a series of games ----------------------------------------------------------------------------------------------


def test_with_a_step_size_of_0_nothing_changes_and_nothing_is_gained():
    start = start_of("tic_tac_toe", "lines")
    player = NoisyPlayer(start.game, find_player(start.game, "open_lines", threads=1), 0.3)
    series = play_and_adapt(start, player, 20, SETTINGS._replace(step_size=0.0))
    assert np.array_equal(series.results, series.frozen)
    assert series.gain == (0.0, 0.0)
    assert np.array_equal(series.after.tensors["weight0"], start.tensors["weight0"])


def test_it_gains_against_an_opponent_who_errs():
    start = start_of("tic_tac_toe", "lines")
    opponent = NoisyPlayer(start.game, find_player(start.game, "open_lines", threads=1), 0.1)
    series = play_and_adapt(start, opponent, 600, SETTINGS._replace(own=True), criteria="lines")
    mean, error = series.gain
    assert mean > 5 * error
    assert series.before is start
    assert series.model is not None
    assert series.model.decisions.max() > 500


# --- the opponent ---------------------------------------------------------------------------------------------------


def naive_counts(game: Game, choices, features) -> dict[tuple[str, str], list]:
    """(criterion, direction) -> [decisions, chosen, expected], by sorting dictionaries of values."""
    index, value = np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32)
    counts: dict[tuple[str, str], list] = {}
    for decision, result in choices:
        codes, rows = game.buffers()
        n = game.rules.expand(game.unrow(decision), codes, rows)
        table = np.zeros((n, features.num_features))
        for i in range(n):
            for j in range(game.rules.features(game.unrow(rows[i]), np.array(features.spec), index, value)):
                table[i, index[j]] = value[j]
        own = [tuple(row) for row in rows[:n]].index(tuple(result))
        for f, name in enumerate(features.names()):
            column = list(table[:, f])
            if len(set(column)) > 1:
                for direction, best in (("largest", max(column)), ("smallest", min(column))):
                    entry = counts.setdefault((name, direction), [0, 0, 0.0])
                    entry[0] += 1
                    entry[1] += column[own] == best
                    entry[2] += column.count(best) / n
    return counts


def test_habits_are_counted_as_by_hand():
    game = games.load("tic_tac_toe")
    features, player = game.features("lines"), find_player(game, "criteria")
    model, choices = OpponentModel(game, features), []
    for word in range(30):
        state = game.rules.initial()
        for ply in range(4):
            moves = game.moves(state)
            state = game.rules.play(state, moves[random_word(word, 0, ply, OPENING) % len(moves)])
        decision = game.row(state)
        choices.append((decision, player.choose(Decisions.of(decision[None]), 0).rows[0]))
        model.see(*choices[-1])
    expected = naive_counts(game, choices, features)
    habits = model.habits()
    assert {(h.criterion, h.direction) for h in habits} == set(expected)
    for h in habits:
        decisions, chosen, by_chance = expected[h.criterion, h.direction]
        assert h.decisions == decisions
        assert h.share == pytest.approx(chosen / decisions)
        assert h.by_chance == pytest.approx(by_chance / decisions)
    assert [h.sigmas for h in habits] == sorted((h.sigmas for h in habits), reverse=True)


def test_what_a_player_of_criteria_likes_is_seen():
    """Othello's `criteria` takes corners first, then leaves the opponent few moves: the surest habits."""
    start = start_of("othello", "criteria_1")
    opponent = find_player(start.game, "criteria", threads=1)
    series = play_and_adapt(start, opponent, 6, SETTINGS, criteria="criteria_1", compare=False)
    assert len(series.frozen) == 0
    assert series.model is not None
    habits = {(h.criterion, h.direction): h for h in series.model.habits()}
    corners, moves = habits["opponent_corners", "largest"], habits["me_moves", "smallest"]
    assert corners.share > 0.9 > 0.5 > corners.by_chance
    assert moves.share > 0.6 > 0.4 > moves.by_chance
    assert moves.sigmas > 5


def test_how_sure_a_habit_is():
    assert Habit("x", "largest", 100, 0.7, 0.5).sigmas == pytest.approx(4.0)
    assert Habit("x", "largest", 100, 0.3, 0.5).sigmas == pytest.approx(-4.0)


def test_noise_is_as_frequent_as_asked_and_does_not_depend_on_the_batch():
    game = games.load("connect_four")
    player = find_player(game, "points_2", threads=1)
    rows = np.tile(game.row(game.parse("44")), (4000, 1))
    decisions = Decisions.of(rows, np.stack([np.arange(4000), np.full(4000, 2)], axis=1))
    quiet, noisy = NoisyPlayer(game, player, 0.0), NoisyPlayer(game, player, 0.35)
    plain = player.choose(decisions, 9)
    assert np.array_equal(quiet.choose(decisions, 9).rows, plain.rows)
    chosen = noisy.choose(decisions, 9)
    changed = (chosen.moves != plain.moves).mean()
    assert changed == pytest.approx(0.35 * 6 / 7, abs=0.03)
    assert np.array_equal(noisy.choose(decisions.at(slice(100, 200)), 9).moves, chosen.moves[100:200])
    for result, row, move in zip(chosen.rows[:50], rows[:50], chosen.moves[:50], strict=True):
        assert (result == game.row(game.rules.play(game.unrow(row), move))).all()
    assert (quiet.name, noisy.name) == ("points_2", "points_2 with 35% noise")


# --- the learner ----------------------------------------------------------------------------------------------------

OPTIONS = dynamic.Options(opponent="open_lines", noise=0.2, pairs=2, step_size=0.01, opening_plies=2)


def learner_of(start: Evaluator | None = None, **fields) -> dynamic.Dynamic:
    options = dynamic.Options(**{**vars(OPTIONS), **fields})
    return dynamic.make(options, start or start_of("tic_tac_toe", "lines"), seed=5, budget=100, backend=Serial())


def test_interrupted_it_goes_on_exactly(tmp_path):
    undisturbed, learner = learner_of(explore=0.1), learner_of(explore=0.1)
    for _ in range(4):
        torch.save(learner.state(), tmp_path / "state.pt")
        learner = learner_of(explore=0.1)
        learner.restore(torch.load(tmp_path / "state.pt", weights_only=True))
        assert learner.step() == undisturbed.step()
    assert learner.games == 16
    assert learner.finite()
    assert np.array_equal(learner.evaluator().tensors["weight0"], undisturbed.evaluator().tensors["weight0"])


def test_the_learner_plays_the_games_of_the_driver_and_reports_their_gain():
    start = start_of("tic_tac_toe", "lines")
    learner = learner_of(start)
    for _ in range(5):
        scalars = learner.step().scalars
    opponent = NoisyPlayer(start.game, find_player(start.game, "open_lines", threads=1), 0.2)
    series = play_and_adapt(start, opponent, 20, SETTINGS._replace(own=True))
    assert scalars["dynamic/points_so_far"] == pytest.approx(series.results.mean())
    assert (scalars["dynamic/gain"], scalars["dynamic/gain_error"]) == pytest.approx(series.gain)
    assert series.gain == paired((series.results - series.frozen).astype(float))
    assert np.array_equal(learner.evaluator().tensors["weight0"], series.after.tensors["weight0"])
    assert sum(name.startswith("opponent/") for name in scalars) == dynamic.HABITS


def test_without_comparison_and_without_criteria():
    tuples = start_of("tic_tac_toe", "cells", tuples=TuplesConfig(cells=[[0, 1, 2, 3, 4, 5, 6]]))
    assert set(learner_of(tuples, compare=False).step().scalars) == {"dynamic/points", "dynamic/points_so_far"}
    named = learner_of(tuples, compare=False, criteria="lines").step().scalars
    assert any(name.startswith("opponent/me_lines") for name in named)


def test_weights_that_diverge_are_noticed():
    learner = learner_of(start_of("tic_tac_toe", "lines", head="identity"), step_size=1e30)
    learner.step()
    assert not learner.finite()


@pytest.mark.parametrize(("fields", "message"), [
    ({"opponent": "nobody"}, "no player 'nobody' for tic_tac_toe"),
    ({"noise": 1.5}, "learner.noise=1.5 is outside 0 .. 1"),
    ({"trace": -0.1}, "learner.trace=-0.1 is outside 0 .. 1"),
    ({"explore": 2.0}, "learner.explore=2.0 is outside 0 .. 1"),
    ({"step_size": 0.0}, "learner.step_size=0.0 must be above 0"),
    ({"positions": "all"}, "learner.positions='all' is not one of own, both"),
    ({"pairs": 0}, "learner.pairs=0 is outside 1 .. 1,000,000"),
    ({"criteria": "nothing"}, "tic_tac_toe has no feature set 'nothing'"),
    ({"opening_plies": 0}, "learner.opening_plies=0: without dice"),
])  # fmt: skip
def test_options_out_of_range(fields, message):
    with pytest.raises(InputError, match=message) as error:
        learner_of(**fields)
    assert "\n" not in str(error.value)


def test_starts_that_do_not_fit():
    with pytest.raises(InputError, match=r"evaluator\.head=classes tanh or identity"):
        learner_of(fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(), 1))
    big = start_of("tic_tac_toe", "cells", tuples=TuplesConfig(cells=[[0, 1, 2, 3, 4, 5, 6]]))
    with pytest.raises(
        InputError, match="2187 features of 'tuples' are no criteria to count: choose a set of at most 1000"
    ):
        OpponentModel(big.game, big.features)


# --- the command line -----------------------------------------------------------------------------------------------


def test_the_command_shows_the_gain_of_every_seed_and_the_habits(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    save_evaluator(start_of("tic_tac_toe", "lines"), tmp_path / "start.safetensors")
    words = ["tic_tac_toe", str(tmp_path / "start.safetensors"), "open_lines", "--games", "20", "--seeds", "3", "4"]
    assert main(words) == 0
    out = capsys.readouterr().out
    opponent = NoisyPlayer(games.load("tic_tac_toe"), find_player(games.load("tic_tac_toe"), "open_lines"), 0.1)
    for seed in (3, 4):
        settings = Settings(step_size=0.005, trace=0.7, explore=0.0, own=True, opening_plies=4, seed=seed)
        mean, error = play_and_adapt(start_of("tic_tac_toe", "lines"), opponent, 20, settings).gain
        assert f"{mean:+.3f} ± {error:.3f}" in out
    assert "me_lines_" in out or "opponent_lines_" in out


@pytest.mark.parametrize(("words", "message"), [
    (["connect_four", "points_2", "random"], "points_2: a handmade player has no weights"),
    (["connect_four", "nothing.safetensors", "random"], "there is no evaluator file"),
    (["connect_four", "x", "random", "--games", "3"], "--games must be even and at least 4, not 3"),
    (["connect_four", "x", "random", "--noise", "2"], "--noise=2.0 is outside 0 .. 1"),
    (["connect_four", "x", "random", "--step-size", "0"], "--step-size=0.0 must be above 0"),
    (["connect_four", "x", "random", "--seeds", "-1"], "--seeds=-1 is outside 0"),
    (["tic_tac_toe_three", "x", "random"], "tic_tac_toe_three has 3 players"),
])  # fmt: skip
def test_bad_command_lines_are_one_line(words, message, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
