"""Learning automata over continuous weights: a team of one Gaussian a weight, in a game with a common payoff.

Automaton i holds mu_i and sigma_i and plays the weight x_i = mu_i + phi(sigma_i) eps_i, eps_i ~ N(0, 1), phi(sigma) =
max(sigma, sigma_low). The team of all weights is paid by a duel of x against mu (`learn/selfplay/duel.py`), and moves
towards what paid ([1] chapter 3, the continuous action-set learning automaton; [2]):

    mu_i    += a (beta_x - beta_mu) / phi_i  (x_i - mu_i) / phi_i
    sigma_i += a (beta_x - beta_mu) / phi_i {((x_i - mu_i) / phi_i)^2 - 1} - a K (sigma_i - sigma_low)

In a duel beta_mu = -beta_x up to a constant: with beta the share of the score, beta_x - beta_mu is x's points a game
over the largest outcome, between -1 and 1. `teams` draws of x a step share mu and sigma and are averaged, as in [3]:
this reduces the noise and keeps the expected step.

**For few weights.** Each weight sees one number for the whole team, in which the other weights' draws and the luck of
the games are noise. The noise grows with the number of weights, while the contribution of each shrinks. More than 20
weights are refused.

[1] M. A. L. Thathachar & P. S. Sastry, Networks of Learning Automata, 2004. [2] G. Santharam, P. S. Sastry & M. A. L.
Thathachar, Continuous action set learning automata for stochastic optimization, J. Franklin Inst. 331B, 1994. [3] M. A.
L. Thathachar & M. T. Arvind, Parallel algorithms for modules of learning automata, IEEE Trans. SMC-B 28, 1998.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.learn.automata.team import Progress, Team
from deltaw.learn.knobs import Count, NotNegative, Positive, check
from deltaw.learn.learner import Metrics
from deltaw.learn.steps.schedule import StepOptions
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(StepOptions):
    """For at most 20 weights: the noise in the one payoff of all grows with their number."""

    step_size: Positive = 0.03
    """a"""
    step_size_end: NotNegative = 0.003
    """a at the end of the budget: the smaller it is, the less mu swings about the best value"""
    sigma: Positive = 0.3
    """spread of every weight at the start, in units of the weights"""
    sigma_low: Positive = 0.02
    """sigma_L: the smallest spread with which weights are drawn"""
    penalty: NotNegative = 0.05
    """K: how strongly the spread is moved towards sigma_low"""
    teams: Count = 128
    """draws of all weights in one step, averaged; 1: the published rule"""
    pairs: Count = 1
    """pairs of games in the duel of each draw"""
    opening_plies: int = 4
    """random moves at the start of games without dice; -1: as in matches"""
    bias: bool = False
    """whether the bias is a weight too: it moves all values alike, and matters only beside the exact values of finished
    games"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> ContinuousTeam:
    """The learner of this module; raises InputError."""
    check(options)
    if not options.sigma >= options.sigma_low:
        raise InputError(f"learner.sigma={options.sigma} must be at least learner.sigma_low={options.sigma_low}")
    return ContinuousTeam(options, start, seed=seed, budget=budget, backend=backend)


class ContinuousTeam:
    """A `Learner`."""

    def __init__(self, options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> None:
        self.options, self.budget = options, budget
        self.team = Team(start, options, "automata_continuous", seed=seed, backend=backend)
        self.mu = self.team.start[: self.team.size].astype(np.float64)
        self.sigma = np.full(self.team.size, options.sigma)

    @property
    def games(self) -> int:
        return self.team.games

    def step(self) -> Metrics:
        options = self.options
        rate = options.rate(self.games / self.budget)
        noise = self.team.random().standard_normal((options.teams, self.team.size))
        spread = np.maximum(self.sigma, options.sigma_low)
        payoff = self.team.payoff(self.mu + spread * noise, self.mu)
        move(self.mu, self.sigma, noise, payoff, rate, options.sigma_low, options.penalty)
        spread = np.maximum(self.sigma, options.sigma_low)
        entropy = float(np.log(spread).mean()) + 0.5 * math.log(2.0 * math.pi * math.e)
        return self.team.metrics(self.mu, self.sigma, entropy, payoff)

    def evaluator(self) -> Evaluator:
        """The weights mu."""
        return self.team.evaluator(self.mu)

    def finite(self) -> bool:
        return bool(np.isfinite(self.mu).all() and np.isfinite(self.sigma).all())

    def state(self) -> dict[str, Any]:
        arrays = {"mu": torch.from_numpy(self.mu.copy()), "sigma": torch.from_numpy(self.sigma.copy())}
        return {"progress": tuple(self.team.progress), **arrays}

    def restore(self, state: dict[str, Any]) -> None:
        self.team.progress = Progress(*state["progress"])
        self.mu[:], self.sigma[:] = state["mu"].numpy(), state["sigma"].numpy()


@kernel
def move(mu, sigma, noise, payoff, rate, sigma_low, penalty):
    """The module's equations, averaged over the draws noise [teams, n] = (x - mu) / phi with payoff [teams] = beta_x -
    beta_mu."""
    teams, size = noise.shape
    for i in range(size):
        phi = max(sigma[i], sigma_low)
        towards, wider = 0.0, 0.0
        for t in range(teams):
            towards += payoff[t] / phi * noise[t, i]
            wider += payoff[t] / phi * (noise[t, i] ** 2 - 1.0)
        mu[i] += rate * towards / teams
        sigma[i] += rate * wider / teams - rate * penalty * (sigma[i] - sigma_low)
