"""One file (or package) a game. A file here *is* the registration: it ends with `GAME = Game(...)`.

Another installed package adds games through the entry-point group `deltaw.games`, name = "module:attribute", where the
name is the game's own:

    [project.entry-points."deltaw.games"]
    breakthrough = "breakthrough:GAME"

A plugin that is broken harms nobody else: it is imported when its game is asked for, and then the error is one line
that names the package.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import re
import sys
from typing import TYPE_CHECKING

from deltaw.envs.errors import InputError

if TYPE_CHECKING:  # the contract loads Numba; names are wanted without
    from deltaw.envs.game import Game

GROUP = "deltaw.games"
NAME = re.compile(r"[a-z][a-z0-9_]*")
"""what a game may be called: names become folders, Gymnasium ids and words of command lines"""


def names() -> list[str]:
    """Every known game, alphabetically, without importing any."""
    return sorted(_own() | {point.name for point in plugins() if NAME.fullmatch(point.name)})


@functools.cache
def load(name: str) -> Game:
    """The game called `name`; raises InputError with the names that exist, or with what is wrong with the package that
    offers it."""
    if name in _own():
        return importlib.import_module(f"{__name__}.{name}").GAME
    offers = [point for point in plugins() if point.name == name]
    if not offers:
        raise InputError(f"unknown game {name!r}; there are: {', '.join(names())}")
    if len(offers) > 1:
        raise InputError(f"game {name!r} is offered by {' and by '.join(map(_package, offers))}: uninstall one of them")
    return _load_plugin(offers[0])


def load_all() -> list[Game]:
    """Every game that can be loaded; of a plugin that cannot, standard error says why."""
    found = []
    for name in names():
        try:
            found.append(load(name))
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
    return found


@functools.cache
def plugins() -> tuple[importlib.metadata.EntryPoint, ...]:
    """What installed packages offer, not imported; a name that is one of ours is not asked for there."""
    return tuple(point for point in importlib.metadata.entry_points(group=GROUP) if point.name not in _own())


def _own() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)}


def _load_plugin(point: importlib.metadata.EntryPoint) -> Game:
    from deltaw.envs.game import Game

    where = f"game {point.name!r} of the package {_package(point)}"
    try:
        game = point.load()
    except Exception as error:  # a stranger's module may raise anything
        reason = (str(error) or "no reason given").splitlines()[0]
        raise InputError(f"{where} cannot be loaded: {type(error).__name__}: {reason}") from error
    if not isinstance(game, Game):
        raise InputError(f"{where} cannot be loaded: {point.value} is no Game but of type {type(game).__name__}")
    if game.name != point.name or not NAME.fullmatch(game.name):
        raise InputError(
            f"{where} cannot be loaded: {point.value} calls itself {game.name!r}; the entry point must have that name, "
            "of small letters, digits and _"
        )
    return game


def _package(point: importlib.metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
