"""CMA-ES through ask and tell: the package `cma` (N. Hansen, https://github.com/CMA-ES/pycma), which learns the shape
of the distribution it draws from.

It is the best of its kind up to about a thousand weights; beyond that its matrix of n x n numbers is too large. The
package keeps its state in many Python objects, which a checkpoint without pickles cannot hold. So the state here is the
fitness of every generation. `restore` tells these to a new object once more. No game is played for this, and the result
is the same to the bit, because every draw is keyed by (seed, generation).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.learn.strategies.strategy import BREED, Fitness, describe, random_of

MOST_GENES = 5_000
"""numbers of a genome; the covariance matrix then takes 200 MB, and its decomposition the best part of a minute"""


class CMA:
    """A `Strategy`."""

    def __init__(self, start: np.ndarray, population: int, sigma: float, *, seed: int) -> None:
        try:
            import cma
        except ImportError:
            raise InputError('learner.strategy=cma needs the package cma: pip install "deltaw[evolution]"') from None
        if len(start) > MOST_GENES:
            raise InputError(
                f"learner.strategy=cma is for at most {MOST_GENES:,} weights, and this evaluator has {len(start):,}; "
                "use genetic"
            )
        self._package: Any = cma
        self._arguments = (np.asarray(start, float), population, sigma)
        self.seed = seed
        self._begin()

    def _begin(self) -> None:
        start, population, sigma = self._arguments
        self.generation = 0
        self._told: list[np.ndarray] = []
        self._scalars: dict[str, float] = {}
        options = {
            "popsize": population,
            "seed": np.nan,  # leaves NumPy's global state alone
            "randn": self._normal,
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
        }
        self._search = self._package.CMAEvolutionStrategy(start, sigma, options)
        self._draw()

    def _normal(self, *shape: int) -> np.ndarray:
        return self._random.standard_normal(shape)

    def _draw(self) -> None:
        self._random = random_of(self.seed, self.generation, BREED)
        self._drawn: list[np.ndarray] = self._search.ask()
        self.population = np.array(self._drawn, np.float32)

    def ask(self) -> np.ndarray:
        return self.population

    def tell(self, fitness: Fitness) -> None:
        """The package learns from ranks alone, the smallest the best."""
        self._take(fitness.place)
        spread = float(self._search.sigma * np.mean(self._search.sm.variances**0.5))
        self._scalars = describe(self.population, fitness, spread)
        self._draw()

    def _take(self, place: np.ndarray) -> None:
        self._told.append(np.asarray(place, np.int64))
        self._search.tell(self._drawn, place.astype(float).tolist())
        self.generation += 1

    def best(self) -> np.ndarray:
        """The mean of the distribution."""
        return np.asarray(self._search.mean, np.float32)

    def scalars(self) -> dict[str, float]:
        """Those of `describe`; ga/sigma: mean standard deviation of the distribution's coordinates."""
        return self._scalars

    def finite(self) -> bool:
        return bool(np.isfinite(self._search.mean).all() and np.isfinite(self.population).all())

    def state(self) -> dict[str, Any]:
        population = self._arguments[1]
        return {"told": np.array(self._told, np.int64).reshape(-1, population)}

    def restore(self, state: dict[str, Any]) -> None:
        self._begin()
        for place in state["told"]:
            self._take(place)
            self._draw()
