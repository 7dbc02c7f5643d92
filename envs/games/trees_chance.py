"""Worked examples with chance nodes; `envs/trees.py` says how trees are written.

`D` and `D-stretched` are the lectures' figures (Russell and Norvig's as well), `mixed` is ours. Numbers are worth to
MAX, who moves first.
"""

from __future__ import annotations

from deltaw.envs.trees import Chance, Leaf, Max, Min, Node, forest_game


def tree_d(a: int, b: int, c: int, d: int) -> Node:
    """Two chance nodes over MIN nodes: 1, 2, 3, 4 makes the first move better and 1, 20, 30, 400 the second, though
    they are ordered alike. With chance nodes, exact values matter."""
    return Max([Chance([(0.9, Min([b, b])), (0.1, Min([c, c]))]), Chance([(0.9, Min([a, a])), (0.1, Min([d, d]))])])


MIXED = Max(
    [
        Min([Max([4, -1], static=2), Max([Min([1, 3], static=2), 0], static=1)], static=1),
        Chance(
            [
                (0.25, Min([Max([9, 2], static=5, noisy=True), Leaf(6, noisy=True)])),
                (0.75, Min([Max([-2, Leaf(2, noisy=True)], static=-1), Max([3, 0], static=1)], passed=Max([4, 3]))),
            ],
            static=2,
            noisy=True,
        ),
        Min([Max([8, 7], static=5), Max([0, 1], static=-4)], static=-3, passed=Max([2, 1], static=2)),
    ]
)
"""one of everything: dice, noisy moves, static values, leaves at different depths, a pass. Its value is 3, by the
middle move."""

GAME = forest_game(
    "trees_chance",
    "Worked examples with chance",
    {"mixed": MIXED, "D": tree_d(1, 2, 3, 4), "D-stretched": tree_d(1, 20, 30, 400)},
)
