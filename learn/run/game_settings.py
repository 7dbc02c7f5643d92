"""Where Hydra finds what belongs to a game: in `conf/` here, in the folder `conf/` of the package that brings the game,
or in the game itself.

A plugin (`envs/games/__init__.py`) may have settings of its own in `conf/` inside its package, laid out as ours are
(`conf/game/NAME.yaml`, `conf/experiment/NAME.yaml`, ...); ours come first. A game without a YAML file needs none:
`game=NAME` then means the game's own default features, measured against random play and its first baseline
(`complete`).
"""

from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from deltaw.envs import games
from deltaw.envs.game import Game

PROVIDER = "deltaw-plugin"
"""how Hydra calls them in what it says of its search path"""


class GamePackages(SearchPathPlugin):
    """Adds the folders `conf/` of packages that bring games to Hydra's search path."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in plugin_folders():
            search_path.append(PROVIDER, f"file://{folder}")


def offer_games() -> None:
    """Make `game=NAME` known to Hydra for every game, without importing one. May be called again."""
    Plugins.instance().register(GamePackages)
    folders = [Path(str(resources.files("deltaw.conf"))), *plugin_folders()]
    store = ConfigStore.instance()
    for name in games.names():
        if not any((folder / "game" / f"{name}.yaml").is_file() for folder in folders):
            store.store(name, {"name": name}, group="game")


def plugin_folders() -> list[Path]:
    """The folders `conf/` that there are in packages that bring games; the packages are not imported."""
    packages = dict.fromkeys(point.module.split(".")[0] for point in games.plugins())
    folders = []
    for package in packages:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            folders.append(Path(place) / "conf")
    return [folder for folder in folders if folder.is_dir()]


def default_opponents(game: Game) -> list[str]:
    """Random play, and the first of the game's baselines."""
    return ["random", *list(game.baselines)[:1]]
