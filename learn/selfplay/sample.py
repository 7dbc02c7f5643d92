"""Games that an evaluator plays against itself, to measure how well its predictions come true and how far they jump. No
learner learns from them.

Both sides play the best move at 1 ply. Games without dice begin with a few random moves, since all games would be the
same otherwise; positions are taken after these moves.

**Calibration.** With p the predicted score of the mover (his chance of winning, a draw counting half; from a scalar
head 1/2 + v / 2 vmax) and y the score that he got, both in [0, 1], positions are sorted into B bins of equal width by p
([1], the expected calibration error):

    ECE = sum_b n_b / N |mean_b(y) - mean_b(p)|

[1] C. Guo et al., On Calibration of Modern Neural Networks, ICML 2017, equation 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.turn import open_game, roll
from deltaw.learn.selfplay.lockstep import take_turn
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.players.plies import make_bench

GAMES = 100
SAMPLE_SEED = 20_260_102
"""dice and openings: the same at every point of a curve, and never those of training or of matches"""
OPENING_PLIES = 4
"""random moves at the start of games without dice"""
MOST_PLIES = 2_000
"""a game that takes longer than this is left out"""
BINS = 10


class Sample(NamedTuple):
    """Positions of finished games, in the order of play; N positions, G games, K outputs, W integers a state."""

    rows: np.ndarray
    """int64 [N, W]: before the dice"""
    game: np.ndarray
    """int64 [N]: number of the game"""
    ply: np.ndarray
    """int64 [N]: moves made before, random ones included"""
    moves: np.ndarray
    """int64 [N]: the move that was made (after the dice)"""
    outputs: np.ndarray
    """float32 [N, K]: the evaluator's, for the mover"""
    errors: np.ndarray
    """float64 [N]: TD error of the value, v_{t+1} - v_t from the mover's side, with the result after the last
    position"""
    results: np.ndarray
    """int64 [N]: the game's result for the mover"""


class Reliability(NamedTuple):
    """Bins that hold a position, by rising prediction."""

    predicted: np.ndarray
    """float64 [b]: mean predicted score"""
    scored: np.ndarray
    """float64 [b]: mean score that came true"""
    positions: np.ndarray
    """int64 [b]"""

    @property
    def error(self) -> float:
        """The expected calibration error; NaN without positions."""
        total = self.positions.sum()
        return float((self.positions * np.abs(self.scored - self.predicted)).sum() / total) if total else float("nan")


def play_sample(evaluator: Evaluator, games: int = GAMES, seed: int = SAMPLE_SEED) -> Sample:
    """Finished games of `evaluator` against itself."""
    game, leaf = evaluator.game, evaluator.leaf
    opening = 0 if game.rules.max_chance else OPENING_PLIES
    most = game.rules.max_plies or MOST_PLIES
    sample = _empty(most, game, len(leaf.weights.outcomes))
    bench = make_bench(leaf, game)
    parts = []
    for number in range(games):
        n = play_game(game.rules, leaf, np.int64(seed), np.int64(number), opening, sample, bench)
        parts.append([array[:n].copy() for array in sample])
    return Sample(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _empty(size: int, game: Game, outputs: int) -> Sample:
    return Sample(
        rows=np.empty((size, game.rules.width), np.int64),
        game=np.empty(size, np.int64),
        ply=np.empty(size, np.int64),
        moves=np.empty(size, np.int64),
        outputs=np.empty((size, outputs), np.float32),
        errors=np.empty(size),
        results=np.empty(size, np.int64),
    )


@kernel
def play_game(rules, leaf, seed, number, opening, sample, bench):
    """Fill the sample with one game; returns its positions: 0 if it did not end."""
    first = open_game(rules, seed, number, opening, sample.rows[0], bench.path, bench.moves[0], bench.rows[0])
    state = rules.load(sample.rows[0])
    value = leaf.evaluate(rules, leaf.weights, state, bench.work)
    sample.outputs[0] = bench.work.chances
    for n in range(len(sample.game)):
        best, _, over, result = take_turn(rules, leaf, state, seed, number, first + n, 0.0, bench)
        mover, child = rules.seat(state), rules.load(bench.rows[0, best])
        after = bench.values[best]
        if over:
            after = np.float64(result if mover == 0 else -result)
        note(rules, sample, n, state, number, first + n, bench.moves[0, best], after - value)
        if over:
            settle(rules, sample, n + 1, result)
            return n + 1
        value = -after if rules.seat(child) != mover else after
        if n + 1 < len(sample.outputs):
            sample.outputs[n + 1] = bench.outputs[best]
        state = child
    return 0


@kernel
def note(rules, sample, n, state, number, ply, move, error):
    rules.store(state, sample.rows[n])
    sample.game[n] = number
    sample.ply[n] = ply
    sample.moves[n] = move
    sample.errors[n] = error


@kernel
def settle(rules, sample, n, result):
    """The result of a game, for seat 0, to the movers of its n positions."""
    for t in range(n):
        sample.results[t] = result if rules.seat(rules.load(sample.rows[t])) == 0 else -result


def scores(evaluator: Evaluator, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Predicted scores p [N] of the movers and those that came true y [N], in [0, 1]."""
    outcomes = np.array(evaluator.game.rules.outcomes)
    if evaluator.gives_chances:
        worth = (np.sign(outcomes) + 1) / 2
        return np.clip(sample.outputs @ worth, 0.0, 1.0), (np.sign(sample.results) + 1) / 2
    most = outcomes.max()
    return np.clip(0.5 + sample.outputs[:, 0] / (2 * most), 0.0, 1.0), 0.5 + sample.results / (2 * most)


def reliability(predicted: np.ndarray, scored: np.ndarray, bins: int = BINS) -> Reliability:
    """The module's bins, of which empty ones are left out."""
    place = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    full = count > 0
    sums = [np.bincount(place, weights=array, minlength=bins)[full] for array in (predicted, scored)]
    return Reliability(sums[0] / count[full], sums[1] / count[full], count[full])


def typical(sample: Sample) -> int:
    """Number of the game of median length."""
    numbers, lengths = np.unique(sample.game, return_counts=True)
    return int(numbers[np.argsort(lengths, kind="stable")[len(numbers) // 2]])


def annotated(evaluator: Evaluator, sample: Sample, number: int) -> list[str]:
    """A game of the sample as Markdown table rows: ply, seat, dice and move, and the evaluator's value for the mover
    before them."""
    game = evaluator.game
    lines = ["ply | seat | move | value before it", "--- | --- | --- | ---"]
    for n in np.flatnonzero(sample.game == number):
        state = game.unrow(sample.rows[n])
        rolled = roll(game.rules, state, np.int64(SAMPLE_SEED), np.int64(number), np.int64(sample.ply[n]))
        text = game.move_text(game.state(*(int(field) for field in rolled)), int(sample.moves[n]))
        value = float(sample.outputs[n] @ outcome_values(evaluator))
        lines.append(f"{sample.ply[n]} | {game.rules.seat(state)} | {text} | {value:+.3f}")
    return lines


def outcome_values(evaluator: Evaluator) -> np.ndarray:
    """float64 [K]: what each output is worth to the value."""
    return np.array(evaluator.game.rules.outcomes, float) if evaluator.gives_chances else np.ones(1)
