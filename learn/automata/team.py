"""What teams of learning automata share: one automaton a weight, one payoff for all of them, from duels."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.duel import Games, duel, opening_plies_of
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator

MOST = 20
"""weights of a team: each sees the payoff of all, and the noise of the others grows with their number"""


class TeamOptions(Protocol):
    """The options that both kinds of automata have."""

    teams: int
    pairs: int
    opening_plies: int
    bias: bool


class Progress(NamedTuple):
    """How far a team has come: what its games and random numbers are numbered by."""

    steps: int = 0
    plies: int = 0


class Team:
    """Plays the duels of one learner and writes its weights into an evaluator. The first `size` weights of the
    evaluator are the team's."""

    def __init__(self, start: Evaluator, options: TeamOptions, learner: str, *, seed: int, backend: Backend) -> None:
        check_game(start.game, learner)
        self.start = linear_weights(start, learner)
        self.size = len(self.start) - (0 if options.bias else 1)
        if self.size > MOST:
            raise InputError(
                f"{learner} moves at most {MOST} weights, for the noise in the one payoff of all grows with their "
                f"number; {start.game.name}'s features {start.description.features!r} have {self.size}: "
                "choose a smaller set"
            )
        self.names = [*start.features.names(), "bias"][: self.size]
        self._options, self._learner, self._evaluator = options, learner, start
        self._seed, self._backend = seed, backend
        self._opening_plies = opening_plies_of(start.game, options.opening_plies)
        self._scale = float(max(start.game.rules.outcomes))
        self.progress = Progress()

    @property
    def games(self) -> int:
        return 2 * self._options.pairs * self._options.teams * self.progress.steps

    def random(self) -> np.random.Generator:
        """The random numbers of this step: the same after a resume."""
        return np.random.default_rng([self._seed, self.progress.steps])

    def payoff(self, draws: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """beta [teams], -1 .. 1: points a game over the largest outcome of each of draws [teams, n] against reference
        [n]."""
        one = np.tile(self.start, (len(draws), 1))
        other = one.copy()
        with np.errstate(over="ignore"):  # weights that have diverged are noticed after the step
            one[:, : self.size], other[:, : self.size] = draws, reference
        numbered = Games(self._seed, self.games // 2, self._options.pairs, self._opening_plies)
        duels = duel(self._evaluator, one, other, numbered, self._backend)
        self.progress = Progress(self.progress.steps + 1, self.progress.plies + duels.plies)
        return duels.points / self._scale

    def metrics(self, mean: np.ndarray, spread: np.ndarray, entropy: float, payoff: np.ndarray) -> Metrics:
        """Scalars: automata/mu/NAME and automata/sigma/NAME, mean and spread of the weight that belongs to a feature;
        automata/entropy, in nats, the mean over the weights; automata/payoff, mean of beta over this step's draws, and
        automata/payoff_spread, their standard deviation."""
        scalars = {f"automata/mu/{name}": float(x) for name, x in zip(self.names, mean, strict=True)}
        scalars |= {f"automata/sigma/{name}": float(x) for name, x in zip(self.names, spread, strict=True)}
        scalars |= {"automata/entropy": entropy}
        scalars |= {"automata/payoff": float(payoff.mean()), "automata/payoff_spread": float(payoff.std())}
        return Metrics(self.games, self.progress.plies, scalars)

    def evaluator(self, mean: np.ndarray) -> Evaluator:
        """The start with the weights `mean` [n]."""
        weight = self.start.copy()
        weight[: self.size] = mean
        trained = {"method": self._learner.replace("_", "-"), "games": self.games, "seed": self._seed}
        return with_weights(self._evaluator, weight, trained)
