"""Every game as a Gymnasium environment against opponents: for MaskablePPO and other single-agent learners.

After `reset` and after every `step` it is the agent's turn or the game is over. An opponent is a callable

    opponent(game, state, np_random) -> move code

and where it has a parameter `path`, it is also given the path of the game (`envs/path.py`). It is named in one of five
ways: the callable itself; `"module:attribute"` for one that another package defines; `"module:attribute:text"` for one
that `attribute(game, text)` makes, such as `"deltaw.search.doors.policy:Policy:network@plies=2"`; the name of one of
the game's baselines, which then chooses greedily among the results of its moves; or `"random"`, any legal move.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import BoardGameEnv, check_choice, forfeit
from deltaw.envs.game import Baseline, Game
from deltaw.envs.path import expand, make_path, outcome, reach
from deltaw.envs.turn import payoffs_by_seat

Opponent = Callable[..., int]


class VersusEnv(BoardGameEnv):
    """A game in which the agent has one seat and `opponent` the others.

    Args:
        seat: the agent's seat, 0 (moves first) to num_players - 1; None: drawn from `np_random` at every reset.
        opponent: a callable, `"module:attribute"`, `"module:attribute:text"`, the name of a baseline of the game, or
            `"random"`. It should keep no memory: copies of the environment share it. With more than two players, also a
            list of them: the first is the player after the agent.
        game, render_mode, illegal: as in `BoardGameEnv`, but an illegal action costs the agent one point: reward -1.

    The reward is 0 until the game ends and then the agent's payoff. `info` has `seat` (the agent's) besides.
    Raises InputError as `BoardGameEnv` does, and for an unknown opponent or one that answers with an illegal move.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        seat: int | None = None,
        opponent: str | Opponent | Sequence[str | Opponent] = "random",
        render_mode: str | None = None,
        illegal: str = "end",
    ):
        super().__init__(game, render_mode=render_mode, illegal=illegal)
        check_choice("seat", seat, self._seats)
        self._fixed_seat = seat
        self._agent_seat = seat or 0
        self._named_opponent = opponent
        self._opponents = find_opponents(self._game, opponent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new game, up to the agent's first turn. Options: `position`, `dice`, and `seat` for this game only.

        Raises InputError as `BoardGameEnv.reset`, and if the opponent ends the game before the agent has a turn.
        """
        super(BoardGameEnv, self).reset(seed=seed)
        options = dict(options or {})
        seat = options.pop("seat", self._fixed_seat)
        check_choice("seat", seat, self._seats)
        self._begin(options, ("position", "dice", "seat"))
        self._agent_seat = int(self.np_random.integers(self._game.rules.num_players)) if seat is None else seat
        self._let_opponents_play()
        if self._over:
            raise InputError(f"the game ends from here before seat {self._agent_seat} has a turn")
        return self.observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act for the agent; the opponents answer. Raises as `BoardGameEnv.step` does."""
        if not self._is_legal(action):
            return self._end_illegally(action, forfeit(self._game.rules.num_players, own=True))
        self._act(int(action))
        over, truncated = self._let_opponents_play()
        return self.observation(), self.payoff(self._agent_seat), over, truncated, self._info()

    def observation(self) -> np.ndarray:
        """What the agent sees. Zeros where a game with hidden cards has ended on an opponent's turn: the view would be
        the opponent's."""
        observation = super().observation()
        if self._game.rules.hidden and self.mover != self._agent_seat:
            observation[:] = 0.0
        return observation

    @property
    def _seats(self) -> tuple[int | None, ...]:
        return (*range(self._game.rules.num_players), None)

    def _let_opponents_play(self) -> tuple[bool, bool]:
        """Until it is the agent's turn or the game is over; returns what `_end` says."""
        while True:
            over, truncated = self._end()
            if self._over or self.mover == self._agent_seat:
                return over, truncated
            self._play(self._answer())

    def _answer(self) -> int:
        turns_after = (self.mover - self._agent_seat) % self._game.rules.num_players
        move = int(self._opponents[turns_after - 1](self._game, self._state, self.np_random, path=self._path))
        if not is_legal(self._game, self._state, move, self._path):
            raise InputError(f"opponent {self._named_opponent!r} played {move}, illegal in {self.position()!r}")
        return move

    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "seat": self._agent_seat}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_opponents": None}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        super().__setstate__(fields)
        self._opponents = find_opponents(self._game, self._named_opponent)


# --- opponents --------------------------------------------------------------------------------------------------


def is_legal(game: Game, state: Any, move: int, path: np.ndarray | None = None) -> bool:
    """Whether `move` leads where a legal move leads: one play can have several codes."""
    codes, rows = game.buffers()
    n = expand(game.rules, _known(game, path), state, codes, rows)
    return move in codes[:n] or game.row(game.rules.play(state, move)).tolist() in rows[:n].tolist()


def random_mover(game: Game, state: Any, np_random: np.random.Generator, path: np.ndarray | None = None) -> int:
    """Each distinct result of a legal move is equally likely."""
    codes, rows = game.buffers()
    return int(codes[np_random.integers(expand(game.rules, _known(game, path), state, codes, rows))])


def _known(game: Game, path: np.ndarray | None) -> np.ndarray:
    return make_path(game.rules) if path is None else path


def greedy(baseline: Baseline) -> Opponent:
    """The opponent that plays the best result of one move by this baseline; ties are drawn."""

    def choose(game: Game, state: Any, np_random: np.random.Generator, path: np.ndarray | None = None) -> int:
        codes, rows = game.buffers()
        path = _known(game, path).copy()
        n = expand(game.rules, path, state, codes, rows)
        reach(game.rules, path, state)
        scores = np.array([_score(game, baseline, path, state, int(codes[i]), game.unrow(rows[i])) for i in range(n)])
        best = np.flatnonzero(scores == scores.max())
        return int(codes[best[np_random.integers(len(best))]])

    return choose


def _score(game: Game, baseline: Baseline, path: np.ndarray, state: Any, move: int, child: Any) -> float:
    """How good `child` is for the mover of `state`: values flip exactly when the seat changes."""
    if baseline.kind == "rank":
        return float(baseline.function(state, move, child))
    over, value = outcome(game.rules, path, child)
    turns_after = (game.rules.seat(state) - game.rules.seat(child)) % game.rules.num_players
    if baseline.kind == "payoffs":
        payoffs = np.empty(game.rules.num_players)
        if over:
            payoffs_by_seat(game.rules, child, payoffs)
            return float(payoffs[game.rules.seat(state)])
        baseline.function(child, payoffs)
        return float(payoffs[turns_after])
    value = float(value if over else baseline.function(child))
    return value if turns_after == 0 else -value


def find_opponents(game: Game, opponent: str | Opponent | Sequence[str | Opponent]) -> list[Opponent]:
    """One for each seat but the agent's. Raises InputError where a list has another length, or as `find_opponent`."""
    others = game.rules.num_players - 1
    named = [opponent] * others if isinstance(opponent, str) or not isinstance(opponent, Sequence) else list(opponent)
    if len(named) != others:
        raise InputError(f"{len(named)} opponents {named}; {game.name} needs {others}")
    return [_told_the_path(find_opponent(game, name)) for name in named]


def _told_the_path(opponent: Opponent) -> Opponent:
    """The opponent as one that takes `path=`, which is passed on where it has such a parameter."""
    if "path" in inspect.signature(opponent).parameters:
        return opponent
    return lambda game, state, np_random, path: opponent(game, state, np_random)


def find_opponent(game: Game, opponent: str | Opponent) -> Opponent:
    """The callable that `opponent` names; raises InputError with what there is."""
    if callable(opponent):
        return opponent
    if opponent == "random":
        return random_mover
    if opponent in game.baselines:
        return greedy(checked(game, game.baselines[opponent]))
    known = f"random, {', '.join(game.baselines)}" if game.baselines else "random"
    if not isinstance(opponent, str) or ":" not in opponent:
        raise InputError(f"unknown opponent {opponent!r}; give a callable, 'module:attribute', or one of: {known}")
    return _import_opponent(game, opponent)


def checked(game: Game, baseline: Baseline) -> Baseline:
    """The baseline, if it can choose a move; raises InputError with the reason."""
    if baseline.kind == "value" and game.rules.num_players > 2:
        able = [b.name for b in game.baselines.values() if b.kind != "value"]
        raise InputError(
            f"{baseline.name} says what a position is worth to its mover alone, so with "
            f"{game.rules.num_players} players it cannot compare moves; baselines that can: {', '.join(able) or 'none'}"
        )
    return baseline


def _import_opponent(game: Game, name: str) -> Opponent:
    """`module:attribute`, or what `attribute(game, text)` makes of `module:attribute:text`."""
    module, attribute, *text = name.split(":", 2)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"opponent {name!r} cannot be imported: {error}") from None
    if text and callable(found):
        found = found(game, *text)
    if not callable(found):
        raise InputError(f"opponent {name!r} is a {type(found).__name__}; it must be callable(game, state, np_random)")
    return found
