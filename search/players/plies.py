"""One ply and two plies, for one decision and for many at once.

A ply is counted as TD-Gammon does: **1 ply** values every position after my move by the evaluator; **2 plies** values
it by the average over the opponent's rolls of his best reply, each reply valued by the evaluator. (gnubg calls them
0-ply and 1-ply.)

**What the mover does not see** (`Rules.hidden`) is dealt anew: a decision's values are averages over `WORLDS` states
that he cannot tell from the true one, so they do not depend on anything hidden. The results of the true state are not
evaluated for it, since after a move they show the opponent's view.

Letters: N decisions, W integers a state, M most moves of a decision, R most outcomes of a chance node. The order of one
decision's moves is the game's own; ties go to the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import expand, is_drawn, make_path, outcome, reach, step_back
from deltaw.search.evaluators.leaf import CLASSES, Leaf, Work, certain, forget
from deltaw.search.evaluators.work import make_work

CANDIDATES = 8
"""moves that a second ply looks at, unless it looks at all"""
WORLDS = 16
"""states that a decision is averaged over where something is hidden"""
MARGIN = 0.2
"""... and only those at most this much worse than the best at 1 ply, in outcome units"""
ONE_PLY, ALL_MOVES = np.int64(1), np.int64(0)
"""`plies` and `candidates` as kernels pass them: for literals Numba would compile everything below once more"""


def ply_label(plies: int) -> str:
    """The part of a player's name that tells its plies; empty at 1 ply."""
    return "" if plies == 1 else f" {plies}-ply"


class Bench(NamedTuple):
    """Scratch memory of one thread for searching two plies."""

    moves: np.ndarray
    """int64 [2, M]"""
    rows: np.ndarray
    """int64 [2, M, W]: own moves' results, and the opponent's replies"""
    values: np.ndarray
    """float64 [M]: own moves' values for the mover"""
    outputs: np.ndarray
    """float32 [M, K]: what the evaluator says of own moves' results, for the side then to move"""
    work: Work
    path: np.ndarray
    """of the game, before the decision (`envs/path.py`): the caller's to keep"""
    word: np.ndarray
    """int64 [1]: by which hidden parts are dealt anew"""


def make_bench(leaf: Leaf, game: Game) -> Bench:
    rules = game.rules
    return Bench(
        np.empty((2, rules.max_moves), np.int64),
        np.empty((2, rules.max_moves, rules.width), np.int64),
        np.empty(rules.max_moves),
        np.empty((rules.max_moves, len(leaf.weights.outcomes)), np.float32),
        make_work(leaf, game),
        make_path(rules, 2),
        np.zeros(1, np.int64),
    )


@kernel
def child_value(rules, leaf, path, child, work):
    """Value of `child` for its mover: the evaluator's, or a draw where the position has occurred too often."""
    if is_drawn(rules, path, child):
        certain(leaf.weights, np.int64(0), work)
        return 0.0
    return np.float64(leaf.evaluate(rules, leaf.weights, child, work))


@kernel
def find_reply(rules, leaf, path, state, moves, rows, work):
    """Value, for its mover, of the decision `state` at one ply, and the index of the best move: the first of equals."""
    n = expand(rules, path, state, moves, rows)
    mover = rules.seat(state)
    reach(rules, path, state)
    best, index = -np.inf, 0
    for i in range(n):
        child = rules.load(rows[i])
        value = child_value(rules, leaf, path, child, work)
        if rules.seat(child) != mover:
            value = -value
        if value > best:
            best, index = value, i
    step_back(rules, path)
    return best, index


@kernel
def best_reply(rules, leaf, state, bench):
    """Value, for its mover, of the decision `state` at one ply: the best of its moves."""
    return find_reply(rules, leaf, bench.path, state, bench.moves[1], bench.rows[1], bench.work)[0]


@kernel
def value_one_deeper(rules, leaf, state, bench):
    """Value of `state` for its mover, one ply deeper than the evaluator's: over all chance outcomes, the best move."""
    over, result = outcome(rules, bench.path, state)
    if over:
        return np.float64(result)
    forget(bench.work)
    k = rules.num_chance(state)
    if k == 0:
        return best_reply(rules, leaf, state, bench)
    total = 0.0
    for i in range(k):
        rolled, probability = rules.chance(state, i)
        total += probability * best_reply(rules, leaf, rolled, bench)
    return total


@kernel
def score_moves(rules, leaf, state, plies, candidates, margin, bench):
    """Values of all moves of the decision `state` in bench.values[:n], for its mover, and the evaluator's outputs on
    their results in bench.outputs[:n]; returns (n, index of the best).

    At 2 plies only the `candidates` best moves of the first ply, and of them only those within `margin` of the first,
    are searched deeper (0 candidates: all moves, whatever the margin). The others have no value at 2 plies: minus
    infinity. Where something is hidden all moves are.
    """
    if rules.hidden:
        n = score_worlds(rules, leaf, state, plies, bench)
    else:
        n = score_state(rules, leaf, state, plies, candidates, margin, bench)
    best = 0
    for i in range(1, n):
        if bench.values[i] > bench.values[best]:
            best = i
    return n, best


@kernel
def score_worlds(rules, leaf, state, plies, bench):
    """`score_moves`, averaged over states that the mover cannot tell from this one; returns n."""
    totals, n = np.zeros(len(bench.values)), 0
    for world in range(WORLDS):
        dealt = rules.determinize(state, random_word(bench.word[0], world, 0, WORLD))
        n = score_state(rules, leaf, dealt, plies, ALL_MOVES, 0.0, bench)
        totals += bench.values
    score_state(rules, leaf, state, ONE_PLY, ALL_MOVES, 0.0, bench)  # results and outputs are those of the true state
    bench.values[:n] = totals[:n] / WORLDS
    return n


@kernel
def score_state(rules, leaf, state, plies, candidates, margin, bench):
    """`score_moves` where the mover sees all of `state`; returns n."""
    n = expand(rules, bench.path, state, bench.moves[0], bench.rows[0])
    mover = rules.seat(state)
    reach(rules, bench.path, state)
    leaf.expect(rules, leaf.weights, state, bench.work)
    for i in range(n):
        child = rules.load(bench.rows[0, i])
        value = child_value(rules, leaf, bench.path, child, bench.work)
        bench.values[i] = -value if rules.seat(child) != mover else value
        bench.outputs[i] = bench.work.chances
    if plies >= 2:
        if candidates > 0:
            look_deeper(rules, leaf, mover, n, candidates, margin, bench)
        else:
            look_deeper(rules, leaf, mover, n, n, np.inf, bench)
    step_back(rules, bench.path)
    return n


@kernel
def look_deeper(rules, leaf, mover, n, candidates, margin, bench):
    """Replace the values of the most promising moves by their 2-ply values, and those of the others by minus
    infinity."""
    order = np.argsort(-bench.values[:n], kind="mergesort")
    searched = promising(bench.values, order, candidates, margin)
    for i in order[:searched]:
        child = rules.load(bench.rows[0, i])
        value = value_one_deeper(rules, leaf, child, bench)
        bench.values[i] = -value if rules.seat(child) != mover else value
    bench.values[order[searched:]] = -np.inf


@kernel
def promising(values, order, candidates, margin):
    """How many moves of `order` (best first) deserve the second ply: at most `candidates`, within `margin` of the
    first, and the first."""
    searched = 1
    while searched < min(candidates, len(order)) and values[order[searched]] >= values[order[0]] - margin:
        searched += 1
    return searched


# --- the same with the evaluator's outputs: what an analysis shows ---------------------------------------------------


@kernel
def survey(rules, leaf, state, plies, candidates, margin, bench, outputs, depths):
    """Like `score_moves`, for people: returns n; bench.values[:n] are the values at those plies, outputs[i] [K] the
    evaluator's outputs for the mover, and depths[i] how many plies move i was searched."""
    if not rules.hidden:
        return survey_state(rules, leaf, state, plies, candidates, margin, bench, outputs, depths)
    totals, shown, n = np.zeros(len(bench.values)), np.zeros_like(outputs), 0
    for world in range(WORLDS):
        dealt = rules.determinize(state, random_word(bench.word[0], world, 0, WORLD))
        n = survey_state(rules, leaf, dealt, plies, ALL_MOVES, 0.0, bench, outputs, depths)
        totals += bench.values
        shown += outputs
    expand(rules, bench.path, state, bench.moves[0], bench.rows[0])
    bench.values[:n] = totals[:n] / WORLDS
    outputs[:n] = shown[:n] / WORLDS
    return n


@kernel
def survey_state(rules, leaf, state, plies, candidates, margin, bench, outputs, depths):
    """`survey` where the mover sees all of `state`."""
    n = expand(rules, bench.path, state, bench.moves[0], bench.rows[0])
    mover = rules.seat(state)
    reach(rules, bench.path, state)
    leaf.expect(rules, leaf.weights, state, bench.work)
    for i in range(n):
        child = rules.load(bench.rows[0, i])
        value = child_value(rules, leaf, bench.path, child, bench.work)
        turned = rules.seat(child) != mover
        bench.values[i] = -value if turned else value
        outputs[i] = 0.0
        add_outputs(leaf.weights, bench.work.chances, 1.0, turned, outputs[i])
        depths[i] = 1
    if plies >= 2:
        order = np.argsort(-bench.values[:n], kind="mergesort")
        searched = promising(bench.values, order, candidates, margin) if candidates > 0 else n
        for i in order[:searched]:
            child = rules.load(bench.rows[0, i])
            turned = rules.seat(child) != mover
            outputs[i] = 0.0
            value = opinion_one_deeper(rules, leaf, child, turned, bench, outputs[i])
            bench.values[i] = -value if turned else value
            depths[i] = 2
    step_back(rules, bench.path)
    return n


@kernel
def opinion_one_deeper(rules, leaf, state, turned, bench, outputs):
    """`value_one_deeper`; the outputs of the best replies, averaged over the chance outcomes, are added to outputs [K]:
    for the mover of `state`, or for his opponent where `turned`."""
    over, result = outcome(rules, bench.path, state)
    forget(bench.work)
    if over:
        certain(leaf.weights, result, bench.work)
        add_outputs(leaf.weights, bench.work.chances, 1.0, turned, outputs)
        return np.float64(result)
    k = rules.num_chance(state)
    if k == 0:
        return opinion_of_reply(rules, leaf, state, 1.0, turned, bench, outputs)
    total = 0.0
    for i in range(k):
        rolled, probability = rules.chance(state, i)
        total += probability * opinion_of_reply(rules, leaf, rolled, probability, turned, bench, outputs)
    return total


@kernel
def opinion_of_reply(rules, leaf, state, probability, turned, bench, outputs):
    """`best_reply`; the evaluator's outputs after it, times `probability`, are added to outputs [K]."""
    value, index = find_reply(rules, leaf, bench.path, state, bench.moves[1], bench.rows[1], bench.work)
    child = rules.load(bench.rows[1, index])
    reach(rules, bench.path, state)
    child_value(rules, leaf, bench.path, child, bench.work)
    step_back(rules, bench.path)
    add_outputs(
        leaf.weights, bench.work.chances, probability, (rules.seat(child) != rules.seat(state)) != turned, outputs
    )
    return value


@kernel
def add_outputs(weights, chances, factor, turned, outputs):
    """outputs [K] += factor x chances, seen from the other side where `turned`: classes are reversed, a scalar changes
    its sign."""
    last = len(chances) - 1
    for k in range(last + 1):
        if not turned:
            outputs[k] += factor * chances[k]
        elif weights.head == CLASSES:
            outputs[k] += factor * chances[last - k]
        else:
            outputs[k] -= factor * chances[k]


# --- batches ---------------------------------------------------------------------------------------------------------


@kernel
def choose_rows(rules, leaf, rows, plies, candidates, margin, bench, chosen, values, outputs):
    """For each decision rows[i]: the result of the best move in chosen[i], its value for the mover, and the evaluator's
    outputs on the result (for the side then to move)."""
    for i in range(len(rows)):
        _, best = score_moves(rules, leaf, rules.load(rows[i]), plies, candidates, margin, bench)
        chosen[i] = bench.rows[0, best]
        values[i] = bench.values[best]
        outputs[i] = bench.outputs[best]


@kernel
def roll_values(rules, leaf, rows, bench, values, probabilities, counts):
    """For each state rows[i] before its roll: values[i, r] of every roll r under the best move by the evaluator, its
    probability, and how many rolls there are; for luck adjustment."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        forget(bench.work)
        counts[i] = rules.num_chance(state)
        for r in range(counts[i]):
            rolled, probabilities[i, r] = rules.chance(state, r)
            values[i, r] = best_reply(rules, leaf, rolled, bench)
