"""Every game as a PettingZoo environment: one agent for each seat, the agents act in turn (AEC).

    from deltaw.envs.fronts import aec
    env = aec.env("backgammon")           needs the extra `zoo`: pip install "deltaw[zoo]"

The agents are `player_0` (moves first), `player_1` ... What they meet, and why:

- an observation is a dict of `observation` (float32 [S]) and `action_mask` (int8 [A]). The board is seen from the side
  to move, whoever looks at it, as everywhere in this project; the mask of an agent that is not to move is all zero;
- the rewards are 0 until the game ends and then everybody's payoff;
- an agent may act several times running: actions spell a move (backgammon: one checker by one die each);
- chance (dice) is drawn from the environment's own generator, which `reset(seed=...)` seeds, and from nothing else;
- a copy (`copy.deepcopy`, `pickle`; of a `raw_env` also `copy.copy`) goes on exactly as the original would, its dice
  included.

`BoardGameEnv` (`envs/fronts/front.py`) plays the game; nothing of the rules is repeated here. There is no parallel
form: nobody moves at the same time. Source: the AEC API of PettingZoo, <https://pettingzoo.farama.org/api/aec/>.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from gymnasium import spaces

from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import RENDER_MODES, BoardGameEnv, forfeit
from deltaw.envs.game import Game

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import OrderEnforcingWrapper
except ImportError:
    raise InputError('deltaw.envs.fronts.aec needs the package pettingzoo: pip install "deltaw[zoo]"') from None

OPTIONS = ("position", "dice")


def env(game: str | Game, *, render_mode: str | None = None, illegal: str = "end") -> OrderEnforcingWrapper:
    """`raw_env`, guarded against calls in a wrong order, such as `step` before `reset`."""
    return OrderEnforcingWrapper(raw_env(game, render_mode=render_mode, illegal=illegal))


class raw_env(AECEnv):
    """A game in which every seat is an agent.

    Args:
        game: a game's name, or a `Game`.
        render_mode: None, `ansi` (text) or `rgb_array` (uint8 [H, W, 3]).
        illegal: what an illegal action does. `end`: the game is over for all, the seat that acted loses one point,
            shared by the others, and its `infos` has `illegal_action`. `raise`: InputError, and the game goes on.

    Actions are 0..num_actions - 1. A game of `max_plies` moves is broken off: all `truncations`, no rewards. `infos`
    has `mover`, the seat to move, for everybody. `front` is the game itself, a `BoardGameEnv`, with `state` and
    `position()`.

    Raises InputError for an unknown game, render mode or illegal-action policy.
    """

    def __init__(self, game: str | Game, *, render_mode: str | None = None, illegal: str = "end"):
        super().__init__()
        self.front = BoardGameEnv(game, render_mode=render_mode, illegal=illegal)
        self.render_mode = render_mode
        self.metadata = {
            "name": f"{self.front.game.name}_v0",
            "render_modes": list(RENDER_MODES),
            "render_fps": 2,
            "is_parallelizable": False,
        }
        self.possible_agents = [f"player_{seat}" for seat in range(self.front.game.rules.num_players)]
        self.observation_spaces = {agent: self._observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: copy.deepcopy(self.front.action_space) for agent in self.possible_agents}
        self.agents: list[str] = []

    def _observation_space(self) -> spaces.Dict:
        mask = spaces.Box(0, 1, (self.front.game.rules.num_actions,), np.int8)
        return spaces.Dict({"observation": copy.deepcopy(self.front.observation_space), "action_mask": mask})

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new game. Options: `position` and `dice`, as `BoardGameEnv.reset` takes them; others are ignored, with a
        warning, as PettingZoo's own environments do.

        Raises InputError for a position that cannot be read or is finished, and impossible dice.
        """
        options = options or {}
        for name in options.keys() - set(OPTIONS):
            warnings.warn(f"reset option {name!r} is ignored; there are: {', '.join(OPTIONS)}", stacklevel=2)
        self.front.reset(seed=seed, options={name: options[name] for name in OPTIONS if name in options})
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None  # a finished game may have been left in the middle of its farewells
        self._show_mover()

    def step(self, action: Any) -> None:
        """Act for `agent_selection`; None for an agent whose game is over, which then leaves `agents`.

        Raises InputError for an illegal action if `illegal="raise"`.
        """
        actor = self.agent_selection
        if self.terminations[actor] or self.truncations[actor]:
            self._was_dead_step(action)
            return
        _, _, over, truncated, info = self.front.step(action)
        self._cumulative_rewards[actor] = 0.0
        self.rewards = self._rewards(actor, "illegal_action" in info)
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self._show_mover()
        if "illegal_action" in info:
            self.infos[actor]["illegal_action"] = info["illegal_action"]
        self._accumulate_rewards()

    def _rewards(self, actor: str, illegal: bool) -> dict[str, float]:
        if illegal:
            return {agent: forfeit(len(self.agents), agent == actor) for agent in self.agents}
        return {agent: self.front.payoff(seat) for seat, agent in enumerate(self.agents)}

    def _show_mover(self) -> None:
        self.agent_selection = self.possible_agents[self.front.mover]
        self.infos = {agent: {"mover": self.front.mover} for agent in self.agents}

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees; new arrays at every call. In a game with hidden cards the view is the mover's alone, and
        the others' observations are zeros."""
        mask, observation = self.front.action_masks().astype(np.int8), self.front.observation()
        if self.possible_agents.index(agent) != self.front.mover:
            mask[:] = 0
            if self.front.game.rules.hidden:
                observation[:] = 0.0
        return {"observation": observation, "action_mask": mask}

    def render(self) -> Any:
        """The board as text (`ansi`) or as uint8 [H, W, 3] (`rgb_array`); None without a render mode."""
        return self.front.render()

    def close(self) -> None:
        """Nothing is held open."""

    def __copy__(self) -> raw_env:
        """A game of its own: a shallow copy would share the board."""
        return copy.deepcopy(self)
