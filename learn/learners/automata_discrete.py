"""Learning automata over a few levels a weight: a team that plays games with a common payoff; linear reward-inaction
and pursuit.

Automaton i chooses the level l of its weight with probability p_il; all automata get the same payoff beta in [0, 1],
from a duel of the chosen weights (`learn/selfplay/duel.py`). With alpha the level chosen and a the step size, the
**linear reward-inaction** scheme L_R-I ([1] section 1.4, its S-model) is

    p_alpha += a beta (1 - p_alpha),    p_l -= a beta p_l for the others

The p remain probabilities and are absorbed in unit vectors. A team converges to a mode of the payoff, where no
automaton alone could do better. The **pursuit** scheme ([2]) keeps d_il, the mean payoff while level l was chosen, and
moves towards the best of them, whichever level was chosen now, once all levels have been tried `trials` times:

    p_l += a (1{l = argmax d} - p_l)

It is faster, since the payoffs of all earlier games count in every step. `teams` draws a step share p, as in [3]: with
q_l the sum of beta over draws that chose l, and q over all, p_l += a (q_l - q p_l) / teams, which is the first rule for
one draw.

The evaluator is the **mean** weight under p: it starts at the weights of the start, around which the levels lie, and
ends at the level that absorbs.

[1] M. A. L. Thathachar & P. S. Sastry, Networks of Learning Automata, 2004. [2] M. A. L. Thathachar & P. S. Sastry, A
new approach to the design of reinforcement schemes for learning automata, IEEE Trans. SMC-15, 1985. [3] M. A. L.
Thathachar & M. T. Arvind, Parallel algorithms for modules of learning automata, IEEE Trans. SMC-B 28, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch

from deltaw.envs.kernel import kernel
from deltaw.learn.automata.team import Progress, Team
from deltaw.learn.knobs import Count, OneOf, Positive, Range, Share, check
from deltaw.learn.learner import Metrics
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator

ALGORITHMS = ("lri", "pursuit")
AGAINST = ("mean", "start")


@dataclass
class Options:
    """For at most 20 weights: the noise in the one payoff of all grows with their number."""

    algorithm: Annotated[str, OneOf(ALGORITHMS)] = "pursuit"
    """lri (linear reward-inaction) or pursuit"""
    step_size: Annotated[float, Range(0.0, 1.0, above=True)] = 0.01
    """a, above 0 and at most 1: p must stay a probability"""
    levels: Annotated[int, Range(2, 1000)] = 9
    """of each weight, equally spaced"""
    span: Positive = 1.0
    """the levels lie between the start's weight - span and + span"""
    against: Annotated[str, OneOf(AGAINST)] = "mean"
    """opponent of the duels: the mean weights of now (mean), or those of the start (start)"""
    trials: Count = 10
    """pursuit: how often a weight's levels must all have been tried before it moves"""
    memory: Share = 0.99
    """pursuit: what a step leaves of the weight of earlier payoffs in d, 0 .. 1; 1: the published rule, for payoffs
    that do not change"""
    teams: Count = 128
    """draws of all weights in one step; 1: the published rules"""
    pairs: Count = 1
    """pairs of games in the duel of each draw"""
    opening_plies: int = 4
    """random moves at the start of games without dice; -1: as in matches"""
    bias: bool = False
    """whether the bias is a weight too: it moves all values alike, and matters only beside the exact values of finished
    games"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> DiscreteTeam:
    """The learner of this module; raises InputError."""
    check(options)
    return DiscreteTeam(options, start, seed=seed, backend=backend)


class DiscreteTeam:
    """A `Learner`. Letters: n weights, m levels."""

    def __init__(self, options: Options, start: Evaluator, *, seed: int, backend: Backend) -> None:
        self.options = options
        self.team = Team(start, options, "automata_discrete", seed=seed, backend=backend)
        self._start = self.team.start[: self.team.size].astype(np.float64)
        self.levels = self._start[:, None] + np.linspace(-options.span, options.span, options.levels)
        self.chances = np.full(self.levels.shape, 1.0 / options.levels)
        self.paid = np.zeros((2, *self.levels.shape))
        """[2, n, m]: sum of payoffs while a level was chosen, and how often it was"""

    @property
    def games(self) -> int:
        return self.team.games

    @property
    def mean(self) -> np.ndarray:
        """[n]: expected weights."""
        return (self.chances * self.levels).sum(axis=1)

    def step(self) -> Metrics:
        options = self.options
        drawn = self.team.random().random((options.teams, self.team.size))
        chosen = choose(self.chances, drawn)
        reference = self.mean if options.against == "mean" else self._start
        payoff = self.team.payoff(np.take_along_axis(self.levels, chosen.T, axis=1).T, reference)
        beta = 0.5 + 0.5 * payoff
        if options.algorithm == "lri":
            reward(self.chances, chosen, beta, options.step_size)
        else:
            pursue(self.chances, self.paid, chosen, beta, options.step_size, options.trials, options.memory)
        spread = np.sqrt((self.chances * (self.levels - self.mean[:, None]) ** 2).sum(axis=1))
        return self.team.metrics(self.mean, spread, entropy(self.chances), payoff)

    def evaluator(self) -> Evaluator:
        """The mean weights."""
        return self.team.evaluator(self.mean)

    def finite(self) -> bool:
        return bool(np.isfinite(self.chances).all() and np.isfinite(self.paid).all())

    def state(self) -> dict[str, Any]:
        arrays = {"chances": torch.from_numpy(self.chances.copy()), "paid": torch.from_numpy(self.paid.copy())}
        return {"progress": tuple(self.team.progress), **arrays}

    def restore(self, state: dict[str, Any]) -> None:
        self.team.progress = Progress(*state["progress"])
        self.chances[:], self.paid[:] = state["chances"].numpy(), state["paid"].numpy()


def choose(chances: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Levels int64 [teams, n] by the random numbers drawn [teams, n] in [0, 1): level l where `drawn` falls into its
    share of chances [n, m]."""
    below = np.cumsum(chances, axis=1)[:, :-1]
    return (drawn[:, :, None] >= below[None]).sum(axis=2)


def entropy(chances: np.ndarray) -> float:
    """Mean over the weights of - sum p ln p, in nats: 0 when all are absorbed."""
    return float(-(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1).mean())


@kernel
def reward(chances, chosen, beta, rate):
    """L_R-I: p_l += a (q_l - q p_l) / teams, with q_l the sum of beta over draws that chose l and q over all draws."""
    weights, levels = chances.shape
    total = beta.sum()
    for i in range(weights):
        earned = np.zeros(levels)
        for t in range(len(beta)):
            earned[chosen[t, i]] += beta[t]
        for level in range(levels):
            chances[i, level] += rate * (earned[level] - total * chances[i, level]) / len(beta)


@kernel
def pursue(chances, paid, chosen, beta, rate, trials, memory):
    """Pursuit: p_l += a (1{l = argmax d} - p_l), d = paid[0] / paid[1], once every level has been tried `trials`
    times."""
    weights, levels = chances.shape
    for i in range(weights):
        for t in range(len(beta)):
            paid[0, i, chosen[t, i]] += beta[t]
            paid[1, i, chosen[t, i]] += 1.0
        if paid[1, i].min() >= trials:
            best = np.argmax(paid[0, i] / paid[1, i])
            for level in range(levels):
                chances[i, level] += rate * ((1.0 if level == best else 0.0) - chances[i, level])
        for level in range(levels):
            if paid[1, i, level] * memory >= trials:  # what was tried stays tried
                paid[0, i, level] *= memory
                paid[1, i, level] *= memory
