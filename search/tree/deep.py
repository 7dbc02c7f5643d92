"""Evaluators for deep searches: the values of `search/evaluators/leaf.py`, equal to rounding, by kernels that carry
nothing they do not need.

A recursive search passes its evaluator on at every node, and every array among its arguments costs a nanosecond. So
here

    a handmade baseline     carries no weights and no scratch memory
    a linear evaluator      one vector of weights and two lists, summed in float64; no first layer to keep
    a network               all of `search/evaluators/leaf.py`, but forgets the last position each time

A value depends on the position alone, to the last bit, in whatever order positions come. Transposition tables rely on
this, and so do the tests that pruning searches are equal to minimax.
"""

from __future__ import annotations

import functools
import hashlib
import math
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import CLASSES, TANH, evaluate_network, forget
from deltaw.search.evaluators.work import make_work, most_active


class LinearWeights(NamedTuple):
    """A linear evaluator with one output."""

    weight: np.ndarray
    """float32 [F + 1], the bias last"""
    spec: np.ndarray
    """int64: the feature set's spec"""
    head: int
    scale: float


class Lists(NamedTuple):
    """Scratch memory of a linear evaluator."""

    active: np.ndarray
    """int32 [A]"""
    value: np.ndarray
    """float32 [A]"""


class Known(NamedTuple):
    """Exact knowledge, such as a database of endings, which the engine asks before it searches."""

    probe: Any
    """probe(facts, state) -> (whether the running game `state` is known, its value for the mover, plies to the end
    under best play, -1 where they are not known)"""
    facts: Any
    version: int
    """63 bits that differ for different knowledge"""


@kernel
def nothing_known(rules, leaf, options, state, ply, memory):
    return False, 0.0


class DeepLeaf(NamedTuple):
    """An evaluator as recursive searches take it."""

    evaluate: Any
    """as in `Leaf`"""
    weights: Any
    look_up: Any = nothing_known
    """look_up(rules, leaf, options, state, ply, memory) -> (whether the running game `state` is known, its value as the
    root of an engine's search sees it)"""
    known: Any = ()
    """`Known`, or nothing"""


class Deep(NamedTuple):
    """An evaluator and its scratch memory as recursive searches take them: leaf.evaluate(rules, leaf.weights, state,
    work) -> value."""

    leaf: DeepLeaf
    work: Any
    version: int
    """63 bits that differ for different weights: part of the keys of transposition tables"""


def deep(game: Game, evaluator: Evaluator | Baseline, *, vectors: bool = False) -> Deep:
    """`evaluator` for recursive searches of `game`. Raises InputError for one that gives no values, or is for another
    game.

    `vectors`: for searches that ask what a state is worth to everybody: leaf.evaluate(rules, leaf.weights, state, work,
    out) fills out [num_players], the mover first. Where there are two players any evaluator can say; more need a
    baseline of kind "payoffs".
    """
    if not vectors:
        return _for_the_mover(game, evaluator)
    if isinstance(evaluator, Baseline) and evaluator.kind == "payoffs":
        return Deep(DeepLeaf(_sharing(evaluator.function), ()), (), 0)
    found = _for_the_mover(game, evaluator)
    if game.rules.num_players > 2:
        fitting = [baseline.name for baseline in game.baselines.values() if baseline.kind == "payoffs"]
        raise InputError(
            f"the evaluator knows what a state is worth to the mover, not to each of {game.rules.num_players} players; "
            f"{game.name} has {' and '.join(fitting) or 'none that does'}"
        )
    return found._replace(leaf=found.leaf._replace(evaluate=_opposed(found.leaf.evaluate)))


def _for_the_mover(game: Game, evaluator: Evaluator | Baseline) -> Deep:
    if isinstance(evaluator, Baseline):
        return Deep(DeepLeaf(_constant_time(evaluator), ()), (), _version(evaluator.name.encode()))
    if evaluator.game.name != game.name:
        raise InputError(f"the evaluator is for {evaluator.game.name}, not for {game.name}")
    weights = evaluator.leaf.weights
    version = _version(weights.first.tobytes() + weights.dense.tobytes())
    if len(weights.sizes) == 1 and weights.head != CLASSES:
        most = most_active(game, weights.spec)
        linear = LinearWeights(weights.first.reshape(-1), weights.spec, weights.head, weights.scale)
        lists = Lists(np.empty(most, np.int32), np.empty(most, np.float32))
        return Deep(DeepLeaf(evaluate_linear, linear), lists, version)
    return Deep(DeepLeaf(evaluate_afresh, weights), make_work(evaluator.leaf, game), version)


def _version(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") >> 1


def _constant_time(baseline: Baseline) -> Any:
    if baseline.kind == "rank":
        raise InputError(
            f"{baseline.name} only ranks the moves of one position: its scores are no values to search with"
        )
    if baseline.kind == "payoffs":
        raise InputError(f"{baseline.name} values a state for every player: it is for max_n only")
    return _valuing(baseline.function)


@functools.cache
def _valuing(function: Any) -> Any:
    @kernel
    def evaluate_baseline(rules, weights, state, work):
        return np.float64(function(state))

    return evaluate_baseline


@functools.cache
def _sharing(function: Any) -> Any:
    @kernel
    def evaluate_payoffs(rules, weights, state, work, out):
        function(state, out)

    return evaluate_payoffs


@functools.cache
def _opposed(evaluate: Any) -> Any:
    """Two players: what one gains, the other loses."""

    @kernel
    def evaluate_both(rules, weights, state, work, out):
        out[0] = evaluate(rules, weights, state, work)
        out[1] = -out[0]

    return evaluate_both


@kernel
def evaluate_linear(rules, weights, state, work):
    """Precondition: the game is on."""
    value = rules.weigh(state, weights.spec, weights.weight, work.active, work.value)
    return weights.scale * math.tanh(value) if weights.head == TANH else value


@kernel
def evaluate_afresh(rules, weights, state, work):
    forget(work)
    return evaluate_network(rules, weights, state, work)
