"""UCT: the tree grows where moves have done well, and where they were seldom tried.

Of the moves of a node each simulation tries the one with the greatest upper confidence bound

    Q + c sqrt(ln N / n)        Q: its mean value for the mover, n: how often it was tried, N: visits of the node

and every move once before any twice. A new node is worth what the evaluator says. `search/tree/monte_carlo.py` tells
what depth means here, and what is done about chance and hidden cards.

Source: L. Kocsis and C. Szepesvari, "Bandit based Monte-Carlo planning", ECML 2006.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.monte_carlo import Options, check, extra, kernels, make_tree, worth
from deltaw.search.tree.stack import opinion


@kernel
def select(memory, place, exploration):
    best, bound = np.int64(-1), -np.inf
    first, last = memory.start[place], memory.start[place] + memory.children[place]
    for slot in range(first, last):
        if memory.tried[slot] == 0:
            return slot
        upper = worth(memory, slot) + exploration * np.sqrt(np.log(memory.visits[place]) / memory.tried[slot])
        if upper > bound:
            best, bound = np.int64(slot), upper
    return best


@kernel
def expand_node(rules, leaf, state, n, first, stack):
    return opinion(rules, leaf, state, stack)


RUN, ROOT = kernels(select, expand_node)
ALGORITHM = Algorithm(
    "uct", "UCT", RUN, "Monte Carlo tree search by upper confidence bounds, with the evaluator's values",
    Options(exploration=0.7), exact=False, chance=True, memory=make_tree, extra=extra, check=check, root=ROOT,
)  # fmt: skip
