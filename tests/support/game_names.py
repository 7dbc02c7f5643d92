"""Over which games a test runs.

What is a game's own (rules, notation, features, drawing) is tested with every game. Code that all games share is
compiled anew for each of them, so a few games stand for all in `make test`, and `make test-all` takes every one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from deltaw.envs import games

EVERY_GAME = games.names()
SOME_GAMES = ("backgammon", "tic_tac_toe", "tic_tac_toe_three")
"""dice and moves of several letters, a plain board, and three players"""


def mostly_slow(names: Iterable[Any], quick: Iterable[Any] = SOME_GAMES) -> list:
    """Parameters for `names`; those that are not among `quick` are slow tests."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


every_game = pytest.mark.parametrize("name", EVERY_GAME)
some_games = pytest.mark.parametrize("name", mostly_slow(EVERY_GAME))
