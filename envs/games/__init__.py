"""One file (or package) a game. A file here *is* the registration: it ends with `GAME = Game(...)`.

Another package adds games through the entry-point group `deltaw.games` (name = "module:attribute").
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil

from envs.errors import InputError
from envs.game import Game


def names() -> list[str]:
    """Every known game, alphabetically, without importing any."""
    own = {module.name for module in pkgutil.iter_modules(__path__)}
    return sorted(own | {point.name for point in _plugins()})


@functools.cache
def load(name: str) -> Game:
    """The game called `name`; raises InputError with the names that exist."""
    if name in {module.name for module in pkgutil.iter_modules(__path__)}:
        return importlib.import_module(f"{__name__}.{name}").GAME
    for point in _plugins():
        if point.name == name:
            return point.load()
    raise InputError(f"unknown game {name!r}; there are: {', '.join(names())}")


@functools.cache
def _plugins() -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group="deltaw.games"))
