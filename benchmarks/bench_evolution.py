"""Evolution on one core: what a generation of the genetic algorithm costs besides its games, and how fast games decide
fitness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.learn.run.config import EvaluatorConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.fitness import Arena, FitnessOptions
from deltaw.learn.strategies.genetic import CROSSOVERS, Genetic, GeneticOptions
from deltaw.learn.strategies.strategy import fitness_of
from deltaw.learn.weights.genome import Genome
from deltaw.learn.workers.backend import Serial

SIZES = ((100, 500), (1000, 10_000))
"""(individuals, weights)"""


def bench_generation(settings: Settings) -> Iterator[Row]:
    """Rating, selection, crossover and mutation, all of a generation but the games; steps per individual."""
    for individuals, weights in SIZES:
        for crossover in CROSSOVERS[:2]:
            options = GeneticOptions(population=individuals, crossover=crossover)
            strategy = Genetic(np.zeros(weights), options, seed=1, groups=np.arange(weights))
            values = np.random.default_rng(1).standard_normal(individuals)

            def work(strategy=strategy, values=values) -> int:
                strategy.tell(fitness_of(values))
                return 1

            name = f"genetic generation, {individuals:,} x {weights:,}, {crossover}"
            yield row(name, "generations/s", rate(work, settings.seconds))


def bench_fitness(settings: Settings) -> Iterator[Row]:
    """Games of random linear evaluators against four of them."""
    for name in ("backgammon", "connect_four"):
        game = games.load(name)
        genome = Genome(fresh(game, game.default_features, EvaluatorConfig(head="identity"), 1))
        genomes = np.random.default_rng(1).standard_normal((20, genome.size), np.float32)
        arena = Arena(genome, FitnessOptions(rounds=[16]), Serial())

        def work(arena=arena, genomes=genomes) -> int:
            return arena.measure(genomes, genomes[:4], 1).games

        yield row(f"fitness, linear {name}, {game.default_features}", "games/s", rate(work, settings.seconds))
