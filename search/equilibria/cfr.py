"""Counterfactual regret minimisation: CFR, CFR+, linear and discounted CFR, which differ in three numbers.

Every information set learns by regret matching: a move is made in proportion to its positive regret, what it would have
won more than the strategy did, counted with the chances that chance and the opponent give the set. The *average* of the
strategies approaches an equilibrium. In iteration t, after the new regrets were added,

    positive regrets    are multiplied by t^alpha / (t^alpha + 1)
    negative regrets    are multiplied by t^beta / (t^beta + 1)
    the strategy        counts t^gamma times in the average

              alpha    beta     gamma
    cfr       infinite infinite 0       M. Zinkevich et al., NIPS 2007
    cfr_plus  infinite -infinite 1      O. Tammelin, arXiv 1407.5042: no regret stays negative
    linear    1        1        1       N. Brown and T. Sandholm, AAAI 2019, which has these three numbers
    discounted 1.5     0        2

The players take turns within an iteration: the second one answers the first one's new strategy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.search.equilibria.tree import Tree, sweep, uniform


class Discount(NamedTuple):
    alpha: float
    beta: float
    gamma: float


DISCOUNTS = {
    "cfr": Discount(math.inf, math.inf, 0.0),
    "cfr_plus": Discount(math.inf, -math.inf, 1.0),
    "linear": Discount(1.0, 1.0, 1.0),
    "discounted": Discount(1.5, 0.0, 2.0),
}


class Memory(NamedTuple):
    """Of one run."""

    strategy: np.ndarray
    """float64 [S]: the current one"""
    regret: np.ndarray
    """float64 [S]"""
    total: np.ndarray
    """float64 [S]: strategies so far, each with the chance that its owner's own moves lead there"""
    own: np.ndarray
    """float64 [S]: that chance, behind the slot"""
    gain: np.ndarray
    """float64 [S]"""
    reach: np.ndarray
    """float64 [N]"""
    value: np.ndarray
    """float64 [N]"""


class Cfr:
    """A run of one of the `DISCOUNTS` on a tree."""

    def __init__(self, tree: Tree, discount: Discount) -> None:
        self.tree, self.discount, self.iterations = tree, discount, 0
        regret, total, own, gain = np.zeros((4, tree.start[-1]))
        reach, value = np.empty((2, len(tree.mover)))
        self._memory = Memory(uniform(tree), regret, total, own, gain, reach, value)

    def run(self, iterations: int) -> None:
        """So many iterations more."""
        first = np.int64(self.iterations + 1)
        iterate(self.tree, *map(np.float64, self.discount), first, np.int64(iterations), self._memory)
        self.iterations += iterations

    def average(self) -> np.ndarray:
        """The strategy [S] that approaches an equilibrium."""
        average = np.empty_like(self._memory.total)
        normalize(self.tree, self._memory.total, average)
        return average


@kernel
def iterate(tree, alpha, beta, gamma, first, iterations, memory):
    """The iterations from number `first` on."""
    for t in range(first, first + iterations):
        positive, negative, weight = discount(t, alpha), discount(t, beta), t**gamma
        for seat in range(2):
            memory.gain[:] = 0.0
            sweep(tree, seat, memory.strategy, memory.reach, memory.value, memory.gain)
            update(tree, seat, positive, negative, weight, memory)


@kernel
def discount(t, power):
    """t^power / (t^power + 1); infinite powers stand for 1 and 0, from the first iteration on."""
    if np.isinf(power):
        return 1.0 if power > 0 else 0.0
    return t**power / (t**power + 1.0)


@kernel
def update(tree, seat, positive, negative, weight, memory):
    """Regrets, average and next strategy of one seat, after a sweep."""
    strategy, regret = memory.strategy, memory.regret
    for i in range(len(tree.owner)):
        if tree.owner[i] != seat:
            continue
        first, last = tree.start[i], tree.start[i + 1]
        own = memory.own[tree.before[i]] if tree.before[i] >= 0 else 1.0
        value = 0.0
        for slot in range(first, last):
            value += strategy[slot] * memory.gain[slot]
            memory.own[slot] = own * strategy[slot]
            memory.total[slot] += weight * memory.own[slot]
        for slot in range(first, last):
            regret[slot] += memory.gain[slot] - value
            regret[slot] *= positive if regret[slot] >= 0.0 else negative
        match_regrets(regret[first:last], strategy[first:last])


@kernel
def match_regrets(regret, strategy):
    """The strategy of one information set: in proportion to positive regrets, uniform where there are none."""
    total = 0.0
    for i in range(len(regret)):
        total += max(regret[i], 0.0)
    for i in range(len(regret)):
        strategy[i] = max(regret[i], 0.0) / total if total > 0.0 else 1.0 / len(regret)


@kernel
def normalize(tree, total, average):
    """Strategies in proportion to `total` [S]."""
    for i in range(len(tree.owner)):
        match_regrets(total[tree.start[i] : tree.start[i + 1]], average[tree.start[i] : tree.start[i + 1]])
