"""Many games of one kind in one compiled call: the native vector environment of every game.

`BoardGameVectorEnv` means to each row what `BoardGameEnv` means to its one game (same actions, observations, masks and
rewards), and starts a finished game anew in the same step, so that no transition is fake. Where a game ends,
`info["final_obs"]` and `info["final_info"]` hold what its last step showed.

Dice come from counters instead of a generator: roll number `d` of game number `g` of a row is a function of (the row's
seed, g, d). A row's games therefore depend on its seed and its actions alone, not on the other rows or on how many
there are.

Shapes: N games, W integers a state, A actions, S observation_size.
Source: Gymnasium 1.x, <https://gymnasium.farama.org/api/vector/>, autoreset mode SAME_STEP.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import ILLEGAL, RENDER_MODES, check_choice, first_state, single_spaces
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import action_mask, begin_path, make_paths, outcome, reach
from deltaw.envs.turn import end, payoffs_by_seat
from deltaw.envs.turn import roll as draw

WORD, PLIES, STEPS, GAME, DRAWS = range(5)
"""columns of the book kept on each row: the move as spelled so far, moves and actions of this game, number of this
game, rolls so far"""

RUNNING, ENDED, BROKEN_OFF, FORFEITED = range(4)
"""what a step did to a game; FORFEITED: an illegal action ended it"""


@kernel
def roll(rules, row, seed, book):
    """Draw chance outcomes until somebody can decide or the game is over; returns whether it is. `row` [W], `book`
    [5]."""
    while True:
        state = rules.load(row)
        over, _ = rules.outcome(state)
        k = 0 if over else rules.num_chance(state)
        if k == 0:
            return over
        rules.store(draw(rules, state, seed, book[GAME], book[DRAWS]), row)
        book[DRAWS] += 1


@kernel
def begin(rules, start, row, path, seed, book):
    """The row's next game, from the state `start` [W]."""
    row[:] = start
    begin_path(rules, path)
    book[WORD] = 0
    book[PLIES] = 0
    book[STEPS] = 0
    book[GAME] += 1
    book[DRAWS] = 0
    roll(rules, row, seed, book)


@kernel
def show(rules, row, path, word, observation, mask):
    """What an agent sees; returns the mover."""
    state = rules.load(row)
    rules.observe(state, word, observation)
    if outcome(rules, path, state)[0]:
        mask[:] = 0
    else:
        action_mask(rules, path, state, word, mask)
    return rules.seat(state)


@kernel
def act(rules, row, path, seed, book, action, max_steps):
    """One legal action: (what it did, seat 0's payoff)."""
    state = rules.load(row)
    word, complete = rules.spell(state, book[WORD], action)
    book[WORD] = word
    book[STEPS] += 1
    if complete:
        reach(rules, path, state)
        rules.store(rules.play(state, word), row)
        book[WORD] = 0
        book[PLIES] += 1
        if roll(rules, row, seed, book) or outcome(rules, path, rules.load(row))[0]:
            return ENDED, payoff_of_seat_0(rules, rules.load(row))
    if end(rules, path, rules.load(row), book[PLIES])[0] or 0 < max_steps <= book[STEPS]:
        return BROKEN_OFF, 0.0
    return RUNNING, 0.0


@kernel
def payoff_of_seat_0(rules, state):
    payoffs = np.empty(rules.num_players)
    payoffs_by_seat(rules, state, payoffs)
    return payoffs[0]


@kernel
def begin_all(rules, starts, rows, paths, seeds, books, observations, masks, movers):
    """New games in all rows from `starts` [N, W]."""
    for i in range(len(rows)):
        begin(rules, starts[i], rows[i], paths[i], seeds[i], books[i])
        movers[i] = show(rules, rows[i], paths[i], books[i, WORD], observations[i], masks[i])


@kernel
def step_all(
    rules, start, rows, paths, seeds, books, actions, legal, max_steps, observations, masks, movers, finals,
    final_masks, final_movers, rewards, events,
):  # fmt: skip
    """One action in every row; finished games leave their last view in the `final` arrays and start anew."""
    for i in range(len(rows)):
        row, path, book = rows[i], paths[i], books[i]
        if legal[i]:
            event, reward = act(rules, row, path, seeds[i], book, actions[i], max_steps)
        else:
            event = FORFEITED
            reward = -1.0 if rules.seat(rules.load(row)) == 0 else 1.0 / (rules.num_players - 1)
        rewards[i] = reward
        events[i] = event
        if event != RUNNING:
            final_movers[i] = show(rules, row, path, book[WORD], finals[i], final_masks[i])
            if event == FORFEITED:
                final_masks[i] = 0
            begin(rules, start, row, path, seeds[i], book)
        movers[i] = show(rules, row, path, book[WORD], observations[i], masks[i])


class BoardGameVectorEnv(VectorEnv):
    """N games in lock-step, all sides of each played by the agent.

    Args:
        game: a game's name, or a `Game`.
        num_envs: N, at least 1.
        max_episode_steps: a game of so many actions is broken off (`truncated`); None: no limit but the game's own.
        render_mode: None, `ansi` or `rgb_array`: `render()` returns N boards.
        illegal: `end` or `raise`, as in `BoardGameEnv`.

    Observations float32 [N, S], actions int64 [N], rewards float64 [N] for seat 0, terminated and truncated bool [N].
    `info`: `action_mask` int8 [N, A] and `mover` int64 [N]; after an end also `final_obs` and `final_info`, which holds
    `illegal_action` where there was one. Every array is new at every call.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's type
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        *,
        render_mode: str | None = None,
        illegal: str = "end",
    ):
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}; it must be at least 1")
        check_choice("illegal", illegal, ILLEGAL)
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self._game = games.load(game) if isinstance(game, str) else game
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.illegal = illegal
        self._max_steps = max_episode_steps or 0
        self.single_observation_space, self.single_action_space = single_spaces(self._game)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._start = self._game.row(self._game.rules.initial())
        self._rows = np.empty((num_envs, self._game.rules.width), np.int64)
        self._paths = make_paths(self._game.rules, num_envs)
        self._books = np.zeros((num_envs, 5), np.int64)
        self._seeds: np.ndarray | None = None
        self._masks = np.zeros((num_envs, self._game.rules.num_actions), np.int8)

    @property
    def game(self) -> Game:
        return self._game

    def states(self) -> list[Any]:
        """The N states, before the moves being spelled."""
        return [self._game.unrow(row) for row in self._rows]

    def action_masks(self) -> np.ndarray:
        """Legal actions, bool [N, A]."""
        return self._masks.astype(bool)

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games in all rows. `seed`: row i gets seed + i, or seed[i]; None goes on with the seeds there are.

        Options `position` and `dice` hold for all rows, until each row's game ends. Raises InputError as
        `BoardGameEnv.reset`.
        """
        start = first_state(self._game, options or {}, ("position", "dice"))
        self._set_seeds(seed)
        views = self._empty_views()
        starts = np.tile(self._game.row(start), (self.num_envs, 1))
        begin_all(self._game.rules, starts, self._rows, self._paths, self._seeds, self._books, *views)
        observations, self._masks, movers = views
        return observations, self._infos(self._masks.copy(), movers)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action in every row, int [N]. Raises InputError if there are not N, or for an illegal one if
        `illegal="raise"`."""
        actions = np.array(actions, np.int64)
        if actions.shape != (self.num_envs,):
            raise InputError(f"actions have shape {actions.shape}; it must be ({self.num_envs},)")
        legal = self._legal(actions)
        views, finals = self._empty_views(), self._empty_views()
        rewards, events = np.empty(self.num_envs), np.empty(self.num_envs, np.int64)
        step_all(
            self._game.rules, self._start, self._rows, self._paths, self._seeds, self._books, actions, legal,
            self._max_steps, *views, *finals, rewards, events,
        )  # fmt: skip
        observations, self._masks, movers = views
        infos = self._infos(self._masks.copy(), movers)
        infos.update(self._final_infos(events, actions, *finals))
        return observations, rewards, (events == ENDED) | (events == FORFEITED), events == BROKEN_OFF, infos

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return tuple(self._game.ansi(state) for state in self.states())
        return tuple(np.array(self._game.draw(state).convert("RGB"), np.uint8) for state in self.states())

    def _set_seeds(self, seed: int | list[int] | None) -> None:
        if seed is None and self._seeds is not None:
            return
        if seed is None:
            self._seeds = self.np_random.integers(2**62, size=self.num_envs)
        elif isinstance(seed, (int, np.integer)):
            self._seeds = np.arange(self.num_envs, dtype=np.int64) + int(seed)
        elif len(seed) == self.num_envs:
            self._seeds = np.array(seed, np.int64)
        else:
            raise InputError(f"{len(seed)} seeds for {self.num_envs} games; give one a game, or one number")
        self._books[:, GAME] = -1

    def _legal(self, actions: np.ndarray) -> np.ndarray:
        """bool [N]; raises InputError where the policy is to raise."""
        inside = (actions >= 0) & (actions < self._masks.shape[1])
        legal = inside & (self._masks[np.arange(self.num_envs), np.where(inside, actions, 0)] != 0)
        if self._seeds is None:
            raise InputError("call reset() before step()")
        if self.illegal == "raise" and not legal.all():
            i = int(np.argmin(legal))
            possible = ", ".join(map(str, np.flatnonzero(self._masks[i])))
            raise InputError(f"action {actions[i]} is illegal in game {i}; legal: {possible}")
        return legal

    def _empty_views(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations [N, S], masks [N, A] and movers [N]."""
        rules = self._game.rules
        observations = np.zeros((self.num_envs, rules.observation_size), np.float32)
        return observations, np.zeros((self.num_envs, rules.num_actions), np.int8), np.zeros(self.num_envs, np.int64)

    def _infos(self, masks: np.ndarray, movers: np.ndarray) -> dict[str, Any]:
        """Gymnasium's form: next to every array `x` [N, ...] a bool array `_x` [N] of the rows that have it."""
        everywhere = np.ones(self.num_envs, bool)
        return {
            "action_mask": masks, "_action_mask": everywhere,
            "mover": movers, "_mover": everywhere.copy(),
        }  # fmt: skip

    def _final_infos(
        self, events: np.ndarray, actions: np.ndarray, observations: np.ndarray, masks: np.ndarray, movers: np.ndarray
    ) -> dict[str, Any]:
        done, forfeited = events != RUNNING, events == FORFEITED
        if not done.any():
            return {}
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(done):
            final_obs[i] = observations[i].copy()
        final = {"action_mask": masks, "_action_mask": done.copy(), "mover": movers, "_mover": done.copy()}
        if forfeited.any():
            final |= {"illegal_action": np.where(forfeited, actions, 0), "_illegal_action": forfeited}
        return {"final_obs": final_obs, "_final_obs": done, "final_info": final, "_final_info": done.copy()}
