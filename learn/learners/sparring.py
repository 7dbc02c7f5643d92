"""Evolution against sparring partners: simpler players, which teach themselves first.

    partners      K genetic algorithms of `partner_games` games each, every one among its own kind and from a seed of
                  its own; then they learn no more
    population    evolution (learn/learners/evolution.py) with the partners as its fixed players: every generation
                  meets some of them, drawn anew

A population that meets only itself learns what beats itself, and that need not beat anybody else. So it meets partners
from other populations. Each partner values one cell at a time, as a *weighted piece counter* does (in a game without a
board: its features, linearly). The partners never learn from games against the population, so they become sensible
players, each a little different, and not refutations of the population; and what beats them all beats most players of
their kind. All of them start with the rules alone.

C. Rosin and R. Belew, "New methods for competitive coevolution" (1997), for opponents from other populations; S. Lucas
and T. Runarsson, "Temporal difference learning versus co-evolution for acquiring Othello position evaluation" (2006),
for weighted piece counters that evolve.

Letters: K partners.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from deltaw.envs.bits import random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.learn.knobs import Count, CountOrZero, Range
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.learners import evolution
from deltaw.learn.learners.evolution import Evolution, check_evolution
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.fitness import Fixed, alone
from deltaw.learn.strategies.strategy import PARTNERS, random_of
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


def partner_defaults() -> evolution.Options:
    return evolution.Options(population=50, elites=5, average=0.95, rounds=[20], peers=10, fame=0)


@dataclass
class Options(evolution.Options):
    """Every knob of the population, which are those of evolution, and of its partners."""

    rounds: list[int] = field(default_factory=lambda: [32])
    peers: CountOrZero = 0
    fame: CountOrZero = 0
    partners: Count = 64
    """K"""
    partner_games: Annotated[int, Range(1)] = 20_000
    """games that each partner learns from"""
    partner: evolution.Options = field(default_factory=partner_defaults)
    """knobs of each partner's own evolution"""


class Sparring:
    """A `Learner`: one step is one generation of a partner, or of the population when all partners have learned."""

    def __init__(self, start: Evaluator, options: Options, *, seed: int, backend: Backend) -> None:
        self.options, self.seed = options, seed
        self.population = Evolution(start, options, seed=seed, backend=backend)
        self._named = self.population.arena.fixed
        self._answers: list[Fixed] = []
        with named_as_partners():
            self.partners = [
                evolution.make(options.partner, piece_counter(start.game, own), seed=own, budget=0, backend=backend)
                for own in (partner_seed(seed, k) for k in range(options.partners))
            ]

    @property
    def games(self) -> int:
        """All games that were played, by the partners too."""
        return self.population.games + sum(partner.games for partner in self.partners)

    def step(self) -> Metrics:
        """Scalars: those of `evolution`, of the population; while partners learn, partner/NAME instead of ga/NAME, of
        the partner whose turn it is."""
        learning = [partner for partner in self.partners if partner.games < self.options.partner_games]
        if learning:
            metrics = learning[0].step()
            scalars = {name.replace("ga/", "partner/"): value for name, value in metrics.scalars.items()}
        else:
            self.population.arena.fixed = [*self._named, *self._drawn()]
            scalars = self.population.step().scalars
        positions = self.population.positions + sum(partner.positions for partner in self.partners)
        return Metrics(self.games, positions, scalars)

    def _drawn(self) -> list[Fixed]:
        """The partners in the order of this generation: where an individual has fewer pairs of games than opponents, it
        meets the first of them."""
        if not self._answers:
            self._answers = [fixed_of(k, partner) for k, partner in enumerate(self.partners)]
        order = random_of(self.seed, self.population.strategy.generation, PARTNERS).permutation(len(self._answers))
        return [self._answers[k] for k in order]

    def evaluator(self) -> Evaluator:
        """The population's answer."""
        trained = {"method": f"sparring {self.options.strategy}", "games": self.games, "seed": self.seed}
        return self.population.genome.evaluator(self.population.strategy.best(), trained)

    def finite(self) -> bool:
        return all(own.finite() for own in (self.population, *self.partners))

    def state(self) -> dict[str, Any]:
        return {"population": self.population.state(), "partners": [partner.state() for partner in self.partners]}

    def restore(self, state: dict[str, Any]) -> None:
        self._answers = []
        self.population.restore(state["population"])
        for partner, stored in zip(self.partners, state["partners"], strict=True):
            partner.restore(stored)


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> Sparring:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check_game(start.game, "sparring")
    check_evolution(options, others=options.partners)
    spent = options.partners * options.partner_games
    if spent >= budget:
        raise InputError(
            f"games={budget:,} leaves the population none: its {options.partners} partners learn from {spent:,}; "
            "more games, or fewer learner.partners or learner.partner_games"
        )
    return Sparring(start, options, seed=seed, backend=backend)


@contextlib.contextmanager
def named_as_partners() -> Iterator[None]:
    """Names an option of evolution that is refused as one of `learner.partner`."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace("learner.", "learner.partner.")) from None


def piece_counter(game: Game, seed: int) -> Evaluator:
    """A partner that knows nothing yet: one weight for what stands on each cell, images under the board's symmetries
    together; where there is no board, a linear evaluator."""
    lines = game.board is not None and game.rules.tuple_values
    tuples = TuplesConfig(lines=[1]) if lines else None
    return fresh(game, game.default_features, EvaluatorConfig(head="tanh", tuples=tuples), seed)


def partner_seed(seed: int, k: int) -> int:
    """The seed of partner k in a run with `seed`."""
    return int(random_word(np.int64(seed), np.int64(k), np.int64(0), PARTNERS))


def fixed_of(k: int, partner: Evolution) -> Fixed:
    """What partner k has learned, as an opponent."""
    return Fixed(f"partner_{k}", alone(partner.evaluator().leaf))
