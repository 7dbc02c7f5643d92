"""Ask and tell: what a search over genomes is, whatever it does inside.

    genomes = strategy.ask();  measure them;  strategy.tell(fitness);  strategy.best()

A strategy knows no game: it sees vectors and how good they were. Every random number is keyed by (seed, generation), so
a strategy goes on exactly from its state.

Letters: N individuals of a generation, n numbers of a genome.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np


class Fitness(NamedTuple):
    """How good the individuals of one generation were, all against the same opponents with the same dice."""

    mean: np.ndarray
    """float64 [N]: points a game; comparable within a generation only, for the next meets other opponents"""
    games: np.ndarray
    """int64 [N]: how many games the mean is of"""
    place: np.ndarray
    """int64 [N]: rank, 0 the best: who was thought worth more games comes before who was not, whatever their means"""


def fitness_of(values: np.ndarray) -> Fitness:
    """Fitness that is exactly `values` [N], the greater the better: of functions rather than of games."""
    order = np.argsort(-values, kind="stable")
    return Fitness(np.asarray(values, float), np.ones(len(values), np.int64), places(order))


def places(order: np.ndarray) -> np.ndarray:
    """place[i] of the individuals listed in `order` [N], the best first."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def random_of(seed: int, generation: int, purpose: int) -> np.random.Generator:
    """The random numbers of one generation for one purpose."""
    return np.random.Generator(np.random.SFC64([seed, generation, purpose]))


def describe(population: np.ndarray, fitness: Fitness, sigma: float) -> dict[str, float]:
    """What every strategy logs. ga/best, ga/mean, ga/median, ga/worst: fitness of this generation, points a game (best
    is of the first in rank, and a maximum over noise: no strength). ga/sigma: the mean step of mutations. ga/diversity:
    mean distance of the individuals to their centroid over its norm."""
    centroid = population.mean(axis=0)
    distance = np.linalg.norm(population - centroid, axis=1).mean()
    return {
        "ga/best": float(fitness.mean[np.argmin(fitness.place)]),
        "ga/mean": float(fitness.mean.mean()),
        "ga/median": float(np.median(fitness.mean)),
        "ga/worst": float(fitness.mean.min()),
        "ga/sigma": sigma,
        "ga/diversity": float(distance / max(float(np.linalg.norm(centroid)), 1e-12)),
    }


BEGIN, BREED, OPPONENTS, PARTNERS = 0, 1, 2, 3
"""purposes of random numbers"""


class Strategy(Protocol):
    generation: int
    """generations told of so far"""

    def ask(self) -> np.ndarray:
        """float32 [N, n]: the individuals to be measured; the same until `tell`."""
        ...

    def tell(self, fitness: Fitness) -> None:
        """How good those of the last `ask` were."""
        ...

    def best(self) -> np.ndarray:
        """float32 [n]: what has been learned so far."""
        ...

    def scalars(self) -> dict[str, float]:
        """What the last `tell` is to be logged with."""
        ...

    def finite(self) -> bool: ...

    def state(self) -> dict[str, Any]:
        """Arrays, numbers and plain containers of them."""
        ...

    def restore(self, state: dict[str, Any]) -> None: ...
