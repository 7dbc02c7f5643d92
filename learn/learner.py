"""Contract three: a learner steps.

`step()` plays one batch of games' worth of positions and makes one update (or breeds one generation); `state()` and
`restore(state)` hold everything that is needed to go on exactly. `learn/train.py` composes learners with the arena, the
log and the checkpoints, and knows nothing else of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.matches.match import check_two_players


class Metrics(NamedTuple):
    """What one step did."""

    games: int
    """games finished so far in the whole run"""
    positions: int
    """positions learned from so far"""
    scalars: dict[str, float]
    """to be logged under these names; each is explained where it is computed"""


class Learner(Protocol):
    games: int

    def step(self) -> Metrics: ...

    def evaluator(self) -> Evaluator:
        """What has been learned so far, to be measured, saved and exported."""
        ...

    def finite(self) -> bool:
        """Whether all weights are finite numbers."""
        ...

    def state(self) -> dict[str, Any]:
        """Tensors, numbers and plain containers of them; nothing else."""
        ...

    def restore(self, state: dict[str, Any]) -> None: ...


# --- checks that learners share -----------------------------------------------------------------------------------


def check_game(game: Game, learner: str, *, chance: bool = True) -> None:
    """InputError for a game that the learner cannot learn: one that is not for two players, or one with dice unless it
    takes `chance`."""
    check_two_players(game, f"learner {learner}")
    if not chance and game.rules.max_chance > 0:
        raise InputError(f"learner {learner} searches games without chance; {game.name} has dice: use td_forward")
