"""Every game as a Gymnasium environment, all sides played by the agent.

One class serves all games, because a game's `Rules` say how actions spell a move (`action_mask`, `spell`) and what an
agent sees (`observe`). `envs/fronts/versus.py` puts opponents on the other seats, `envs/fronts/vector.py` steps many
games in one compiled call.

    gym.make("deltaw:deltaw/Backgammon-v0")        importing `envs` has registered one id for every game

What the agent meets, and why:

- observations are seen from the side to move, as everywhere in this project, but the **reward is for seat 0**: a reward
  for whoever moved would be +1 in every won game, whoever won it, and episode statistics would mean nothing;
- `info["action_mask"]` (int8 [A]) and `action_masks()` (bool [A]) are the legal actions: the beginnings of legal moves.
  A forced pass is an action like any other, so that the mask of a running game is never empty; it is all zero when the
  game is over;
- chance (dice) is drawn from `np_random` and from nothing else;
- a copy (`copy.copy`, `copy.deepcopy`, `pickle`) goes on exactly as the original would, its dice included: search with
  it.

Source: the API of Gymnasium 1.x, <https://gymnasium.farama.org/api/env/>.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import START, Game
from deltaw.envs.path import action_mask, make_path, outcome, reach
from deltaw.envs.turn import end, payoffs_by_seat

RENDER_MODES = ("ansi", "rgb_array")
OBSERVATION_MAX = 255.0
"""observations are counts and small codes; the bound leaves room for every game"""
ILLEGAL = ("end", "raise")


class BoardGameEnv(gym.Env):
    """A game in which the agent acts for whoever is to move.

    Args:
        game: a game's name, or a `Game`.
        render_mode: None, `ansi` (text) or `rgb_array` (uint8 [H, W, 3]). `gym.make(..., render_mode="human")` shows
            the latter in a window, through Gymnasium's own wrapper, if pygame is installed.
        illegal: what an illegal action does. `end`: the game is over and the seat that acted loses one point, shared by
            the others (reward -1 if that was seat 0, else +1, or 1/2 with three players), and `info["illegal_action"]`
            names the action. `raise`: InputError.

    Observations are float32 [observation_size] in 0..255, actions 0..num_actions - 1. The reward is 0 until the game
    ends and then the payoff of seat 0. A game of `max_plies` moves is broken off: `truncated`, reward 0. `info`:
    `mover` (the seat to move, int) and `action_mask`.

    Raises InputError for an unknown game, render mode, illegal-action policy or reset option.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - Gymnasium's type

    def __init__(self, game: str | Game, *, render_mode: str | None = None, illegal: str = "end"):
        self._game = games.load(game) if isinstance(game, str) else game
        check_choice("illegal", illegal, ILLEGAL)
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self.render_mode = render_mode
        self.illegal = illegal
        self.observation_space, self.action_space = single_spaces(self._game)
        self._state: Any = None
        self._word = 0
        self._plies = 0
        self._path = make_path(self._game.rules)
        self._over = True

    # --- what a search or a test wants to know ---------------------------------------------------------

    @property
    def game(self) -> Game:
        return self._game

    @property
    def state(self) -> Any:
        """The game's `State`; between the actions of one move, still the state before that move. None before
        `reset`."""
        return self._state

    @property
    def word(self) -> int:
        """The move being spelled, as `Rules.spell` writes it; 0 between moves."""
        return self._word

    @property
    def path(self) -> np.ndarray:
        """The path of the game (`envs/path.py`), the decision that is due not included; not to be changed."""
        return self._path

    def position(self) -> str:
        """The position in the game's usual notation, as `reset(options={"position": ...})` reads it."""
        return self._game.format(self._state)

    def action_masks(self) -> np.ndarray:
        """Legal actions, bool [A]: the name and type that sb3-contrib's MaskablePPO looks for."""
        return self._mask().astype(bool)

    def observation(self) -> np.ndarray:
        """What the side to move sees, float32 [observation_size]; a new array."""
        out = np.empty(self._game.rules.observation_size, np.float32)
        self._game.rules.observe(self._state, self._word, out)
        return out

    def payoff(self, seat: int) -> float:
        """What the game is worth to a seat: 0 until it has ended."""
        payoffs = np.empty(self._game.rules.num_players)
        payoffs_by_seat(self._game.rules, self._state, payoffs)
        return float(payoffs[seat])

    # --- the Gymnasium API -----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new game. Options: `position` (text in the game's notation) and `dice` (`"31"`, `[3, 1]`) for the first
        roll.

        Raises InputError for an unknown option, a position that cannot be read or is finished, and impossible dice.
        """
        super().reset(seed=seed)
        self._begin(options or {}, ("position", "dice"))
        return self.observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act for the seat to move. Raises InputError for an illegal action if `illegal="raise"`, ResetNeeded after the
        end."""
        actor = self.mover
        if not self._is_legal(action):
            return self._end_illegally(action, forfeit(self._game.rules.num_players, actor == 0))
        self._act(operator.index(action))
        over, truncated = self._end()
        return self.observation(), self.payoff(0), over, truncated, self._info()

    def render(self) -> Any:
        """The board as text (`ansi`) or as uint8 [H, W, 3] (`rgb_array`); None without a render mode."""
        if self.render_mode == "ansi":
            return self._game.ansi(self._state)
        if self.render_mode == "rgb_array":
            return np.array(self._game.draw(self._state).convert("RGB"), np.uint8)
        return None

    @property
    def mover(self) -> int:
        """The seat to move. Raises ResetNeeded before the first `reset`."""
        if self._state is None:
            raise ResetNeeded("call reset() first")
        return int(self._game.rules.seat(self._state))

    # --- one game ----------------------------------------------------------------------------------------

    def _begin(self, options: dict[str, Any], allowed: tuple[str, ...]) -> None:
        state = first_state(self._game, options, allowed)
        self._state, self._word, self._plies, self._path = state, 0, 0, make_path(self._game.rules)
        self._roll()
        self._over = False

    def _is_legal(self, action: Any) -> bool:
        """Whether the action is legal now; raises InputError where the policy is to raise."""
        if self._over:
            raise ResetNeeded("the game is over: call reset()")
        mask = self._mask()
        index = operator.index(action)
        legal = 0 <= index < len(mask) and bool(mask[index])
        if not legal and self.illegal == "raise":
            raise InputError(f"action {index} is illegal here; legal: {', '.join(map(str, np.flatnonzero(mask)))}")
        return legal

    def _act(self, action: int) -> None:
        """Spell one more letter; play the move when it is complete."""
        word, complete = self._game.rules.spell(self._state, self._word, action)
        if complete:
            self._play(word)
        else:
            self._word = int(word)

    def _play(self, move: int) -> None:
        reach(self._game.rules, self._path, self._state)
        self._state = self._game.rules.play(self._state, move)
        self._word = 0
        self._plies += 1
        self._roll()

    def _roll(self) -> None:
        """Draw chance outcomes until somebody can decide or the game is over."""
        rules = self._game.rules
        while not rules.outcome(self._state)[0] and rules.num_chance(self._state) > 0:
            # One float is what dice have always taken from the generator; a deal needs all the bits.
            word = int(self.np_random.random() * 2**63) if rules.exact_chance else self.np_random.integers(2**63)
            self._state = rules.sample_chance(self._state, word)

    def _end(self) -> tuple[bool, bool]:
        """Whether the game has come to its end, and whether it was broken off."""
        over = bool(outcome(self._game.rules, self._path, self._state)[0])
        self._over = bool(end(self._game.rules, self._path, self._state, self._plies)[0])
        return over, self._over and not over

    def _end_illegally(self, action: Any, reward: float) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._over = True
        return self.observation(), reward, True, False, {**self._info(), "illegal_action": int(action)}

    # --- views: fresh arrays, because users keep what they are given ---------------------------------------------

    def _mask(self) -> np.ndarray:
        out = np.zeros(self._game.rules.num_actions, np.int8)
        if not self._over:
            action_mask(self._game.rules, self._path, self._state, self._word, out)
        return out

    def _info(self) -> dict[str, Any]:
        return {"mover": self.mover, "action_mask": self._mask()}

    # --- copies ------------------------------------------------------------------------------------------------

    def __copy__(self) -> BoardGameEnv:
        """A game of its own that goes on as this one would. The rules, which nobody changes, are shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._np_random, twin._path = copy.deepcopy(self._np_random), self._path.copy()
        twin.action_space = copy.deepcopy(self.action_space)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> BoardGameEnv:
        return memo.setdefault(id(self), self.__copy__())

    def __getstate__(self) -> dict[str, Any]:
        """Registered games travel as their names: compiled kernels do not."""
        known = self._game.name in games.names() and games.load(self._game.name) is self._game
        return {**self.__dict__, "_game": self._game.name if known else self._game}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        if isinstance(self._game, str):
            self._game = games.load(self._game)


# --- moves as actions -----------------------------------------------------------------------------------------------


def actions_of(game: Game, state: Any, move: int, word: int = 0) -> list[int]:
    """The actions that spell `move`, or another move with the same result, after those that made `word`; what an agent
    imitates.

    Raises InputError where no legal actions lead there.
    """
    wanted = game.row(game.rules.play(state, move)).tolist()
    found = _spelled(game, state, wanted, word, set())
    if found is None:
        raise InputError(f"no legal actions lead from {game.format(state)!r} and word {word} to the move {move}")
    return found


def _spelled(game: Game, state: Any, wanted: list[int], word: int, seen: set[bytes]) -> list[int] | None:
    """Depth first; `seen` are the boards in the middle of a move that lead nowhere, or were entered in another
    order."""
    mask = np.zeros(game.rules.num_actions, np.int8)
    game.rules.action_mask(state, word, mask)
    for action in np.flatnonzero(mask).tolist():
        longer, complete = game.rules.spell(state, word, action)
        if complete:
            if game.row(game.rules.play(state, longer)).tolist() == wanted:
                return [action]
            continue
        board = np.empty(game.rules.observation_size, np.float32)
        game.rules.observe(state, longer, board)
        if board.tobytes() in seen:
            continue
        seen.add(board.tobytes())
        rest = _spelled(game, state, wanted, int(longer), seen)
        if rest is not None:
            return [action, *rest]
    return None


# --- shared with the other fronts -----------------------------------------------------------------------------------


def single_spaces(game: Game) -> tuple[spaces.Box, spaces.Discrete]:
    """The observation and action space of one game."""
    observation = spaces.Box(0.0, OBSERVATION_MAX, (game.rules.observation_size,), np.float32)
    return observation, spaces.Discrete(game.rules.num_actions)


def forfeit(num_players: int, own: bool) -> float:
    """Reward when a game ends with an illegal action: whoever acts so loses a point, shared by the others."""
    return -1.0 if own else 1.0 / (num_players - 1)


def first_state(game: Game, options: dict[str, Any], allowed: tuple[str, ...]) -> Any:
    """The state that the reset options `position` and `dice` describe; before the dice unless they are given.

    Raises InputError for a key that is not in `allowed`, and for what the game cannot read.
    """
    for key in options:
        check_choice("reset option", key, allowed)
    state = game.read_position(str(options.get("position", START)))
    if game.rules.outcome(state)[0]:
        raise InputError(f"the game is over in position {options['position']!r}; give one that can be played on")
    if "dice" in options:
        dice = options["dice"]
        text = dice if isinstance(dice, str) else "".join(str(die) for die in np.atleast_1d(dice))
        state, _ = game.rules.chance(state, game.find_chance(state, text))
    return state


def check_choice(what: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raises InputError unless `value` is one of `allowed`."""
    if value not in allowed:
        raise InputError(f"unknown {what} {value!r}; allowed: {', '.join(map(str, allowed))}")
