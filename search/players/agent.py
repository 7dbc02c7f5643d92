"""An agent: a player that answers about one position after the other, for people.

Every move it speaks of has its text and the position after it, and says how deep it was searched; those searched deeper
come first. Where a database that it was given knows the position, it chooses from the database: so it plays a book
first, searches in the middle, and uses a database at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.path import make_path, outcome
from deltaw.search.evaluators.evaluator import Evaluator, Opinion
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.evaluators.uci_engine import UciEngine
from deltaw.search.players.find import player_of
from deltaw.search.players.how import How, settle
from deltaw.search.players.players import Decisions, Judge, Judgement
from deltaw.search.tree.algorithm import RootMove


class Knowledge(Protocol):
    """Exact knowledge, such as `Database` of `search/databases/database.py`."""

    def moves(self, state: Any) -> list[int]:
        """Every best move of the decision `state`; empty where it is not known."""
        ...


class Agent:
    """Chooses moves with an evaluator at 1 or 2 plies, or by a search. One thread at a time: it keeps scratch memory.

    `how`: the fields of `How` (`search/players/how.py`): `plies` (1), `candidates`, `margin`, or `algorithm` and
    `limits`, with which it searches instead. `databases` are asked first. `endings` makes the evaluator of an agent by
    plies exact where something is known: `functools.partial(deltaw.search.databases.bearoff.with_bearoff, table=...)`.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine,
        *,
        databases: Sequence[Knowledge] = (),
        endings: Callable[[Leaf], Leaf] | None = None,
        **how: Any,
    ) -> None:
        self.game, self.evaluator, self.databases, self.endings = game, evaluator, databases, endings
        self.how = settle(game, evaluator, How(**how).or_plies(1), 1)
        if not self.how.searches and game.rules.num_players != 2:
            raise InputError(f"{game.name} has {game.rules.num_players} players; 1- and 2-ply search is for two")
        self.player: Judge = player_of(game, evaluator, "agent", self.how, 1, fresh=False, endings=endings)

    def choose(self, state: Any, path: np.ndarray | None = None) -> int:
        """The best move of the decision `state`; the first of equals. A database that knows the position decides.
        `path`, here and below: of the game so far (`envs/path.py`); None: it begins here."""
        self._check_decision(state, path)
        for database in self.databases:
            known = database.moves(state)
            if known:
                return known[0]
        decision = Decisions.of(self.game.row(state)[None], paths=None if path is None else path[None])
        return int(self.player.choose(decision, 0).moves[0])

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        """What the player thinks of the running game `state`: of all moves, or without `full` at least of the best."""
        self._check_running(state, path)
        found = self.player.judge(state, full, path)
        return found._replace(moves=tuple(self._named(state, move) for move in found.moves))

    def rank(self, state: Any, path: np.ndarray | None = None) -> list[RootMove]:
        """All legal plays with distinct results, best first; those searched deeper come before the others."""
        self._check_decision(state, path)
        return list(self.judge(state, path=path).moves)

    def value(self, state: Any, path: np.ndarray | None = None) -> Opinion:
        """What `state` is worth to its mover: before the dice, the evaluator's own opinion (1 ply) or the average over
        all rolls of the best move (2 plies); at a decision, the opinion of the best move."""
        self._check_running(state, path)
        found = self.player.judge(state, full=False, path=path)
        if found.value is None:
            leaf_of(self.evaluator)  # raises, with the reason
        assert found.value is not None
        return Opinion(found.value, found.chances)

    def _named(self, state: Any, move: RootMove) -> RootMove:
        after = self.game.unrow(self.game.row(self.game.rules.play(state, move.move)))
        return move._replace(text=self.game.move_text(state, move.move), state=after)

    def _check_decision(self, state: Any, path: np.ndarray | None) -> None:
        self._check_running(state, path)
        if self.game.rules.num_chance(state) > 0:
            raise InputError(f"{self.game.format(state)} has no dice yet: roll before choosing a move")

    def _check_running(self, state: Any, path: np.ndarray | None) -> None:
        over, value = outcome(self.game.rules, make_path(self.game.rules) if path is None else path, state)
        if over:
            raise InputError(f"{self.game.format(state)} is finished: {int(value):+d} for the side to move")


def line_texts(game: Game, state: Any, moves: Sequence[int]) -> list[str]:
    """The moves of a line that begins at `state`, in the game's notation."""
    texts = []
    for move in moves:
        texts.append(game.move_text(state, move))
        state = game.unrow(game.row(game.rules.play(state, move)))
    return texts
