"""Games as environments for Gymnasium and PettingZoo. Importing this package registers two Gymnasium ids for every
game:

    deltaw/Backgammon-v0          all sides played by the agent (`front.py`); `gymnasium.make_vec` takes `vector.py`
    deltaw/BackgammonVersus-v0    against opponents (`versus.py`)

and so for every name in `games.names()`, without importing any game. `import deltaw` does it too, so that
`gymnasium.make("deltaw:deltaw/TicTacToe-v0")` works anywhere. PettingZoo's environments are in `aec.py`.
"""

from __future__ import annotations

import gymnasium

from deltaw.envs import games


def environment_id(name: str, versus: bool = False) -> str:
    """The Gymnasium id of the game called `name`: `tic_tac_toe` -> `deltaw/TicTacToe-v0`."""
    camel = "".join(word.capitalize() for word in name.split("_"))
    return f"deltaw/{camel}{'Versus' if versus else ''}-v0"


def _register(name: str) -> None:
    both, versus = environment_id(name), environment_id(name, versus=True)
    if both in gymnasium.registry:
        return
    place, kwargs = "deltaw.envs.fronts", {"game": name}
    gymnasium.register(
        both, f"{place}.front:BoardGameEnv", vector_entry_point=f"{place}.vector:BoardGameVectorEnv", kwargs=kwargs
    )
    gymnasium.register(versus, f"{place}.versus:VersusEnv", kwargs=kwargs)


for _name in games.names():
    _register(_name)
