"""One ply and two plies with an evaluator that takes batches: onnxruntime, or any function of many states at once.

The compiled searches call an evaluator for one state at a time, from inside a kernel. An evaluator in another library
is called seldom, with many states at once: **expand** many decisions, **evaluate** all results in one call, **back
up**. Plies, candidates and margins mean what they mean in `search/players/plies.py`, and given the same values both
choose the same moves (a test).

Letters: n decisions, T moves of all of them together, W integers a state, K outputs, R most outcomes of a chance node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.players.players import Chosen, Decisions, Judgement, judgement_of, pick_tied, tie_word
from deltaw.search.players.plies import CANDIDATES, MARGIN, ply_label, promising
from deltaw.search.players.threads import Workers

ROOM = 1 << 14
"""moves that are expanded before they are evaluated, at least"""


class BatchEvaluator(Protocol):
    """Values many states in one call."""

    @property
    def gives_chances(self) -> bool:
        """Whether the outputs are chances of the game's outcome classes; else they are the value itself."""
        ...

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value float64 [n] and outputs float32 [n, K] of states `rows` int64 [n, W], each for its mover; exact where
        the game is over."""
        ...


class Scored(NamedTuple):
    """All moves of some decisions, one decision after the other."""

    begin: np.ndarray
    """int64 [n + 1]: the moves of decision i are begin[i] .. begin[i + 1]"""
    moves: np.ndarray
    """int64 [T]: codes"""
    rows: np.ndarray
    """int64 [T, W]: results"""
    turned: np.ndarray
    """bool [T]: whether the other side is to move then"""
    values: np.ndarray
    """float64 [T]: for the mover of the decision"""
    outputs: np.ndarray
    """float64 [T, K]: the evaluator's, for the mover of the decision"""
    plies: np.ndarray
    """int64 [T]: how deep each was searched"""


def score_decisions(
    game: Game,
    evaluator: BatchEvaluator,
    rows: np.ndarray,
    plies: int = 1,
    candidates: int = CANDIDATES,
    margin: float = MARGIN,
) -> Iterator[Scored]:
    """The decisions `rows` int64 [n, W] in order, as many at a time as are expanded together. At 2 plies only the
    `candidates` best of the first ply within `margin` are searched deeper (0 candidates: all)."""
    first = 0
    while first < len(rows):
        begin, moves, results, turned = _expanded(game, rows[first:])
        values, outputs = evaluator.values(results)
        for_mover = (
            np.where(turned, -values, values),
            seen_from(outputs.astype(np.float64), turned, evaluator.gives_chances),
        )
        scored = Scored(begin, moves, results, turned, *for_mover, np.ones(len(moves), np.int64))
        if plies >= 2:
            _deepen(game, evaluator, scored, candidates, margin)
        yield scored
        first += len(begin) - 1


def _expanded(game: Game, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(begin, moves, results, turned) of as many decisions as there is room for."""
    room = max(ROOM, game.rules.max_moves)
    moves, results = np.empty(room, np.int64), np.empty((room, game.rules.width), np.int64)
    begin, turned = np.zeros(len(rows) + 1, np.int64), np.empty(room, np.bool_)
    n = expand_decisions(game.rules, np.ascontiguousarray(rows), begin, moves, results, turned)
    total = begin[n]
    return begin[: n + 1], moves[:total], results[:total], turned[:total]


def seen_from(outputs: np.ndarray, turned: np.ndarray, chances: bool) -> np.ndarray:
    """Outputs [n, K], from the other side where `turned` [n]: classes are reversed, a value changes its sign."""
    return np.where(turned[:, None], outputs[:, ::-1] if chances else -outputs, outputs)


def _deepen(game: Game, evaluator: BatchEvaluator, scored: Scored, candidates: int, margin: float) -> None:
    """Replace values and outputs of the most promising moves, in place, by those of two plies."""
    chosen = np.ones(len(scored.moves), np.bool_)
    if candidates > 0:
        mark_promising(scored.begin, scored.values, np.int64(candidates), float(margin), chosen)
    values, outputs = one_deeper(game, evaluator, scored.rows[chosen])
    turned = scored.turned[chosen]
    scored.values[chosen] = np.where(turned, -values, values)
    scored.outputs[chosen] = seen_from(outputs, turned, evaluator.gives_chances)
    scored.plies[chosen] = 2


def one_deeper(game: Game, evaluator: BatchEvaluator, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values [n] and outputs [n, K] of states before their roll, for their movers: the average over the rolls of the
    best move's."""
    n, rules = len(rows), game.rules
    over, result = np.empty(n, np.bool_), np.empty(n)
    size = n * max(rules.max_chance, 1)
    rolled, owner, probability = np.empty((size, rules.width), np.int64), np.empty(size, np.int64), np.empty(size)
    count = roll_states(rules, np.ascontiguousarray(rows), over, result, rolled, owner, probability)
    owner, probability = owner[:count], probability[:count]
    best_values, best_outputs = best_replies(game, evaluator, rolled[:count])
    values = np.bincount(owner, probability * best_values, n)
    outputs = np.stack([np.bincount(owner, probability * column, n) for column in best_outputs.T], axis=1)
    values[over], outputs[over] = result[over], evaluator.values(rows[over])[1]
    return values, outputs


def best_replies(game: Game, evaluator: BatchEvaluator, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values [n] and outputs [n, K] of decisions at one ply, for their movers: those of the best move, the first of
    equals."""
    values, outputs = [np.empty(0)], [np.empty((0, evaluator.values(rows[:0])[1].shape[1]))]
    for scored in score_decisions(game, evaluator, rows):
        best = np.empty(len(scored.begin) - 1, np.int64)
        find_best(scored.begin, scored.values, best)
        values.append(scored.values[best])
        outputs.append(scored.outputs[best])
    return np.concatenate(values), np.concatenate(outputs)


# --- the player ---------------------------------------------------------------------------------------------------


class BatchedPlayer:
    """Plays the move with the best value at one or two plies: `EvaluatorPlayer` of `search/players/players.py` for an
    evaluator of batches."""

    def __init__(
        self,
        game: Game,
        evaluator: BatchEvaluator,
        name: str,
        plies: int = 1,
        candidates: int = CANDIDATES,
        margin: float = MARGIN,
        threads: int | None = None,
        ties: bool = False,
    ) -> None:
        """Arguments as those of EvaluatorPlayer."""
        self.game, self.evaluator, self.plies, self.name = game, evaluator, plies, f"{name}{ply_label(plies)}"
        self._limits, self._ties = (int(plies), int(candidates), float(margin)), ties
        self._workers: Workers[None] = Workers(threads, lambda: None)

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        return self.decide(decisions, seed)[0]

    def decide(self, decisions: Decisions, seed: int) -> tuple[Chosen, np.ndarray]:
        """What `choose` returns, and the values [n] of the decisions for their movers, in outcome units."""
        rows, keys = decisions.rows, decisions.keys
        chosen, values = Chosen.room(rows), np.empty(len(rows))

        def work(part: slice, _: None) -> None:
            first = part.start
            for scored in score_decisions(self.game, self.evaluator, rows[part], *self._limits):
                last = first + len(scored.begin) - 1
                deepest, best = self._deepest(scored), np.empty(last - first, np.int64)
                find_best(scored.begin, deepest, best)
                values[first:last] = deepest[best]
                if self._ties:
                    draw_best(scored.begin, deepest, keys[first:last], np.int64(seed), TIED, best)
                chosen.moves[first:last], chosen.rows[first:last] = scored.moves[best], scored.rows[best]
                first = last

        self._workers.run(work, len(rows))
        return chosen, values

    def tied(self, decision: Decisions) -> Chosen:
        """All moves of the one decision that are equally good."""
        scored = next(score_decisions(self.game, self.evaluator, decision.rows, *self._limits))
        values = self._deepest(scored)
        return Chosen(scored.moves, scored.rows).at(values >= values.max() - TIED)

    def judge(self, state: Any, full: bool = True) -> Judgement:
        row, chances = self.game.row(state)[None], self.evaluator.gives_chances
        if self.game.rules.num_chance(state) > 0:
            deeper = self.plies > 1
            values, outputs = one_deeper(self.game, self.evaluator, row) if deeper else self.evaluator.values(row)
            return Judgement(float(values[0]), chances=tuple(outputs[0].tolist()) if chances else None)
        found = next(score_decisions(self.game, self.evaluator, row, *self._limits))
        return judgement_of(found.moves, found.values, found.plies, found.outputs if chances else None)

    def _deepest(self, scored: Scored) -> np.ndarray:
        """Values [T]; moves that were not searched to the last ply are out of the question."""
        return np.where(scored.plies == self.plies, scored.values, -np.inf)


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def expand_decisions(rules, rows, begin, moves, results, turned):
    """Moves and results of the decisions `rows`, one after the other, as long as there is room; returns of how many."""
    n = 0
    while n < len(rows) and begin[n] + rules.max_moves <= len(moves):
        state, first = rules.load(rows[n]), begin[n]
        begin[n + 1] = first + rules.expand(state, moves[first:], results[first:])
        for i in range(first, begin[n + 1]):
            turned[i] = rules.seat(rules.load(results[i])) != rules.seat(state)
        n += 1
    return n


@kernel
def mark_promising(begin, values, candidates, margin, chosen):
    """chosen[i]: whether a move deserves the second ply."""
    chosen[:] = False
    for i in range(len(begin) - 1):
        own = values[begin[i] : begin[i + 1]]
        order = np.argsort(-own, kind="mergesort")
        for k in order[: promising(own, order, candidates, margin)]:
            chosen[begin[i] + k] = True


@kernel
def roll_states(rules, rows, over, result, rolled, owner, probability):
    """All chance outcomes of the states rows[i] that are not finished, to `rolled`, with owner i and probability; a
    state without chance is its own. over[i], result[i]: whether and how a game is finished. Returns how many there
    are."""
    total = 0
    for i in range(len(rows)):
        state = rules.load(rows[i])
        over[i], result[i] = rules.outcome(state)
        k = np.int64(0) if over[i] else np.int64(rules.num_chance(state))
        for r in range(k):
            decision, chance = rules.chance(state, r)
            rules.store(decision, rolled[total])
            owner[total], probability[total] = i, chance
            total += 1
        if k == 0 and not over[i]:
            rolled[total] = rows[i]
            owner[total], probability[total] = i, 1.0
            total += 1
    return total


@kernel
def find_best(begin, values, best):
    """best[i] = the move of decision i with the greatest value: the first of equals."""
    for i in range(len(best)):
        best[i] = begin[i] + np.argmax(values[begin[i] : begin[i + 1]])


@kernel
def draw_best(begin, values, keys, seed, within, best):
    """best[i] = one of the moves of decision i whose values are `within` so much of the greatest, drawn by (seed, game,
    ply)."""
    for i in range(len(best)):
        own = values[begin[i] : begin[i + 1]]
        best[i] = begin[i] + pick_tied(own, len(own), within, tie_word(keys, i, seed))
