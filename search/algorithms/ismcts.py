"""Information-set Monte Carlo tree search: UCT that needs no evaluator, for games with hidden cards and others.

The rule is that of `search/algorithms/uct.py`, and a new node is worth what one game of random moves from it ends with.
`search/tree/monte_carlo.py` tells how hidden cards are dealt anew for each simulation. Unlike determinization the
search of the opponent's moves sees only what he sees; but what it plays need not approach an equilibrium.

Source: P. Cowling, E. Powley and D. Whitehouse, IEEE TCIAIG 4 (2012); M. Lanctot et al., arXiv 1406.2000.
"""

from __future__ import annotations

from deltaw.envs.kernel import kernel
from deltaw.search.algorithms.uct import select
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.monte_carlo import Options, check, extra, kernels, make_tree, play_out


@kernel
def expand_node(rules, leaf, state, n, first, stack):
    return play_out(rules, state, stack)


RUN, ROOT = kernels(select, expand_node)
ALGORITHM = Algorithm(
    "ismcts", "Information-set MCTS", RUN, "Monte Carlo tree search with random play-outs, for hidden cards",
    Options(exploration=1.0), exact=False, chance=True, memory=make_tree, extra=extra, check=check, root=ROOT,
)  # fmt: skip
