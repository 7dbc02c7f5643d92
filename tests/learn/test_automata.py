"""Learning automata: their equations against plain Python, their limits on functions with a known best point, their
duels against matches."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
from conftest import random_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.learners import automata_continuous, automata_discrete
from deltaw.learn.learners.automata_continuous import move
from deltaw.learn.learners.automata_discrete import choose, entropy, pursue, reward
from deltaw.learn.run.config import EvaluatorConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.duel import Games, Job, duel, play_duels
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.matches.match import match
from deltaw.search.players.players import EvaluatorPlayer

CONTINUOUS = automata_continuous.Options(step_size=0.05, teams=8, pairs=2)
PURSUIT = automata_discrete.Options(teams=8, pairs=2, trials=1, levels=3)
LRI = automata_discrete.Options(algorithm="lri", step_size=0.2, teams=8, pairs=2, levels=3)
BOTH_KINDS = {"continuous": CONTINUOUS, "pursuit": PURSUIT, "lri": LRI}


def start_of(game: str = "connect_four", features: str = "counts", seed: int = 1, head: str = "tanh") -> Evaluator:
    return fresh(games.load(game), features, EvaluatorConfig(head=head), seed)


def learner_of(options, start: Evaluator | None = None, seed: int = 1, backend=None):
    module = automata_continuous if isinstance(options, automata_continuous.Options) else automata_discrete
    return module.make(options, start or start_of(), seed=seed, budget=1000, backend=backend or Serial())


def changed(options, **fields):
    return type(options)(**{**vars(options), **fields})


# --- the Gaussians --------------------------------------------------------------------------------------------------


def test_a_move_of_the_gaussians_is_the_published_rule():
    random = np.random.default_rng(1)
    mu, sigma = random.normal(size=4), np.array([0.5, 0.2, 0.05, 0.01])  # the last is below sigma_low
    a, low, k = 0.03, 0.1, 0.7
    x, payoff = random.normal(size=4), 0.4
    phi = [max(s, low) for s in sigma]
    expected_mu = [m + a * payoff / p * (y - m) / p for m, p, y in zip(mu, phi, x, strict=True)]
    expected_sigma = [
        s + a * payoff / p * (((y - m) / p) ** 2 - 1) - a * k * (s - low)
        for m, s, p, y in zip(mu, sigma, phi, x, strict=True)
    ]
    noise = ((x - mu) / phi)[None]
    move(mu, sigma, noise, np.array([payoff]), a, low, k)
    np.testing.assert_allclose(mu, expected_mu, rtol=0, atol=1e-14)
    np.testing.assert_allclose(sigma, expected_sigma, rtol=0, atol=1e-14)


def test_several_draws_move_by_the_mean_of_their_moves():
    random = np.random.default_rng(2)
    start_mu, start_sigma = random.normal(size=3), np.full(3, 0.3)
    noise, payoff = random.normal(size=(5, 3)), random.uniform(-1, 1, 5)
    ends = []
    for t in range(5):
        mu, sigma = start_mu.copy(), start_sigma.copy()
        move(mu, sigma, noise[t : t + 1], payoff[t : t + 1], 0.1, 0.05, 0.2)
        ends.append((mu, sigma))
    mu, sigma = start_mu.copy(), start_sigma.copy()
    move(mu, sigma, noise, payoff, 0.1, 0.05, 0.2)
    np.testing.assert_allclose(mu, np.mean([m for m, _ in ends], axis=0), atol=1e-14)
    np.testing.assert_allclose(sigma, np.mean([s for _, s in ends], axis=0), atol=1e-14)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_gaussians_find_the_best_point_of_a_noisy_function(seed):
    """Payoff exp(-|x - best|^2 / 2), seen with noise of 0.3: mu swings about the best point, and the spreads shrink
    towards sigma_low."""
    random = np.random.default_rng(seed)
    best = np.array([0.8, -0.6, 0.3])
    mu, sigma, low = np.zeros(3), np.full(3, 0.5), 0.1

    def seen(x: np.ndarray) -> np.ndarray:
        return np.exp(-((x - best) ** 2).sum(axis=-1) / 2) + random.normal(0, 0.3, x.shape[:-1])

    mean = np.zeros(3)
    for step in range(6000):
        noise = random.standard_normal((8, 3))
        x = mu + np.maximum(sigma, low) * noise
        move(mu, sigma, noise, seen(x) - seen(np.tile(mu, (8, 1))), 0.01, low, 0.3)
        mean += mu / 3000 if step >= 3000 else 0.0
    assert np.abs(mean - best).max() < 0.1
    assert sigma.max() < 0.3


# --- the levels -----------------------------------------------------------------------------------------------------


def test_reward_inaction_is_the_published_rule():
    chances = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    before, a, beta = chances.copy(), 0.3, 0.6
    chosen = np.array([[1, 2]])
    reward(chances, chosen, np.array([beta]), a)
    for i, level in enumerate(chosen[0]):
        for j in range(3):
            p = before[i, j]
            expected = p + a * beta * (1 - p) if j == level else p - a * beta * p
            assert chances[i, j] == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-15)


def test_reward_inaction_of_several_draws_is_the_mean_of_single_ones():
    random = np.random.default_rng(3)
    before = random.dirichlet(np.ones(4), 2)
    chosen, beta = random.integers(0, 4, (6, 2)), random.random(6)
    ends = []
    for t in range(6):
        single = before.copy()
        reward(single, chosen[t : t + 1], beta[t : t + 1], 0.2)
        ends.append(single)
    chances = before.copy()
    reward(chances, chosen, beta, 0.2)
    np.testing.assert_allclose(chances, np.mean(ends, axis=0), atol=1e-15)


def test_pursuit_waits_then_moves_to_the_best_mean_payoff():
    chances, paid = np.array([[0.5, 0.25, 0.25]]), np.zeros((2, 1, 3))
    pursue(chances, paid, np.array([[0], [0], [1]]), np.array([0.2, 0.4, 0.9]), 0.1, 1, 1.0)
    np.testing.assert_array_equal(chances, [[0.5, 0.25, 0.25]])  # level 2 has not been tried
    pursue(chances, paid, np.array([[2], [1]]), np.array([0.5, 0.0]), 0.1, 1, 1.0)  # means 0.3, 0.45, 0.5
    np.testing.assert_allclose(chances, [[0.45, 0.225, 0.325]], atol=1e-15)
    np.testing.assert_allclose(paid[:, 0], [[0.6, 0.9, 0.5], [2, 2, 1]])


def test_pursuit_forgets_but_not_that_a_level_was_tried():
    chances, paid = np.array([[0.5, 0.5]]), np.array([[[4.0, 1.0]], [[8.0, 2.0]]])
    pursue(chances, paid, np.array([[0]]), np.array([1.0]), 0.1, 2, 0.5)
    np.testing.assert_allclose(paid[:, 0], [[2.5, 1.0], [4.5, 2.0]])


ARMS = np.array([0.7, 0.4])


def bandit(algorithm: str, seed: int, rate: float, steps: int) -> np.ndarray:
    """Chances [steps] of the better of two arms, which pays 1 with chance 0.7 against 0.4."""
    random = np.random.default_rng(seed)
    chances, paid = np.array([[0.5, 0.5]]), np.zeros((2, 1, 2))
    curve = np.empty(steps)
    for t in range(steps):
        chosen = choose(chances, random.random((1, 1)))
        beta = (random.random(1) < ARMS[chosen[0]]).astype(np.float64)
        if algorithm == "lri":
            reward(chances, chosen, beta, rate)
        else:
            pursue(chances, paid, chosen, beta, rate, 10, 1.0)
        curve[t] = chances[0, 0]
    return curve


def test_reward_inaction_is_absorbed_by_the_better_arm():
    ends = [bandit("lri", seed, 0.03, 3000)[-1] for seed in range(20)]
    assert all(min(p, 1 - p) < 1e-4 for p in ends), "every run is absorbed"
    assert sum(p > 0.5 for p in ends) >= 19


def test_pursuit_is_faster_and_no_less_sure():
    runs = {name: [bandit(name, seed, 0.03, 3000) for seed in range(20)] for name in ("lri", "pursuit")}
    until = {name: np.median([np.argmax(c > 0.99) if c[-1] > 0.99 else 3000 for c in cs]) for name, cs in runs.items()}
    assert until["pursuit"] < 0.7 * until["lri"]
    assert sum(c[-1] > 0.99 for c in runs["pursuit"]) >= 19


def test_levels_are_drawn_by_their_chances():
    chances = np.array([[0.1, 0.6, 0.3], [1.0, 0.0, 0.0]])
    chosen = choose(chances, np.random.default_rng(5).random((20_000, 2)))
    counts = np.stack([np.bincount(chosen[:, i], minlength=3) for i in range(2)]) / 20_000
    np.testing.assert_allclose(counts, chances, atol=0.015)
    assert choose(np.array([[0.5, 0.5]]), np.array([[0.5]]))[0, 0] == 1


def test_entropy():
    assert entropy(np.full((3, 4), 0.25)) == pytest.approx(math.log(4))
    assert entropy(np.eye(3)) == 0.0


# --- duels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "features"),
    [
        ("connect_four", "counts"),
        ("tic_tac_toe", "cells"),
        pytest.param("backgammon", "expert", marks=pytest.mark.slow),
    ],
)
def test_a_duel_is_a_match(game, features):
    start = start_of(game, features)
    random = np.random.default_rng(7)
    pair = random.normal(0, 0.3, (2, len(linear_weights(start, "test")))).astype(np.float32)
    plies = 0 if start.game.rules.max_chance else 3
    found = duel(start, pair[:1], pair[1:], Games(5, 0, 20, plies), Serial())
    one, other = (EvaluatorPlayer(start.game, with_weights(start, w, {}).leaf, "", threads=1) for w in pair)
    expected = match(start.game, one, other, 40, seed=5, opening_plies=plies, threads=1)
    assert found.points[0] == pytest.approx(expected.mean, abs=1e-12)
    assert found.plies == expected.plies


def test_equal_players_draw_and_swapped_players_win_the_opposite():
    start = start_of()
    random = np.random.default_rng(8)
    one, other = random.normal(0, 0.3, (2, 5, 13)).astype(np.float32)
    games_of = Games(1, 100, 4, 3)
    assert (duel(start, one, one, games_of, Serial()).points == 0.0).all()
    forward, back = (duel(start, *both, games_of, Serial()).points for both in ((one, other), (other, one)))
    np.testing.assert_array_equal(forward, -back)
    assert len(set(forward)) > 1


def test_workers_change_nothing_and_jobs_can_be_sent():
    start = start_of()
    one, other = np.random.default_rng(9).normal(0, 0.3, (2, 7, 13)).astype(np.float32)
    games_of = Games(3, 11, 2, 3)
    alone, shared = duel(start, one, other, games_of, Serial()), duel(start, one, other, games_of, Threads(3))
    np.testing.assert_array_equal(alone.points, shared.points)
    assert alone.plies == shared.plies
    job = pickle.loads(pickle.dumps(Job("connect_four", start.leaf.weights, one, other, games_of)))
    np.testing.assert_array_equal(play_duels(job).points, alone.points)


# --- the learners ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_before_the_first_step_the_evaluator_is_the_start(kind):
    start = start_of()
    learned = learner_of(BOTH_KINDS[kind], start).evaluator()
    for name, tensor in start.tensors.items():
        np.testing.assert_allclose(learned.tensors[name], tensor, atol=1e-7)


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_interrupted_it_goes_on_exactly(kind, tmp_path):
    options = BOTH_KINDS[kind]
    undisturbed, learner = learner_of(options), learner_of(options)
    for _ in range(4):
        torch.save(learner.state(), tmp_path / "state.pt")
        learner = learner_of(options, backend=Threads(2))
        learner.restore(torch.load(tmp_path / "state.pt", weights_only=True))
        assert learner.step() == undisturbed.step()
    assert learner.games == 4 * 2 * options.teams * options.pairs
    assert np.array_equal(learner.evaluator().tensors["weight0"], undisturbed.evaluator().tensors["weight0"])
    assert not np.array_equal(learner.evaluator().tensors["weight0"], start_of().tensors["weight0"])


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_metrics_name_the_features(kind):
    metrics = learner_of(BOTH_KINDS[kind]).step()
    names = start_of().features.names()
    expected = {f"automata/{what}/{name}" for what in ("mu", "sigma") for name in names}
    assert set(metrics.scalars) == expected | {"automata/entropy", "automata/payoff", "automata/payoff_spread"}
    assert metrics.positions > metrics.games


def test_the_bias_is_a_weight_only_if_asked():
    plain, with_bias = (learner_of(changed(CONTINUOUS, bias=bias)) for bias in (False, True))
    for _ in range(3):
        plain.step()
        assert "automata/mu/bias" in with_bias.step().scalars
    assert plain.evaluator().tensors["bias0"][0] == start_of().tensors["bias0"][0]
    assert with_bias.evaluator().tensors["bias0"][0] != start_of().tensors["bias0"][0]


def test_numbers_that_are_not_finite_are_noticed():
    learner = learner_of(changed(CONTINUOUS, step_size=1e300))
    learner.step()
    learner.step()
    assert not learner.finite()


@pytest.mark.parametrize("options", [
    automata_continuous.Options(step_size=0.03, teams=64, pairs=2),
    automata_discrete.Options(step_size=0.02, teams=64, pairs=2),
    automata_discrete.Options(algorithm="lri", step_size=0.3, teams=64, pairs=2),
], ids=BOTH_KINDS)  # fmt: skip
def test_it_gets_stronger(options):
    start = start_of(seed=4)
    learner = learner_of(options, start, seed=4)
    while learner.games < 12_000:
        learner.step()
    players = [EvaluatorPlayer(start.game, e.leaf, "", threads=1) for e in (learner.evaluator(), start)]
    result = match(start.game, *players, 600, seed=99, opening_plies=5, threads=1)
    assert result.mean > 5 * result.standard_error


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "fields", "message"), [
    (CONTINUOUS, {"step_size": 0.0}, "learner.step_size=0.0 must be above 0"),
    (CONTINUOUS, {"step_size": math.nan}, "learner.step_size=nan must be above 0"),
    (CONTINUOUS, {"step_size_end": -1.0}, "learner.step_size_end=-1.0 must be at least 0"),
    (CONTINUOUS, {"schedule": "none"}, "learner.schedule='none' is not one of constant, linear, cosine"),
    (CONTINUOUS, {"sigma_low": 0.0}, "learner.sigma_low=0.0 must be above 0"),
    (CONTINUOUS, {"sigma": 0.01}, "learner.sigma=0.01 must be at least learner.sigma_low=0.02"),
    (CONTINUOUS, {"sigma": -1.0}, "learner.sigma=-1.0 must be above 0"),
    (CONTINUOUS, {"penalty": -0.1}, "learner.penalty=-0.1 must be at least 0"),
    (CONTINUOUS, {"teams": 0}, "learner.teams=0 is outside 1 .. 1,000,000"),
    (CONTINUOUS, {"pairs": 0}, "learner.pairs=0 is outside 1 .. 1,000,000"),
    (CONTINUOUS, {"opening_plies": -2}, "learner.opening_plies=-2 must be at least 0, or -1"),
    (CONTINUOUS, {"opening_plies": 0}, "learner.opening_plies=0: without dice, as in connect_four"),
    (PURSUIT, {"step_size": 1.5}, "learner.step_size=1.5 must be above 0 and at most 1"),
    (PURSUIT, {"levels": 1}, "learner.levels=1 is outside 2 .. 1,000"),
    (PURSUIT, {"span": 0.0}, "learner.span=0.0 must be above 0"),
    (PURSUIT, {"algorithm": "lrp"}, "learner.algorithm='lrp' is not one of lri, pursuit"),
    (PURSUIT, {"against": "none"}, "learner.against='none' is not one of mean, start"),
    (PURSUIT, {"trials": 0}, "learner.trials=0 is outside 1 .. 1,000,000"),
    (PURSUIT, {"memory": 1.5}, "learner.memory=1.5 is outside 0 .. 1"),
])  # fmt: skip
def test_options_out_of_range(options, fields, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        learner_of(changed(options, **fields))


@pytest.mark.parametrize("options", [CONTINUOUS, PURSUIT], ids=["continuous", "discrete"])
@pytest.mark.parametrize(("start", "message"), [
    (("connect_four", "lines"), "moves at most 20 weights, .* connect_four's features 'lines' have 96: choose"),
    (("connect_four", "counts", 1, "classes"), "evaluator.head=classes tanh or identity"),
])  # fmt: skip
def test_starts_that_do_not_fit(options, start, message):
    with pytest.raises(InputError, match=message) as error:
        learner_of(options, start_of(*start))
    assert "\n" not in str(error.value)


# --- feature sets small enough ----------------------------------------------------------------------------------------


def dense(game, features, state) -> np.ndarray:
    index, value = np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32)
    x = np.zeros(features.num_features, np.float32)
    for j in range(game.rules.features(state, np.array(features.spec), index, value)):
        x[index[j]] = value[j]
    return x


def test_counts_are_the_end_of_lines():
    game = games.load("connect_four")
    for state in random_game(game, 3):
        counts, lines = (dense(game, game.features(name), state) for name in ("counts", "lines"))
        np.testing.assert_array_equal(counts, lines[84:])
    assert game.features("counts").names() == game.features("lines").names()[84:]


def test_criteria_of_one_phase_are_those_of_whichever_third():
    game = games.load("othello")
    for state in random_game(game, 3):
        one, three = (dense(game, game.features(name), state) for name in ("criteria_1", "criteria"))
        np.testing.assert_array_equal(one, three.reshape(3, -1).sum(axis=0))
    thirds = np.array(game.features("criteria").names()).reshape(3, -1)
    assert [f"{name}_opening" for name in game.features("criteria_1").names()] == list(thirds[0])
