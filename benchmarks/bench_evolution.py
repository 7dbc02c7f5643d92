"""Evolution on one core: what a generation of the genetic algorithm costs besides its games, and how fast games decide fitness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import NO_TARGET, Row, Settings, rate, row
from envs import games
from learn.backend import Serial
from learn.config import EvaluatorConfig
from learn.fitness import Arena, FitnessOptions
from learn.genetic import CROSSOVERS, Genetic, GeneticOptions
from learn.genome import Genome
from learn.start import fresh
from learn.strategy import fitness_of

SIZES = {(100, 500): 1.3, (1000, 10_000): 600.0}
"""(individuals, weights): milliseconds a generation of the fastest implementation that was compared with"""


def bench_generation(settings: Settings) -> Iterator[Row]:
    """Rating, selection, crossover and mutation, all of a generation but the games; steps per individual."""
    for (individuals, weights), milliseconds in SIZES.items():
        for crossover in CROSSOVERS[:2]:
            options = GeneticOptions(population=individuals, crossover=crossover)
            strategy = Genetic(np.zeros(weights), options, seed=1, groups=np.arange(weights))
            values = np.random.default_rng(1).standard_normal(individuals)

            def work(strategy=strategy, values=values) -> int:
                strategy.tell(fitness_of(values))
                return 1

            target = (1000 / milliseconds, None) if crossover == CROSSOVERS[0] else NO_TARGET
            name = f"genetic generation, {individuals:,} x {weights:,}, {crossover}"
            yield row(name, "generations/s", rate(work, settings.seconds), target)


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
