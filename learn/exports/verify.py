"""Compares an exported evaluator with the trained one: their values, and their order of moves, on positions of the
evaluator's own games.

Both are compared with the evaluator's definition, summed in float64 by NumPy. torch's float32, whose own rounding error
reaches a millionth, the compiled form and onnxruntime are not taken as a reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path
from deltaw.envs.turn import roll
from deltaw.learn.selfplay.lockstep import take_turn
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.onnx_file import settle_finished
from deltaw.search.players.batched import BatchEvaluator, score_decisions
from deltaw.search.players.plies import make_bench

CLOSE = 1e-5
"""two moves whose values differ by less, in outcome units, may change places"""
RANDOM_MOVES = 0.125
"""of the games' moves: an evaluator that plays without dice would repeat one game"""


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
}


class Sample(NamedTuple):
    """Successive positions of games; n of them."""

    rows: np.ndarray
    """int64 [n, W]: before the roll, as evaluators see them"""
    decisions: np.ndarray
    """int64 [n, W]: the same, rolled"""


class Agreement(NamedTuple):
    """How far an exported evaluator and what was trained agree."""

    positions: int
    difference: float
    """largest of a value's and of a chance's: absolute below 1, relative above"""
    moves: int
    """of the same number of decisions"""
    misordered: int
    """pairs of moves of one decision that are more than CLOSE apart, and change places"""


class Reference:
    """An evaluator by its definition, in float64."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.game = evaluator, evaluator.game

    @property
    def gives_chances(self) -> bool:
        return self.evaluator.gives_chances

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values [n] of the states `rows` [n, W], and outputs [n, K]: chances, or the value [n, 1]."""
        description = self.evaluator.description
        classes = np.array(description.outcomes if self.gives_chances else (0,), np.float64)
        sums = self._sums(inputs_of(self.game, self.evaluator.features, rows))
        if self.gives_chances:
            shares = np.exp(sums - sums.max(axis=1, keepdims=True))
            outputs = shares / shares.sum(axis=1, keepdims=True)
            values = outputs @ classes
        else:
            values = (
                max(description.outcomes) * np.tanh(sums[:, 0]) if description.head == "tanh" else sums[:, 0].copy()
            )
            outputs = values[:, None].copy()
        settle_finished(self.game.rules, np.ascontiguousarray(rows), self.gives_chances, classes, values, outputs)
        return values, outputs

    def _sums(self, x: np.ndarray) -> np.ndarray:
        """The last layer's sums [n, outputs] of inputs [n, F], or of entries [n, P]."""
        tensors, description = self.evaluator.tensors, self.evaluator.description
        if description.kind == "ntuple":
            return tensors["weight0"][:, 0].astype(np.float64)[x].sum(axis=1, keepdims=True) + tensors["bias0"]
        last = len(description.sizes) - 2
        x = x.astype(np.float64)
        for k in range(last + 1):
            x = x @ tensors[f"weight{k}"].astype(np.float64) + tensors[f"bias{k}"]
            if k < last:
                x = ACTIVATIONS[description.activation](x)
        return x


def agreement(evaluator: Evaluator, exported: BatchEvaluator, sample: Sample) -> Agreement:
    """Compare `exported` with what was trained on every position, and the order of all moves of every decision."""
    reference = Reference(evaluator)
    expected, measured = reference.values(sample.rows), exported.values(sample.rows)
    difference = max(_difference(a, b) for a, b in zip(measured, expected, strict=True))
    moves, misordered = _compare_orders(evaluator.game, reference, exported, sample.decisions)
    return Agreement(len(sample.rows), difference, moves, misordered)


def _difference(measured: np.ndarray, expected: np.ndarray) -> float:
    return float((np.abs(measured - expected) / np.maximum(1.0, np.abs(expected))).max())


def _compare_orders(
    game: Game, first: BatchEvaluator, second: BatchEvaluator, decisions: np.ndarray
) -> tuple[int, int]:
    """(moves, pairs of them that change places)."""
    moves = misordered = 0
    for one, two in zip(score_decisions(game, first, decisions), score_decisions(game, second, decisions), strict=True):
        moves += len(one.moves)
        for begin, end in zip(one.begin, one.begin[1:], strict=False):
            a, b = one.values[begin:end], two.values[begin:end]
            misordered += int(((a[:, None] > a + CLOSE) & (b[:, None] < b)).sum())
    return moves, misordered


# --- positions ----------------------------------------------------------------------------------------------------


def played(evaluator: Evaluator, positions: int, seed: int = 1) -> Sample:
    """Positions of games that the evaluator plays against itself at 1 ply, an eighth of the moves at random. Raises
    InputError for no positions."""
    if positions < 1:
        raise InputError(f"{positions} positions: at least 1")
    game = evaluator.game
    sample = Sample(*(np.empty((positions, game.rules.width), np.int64) for _ in range(2)))
    play_positions(game.rules, evaluator.leaf, np.int64(seed), *sample, make_bench(evaluator.leaf, game))
    return sample


@kernel
def play_positions(rules, leaf, seed, rows, decisions, bench):
    """Fill rows [n, W] and decisions [n, W] with successive positions of games."""
    state, game, ply = rules.initial(), np.int64(0), np.int64(0)
    for i in range(len(rows)):
        rules.store(state, rows[i])
        rules.store(roll(rules, state, seed, game, ply), decisions[i])
        best, _, over, _ = take_turn(rules, leaf, state, seed, game, ply, RANDOM_MOVES, bench)
        state = rules.load(bench.rows[0, best])
        ply += 1
        if over:
            begin_path(rules, bench.path)
            state, game, ply = rules.initial(), game + 1, np.int64(0)
