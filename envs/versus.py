"""Every game as a Gymnasium environment against an opponent: for MaskablePPO and other single-agent learners.

After `reset` and after every `step` it is the agent's turn or the game is over. An opponent is a callable

    opponent(game, state, np_random) -> move code

and is named in one of four ways: the callable itself; `"module:attribute"` for one that another package defines; the name
of one of the game's baselines, which then chooses greedily among the results of its moves; or `"random"`, any legal move.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from envs.errors import InputError
from envs.front import BoardGameEnv, check_choice
from envs.game import Baseline, Game

Opponent = Callable[[Game, Any, np.random.Generator], int]


class VersusEnv(BoardGameEnv):
    """A game in which the agent has one seat and `opponent` the other.

    Args:
        seat: the agent's seat, 0 (moves first) or 1; None: drawn from `np_random` at every reset.
        opponent: a callable, `"module:attribute"`, the name of a baseline of the game, or `"random"`. It should keep no memory:
            copies of the environment share it.
        game, render_mode, illegal: as in `BoardGameEnv`, but an illegal action costs the agent one point: reward -1.

    The reward is 0 until the game ends and then the outcome for the agent. `info` has `seat` (the agent's) besides.
    Raises InputError as `BoardGameEnv` does, and for an unknown opponent or one that answers with an illegal move.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        seat: int | None = None,
        opponent: str | Opponent = "random",
        render_mode: str | None = None,
        illegal: str = "end",
    ):
        super().__init__(game, render_mode=render_mode, illegal=illegal)
        check_choice("seat", seat, (0, 1, None))
        self._fixed_seat = seat
        self._agent_seat = seat or 0
        self._named_opponent = opponent
        self._opponent = find_opponent(self._game, opponent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new game, up to the agent's first turn. Options: `position`, `dice`, and `seat` for this game only.

        Raises InputError as `BoardGameEnv.reset`, and if the opponent ends the game before the agent has a turn.
        """
        super(BoardGameEnv, self).reset(seed=seed)
        options = dict(options or {})
        seat = options.pop("seat", self._fixed_seat)
        check_choice("seat", seat, (0, 1, None))
        self._begin(options, ("position", "dice", "seat"))
        self._agent_seat = int(self.np_random.integers(2)) if seat is None else seat
        self._let_opponent_play()
        if self._over:
            raise InputError(f"the opponent ends the game from here before seat {self._agent_seat} has a turn")
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act for the agent; the opponent answers. Raises as `BoardGameEnv.step` does."""
        if not self._is_legal(action):
            return self._end_illegally(action, -1.0)
        self._act(int(action))
        truncated = self._let_opponent_play()
        over, value = self._outcome()
        self._over = over or truncated
        reward = float(value if self.mover == self._agent_seat else -value)
        return self._observation(), reward, over, truncated, self._info()

    def _let_opponent_play(self) -> bool:
        """Until it is the agent's turn or the game is over; returns whether it was broken off."""
        while True:
            over, _ = self._outcome()
            truncated = self._truncated(over)
            if self._over or self.mover == self._agent_seat:
                return truncated
            self._play(self._answer())

    def _answer(self) -> int:
        move = int(self._opponent(self._game, self._state, self.np_random))
        if not is_legal(self._game, self._state, move):
            raise InputError(f"opponent {self._named_opponent!r} played {move}, illegal in {self.position()!r}")
        return move

    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "seat": self._agent_seat}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_opponent": None}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        super().__setstate__(fields)
        self._opponent = find_opponent(self._game, self._named_opponent)


# --- opponents --------------------------------------------------------------------------------------------------


def is_legal(game: Game, state: Any, move: int) -> bool:
    """Whether `move` leads where a legal move leads: one play can have several codes."""
    codes, rows = game.buffers()
    n = game.rules.expand(state, codes, rows)
    return move in codes[:n] or game.row(game.rules.play(state, move)).tolist() in rows[:n].tolist()


def random_mover(game: Game, state: Any, np_random: np.random.Generator) -> int:
    """Each distinct result of a legal move is equally likely."""
    moves = game.moves(state)
    return moves[np_random.integers(len(moves))]


def greedy(baseline: Baseline) -> Opponent:
    """The opponent that plays the best result of one move by this baseline; ties are drawn."""

    def choose(game: Game, state: Any, np_random: np.random.Generator) -> int:
        codes, rows = game.buffers()
        n = game.rules.expand(state, codes, rows)
        scores = np.array([_score(game, baseline, state, int(codes[i]), game.unrow(rows[i])) for i in range(n)])
        best = np.flatnonzero(scores == scores.max())
        return int(codes[best[np_random.integers(len(best))]])

    return choose


def _score(game: Game, baseline: Baseline, state: Any, move: int, child: Any) -> float:
    """How good `child` is for the mover of `state`: values flip exactly when the seat changes."""
    if baseline.kind == "rank":
        return float(baseline.function(state, move, child))
    over, outcome = game.rules.outcome(child)
    value = float(outcome if over else baseline.function(child))
    return value if game.rules.seat(child) == game.rules.seat(state) else -value


def find_opponent(game: Game, opponent: str | Opponent) -> Opponent:
    """The callable that `opponent` names; raises InputError with what there is."""
    if callable(opponent):
        return opponent
    if opponent == "random":
        return random_mover
    if opponent in game.baselines:
        return greedy(game.baselines[opponent])
    known = f"random, {', '.join(game.baselines)}" if game.baselines else "random"
    if not isinstance(opponent, str) or ":" not in opponent:
        raise InputError(f"unknown opponent {opponent!r}; give a callable, 'module:attribute', or one of: {known}")
    return _import_opponent(opponent)


def _import_opponent(name: str) -> Opponent:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"opponent {name!r} cannot be imported: {error}") from None
    if not callable(found):
        raise InputError(f"opponent {name!r} is a {type(found).__name__}; it must be callable(game, state, np_random)")
    return found
