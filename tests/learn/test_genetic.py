"""The genetic algorithm and CMA behind ask and tell: operators against scalar loops and statistics, functions that have
an optimum, exact resumes."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys

import numpy as np
import pytest

from deltaw.envs.errors import InputError
from deltaw.learn.strategies import genetic
from deltaw.learn.strategies.cma_es import CMA
from deltaw.learn.strategies.genetic import (
    CROSSOVERS,
    Genetic,
    GeneticOptions,
    blend,
    check_genetic,
    exchange,
    mutate,
    tournament,
)
from deltaw.learn.strategies.strategy import Fitness, Strategy, fitness_of, places, random_of

needs_cma = pytest.mark.skipif(importlib.util.find_spec("cma") is None, reason="the package cma is not installed")


def random(seed: int = 1) -> np.random.Generator:
    return random_of(seed, 0, 0)


def parents(shape: tuple[int, int] = (6, 9)) -> tuple[np.ndarray, np.ndarray]:
    draw = random(7)
    return draw.standard_normal(shape, np.float32), draw.standard_normal(shape, np.float32)


# --- operators --------------------------------------------------------------------------------------------------------


def test_blend_is_its_equation():
    """w = a + u (b - a), u ~ U(-alpha, 1 + alpha), gene by gene."""
    (a, b), alpha = parents(), 0.3
    child, draw = blend(random(), a.copy(), b.copy(), alpha), random().random(a.shape, np.float32)
    for i in range(a.shape[0]):
        for g in range(a.shape[1]):
            u = -alpha + float(draw[i, g]) * (1 + 2 * alpha)
            assert child[i, g] == pytest.approx(a[i, g] + u * (b[i, g] - a[i, g]), abs=1e-5)


def test_blend_covers_its_interval_evenly():
    size = 100_000
    u = blend(random(), np.zeros((1, size), np.float32), np.ones((1, size), np.float32), 0.3)
    assert -0.3 <= u.min() < -0.299
    assert 1.299 < u.max() <= 1.3
    assert abs(u.mean() - 0.5) < 4 * u.std() / np.sqrt(size)
    assert u.std() == pytest.approx(1.6 / np.sqrt(12), rel=0.01)


def test_exchange_hands_on_groups_whole():
    a, b = np.zeros((4000, 7), np.float32), np.ones((4000, 7), np.float32)
    groups = np.array([0, 0, 2, 1, 1, 1, 2])
    child = exchange(random(), a, b, groups)
    assert set(np.unique(child)) == {0.0, 1.0}
    for group in range(3):
        genes = child[:, groups == group]
        assert (genes == genes[:, :1]).all()
    lots = child[:, [0, 3, 2]]
    assert np.abs(lots.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(len(child))
    assert np.abs(np.corrcoef(lots.T) - np.eye(3)).max() < 4 / np.sqrt(len(child))  # groups are drawn independently


def test_tournament_has_the_distribution_of_the_best_of_three():
    size, draws = 5, 60_000
    counts = np.bincount(tournament(random(), size, 3, (2, draws // 2)).ravel(), minlength=size)
    expected = np.array([((size - k) ** 3 - (size - k - 1) ** 3) / size**3 for k in range(size)])
    assert np.abs(counts / draws - expected).max() < 4 * np.sqrt(0.25 / draws)


@pytest.mark.parametrize("columns", [1, 9])
def test_mutation_is_its_equation(columns):
    """s' = s exp(tau0 N + tau1 N_i), w' = w + s' N, number by number, in the order in which they are drawn."""
    genomes, _ = parents()
    start, log_sigma = genomes.copy(), np.full((6, columns), -2.0, np.float32)
    mutate(random(), genomes, log_sigma, 1e-6)
    draw, n = random(), 9
    common = draw.standard_normal((6, 1), np.float32)
    each = draw.standard_normal((6, n), np.float32) if columns > 1 else np.zeros((6, n))
    change = draw.standard_normal((6, n), np.float32)
    for i in range(6):
        for g in range(n):
            if columns > 1:
                step = -2.0 + common[i, 0] / (2 * n) ** 0.5 + each[i, g] / (2 * n**0.5) ** 0.5
            else:
                step = -2.0 + common[i, 0] / n**0.5
            assert log_sigma[i, g % columns] == pytest.approx(step, abs=1e-5)
            assert genomes[i, g] == pytest.approx(start[i, g] + np.exp(step) * change[i, g], abs=1e-5)


def test_mutation_steps_keep_their_bounds():
    genomes, log_sigma = np.zeros((2000, 1), np.float32), np.full((2000, 1), np.log(0.01), np.float32)
    mutate(random(), genomes, log_sigma, 0.01)
    assert log_sigma.min() == pytest.approx(np.log(0.01))
    assert (log_sigma > np.log(0.01)).mean() == pytest.approx(0.5, abs=0.05)
    log_sigma[:] = 80.0
    mutate(random(), genomes, log_sigma, 0.01)
    assert np.isfinite(genomes).all()


# --- generations ------------------------------------------------------------------------------------------------------


def make(seed: int = 3, n: int = 8, **options) -> Genetic:
    return Genetic(
        np.zeros(n), GeneticOptions(**({"population": 30, "sigma": 0.3} | options)), seed=seed, groups=np.arange(n)
    )


def sphere(x: np.ndarray) -> np.ndarray:
    return -((x - 1.0) ** 2).sum(axis=1)


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return -(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1)


def run(strategy: Strategy, function, generations: int) -> float:
    for _ in range(generations):
        strategy.tell(fitness_of(function(strategy.ask().astype(float))))
    return float(function(strategy.best()[None].astype(float))[0])


@pytest.mark.parametrize("steps", genetic.STEPS)
@pytest.mark.parametrize("crossover", CROSSOVERS)
def test_the_genetic_algorithm_climbs(crossover, steps):
    assert run(make(crossover=crossover, steps=steps, doubt=0.0), sphere, 120) > -0.05  # -8 at the start
    assert run(make(crossover=crossover, steps=steps, doubt=0.0, n=3), rosenbrock, 150) > -0.6  # -2 at the start


@needs_cma
def test_cma_climbs():
    assert run(CMA(np.zeros(8), 12, 0.3, seed=3), sphere, 120) > -1e-5
    assert run(CMA(np.zeros(3), 12, 0.3, seed=3), rosenbrock, 150) > -1e-3


@needs_cma
def test_cma_leaves_numpys_random_numbers_alone():
    np.random.seed(5)
    expected = np.random.random()
    np.random.seed(5)
    run(CMA(np.zeros(3), 6, 0.3, seed=3), sphere, 2)
    assert np.random.random() == expected


@pytest.mark.parametrize(
    "kind", [make, pytest.param(lambda seed=3: CMA(np.zeros(8), 30, 0.3, seed=seed), marks=needs_cma)]
)
def test_a_strategy_goes_on_exactly(kind):
    strategy = kind()
    run(strategy, sphere, 5)
    state = strategy.state()
    run(strategy, sphere, 5)
    other = kind()
    other.restore(state)
    assert other.generation == 5
    run(other, sphere, 5)
    assert np.array_equal(strategy.ask(), other.ask())
    assert np.array_equal(strategy.best(), other.best())
    assert not np.array_equal(strategy.ask(), kind(seed=4).ask())


def test_elites_live_on_unchanged():
    strategy = make(elites=4, doubt=0.0)
    before, values = strategy.ask().copy(), random().random(30)
    strategy.tell(fitness_of(values))
    assert np.array_equal(strategy.ask()[:4], before[np.argsort(-values)[:4]])
    assert (np.abs(strategy.ask()[4:, None] - before[None]).max(axis=2) > 0).all()
    assert np.array_equal(make(elites=4).best(), np.zeros(8))
    assert np.allclose(strategy.best(), strategy.ask()[:4].mean(axis=0))


def test_records_are_running_means_of_the_advantage():
    strategy = make(elites=2, memory=0.6, doubt=30.0, population=5)
    strategy.tell(Fitness(np.array([0.5, 0.1, -0.2, 0.0, 0.1]), np.array([100, 100, 20, 20, 20]), np.arange(5)))
    advantages = [0.5 - 0.1, 0.1 - 0.1]  # over the mean of all, 0.1
    assert strategy.estimates()[:2] == pytest.approx([100 * a / 130 for a in advantages])
    assert (strategy.estimates()[2:] == 0).all()
    strategy.tell(
        Fitness(np.array([0.3, 0.0, 0.0, 0.0, 0.2]), np.array([20, 20, 20, 20, 100]), np.array([1, 2, 3, 4, 0]))
    )
    first = (0.6 * 100 * 0.4 + 20 * 0.2) / (0.6 * 100 + 20 + 30)
    newcomer = 100 * 0.1 / 130
    assert strategy.estimates()[:2] == pytest.approx([first, newcomer])


def test_the_answer_is_averaged_over_generations():
    strategy, average = make(elites=3, average=0.5), np.zeros(8)
    for generation in range(1, 6):
        strategy.tell(fitness_of(sphere(strategy.ask().astype(float))))
        decay = min(0.5, (generation - 1) / (generation + 2))
        average = decay * average + (1 - decay) * strategy.ask()[:3].mean(axis=0)
        assert strategy.best() == pytest.approx(average, abs=1e-6)


def test_pure_luck_is_seen_through():
    """Where all are equally good, elites look good by their records and are average when measured again."""
    strategy, draw, expected, again = make(population=100, elites=10), random(), [], []
    for _ in range(60):
        strategy.tell(fitness_of(draw.standard_normal(100)))
        if "ga/elite_retest" in strategy.scalars():
            expected.append(strategy.scalars()["ga/elite_expected"])
            again.append(strategy.scalars()["ga/elite_retest"])
        assert strategy.scalars()["ga/best"] > 1.5
    assert abs(np.mean(again)) < 4 / np.sqrt(10 * len(again))
    assert min(expected) > 0


def test_better_parents_have_more_children():
    strategy = make(population=200, crossover="none", elites=1, sigma=1e-3, sigma_least=1e-4)
    strategy.population = np.arange(200, dtype=np.float32)[:, None].repeat(8, axis=1)
    strategy.tell(fitness_of(np.arange(200.0)))
    parents = np.rint(strategy.ask()[1:, 0])
    assert 145 < parents.mean() < 155  # the best of three of 0 .. 199 is 149.5 on average


def test_scalars_are_what_they_say():
    strategy = make(population=4, elites=1)
    before = strategy.ask().astype(float)
    strategy.tell(Fitness(np.array([0.1, 0.4, -0.3, 0.2]), np.full(4, 2), np.array([2, 1, 3, 0])))
    scalars = strategy.scalars()
    named = [scalars[f"ga/{name}"] for name in ("best", "mean", "median", "worst", "sigma")]
    assert named == pytest.approx([0.2, 0.1, 0.15, -0.3, 0.3])
    centre = before.mean(axis=0)
    assert scalars["ga/diversity"] == pytest.approx(
        np.mean([np.linalg.norm(x - centre) for x in before]) / np.linalg.norm(centre), rel=1e-5
    )


def test_places_are_ranks():
    assert places(np.array([2, 0, 1])).tolist() == [1, 2, 0]
    assert fitness_of(np.array([0.1, 0.3, 0.2])).place.tolist() == [2, 0, 1]


def test_infinite_weights_are_noticed():
    strategy = make()
    assert strategy.finite()
    strategy.population[3, 2] = np.inf
    assert not strategy.finite()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"population": 1}, "learner.population=1"),
        ({"sigma": 0.0}, "learner.sigma=0.0"),
        ({"sigma": -0.1}, "learner.sigma=-0.1"),
        ({"sigma": float("nan")}, "learner.sigma=nan"),
        ({"sigma_least": 0.0}, "learner.sigma_least=0.0"),
        ({"sigma_least": 1.0}, "learner.sigma_least=1.0"),
        ({"crossover": "two-point"}, "learner.crossover='two-point' is not one of blx, uniform, mean, none"),
        ({"crossover_rate": 1.5}, "learner.crossover_rate=1.5"),
        ({"steps": "both"}, "learner.steps='both'"),
        ({"alpha": -1.0}, "learner.alpha=-1.0"),
        ({"tournament": 0}, "learner.tournament=0"),
        ({"elites": 0}, "learner.elites=0"),
        ({"elites": 100}, "learner.elites=100 must be at least 1 and less than learner.population=100"),
        ({"memory": 1.1}, "learner.memory=1.1"),
        ({"average": 1.1}, "learner.average=1.1"),
        ({"doubt": -1.0}, "learner.doubt=-1.0"),
        ({"answer": "luckiest"}, "learner.answer='luckiest'"),
    ],
)
def test_bad_options_are_one_line(change, named):
    with pytest.raises(InputError) as error:
        check_genetic(dataclasses.replace(GeneticOptions(), **change))
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_cma_that_is_not_installed_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(InputError, match=r"needs the package cma: pip install"):
        CMA(np.zeros(3), 6, 0.3, seed=1)


@needs_cma
def test_cma_refuses_what_it_cannot_hold():
    with pytest.raises(InputError, match=r"at most 5,000 weights, and this evaluator has 6,000; use genetic"):
        CMA(np.zeros(6000), 6, 0.3, seed=1)
