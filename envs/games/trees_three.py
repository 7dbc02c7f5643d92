"""Worked examples of game search for three players A, B and C; a leaf is worth so much to each of them
(`envs/trees.py`)."""

from __future__ import annotations

from deltaw.envs.trees import Turn, forest_game


def A(*children, **marks):
    return Turn(0, children, **marks)


def B(*children, **marks):
    return Turn(1, children, **marks)


def C(*children, **marks):
    return Turn(2, children, **marks)


TREE_B = A(
    B(C((1, 2, 6), (4, 2, 3)), C((6, 1, 2), (7, 4, 1))),
    B(C((5, 1, 1), (1, 5, 2)), C((7, 7, 1), (5, 4, 5))),
)
"""The lectures' figure. C picks (1,2,6) (6,1,2) (1,5,2) (5,4,5), B picks (1,2,6) and (1,5,2), and for A the two are
worth the same."""

ALLIANCE = A(
    B(C((5, 4, 1), (5, 3, 0)), C((0, 3, 6), (0, 2, 2)), static=(5, 4, 1)),
    B(C((2, 2, 5), (3, 1, 4)), C((2, 1, 5), (4, 0, 3)), static=(2, 2, 5)),
)
"""Everybody for himself, B answers A's first move with his own best, (5,4,1). Against B and C allied, A gets 0 there,
and 2 by the other move: max^n plays the first, a paranoid search the second."""

SHORT = A(
    (3, 3, 3),
    B((1, 6, 2), C((4, 4, 1), (2, 5, 2), static=(2, 5, 2)), static=(3, 4, 2)),
    C((6, 0, 3), A((0, 1, 8), (5, 2, 2)), static=(4, 1, 4)),
)
"""Leaves at every depth, and in the last branch C is next and B never moves. max^n gives (6,0,3), by that branch."""

GAME = forest_game(
    "trees_three",
    "Worked examples for three players",
    {"B": TREE_B, "alliance": ALLIANCE, "short": SHORT},
    num_players=3,
)
