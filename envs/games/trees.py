"""The worked examples of game search for two players, as trees in one game; `envs/trees.py` says how they are written.

`A` and `A2` are the lectures' figures (Russell and Norvig's as well), those with chance nodes are in `trees_chance.py`;
the others are ours, each made so that one method of search is right where another one is wrong. Numbers are worth to
MAX, who moves first except in `A2`.
"""

from __future__ import annotations

from deltaw.envs.trees import Max, Min, Node, forest_game


def tree_a2(x: int, y: int) -> Node:
    """min{max{-20, -20, 0}, max{0, x, y}}: 0 whatever x and y are, so a search need not look at them."""
    return Min([Max([-20, -20, 0]), Max([0, x, y])])


TREE_A = Max([Min([3, 12, 8]), Min([2, 4, 6]), Min([14, 5, 2])])
"""minimax 3; alpha-beta visits 3 12 8 | 2 | 14 5 2"""

HORIZON = Max(
    [
        Min([Max([0, 0]), Max([0, 0])]),
        Min([Max([-8, -8], static=-8, noisy=True)], static=1, noisy=True),
    ]
)
"""Example H. The second move wins a pawn (static 1), and its only reply recaptures (static -8). A search cut off at
depth 1 plays it; quiescence, singular extension and depth 2 play the first one, for 0."""

SINGULAR = Max(
    [
        Min([Max([0, 0]), Max([0, 0])]),
        Min([Max([1, 1], static=1), Max([-8, -8], static=-8), Max([2, 1], static=2)], static=1),
    ]
)
"""Like `horizon`, but the reply that refutes the second move is quiet, so quiescence at depth 1 overlooks it. By static
values it is better than the other replies by 9: a singular extension follows it."""

CONTINUATION = Max(
    [
        Min([Max([1, 1], static=1), Max([2, 1], static=1)], static=1),
        Min([Max([Min([Max([9, 3], static=9, noisy=True)], static=0, noisy=True), -1], noisy=True)], noisy=True),
    ]
)
"""The second move begins a chain of checks with a single reply each, which wins 9; nothing shows before the fourth ply.
Cut off earlier, a search takes the first move, for 1, unless it continues where the moves are noisy."""

ZUGZWANG = Max(
    [
        Min([Max([1, 1], static=1), Max([2, 1], static=1)], static=1),
        Min(
            [Max([5, 4], static=0), Max([6, 7], static=0)],
            static=0,
            passed=Max([Min([0, 0]), Min([0, -1])]),
        ),
    ]
)
"""After the second move MIN would like to pass (0), but has to move (5 at best). Null-move pruning without a guard
believes the pass and plays the first move, for 1; right is the second, for 5."""

NULL_MOVE = Max(
    [
        Min([Max([1, 1], static=1), Max([2, 1], static=1)], static=1),
        Min(
            [Max([-4, -5], static=-4), Max([-6, -9], static=-6), Max([-7, -5], static=-5)],
            static=-5,
            passed=Max([Min([-3, -2]), Min([-4, -3])], static=-3),
        ),
    ]
)
"""The usual case: after the second move MIN is so well off that even a pass leaves MAX less than the first move's 1.
Null-move pruning is right not to look at MIN's moves."""

FALLIBLE = Max([Min([2, 2, 3]), Min([1, 30, 30])])
"""Minimax plays the first move, for 2. If MIN finds the best reply with probability 0.8 only, the second is worth 0.8 x
1 + 0.2 x 30 = 6.8."""

GAME = forest_game(
    "trees",
    "Worked examples",
    {
        "A": TREE_A,
        "A2": tree_a2(-30, -30),
        "A2-between": tree_a2(5, -5),
        "A2-high": tree_a2(30, 30),
        "horizon": HORIZON,
        "singular": SINGULAR,
        "continuation": CONTINUATION,
        "zugzwang": ZUGZWANG,
        "null-move": NULL_MOVE,
        "fallible": FALLIBLE,
    },
)
