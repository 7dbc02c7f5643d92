"""External-sampling Monte Carlo CFR: an iteration walks one line of the opponent's and of chance's moves.

M. Lanctot et al., NIPS 2009. All moves of the seat that learns are tried; one chance event and one move of the opponent
are drawn at each of their nodes. The opponent's current strategy is added to his average where the walk meets him. An
iteration costs little, and many more are needed than of `search/equilibria/cfr.py`.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import ROLL, random_unit
from deltaw.envs.kernel import kernel
from deltaw.search.equilibria.cfr import match_regrets, normalize
from deltaw.search.equilibria.tree import CHANCE, END, Tree


class ExternalSampling:
    """A run on a tree; the same seed gives the same strategies."""

    def __init__(self, tree: Tree, seed: int = 0) -> None:
        self.tree, self.seed, self.iterations = tree, seed, 0
        slots = int(tree.start[-1])
        self._strategy, self._regret, self._total = np.zeros(slots), np.zeros(slots), np.zeros(slots)

    def run(self, iterations: int) -> None:
        """So many iterations more, of a walk for each seat."""
        numbers = np.int64(self.iterations), np.int64(iterations), np.int64(self.seed)
        iterate(self.tree, *numbers, self._strategy, self._regret, self._total)
        self.iterations += iterations

    def average(self) -> np.ndarray:
        """The strategy [S] that approaches an equilibrium."""
        average = np.empty_like(self._total)
        normalize(self.tree, self._total, average)
        return average


@kernel
def iterate(tree, first, iterations, seed, strategy, regret, total):
    for t in range(first, first + iterations):
        for seat in range(2):
            walk(tree, np.int64(0), np.int64(seat), seed, np.int64(2 * t + seat), strategy, regret, total)


@kernel
def walk(tree, node, seat, seed, number, strategy, regret, total):
    """What the node is worth to the seat that learns, in walk `number`."""
    mover, child, n = tree.mover[node], tree.child[node], tree.children[node]
    if mover == END:
        return tree.payoff[node] if seat == 0 else -tree.payoff[node]
    if mover == CHANCE:
        drawn = draw(tree.chance[child : child + n], random_unit(seed, number, node, ROLL))
        return walk(tree, child + drawn, seat, seed, number, strategy, regret, total)
    slot = tree.slot[node]
    match_regrets(regret[slot : slot + n], strategy[slot : slot + n])
    if mover != seat:
        total[slot : slot + n] += strategy[slot : slot + n]
        drawn = draw(strategy[slot : slot + n], random_unit(seed, number, node, ROLL))
        return walk(tree, child + drawn, seat, seed, number, strategy, regret, total)
    value, worth = 0.0, np.empty(n)
    for i in range(n):
        worth[i] = walk(tree, child + i, seat, seed, number, strategy, regret, total)
        value += strategy[slot + i] * worth[i]
    regret[slot : slot + n] += worth - value
    return value


@kernel
def draw(chances, unit):
    """An index by its probability."""
    for i in range(len(chances) - 1):
        unit -= chances[i]
        if unit < 0.0:
            return i
    return len(chances) - 1
