"""An agent: a game and an evaluator that choose moves and say what they think of a position, by plies or by a search.

A ply is counted as TD-Gammon does (`search/players/plies.py`). At 2 plies only the best candidates of the first ply are
searched deeper; every answer says how deep it was searched, and the deeper ones come first. With an algorithm or a
limit the agent searches (`search/players/searcher.py`). Where a database that it was given knows the position, it
chooses from the database: so it plays a book first, searches in the middle, and uses a database at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator, Opinion, evaluate_rows
from deltaw.search.evaluators.leaf import CLASSES, Leaf
from deltaw.search.evaluators.named import compiled, leaf_of
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.evaluators.work import make_work
from deltaw.search.players.batched import Scored, one_deeper, score_decisions
from deltaw.search.players.plies import CANDIDATES, MARGIN, make_bench, opinion_one_deeper, score_moves, survey
from deltaw.search.players.searcher import NO_LIMITS, Limits, Searcher


class Known(Protocol):
    """Exact knowledge, such as `Database` of `search/databases/database.py`."""

    def moves(self, state: Any) -> list[int]:
        """Every best move of the decision `state`; empty where it is not known."""
        ...


class RankedMove(NamedTuple):
    """One legal play, as an agent sees it."""

    move: int
    text: str
    state: Any
    """the position after it, for the side then to move"""
    value: float | None
    """outcome units, for the player who moves; None from an evaluator that only ranks"""
    chances: tuple[float, ...] | None
    """of each outcome class of the game for the player who moves, from as many plies as the value; None where the
    evaluator has none"""
    plies: int
    """how deep this move was searched"""


class Agent:
    """Chooses moves with an evaluator at 1 or 2 plies, or by a search. One thread at a time: it keeps scratch memory.

    `candidates`: moves searched at 2 plies, 0 for all; `margin`: how much worse than the best move a candidate may be
    at 1 ply, in outcome units. `algorithm` ("engine", "alphabeta" ...; None: what fits the game) and `limits` make it
    search instead; `databases` are asked first. `endings` makes the evaluator of an agent by plies exact where
    something is known: `functools.partial(deltaw.search.databases.bearoff.with_bearoff, table=...)`.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline | OnnxEvaluator,
        *,
        plies: int = 1,
        candidates: int = CANDIDATES,
        margin: float = MARGIN,
        algorithm: str | None = None,
        limits: Limits = NO_LIMITS,
        databases: Sequence[Known] = (),
        endings: Callable[[Leaf], Leaf] | None = None,
    ) -> None:
        self.game, self.evaluator, self.databases, self.endings = game, evaluator, databases, endings
        self.plies, self.candidates, self.margin = plies, candidates, float(margin)
        self.algorithm, self.limits = algorithm, limits
        self._engine: _Searching | _Ranking | _Valuing | _Batched
        if algorithm is not None or limits != NO_LIMITS:
            self._engine = _Searching(Searcher(game, compiled(evaluator), algorithm, limits))
            return
        _check(game, evaluator, plies, candidates)
        if isinstance(evaluator, OnnxEvaluator):
            self._engine = _Batched(self, evaluator)
        else:
            self._engine = _Ranking(self) if _only_ranks(evaluator) else _Valuing(self)

    def choose(self, state: Any) -> int:
        """The best move of the decision `state`; the first of equals. A database that knows the position decides."""
        self._check_decision(state)
        for database in self.databases:
            known = database.moves(state)
            if known:
                return known[0]
        return self._engine.choose(state)

    def rank(self, state: Any) -> list[RankedMove]:
        """All legal plays with distinct results, best first; those searched deeper come before the others."""
        self._check_decision(state)
        return self._engine.rank(state)

    def value(self, state: Any) -> Opinion:
        """What `state` is worth to its mover: before the dice, the evaluator's own opinion (1 ply) or the average over
        all rolls of the best move (2 plies); at a decision, the opinion of the best move."""
        self._check_running(state)
        return self._engine.value(state)

    def _check_decision(self, state: Any) -> None:
        self._check_running(state)
        if self.game.rules.num_chance(state) > 0:
            raise InputError(f"{self.game.format(state)} has no dice yet: roll before choosing a move")

    def _check_running(self, state: Any) -> None:
        over, value = self.game.rules.outcome(state)
        if over:
            raise InputError(f"{self.game.format(state)} is finished: {int(value):+d} for the side to move")


def _check(game: Game, evaluator: Evaluator | Baseline | OnnxEvaluator, plies: int, candidates: int) -> None:
    if game.rules.num_players != 2:
        raise InputError(f"{game.name} has {game.rules.num_players} players; 1- and 2-ply search is for two")
    if plies not in (1, 2):
        raise InputError(f"{plies} plies: this agent searches 1 or 2")
    if candidates < 0:
        raise InputError(f"{candidates} candidates: at least 1, or 0 for all moves")
    if isinstance(evaluator, Evaluator | OnnxEvaluator) and evaluator.game.name != game.name:
        raise InputError(f"the evaluator is for {evaluator.game.name}, not for {game.name}")
    if plies > 1 and not isinstance(evaluator, OnnxEvaluator):
        leaf_of(evaluator)


def _only_ranks(evaluator: Evaluator | Baseline) -> bool:
    return isinstance(evaluator, Baseline) and evaluator.kind == "rank"


class _Searching:
    """The agent's work where it searches."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher, self.game = searcher, searcher.game

    def choose(self, state: Any) -> int:
        move = self.searcher.search(state).move
        assert move is not None
        return move

    def rank(self, state: Any) -> list[RankedMove]:
        found = self.searcher.search(state, full=True)
        moves = found.ranked or [(move, found.value, None) for move in found.variation[:1]]
        return [self._ranked(state, move, value, found.depth) for move, value, _ in moves]

    def _ranked(self, state: Any, move: int, value: float, depth: int) -> RankedMove:
        after = self.game.unrow(self.game.row(self.game.rules.play(state, move)))
        return RankedMove(move, self.game.move_text(state, move), after, value, None, depth)

    def value(self, state: Any) -> Opinion:
        return Opinion(self.searcher.search(state).value, None)


class _Valuing:
    """The agent's work where the evaluator gives values."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.game = agent, agent.game
        self.leaf = leaf_of(agent.evaluator)
        if agent.endings is not None:
            self.leaf = agent.endings(self.leaf)
        self.bench = make_bench(self.leaf, agent.game)
        outputs = len(self.leaf.weights.outcomes)
        self.outputs = np.empty((agent.game.rules.max_moves, outputs))
        self.depths = np.empty(agent.game.rules.max_moves, np.int64)
        self.search = (agent.plies, agent.candidates, agent.margin, self.bench)

    def choose(self, state: Any) -> int:
        _, best = score_moves(self.game.rules, self.leaf, state, *self.search)
        return int(self.bench.moves[0, best])

    def rank(self, state: Any) -> list[RankedMove]:
        n = survey(self.game.rules, self.leaf, state, *self.search, self.outputs, self.depths)
        order = sorted(range(n), key=lambda i: (-self.depths[i], -self.bench.values[i]))
        return [self._ranked(state, i) for i in order]

    def _ranked(self, state: Any, i: int) -> RankedMove:
        move = int(self.bench.moves[0, i])
        return RankedMove(
            move,
            self.game.move_text(state, move),
            self.game.unrow(self.bench.rows[0, i]),
            float(self.bench.values[i]),
            self._chances(self.outputs[i]),
            int(self.depths[i]),
        )

    def value(self, state: Any) -> Opinion:
        if self.game.rules.num_chance(state) == 0:
            best = self.rank(state)[0]
            assert best.value is not None
            return Opinion(best.value, best.chances)
        if self.agent.plies == 1:
            return self._evaluated(state)
        outputs = np.zeros(self.outputs.shape[1])
        value = opinion_one_deeper(self.game.rules, self.leaf, state, False, self.bench, outputs)
        return Opinion(float(value), self._chances(outputs))

    def _evaluated(self, state: Any) -> Opinion:
        values = np.empty(1)
        outputs = np.empty((1, self.outputs.shape[1]), np.float32)
        work = make_work(self.leaf, self.game)
        evaluate_rows(self.game.rules, self.leaf, self.game.row(state)[None], work, values, outputs)
        return Opinion(float(values[0]), self._chances(outputs[0]))

    def _chances(self, outputs: Sequence[float] | np.ndarray) -> tuple[float, ...] | None:
        return tuple(float(p) for p in outputs) if self.leaf.weights.head == CLASSES else None


class _Batched:
    """The agent's work where the evaluator takes batches."""

    def __init__(self, agent: Agent, evaluator: OnnxEvaluator) -> None:
        if agent.endings is not None:
            compiled(evaluator)  # raises, with the reason
        self.agent, self.game, self.evaluator = agent, agent.game, evaluator

    def choose(self, state: Any) -> int:
        return self.rank(state)[0].move

    def rank(self, state: Any) -> list[RankedMove]:
        limits = (self.agent.plies, self.agent.candidates, self.agent.margin)
        found = next(score_decisions(self.game, self.evaluator, self.game.row(state)[None], *limits))
        order = sorted(range(len(found.moves)), key=lambda i: (-found.plies[i], -found.values[i]))
        return [self._ranked(state, found, i) for i in order]

    def _ranked(self, state: Any, found: Scored, i: int) -> RankedMove:
        move, value = int(found.moves[i]), float(found.values[i])
        after = self.game.unrow(found.rows[i])
        chances = self._chances(found.outputs[i])
        return RankedMove(move, self.game.move_text(state, move), after, value, chances, int(found.plies[i]))

    def value(self, state: Any) -> Opinion:
        if self.game.rules.num_chance(state) == 0:
            best = self.rank(state)[0]
            assert best.value is not None
            return Opinion(best.value, best.chances)
        row = self.game.row(state)[None]
        values, outputs = (
            self.evaluator.values(row) if self.agent.plies == 1 else one_deeper(self.game, self.evaluator, row)
        )
        return Opinion(float(values[0]), self._chances(outputs[0]))

    def _chances(self, outputs: np.ndarray) -> tuple[float, ...] | None:
        return tuple(float(p) for p in outputs) if self.evaluator.gives_chances else None


class _Ranking:
    """The agent's work where the evaluator only orders the moves of one position."""

    def __init__(self, agent: Agent) -> None:
        assert isinstance(agent.evaluator, Baseline)
        self.baseline, self.game = agent.evaluator, agent.game
        self.moves, self.rows = agent.game.buffers()
        self.scores = np.empty(agent.game.rules.max_moves)

    def choose(self, state: Any) -> int:
        n = self._score(state)
        return int(self.moves[np.argmax(self.scores[:n])])

    def rank(self, state: Any) -> list[RankedMove]:
        n = self._score(state)
        order = np.argsort(-self.scores[:n], kind="stable")
        moves = [(int(self.moves[i]), self.rows[i]) for i in order]
        return [RankedMove(m, self.game.move_text(state, m), self.game.unrow(row), None, None, 1) for m, row in moves]

    def value(self, state: Any) -> Opinion:
        leaf_of(self.baseline)  # raises, with the reason
        raise AssertionError

    def _score(self, state: Any) -> int:
        return rank_moves(self.game.rules, self.baseline.function, state, self.moves, self.rows, self.scores)


@kernel
def rank_moves(rules, function, state, moves, rows, scores):
    """Scores [M] of the moves [M] of the decision `state`, by a rank baseline's function; rows [M, W] get the
    results."""
    n = rules.expand(state, moves, rows)
    for i in range(n):
        scores[i] = function(state, moves[i], rules.load(rows[i]))
    return n
