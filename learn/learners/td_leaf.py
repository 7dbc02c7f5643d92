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
from deltaw.learn.bootstrapping.games import ERROR, KNOWN, OUTSIDE, end_of_line, look, move_on
from deltaw.learn.bootstrapping.pupil import SearchedLinear, SearchedNetwork
from deltaw.learn.bootstrapping.strap import Searched, SearchedOptions, Step, gradient_of, make_samples
from deltaw.learn.knobs import NotNegative, Positive, Share
from deltaw.learn.learner import Metrics
from deltaw.learn.weights.trace import Trace, clear, entries, make_trace, restore_entries, touch
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


class LeafTrace(NamedTuple):
    """The trace, and the leaf that is not in it yet."""

    e: Trace
    """[F + 1], the bias last"""
    gathered: np.ndarray
    """float64 [F + 1]: the values of its entries, side by side"""
    flags: np.ndarray
    """int64 [2]: NOTHING, LEAF or DRAWN: whether a leaf waits for the next search, and whether a repetition ended its
    line; whether the move after it was random"""
    leaf: np.ndarray
    """int64 [W]: the leaf that waits"""


WAITING, RANDOM = range(2)
NOTHING, LEAF, DRAWN = range(3)


def make_leaf_trace(weights: int, width: int) -> LeafTrace:
    """For so many weights and integers a state."""
    return LeafTrace(make_trace((weights,)), np.zeros(weights), np.zeros(2, np.int64), np.zeros(width, np.int64))


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def fade(trace, factor):
    """e <- factor e; weights whose e has become 0 are removed from the entries."""
    kept = 0
    for k in range(trace.length[0]):
        i = trace.touched[k]
        trace.value[i] *= factor
        if trace.value[i] == 0.0:
            trace.known[i] = 0
        else:
            trace.touched[kept] = i
            kept += 1
    trace.length[0] = kept


@kernel
def learn_from_leaf(rules, weights, target, last, trace, decay, rule, samples, step):
    """The module's update: the leaf that waits, and those before it, learn that White's value has become `target`.
    `last`: the game is over."""
    if trace.flags[WAITING] == NOTHING:
        return
    if trace.flags[RANDOM] != 0 and not last:
        clear(trace.e)
        return
    state = rules.load(trace.leaf)
    sign = 1.0 if rules.seat(state) == 0 else -1.0
    over, result = rules.outcome(state)
    over = over or trace.flags[WAITING] == DRAWN
    own = np.float64(result)
    e = trace.e
    fade(e, decay)
    if not over:
        n, own, _ = gradient_of(rules, weights, state, samples)
        for j in range(n):  # an index may be there more than once
            touch(e, samples.active[j])
            e.value[samples.active[j]] += sign * samples.gradient[j]
    error, n = target - sign * own, e.length[0]
    for k in range(n):
        trace.gathered[k] = e.value[e.touched[k]]
    rule.apply(weights.weight, rule.memory, e.touched, trace.gathered, n, error, step.rate, step.meta)


@kernel
def look_for_leaf(rules, search, leaf, position, settings, nobody, out):
    """Searches the position: (White's value, index of the best move, whether the best line ends with a repetition); the
    line's last position to out [W]. Notes the error of the root."""
    state, value, best = look(rules, search, leaf, nobody, position, settings)
    last, drawn = end_of_line(rules, leaf, state, search.desk)
    rules.store(last, out)
    own = leaf.evaluate(rules, leaf.weights, state, search.desk.work)
    position.sums[ERROR] += (value - own) ** 2
    position.sums[KNOWN] += 1.0
    return value if rules.seat(state) == 0 else -value, best, drawn


@kernel
def play_and_trace(rules, search, leaf, nobody, position, settings, trace, decay, rule, samples, step, searches, found):
    """Self-play with an update after every search; found [W] is scratch."""
    for _ in range(searches):
        value, best, drawn = look_for_leaf(rules, search, leaf, position, settings, nobody, found)
        position.sums[OUTSIDE] += (trace.flags[WAITING] != NOTHING) * (1 - trace.flags[RANDOM])
        learn_from_leaf(rules, leaf.weights, value, False, trace, decay, rule, samples, step)
        trace.leaf[:] = found
        explored, over, result = move_on(rules, search.desk.root, position, settings, best)
        trace.flags[WAITING], trace.flags[RANDOM] = DRAWN if drawn else LEAF, explored
        if over:
            position.sums[OUTSIDE] += 1.0
            learn_from_leaf(rules, leaf.weights, result, True, trace, decay, rule, samples, step)
            clear(trace.e)
            trace.flags[WAITING] = NOTHING


@kernel
def play_to_leaf(rules, search, leaf, nobody, position, settings, out):
    """One search and one move, with nothing learned: (White's value, whether a repetition ended the best line, whether
    the move was random, whether the game is over, its result for White)."""
    value, best, drawn = look_for_leaf(rules, search, leaf, position, settings, nobody, out)
    explored, over, result = move_on(rules, search.desk.root, position, settings, best)
    return value, drawn, explored, over, result


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
    drawn: bool = False
    """a repetition ended its line: nothing can be learned of the leaf"""


def returns_of(played: list[Played], result: float, trace: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows [N, W], White's G_t [N]) of the leaves of a finished game that learn, from the last to the first:

    G_t = (1 - lambda) V_{t+1} + lambda G_{t+1},  G_{T-1} = result.  A position after which a random move was made, and
    the game went on, is left out, and for the position before it G_{t-1} = V_t.
    """
    rows, targets, target = [], [], result
    for t in range(len(played) - 1, -1, -1):
        broken = played[t].explored and t < len(played) - 1
        if not broken and not played[t].drawn:
            rows.append(played[t].row)
            targets.append(target)
        keep = 0.0 if broken else trace
        target = (1.0 - keep) * played[t].value + keep * target
    width = len(played[0].row)
    return np.array(rows, np.int64).reshape(-1, width), np.array(targets, float)


# --- the learner --------------------------------------------------------------------------------------------------


class LeafTD(Searched):
    """A network's step goes on until a game ends."""

    def __init__(self, options: Options, start: Evaluator, *, seed: int, budget: int) -> None:
        super().__init__("td_leaf", "alphabeta", options, start, seed=seed, budget=budget)
        weights = len(self.pupil.weight) if isinstance(self.pupil, SearchedLinear) else 0
        self.trace = make_leaf_trace(weights, self.game.rules.width)
        self._samples = make_samples(self.pupil.max_active, 0)
        self._found = np.zeros(self.game.rules.width, np.int64)

    def step(self) -> Metrics:
        metrics = super().step()
        if isinstance(self.pupil, SearchedLinear):
            _, eligibility = entries(self.trace.e)
            metrics.scalars["train/trace_norm"] = float(np.sqrt(np.square(eligibility).sum()))
        return metrics

    def _arguments(self) -> tuple:
        return self.game.rules, self.search, self.pupil.leaf, NOBODY, self.position, self._settings()

    def _learn_compiled(self, pupil: SearchedLinear, rate: float) -> None:
        options = self.options
        step = Step(rate, options.meta_step_size, False)
        learning = (self.trace, options.trace, pupil.rule, self._samples, step)
        play_and_trace(*self._arguments(), *learning, options.searches, self._found)

    def _learn_in_batches(self, pupil: SearchedNetwork, rate: float) -> None:
        options = self.options
        played: list[Played] = []
        rows: list[np.ndarray] = []
        targets: list[np.ndarray] = []
        searches = 0
        while searches < options.searches or played:
            value, drawn, explored, over, result = play_to_leaf(*self._arguments(), self._found)
            played.append(Played(self._found.copy(), float(value), bool(explored), bool(drawn)))
            searches += 1
            if over:
                for part, whole in zip(returns_of(played, float(result), options.trace), (rows, targets), strict=True):
                    whole.append(part)
                played = []
        leaves = np.concatenate(rows)
        signs = np.zeros(len(leaves))
        signs_of(self.game.rules, leaves, signs)
        goals = (signs * np.concatenate(targets))[signs != 0]
        if not len(goals):  # repetitions and finished games teach nothing
            return
        bounds = np.stack([goals, goals], axis=1)
        updates = pupil.average.updates
        self.position.sums[OUTSIDE] += pupil.learn(leaves[signs != 0], bounds, rate, options.batch, updates)

    def _trained(self) -> dict[str, Any]:
        return super()._trained() | {"lambda": self.options.trace}

    def state(self) -> dict[str, Any]:
        state, trace = super().state(), self.trace
        touched, value = entries(trace.e)
        counts = np.concatenate([trace.e.length, trace.flags])
        arrays = {"entry": touched, "value": value, "counts": counts, "leaf": trace.leaf.copy()}
        state["trace"] = {name: torch.from_numpy(array) for name, array in arrays.items()}
        state["steps"] = state.pop("counts")
        return state

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state | {"counts": state["steps"]})
        kept = {name: tensor.numpy() for name, tensor in state["trace"].items()}
        self.trace.flags[:], self.trace.leaf[:] = kept["counts"][1:], kept["leaf"]
        restore_entries(self.trace.e, kept["entry"], kept["value"])


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> LeafTD:
    """The learner of this module; raises InputError. Games are played one after the other, so `backend` is not used."""
    return LeafTD(options, start, seed=seed, budget=budget)
