"""Exact determinization (perfect-information Monte Carlo without the chance): what it plays in every information set.

Each world that the mover holds possible is solved as if everybody saw everything; a move is worth its average over the
worlds, by the chances of the deal. The best move is made, of equal ones any as often. The NashConv of this strategy
shows what the method misses: one move must serve all worlds, which the search of each world does not know (strategy
fusion; Long et al., AAAI 2010), and the opponent's moves tell about his cards.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.search.equilibria.tree import CHANCE, END, Tree

TIED = 1e-9


def determinized(tree: Tree) -> np.ndarray:
    """The strategy [S]."""
    nodes, gain = len(tree.mover), np.zeros(tree.start[-1])
    average_worlds(tree, np.empty(nodes), np.empty(nodes), gain)
    strategy = np.empty_like(gain)
    for first, last in zip(tree.start[:-1], tree.start[1:], strict=True):
        best = gain[first:last] >= gain[first:last].max() - TIED
        strategy[first:last] = best / best.sum()
    return strategy


@kernel
def average_worlds(tree, dealt, value, gain):
    """gain [S]: minimax values of the moves for their movers, summed over the nodes of their set by the chance `dealt`
    [N] that chance alone gives a node; value [N] is the minimax value of each node for seat 0."""
    dealt[0] = 1.0
    for node in range(len(tree.mover)):
        for child in range(tree.child[node], tree.child[node] + tree.children[node]):
            dealt[child] = dealt[node] * tree.chance[child]
    for node in range(len(tree.mover) - 1, -1, -1):
        mover, child = tree.mover[node], tree.child[node]
        if mover == END:
            value[node] = tree.payoff[node]
        elif mover == CHANCE:
            value[node] = 0.0
            for i in range(tree.children[node]):
                value[node] += tree.chance[child + i] * value[child + i]
        else:
            sign, best = 1.0 if mover == 0 else -1.0, -np.inf
            for i in range(tree.children[node]):
                best = max(best, sign * value[child + i])
                gain[tree.slot[node] + i] += dealt[node] * sign * value[child + i]
            value[node] = sign * best
