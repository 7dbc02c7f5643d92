"""PUCT: UCT with an opinion about moves before they were tried, as AlphaZero searches.

Of the moves of a node each simulation tries the one with the greatest

    Q + c P sqrt(N) / (1 + n)   Q, n, N as in `search/algorithms/uct.py`; P: the move's prior probability

There are no networks of policies here: the evaluator values the results of all moves of a new node. The priors are the
softmax of these values, which also stand for Q before the first try, and the best of them is the node's value.

Source: C. Rosin, "Multi-armed bandits with episode context", 2011; D. Silver et al., Science 362 (2018).
"""

from __future__ import annotations

import numpy as np

from deltaw.envs import path as paths
from deltaw.envs.control import NODES
from deltaw.envs.kernel import kernel
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.monte_carlo import Options, check, extra, kernels, make_tree, worth
from deltaw.search.tree.stack import node_outcome, opinion, path_in

TEMPERATURE = 0.25
"""of the softmax, in units of the game's greatest outcome"""


@kernel
def select(memory, place, exploration):
    best, bound = np.int64(-1), -np.inf
    first, last = memory.start[place], memory.start[place] + memory.children[place]
    for slot in range(first, last):
        curious = exploration * memory.prior[slot] * np.sqrt(memory.visits[place] + 1) / (1 + memory.tried[slot])
        upper = worth(memory, slot) + curious
        if upper > bound:
            best, bound = np.int64(slot), upper
    return best


@kernel
def expand_node(rules, leaf, state, n, first, stack):
    guess, prior = stack.memory.guess[first : first + n], stack.memory.prior[first : first + n]
    seat = rules.seat(state)
    paths.reach(rules, path_in(stack.control), state)
    for i in range(n):
        child = rules.load(stack.memory.rows[i])
        over, result = node_outcome(rules, child, stack)
        value = np.float64(result) if over else opinion(rules, leaf, child, stack)
        guess[i] = value if rules.seat(child) == seat else -value
    paths.step_back(rules, path_in(stack.control))
    stack.control[NODES] += n
    best = guess.max()
    prior[:] = np.exp((guess - best) / (TEMPERATURE * rules.outcomes[-1]))
    prior[:] /= prior.sum()
    return best


RUN, ROOT = kernels(select, expand_node)
ALGORITHM = Algorithm(
    "puct", "PUCT", RUN, "Monte Carlo tree search with priors from the evaluator's values of all moves",
    Options(exploration=1.5), exact=False, chance=True, memory=make_tree, extra=extra, check=check, root=ROOT,
)  # fmt: skip
