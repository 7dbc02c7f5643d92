"""TDLeaf(lambda): the leaves that gave the values of successive searches learn from the differences of these values.

Of each position s_t of a game of self-play, l_t is the last position of the best line that a search has found, V_t its
value; all values are White's (seat 0's), V at the end of the game is its result:

    d_t = V_{t+1} - v(l_t);    e <- lambda e + grad v(l_t);    W <- W + c d_t e

v(l_t) is V_t again, but under the weights as they are when V_{t+1} is known; it has no gradient where l_t is a finished
game. A random move leaves the best line: unless it ends the game, the position in which it was made learns nothing, and
the trace starts again from zero.

At depth 1 a best line is one move, l_t is the position after it, and this is TD(lambda) over those positions: the plain
backward view. (The double sum that is often printed, with d inside the inner sum, is the same once the weights stand
still during a game.)

A linear evaluator learns after every search, compiled. A network's weights stand still for at least `searches` moves,
until a game ends; then the values of its leaves are moved towards G_t = (1 - lambda) V_{t+1} + lambda G_{t+1}, which is
the same sum (the forward view), in minibatches of torch. For games without chance.

Letters: F features, W integers a state.

Source: J. Baxter, A. Tridgell and L. Weaver, "TDLeaf(lambda): combining temporal difference learning with game-tree
search" (1998), equation 5; "Learning to play chess using temporal differences" (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from deltaw.envs.kernel import kernel
from deltaw.learn.bootstrapping.games import (
    ERROR,
    FINISHED,
    KNOWN,
    OUTSIDE,
    SEARCHES,
    Settings,
    end_of_line,
    look,
    make_position,
    make_search,
    move_on,
    position_state,
    renew,
    restore_position,
)
from deltaw.learn.bootstrapping.pupil import LinearPupil, NetworkPupil, make_pupil
from deltaw.learn.bootstrapping.strap import SearchedOptions, Step, gradient_of, make_samples, scalars_of
from deltaw.learn.knobs import NotNegative, Positive, Share, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.steps.schedule import step_size
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.stack import NOBODY


@dataclass
class Options(SearchedOptions):
    """The knobs of `SearchedOptions` (learn/bootstrapping/strap.py), and the trace."""

    trace: Share = 0.7
    """lambda, 0 .. 1"""
    step_size: Positive = 0.001
    step_size_end: NotNegative = 0.0001


class Trace(NamedTuple):
    """Eligibility of every weight, as a sparse vector: entry[:counts[ENTRIES]] are the weights whose eligibility is not
    zero."""

    value: np.ndarray
    """float64 [F + 1]"""
    entry: np.ndarray
    """int32 [F + 1]"""
    known: np.ndarray
    """int8 [F + 1]: 1 for weights among the entries"""
    gathered: np.ndarray
    """float64 [F + 1]: their values, side by side"""
    counts: np.ndarray
    """int64 [3]: entries; whether there is a leaf that waits for the next search; whether the move after it was
    random"""
    leaf: np.ndarray
    """int64 [W]: the leaf that waits"""


ENTRIES, WAITING, RANDOM = range(3)


def make_trace(weights: int, width: int) -> Trace:
    """For so many weights and integers a state. Memory is taken from the system as it is used."""
    return Trace(
        np.zeros(weights),
        np.zeros(weights, np.int32),
        np.zeros(weights, np.int8),
        np.zeros(weights),
        np.zeros(3, np.int64),
        np.zeros(width, np.int64),
    )


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def forget_trace(trace):
    for j in range(trace.counts[ENTRIES]):
        trace.value[trace.entry[j]] = 0.0
        trace.known[trace.entry[j]] = 0
    trace.counts[ENTRIES] = 0


@kernel
def fade(trace, factor):
    """e <- factor e; weights whose e has become 0 are removed from the entries."""
    kept = 0
    for j in range(trace.counts[ENTRIES]):
        i = trace.entry[j]
        trace.value[i] *= factor
        if trace.value[i] == 0.0:
            trace.known[i] = 0
        else:
            trace.entry[kept] = i
            kept += 1
    trace.counts[ENTRIES] = kept


@kernel
def add_to_trace(trace, index, gradient, n, sign):
    """e <- e + sign x gradient; an index may be there more than once."""
    for j in range(n):
        i = index[j]
        if trace.known[i] == 0:
            trace.known[i] = 1
            trace.entry[trace.counts[ENTRIES]] = i
            trace.counts[ENTRIES] += 1
        trace.value[i] += sign * gradient[j]


@kernel
def learn_from_leaf(rules, weights, target, last, trace, decay, rule, samples, step):
    """The module's update: the leaf that waits, and those before it, learn that White's value has become `target`.
    `last`: the game is over."""
    if trace.counts[WAITING] == 0:
        return
    if trace.counts[RANDOM] != 0 and not last:
        forget_trace(trace)
        return
    state = rules.load(trace.leaf)
    sign = 1.0 if rules.seat(state) == 0 else -1.0
    over, result = rules.outcome(state)
    own = np.float64(result)
    fade(trace, decay)
    if not over:
        n, own, _ = gradient_of(rules, weights, state, samples)
        add_to_trace(trace, samples.active, samples.gradient, n, sign)
    error, n = target - sign * own, trace.counts[ENTRIES]
    for j in range(n):
        trace.gathered[j] = trace.value[trace.entry[j]]
    rule.apply(weights.weight, rule.memory, trace.entry, trace.gathered, n, error, step.rate, step.meta)


@kernel
def look_for_leaf(rules, search, leaf, position, settings, nobody, out):
    """Searches the position: (White's value, index of the best move); the best line's last position to out [W]. Notes
    the error of the root."""
    state, value, best = look(rules, search, leaf, nobody, position, settings)
    rules.store(end_of_line(rules, state, search.desk), out)
    own = leaf.evaluate(rules, leaf.weights, state, search.desk.work)
    position.sums[ERROR] += (value - own) ** 2
    position.sums[KNOWN] += 1.0
    return value if rules.seat(state) == 0 else -value, best


@kernel
def play_and_trace(rules, search, leaf, nobody, position, settings, trace, decay, rule, samples, step, searches, found):
    """Self-play with an update after every search; found [W] is scratch."""
    for _ in range(searches):
        value, best = look_for_leaf(rules, search, leaf, position, settings, nobody, found)
        position.sums[OUTSIDE] += trace.counts[WAITING] * (1 - trace.counts[RANDOM])
        learn_from_leaf(rules, leaf.weights, value, False, trace, decay, rule, samples, step)
        trace.leaf[:] = found
        explored, over, result = move_on(rules, search.desk.root, position, settings, best)
        trace.counts[WAITING], trace.counts[RANDOM] = 1, explored
        if over:
            position.sums[OUTSIDE] += 1.0
            learn_from_leaf(rules, leaf.weights, result, True, trace, decay, rule, samples, step)
            forget_trace(trace)
            trace.counts[WAITING] = 0


@kernel
def play_to_leaf(rules, search, leaf, nobody, position, settings, out):
    """One search and one move, with nothing learned: (White's value, whether the move was random, whether the game is
    over, its result for White)."""
    value, best = look_for_leaf(rules, search, leaf, position, settings, nobody, out)
    explored, over, result = move_on(rules, search.desk.root, position, settings, best)
    return value, explored, over, result


@kernel
def signs_of(rules, rows, signs):
    """signs [T]: 1 where White moves in rows [T, W], -1 where the other does, 0 where the game is over."""
    for t in range(len(rows)):
        state = rules.load(rows[t])
        over, _ = rules.outcome(state)
        signs[t] = 0.0 if over else 1.0 if rules.seat(state) == 0 else -1.0


# --- the forward view ---------------------------------------------------------------------------------------------


class Played(NamedTuple):
    """What one move of a game leaves behind."""

    row: np.ndarray
    """int64 [W]: the leaf of its search"""
    value: float
    """White's, of the search"""
    explored: bool


def returns_of(played: list[Played], result: float, trace: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows [N, W], White's G_t [N]) of the leaves of a finished game that learn, from the last to the first:

    G_t = (1 - lambda) V_{t+1} + lambda G_{t+1},  G_{T-1} = result.  A position after which a random move was made, and
    the game went on, is left out, and for the position before it G_{t-1} = V_t.
    """
    rows, targets, target = [], [], result
    for t in range(len(played) - 1, -1, -1):
        broken = played[t].explored and t < len(played) - 1
        if not broken:
            rows.append(played[t].row)
            targets.append(target)
        keep = 0.0 if broken else trace
        target = (1.0 - keep) * played[t].value + keep * target
    return np.array(rows), np.array(targets)


# --- the learner --------------------------------------------------------------------------------------------------


class LeafTD:
    """A `Learner`."""

    def __init__(self, options: Options, start: Evaluator, *, seed: int, budget: int) -> None:
        self.options, self.seed, self.budget, self.game = options, seed, budget, start.game
        self.pupil = make_pupil(start, "td_leaf", options)
        self.search = make_search(self.game, "alphabeta", options.depth, self.pupil.leaf, self.pupil.work)
        self.position = make_position(self.game)
        linear = isinstance(self.pupil, LinearPupil)
        self.trace = make_trace(len(self.pupil.weight) if linear else 0, self.game.rules.width)  # type: ignore[union-attr]
        self._samples = make_samples(self.pupil.max_active, 0)
        self._found = np.zeros(self.game.rules.width, np.int64)
        self.positions = self.steps = 0

    @property
    def games(self) -> int:
        return int(self.position.counts[FINISHED])

    def step(self) -> Metrics:
        """As many searches as the option `searches` says, and learning from them; a network's step goes on until a game
        ends."""
        options, sums = self.options, self.position.sums
        rate = step_size(options.schedule, options.step_size, options.step_size_end, self.games / self.budget)
        sums[:] = 0.0
        before = int(self.position.counts[SEARCHES])
        if isinstance(self.pupil, LinearPupil):
            self._learn_compiled(self.pupil, rate)
        else:
            self._learn_in_batches(self.pupil, rate)
        searches = int(self.position.counts[SEARCHES]) - before
        self.steps += 1
        self.positions += searches
        self.pupil.follow()
        scalars = scalars_of(sums, searches) | {"train/step_size": rate}
        if isinstance(self.pupil, LinearPupil):
            eligibility = self.trace.value[self.trace.entry[: self.trace.counts[ENTRIES]]]
            scalars["train/trace_norm"] = float(np.sqrt(np.square(eligibility).sum()))
        return Metrics(self.games, self.positions, scalars)

    def _arguments(self) -> tuple:
        options = self.options
        settings = Settings(self.seed, options.depth, options.explore, options.opening)
        return self.game.rules, self.search, self.pupil.leaf, NOBODY, self.position, settings

    def _learn_compiled(self, pupil: LinearPupil, rate: float) -> None:
        options = self.options
        step = Step(rate, options.meta_step_size, False)
        learning = (self.trace, options.trace, pupil.rule, self._samples, step)
        play_and_trace(*self._arguments(), *learning, options.searches, self._found)

    def _learn_in_batches(self, pupil: NetworkPupil, rate: float) -> None:
        options = self.options
        played: list[Played] = []
        rows: list[np.ndarray] = []
        targets: list[np.ndarray] = []
        searches = 0
        while searches < options.searches or played:
            value, explored, over, result = play_to_leaf(*self._arguments(), self._found)
            played.append(Played(self._found.copy(), float(value), bool(explored)))
            searches += 1
            if over:
                for part, whole in zip(returns_of(played, float(result), options.trace), (rows, targets), strict=True):
                    whole.append(part)
                played = []
        leaves = np.concatenate(rows)
        signs = np.zeros(len(leaves))
        signs_of(self.game.rules, leaves, signs)
        goals = (signs * np.concatenate(targets))[signs != 0]
        bounds = np.stack([goals, goals], axis=1)
        self.position.sums[OUTSIDE] += pupil.learn(leaves[signs != 0], bounds, rate, options.batch, self.steps)

    def evaluator(self) -> Evaluator:
        options = self.options
        return self.pupil.evaluator(
            {
                "method": "td_leaf",
                "depth": options.depth,
                "lambda": options.trace,
                "games": self.games,
                "seed": self.seed,
            }
        )

    def finite(self) -> bool:
        return self.pupil.finite()

    def state(self) -> dict[str, Any]:
        entries = self.trace.entry[: self.trace.counts[ENTRIES]].copy()
        trace = {
            "entry": entries,
            "value": self.trace.value[entries],
            "counts": self.trace.counts,
            "leaf": self.trace.leaf,
        }
        return {
            "steps": [self.positions, self.steps],
            "pupil": self.pupil.state(),
            "trace": {name: torch.from_numpy(array.copy()) for name, array in trace.items()},
            **position_state(self.position),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.positions, self.steps = state["steps"]
        self.pupil.restore(state["pupil"])
        restore_position(self.position, state)
        renew(self.search)
        forget_trace(self.trace)
        kept = {name: tensor.numpy() for name, tensor in state["trace"].items()}
        self.trace.counts[:], self.trace.leaf[:] = kept["counts"], kept["leaf"]
        self.trace.entry[: len(kept["entry"])] = kept["entry"]
        self.trace.value[kept["entry"]] = kept["value"]
        self.trace.known[kept["entry"]] = 1


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> LeafTD:
    """The learner of this module; raises InputError. Games are played one after the other, so `backend` is not used."""
    check(options)
    check_game(start.game, "td_leaf", chance=False)
    return LeafTD(options, start, seed=seed, budget=budget)
