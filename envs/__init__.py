"""Games, and their fronts for Gymnasium. Importing this package registers two environments for every game:

    deltaw/Backgammon-v0          all sides played by the agent (`envs/front.py`); `gym.make_vec` takes `envs/vector.py`
    deltaw/BackgammonVersus-v0    against opponents (`envs/versus.py`)

and so for every name in `envs.games.names()`, without importing any game: `gym.make("envs:deltaw/TicTacToe-v0")`.
"""

from __future__ import annotations

import gymnasium

from envs import games


def environment_id(name: str, versus: bool = False) -> str:
    """The Gymnasium id of the game called `name`: `tic_tac_toe` -> `deltaw/TicTacToe-v0`."""
    camel = "".join(word.capitalize() for word in name.split("_"))
    return f"deltaw/{camel}{'Versus' if versus else ''}-v0"


def _register(name: str) -> None:
    both, versus = environment_id(name), environment_id(name, versus=True)
    if both in gymnasium.registry:
        return
    kwargs = {"game": name}
    gymnasium.register(
        both, "envs.front:BoardGameEnv", vector_entry_point="envs.vector:BoardGameVectorEnv", kwargs=kwargs
    )
    gymnasium.register(versus, "envs.versus:VersusEnv", kwargs=kwargs)


for _name in games.names():
    _register(_name)
