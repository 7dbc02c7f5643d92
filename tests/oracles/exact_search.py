"""What the tests of exact algorithms share: which there are, and what fail-soft promises of a window."""

from __future__ import annotations

from deltaw.search.tree.algorithm import algorithms

EXACT_FOR_TWO = [a.name for a in algorithms().values() if a.exact and a.players[0] == 2]
WITH_TABLE = [name for name in EXACT_FOR_TWO if algorithms()[name].table]


def check_window(found, alpha, beta, value):
    if found <= alpha:
        assert value <= found
    elif found >= beta:
        assert value >= found
    else:
        assert value == found
