"""A genetic algorithm with self-adaptive mutation, the whole population in a few array operations.

    parents     the best of 3 drawn at random (tournament); with probability p two of them are crossed:
    blx         w = a + u (b - a),  u ~ U(-alpha, 1 + alpha) for every gene       (BLX-alpha; Eshelman & Schaffer 1993)
    uniform     every group of genes whole from one parent or the other (Syswerda 1989; groups: learn/weights/genome.py)
    mean        w = (a + b) / 2: for networks only among relatives, since the neurons of strangers do not correspond;
                here all descend from one start
    none        w = a
    mutation    s' = s exp(tau0 N(0,1) + tau1 N_i(0,1)),  w_i' = w_i + s_i' N_i(0,1)
                with tau0 = 1/sqrt(2 n), tau1 = 1/sqrt(2 sqrt(n)), or one s for all genes: s' = s exp(N(0,1) / sqrt(n))
                (Schwefel 1995; Baeck & Schwefel 1993, section 2.2)

Fitness is noisy, so the best of a generation is mostly the luckiest. Four things are done about it. Elites live on and
are measured again each generation. Who is an elite is decided by a running mean of the *advantage* over the
generation's average, in which old generations count less and less:

    S <- d S + games (fitness - average),  G <- d G + games,  estimate = S / (G + doubt)

where `doubt` games of average play are mixed in: a newcomer's few games must show more than an elite's many. What is
measured and exported can be the mean of the elites, in which their errors cancel. And it can be averaged over
generations, for selection by noise makes the population drift.

Letters: N individuals, E elites (the first E rows), C = N - E children, n genes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.learn.knobs import MOST, Count, NotNegative, OneOf, Positive, Range, Share, check
from deltaw.learn.strategies.strategy import BEGIN, BREED, Fitness, describe, random_of

CROSSOVERS = ("blx", "uniform", "mean", "none")
STEPS = ("gene", "individual")
ANSWERS = ("elite", "mean")
LARGEST_STEP = 1e3
"""mutation steps never grow beyond this: a runaway lineage would end in infinities"""


@dataclass
class GeneticOptions:
    """Every knob of the genetic algorithm."""

    population: Annotated[int, Range(2, MOST)] = 100
    sigma: Positive = 0.1
    """mutation step at the beginning, and spread of the first generation around the start; also of cma"""
    sigma_least: Positive = 1e-4
    """mutation steps never fall below this"""
    steps: Annotated[str, OneOf(STEPS)] = "individual"
    """gene (every gene has a mutation step of its own) or individual (one for all of its genes)"""
    crossover: Annotated[str, OneOf(CROSSOVERS)] = "blx"
    """blx, uniform, mean or none"""
    crossover_rate: Share = 0.7
    """p: the share of children with two parents"""
    alpha: NotNegative = 0.3
    """of blx: how far beyond its parents a gene may lie, in their distances"""
    tournament: Count = 3
    """individuals of which the best becomes a parent"""
    elites: int = 5
    """individuals that live on unchanged and are measured again"""
    memory: Share = 0.7
    """d: what an elite's record of earlier generations counts for in the next, 0 .. 1"""
    doubt: NotNegative = 50.0
    """games of average play mixed into every record"""
    answer: Annotated[str, OneOf(ANSWERS)] = "mean"
    """what is measured and exported: elite (the one with the best record) or mean (of all elites)"""
    average: Share = 0.0
    """decay per generation of the exponential average over generations of what is measured and exported; 0: the last
    one's"""


class Genetic:
    """A `Strategy`."""

    def __init__(self, start: np.ndarray, options: GeneticOptions, *, seed: int, groups: np.ndarray) -> None:
        """`start` [n]: the first generation is spread around it. `groups` [n]: of genes that `uniform` hands on
        whole."""
        self.options, self.seed, self.generation = options, seed, 0
        self._groups, self._start = groups, np.asarray(start, np.float32)
        random = random_of(seed, 0, BEGIN)
        n, size = len(start), options.population
        self.population = self._start + options.sigma * random.standard_normal((size, n), np.float32)
        columns = n if options.steps == "gene" else 1
        self.log_sigma = np.full((size, columns), np.log(options.sigma), np.float32)
        self.record = np.zeros((size, 2))
        """S and G of every individual"""
        self._best = self._start
        self._scalars: dict[str, float] = {}

    def ask(self) -> np.ndarray:
        return self.population

    def tell(self, fitness: Fitness) -> None:
        """Rate, choose the elites, breed the next generation."""
        options = self.options
        before = self.estimates()[: options.elites]
        advantage = fitness.mean - fitness.mean.mean()
        self.record = options.memory * self.record + np.stack([fitness.games * advantage, fitness.games], axis=1)
        self._scalars = self._describe(fitness, before)
        elites = np.argsort(-self.estimates(), kind="stable")[: options.elites]
        random = random_of(self.seed, self.generation, BREED)
        genomes, log_sigma = self._children(random, np.argsort(fitness.place))
        self.population = np.concatenate([self.population[elites], genomes])
        self.log_sigma = np.concatenate([self.log_sigma[elites], log_sigma])
        self.record = np.concatenate([self.record[elites], np.zeros((len(genomes), 2))])
        self.generation += 1
        self._best = self._averaged()

    def estimates(self) -> np.ndarray:
        """[N]: advantage over the average by the records; 0 for who has none."""
        weight = self.record[:, 1] + self.options.doubt
        return np.divide(self.record[:, 0], weight, out=np.zeros(len(weight)), where=weight > 0)

    def best(self) -> np.ndarray:
        """The answer of the last generations; the start before anything was measured."""
        return self._best

    def _averaged(self) -> np.ndarray:
        """m <- d m + (1 - d) answer,  d = min(average, (g - 1) / (g + 2)) after generation g: at first the mean forgets
        sooner.
        """
        elites = self.population[: self.options.elites]
        answer = elites[0] if self.options.answer == "elite" else elites.mean(axis=0)
        decay = np.float32(min(self.options.average, (self.generation - 1) / (self.generation + 2)))
        return decay * self._best + (1 - decay) * answer

    # --- operators --------------------------------------------------------------------------------------------

    def _children(self, random: np.random.Generator, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Genomes [C, n] and log sigma of the next generation's children; `order`: individuals, the best first."""
        options, count = self.options, len(order) - self.options.elites
        mothers, fathers = order[tournament(random, len(order), options.tournament, (2, count))]
        if options.crossover == "none":
            fathers = mothers
        else:
            fathers = np.where(random.random(count) < options.crossover_rate, fathers, mothers)
        genomes = self._cross(random, self.population[mothers], self.population[fathers])
        log_sigma = (self.log_sigma[mothers] + self.log_sigma[fathers]) / 2
        mutate(random, genomes, log_sigma, options.sigma_least)
        return genomes, log_sigma

    def _cross(self, random: np.random.Generator, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Children [C, n] of a[i] and b[i]; a parent crossed with itself is its own child."""
        if self.options.crossover == "blx":
            return blend(random, a, b, self.options.alpha)
        if self.options.crossover == "uniform":
            return exchange(random, a, b, self._groups)
        return a if self.options.crossover == "none" else (a + b) / 2

    # --- what is logged ---------------------------------------------------------------------------------------

    def _describe(self, fitness: Fitness, before: np.ndarray) -> dict[str, float]:
        """Those of `describe`; ga/sigma: geometric mean of the mutation steps. ga/elite_expected: the elites' advantage
        over the average by their records; ga/elite_retest: the same measured anew by this generation's games."""
        scalars = describe(self.population, fitness, float(np.exp(self.log_sigma.mean(dtype=np.float64))))
        if self.generation > 0:
            now = fitness.mean[: len(before)] - fitness.mean.mean()
            scalars |= {"ga/elite_expected": float(before.mean()), "ga/elite_retest": float(now.mean())}
        return scalars

    def scalars(self) -> dict[str, float]:
        return self._scalars

    def finite(self) -> bool:
        return bool(np.isfinite(self.population).all() and np.isfinite(self.log_sigma).all())

    def state(self) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "population": self.population,
            "log_sigma": self.log_sigma,
            "record": self.record,
            "best": self._best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.generation = state["generation"]
        self.population, self.log_sigma, self.record = state["population"], state["log_sigma"], state["record"]
        self._best = state["best"]


def check_genetic(options: GeneticOptions) -> None:
    """Raise InputError for options that make no sense."""
    check(options)
    if not options.sigma_least <= options.sigma:
        raise InputError(f"learner.sigma_least={options.sigma_least} must be at most learner.sigma={options.sigma}")
    if not 1 <= options.elites < options.population:
        raise InputError(
            f"learner.elites={options.elites} must be at least 1 and less than learner.population={options.population}"
        )


# --- operators ----------------------------------------------------------------------------------------------------


def tournament(random: np.random.Generator, size: int, contestants: int, shape: tuple[int, ...]) -> np.ndarray:
    """Places [shape], 0 the best of `size`: each the best of so many drawn at random, with replacement."""
    return random.integers(size, size=(*shape, contestants)).min(axis=-1)


def blend(random: np.random.Generator, a: np.ndarray, b: np.ndarray, alpha: float) -> np.ndarray:
    """BLX-alpha of a [C, n] and b [C, n]: w = a + u (b - a), u ~ U(-alpha, 1 + alpha). `a` and `b` are used up."""
    u = random.random(a.shape, np.float32)
    u *= np.float32(1 + 2 * alpha)
    u -= np.float32(alpha)
    b -= a
    b *= u
    a += b
    return a


def exchange(random: np.random.Generator, a: np.ndarray, b: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Uniform crossover of a [C, n] and b [C, n]: each of the `groups` [n] of genes from one of them, with the same
    chance."""
    from_b = random.random((len(a), int(groups.max()) + 1), np.float32) < 0.5
    return np.where(from_b[:, groups], b, a)


def mutate(random: np.random.Generator, genomes: np.ndarray, log_sigma: np.ndarray, least: float) -> None:
    """Self-adaptive mutation of genomes [C, n] and their log sigma [C, n] or [C, 1], in place; see the module's
    equations."""
    n = genomes.shape[1]
    if log_sigma.shape[1] == 1:
        log_sigma += random.standard_normal(log_sigma.shape, np.float32) / np.float32(np.sqrt(n))
    else:
        log_sigma += random.standard_normal((len(genomes), 1), np.float32) / np.float32(np.sqrt(2 * n))
        log_sigma += random.standard_normal(log_sigma.shape, np.float32) / np.float32(np.sqrt(2 * np.sqrt(n)))
    np.clip(log_sigma, np.log(least), np.log(LARGEST_STEP), out=log_sigma)
    change = random.standard_normal(genomes.shape, np.float32)
    change *= np.exp(log_sigma)
    genomes += change
