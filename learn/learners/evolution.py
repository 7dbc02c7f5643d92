"""Evolution: weights as genomes, fitness by games, nothing differentiated.

    genomes = strategy.ask()      learn/strategies/genetic.py, or the package cma behind learn/strategies/cma_es.py
    scores = arena.measure(genomes, peers + hall of fame)       learn/selfplay/fitness.py
    strategy.tell(scores.fitness)

The hall of fame keeps what was best in earlier generations, so that a population does not forget how to beat it (Rosin
& Belew 1997). Each generation's answer enters; when the hall is full, a random member leaves, so that the hall holds
old and new members.

What is measured and exported is the strategy's answer: by default the mean of the elites, for `cma` the mean of its
distribution. A single elite is good, but it is also the luckiest of many; in a mean the luck cancels, and what all
elites have in common stays. A fitness is never reported as strength, since it is measured against the opponents of one
generation and is a maximum over noise.

Letters: N individuals, n genes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch

from deltaw.envs.bits import random_word
from deltaw.envs.errors import InputError
from deltaw.learn.knobs import Count, OneOf
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.fitness import Arena, FitnessOptions, Scores, check_fitness
from deltaw.learn.strategies.genetic import Genetic, GeneticOptions, check_genetic
from deltaw.learn.strategies.strategy import OPPONENTS, Strategy, random_of
from deltaw.learn.weights.genome import Genome
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator

STRATEGIES = ("genetic", "cma")
MOST_BYTES = 2**31
"""of a population: crossover and mutation need a few times as much"""


@dataclass
class Options(FitnessOptions, GeneticOptions):
    """Every knob of evolution; those of the fitness and of the genetic algorithm are explained in their modules."""

    strategy: Annotated[str, OneOf(STRATEGIES)] = "genetic"
    """genetic or cma"""
    hall: Count = 10
    """size of the hall of fame"""
    hall_every: Count = 5
    """generations between two that enter it"""


class Evolution:
    """A `Learner`: one step is one generation."""

    def __init__(self, start: Evaluator, options: Options, *, seed: int, backend: Backend) -> None:
        self.options, self.seed = options, seed
        self.genome = Genome(start)
        _check_memory(self.genome, options)
        self.strategy = make_strategy(self.genome, options, seed)
        self.arena = Arena(self.genome, options, backend)
        self.hall = np.empty((0, self.genome.size), np.float32)
        self.games = self.positions = 0

    def step(self) -> Metrics:
        """One generation. Scalars: those of the strategy; ga/hall_of_fame and ga/fixed: points a game of the whole
        population against the hall of fame and against the players that it does not breed."""
        generation, options = self.strategy.generation, self.options
        genomes = self.strategy.ask()
        random = random_of(self.seed, generation, OPPONENTS)
        peers = random.permutation(len(genomes))[: options.peers]
        famous = random.permutation(len(self.hall))[: options.fame]
        rivals = np.concatenate([genomes[peers], self.hall[famous]])
        scores = self.arena.measure(genomes, rivals, dice(self.seed, generation))
        self.strategy.tell(scores.fitness)
        self.games += scores.games
        self.positions += scores.plies
        if (generation + 1) % options.hall_every == 0:
            self._admit(random)
        return Metrics(self.games, self.positions, self._scalars(scores, len(peers), len(famous)))

    def _admit(self, random: np.random.Generator) -> None:
        """The answer of this generation enters the hall of fame."""
        keep = np.arange(len(self.hall))
        if len(keep) and len(keep) >= self.options.hall:
            keep = np.delete(keep, random.integers(len(keep)))
        self.hall = np.concatenate([self.hall[keep], self.strategy.best()[None]])[-self.options.hall :]

    def _scalars(self, scores: Scores, peers: int, famous: int) -> dict[str, float]:
        scalars = self.strategy.scalars() | {"play/game_length": scores.plies / scores.games}
        own = peers + famous
        for name, against in (("hall_of_fame", scores.against[peers:own]), ("fixed", scores.against[own:])):
            if np.isfinite(against).any():
                scalars[f"ga/{name}"] = float(np.nanmean(against))
        return scalars

    def evaluator(self) -> Evaluator:
        """The strategy's answer."""
        o = self.options
        trained = {"method": f"evolution {o.strategy}", "games": self.games, "seed": self.seed}
        return self.genome.evaluator(self.strategy.best(), trained)

    def finite(self) -> bool:
        return self.strategy.finite()

    def state(self) -> dict[str, Any]:
        strategy = {name: _stored(value) for name, value in self.strategy.state().items()}
        return {"counts": [self.games, self.positions], "hall": torch.from_numpy(self.hall), "strategy": strategy}

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.positions = state["counts"]
        self.hall = state["hall"].numpy()
        self.strategy.restore({name: _loaded(value) for name, value in state["strategy"].items()})


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> Evolution:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check_game(start.game, "evolution")
    check_evolution(options)
    return Evolution(start, options, seed=seed, backend=backend)


def check_evolution(options: Options, others: int = 0) -> None:
    """Raise InputError for options that make no sense. `others`: opponents that the options do not name."""
    check_genetic(options)
    check_fitness(options, others)


def make_strategy(genome: Genome, options: Options, seed: int) -> Strategy:
    start = genome.vector(genome.start)
    if options.strategy == "cma":
        from deltaw.learn.strategies.cma_es import CMA

        return CMA(start, options.population, options.sigma, seed=seed)
    return Genetic(start, options, seed=seed, groups=genome.groups())


def dice(seed: int, generation: int) -> int:
    """The seed of a generation's games."""
    return int(random_word(np.int64(seed), np.int64(generation), np.int64(0), OPPONENTS))


def _check_memory(genome: Genome, options: Options) -> None:
    need = 4 * genome.size * options.population
    if need > MOST_BYTES:
        raise InputError(
            f"learner.population={options.population} of {genome.size:,} weights each would take {need / 2**30:.1f} "
            f"GiB, more than {MOST_BYTES / 2**30:g}: evolution is for small evaluators; "
            "try learner=td_linear for n-tuples"
        )


def _stored(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _loaded(value: Any) -> Any:
    return value.numpy() if isinstance(value, torch.Tensor) else value
