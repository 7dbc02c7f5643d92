"""Learning from the nodes of a search: RootStrap and TreeStrap. Each position's value is moved towards what the search
has proven about it.

After the search of every move, with H(s) the evaluator's own value of s and [a_s, b_s] the bounds proven for the node
(LEARNING: "error"):

    error(s) = a_s - H(s)  if H(s) < a_s;   b_s - H(s)  if H(s) > b_s;   0 between
    W <- W + c sum over nodes of error(s) grad H(s)                 H and its gradient at the weights of the search

    RootStrap               the root alone, a = b = its value
    TreeStrap(minimax)      every interior node, a = b = its minimax value
    TreeStrap(alpha-beta)   every interior node, with the bounds that alpha-beta has proven

`in_turn` changes the second line: H and its gradient are then taken at weights that earlier nodes have already moved,
beginning with the nodes next to the leaves. The nodes of one search are much alike. Taken in turn they correct each
other; summed up they need a step size c that is smaller, the more nodes there are.

All values are the mover's, so nothing flips. A finished game has no H, and teaches as its parents' bound. A linear
evaluator learns after every search, compiled; a network after every `searches` of them, in minibatches of torch, by
half the squared error.

Letters: F features, R room for nodes, A most active features.

Source: J. Veness, D. Silver, W. Uther and A. Blair, "Bootstrapping from game tree search" (2009), equations 7-9 and
algorithms 1 and 2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.learn.bootstrapping.games import (
    ENDED,
    ERROR,
    FINISHED,
    KNOWN,
    LENGTH,
    LOST,
    OUTSIDE,
    SEARCHES,
    VISITED,
    Settings,
    look,
    make_search,
    move_on,
    new_position,
    position_state,
    renew,
    restore_position,
)
from deltaw.learn.bootstrapping.nodes import DROPPED, KEPT, LOWER, UPPER, begin_nodes, keep_node, keeper, make_nodes
from deltaw.learn.bootstrapping.pupil import SearchedLinear, SearchedNetwork, make_pupil
from deltaw.learn.knobs import Count, CountOrZero, NotNegative, OneOf, Positive, Range, Share, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.steps.schedule import StepOptions
from deltaw.learn.steps.step_rules import RuleName
from deltaw.learn.weights.linear import predict
from deltaw.learn.weights.pupil import OPTIMIZERS
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.stack import NOBODY

ROOM = 1 << 14
"""nodes kept of one search"""


@dataclass
class SearchedOptions(StepOptions):
    """The options of all learners that search in their self-play."""

    depth: Annotated[int, Range(1, 64)] = 3
    """plies of each search"""
    quiet_plies: Annotated[int, Range(0, 64)] = 0
    """longest line of noisy moves that is followed behind the horizon, in games that mark such moves; 0: none"""
    step_size: Positive = 1e-4
    """c; the sum of c |grad H|^2 over the nodes of a search must stay below 2, with `in_turn` that of every node"""
    step_size_end: NotNegative = 1e-5
    step_rule: RuleName = "constant"
    """of linear evaluators: constant, tcl, tcl_exp, idbd or autostep (learn/steps/step_rules.py)"""
    meta_step_size: NotNegative = 0.01
    """theta of idbd, mu of autostep; the other step rules have none"""
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "adam"
    """of networks: adam or sgd"""
    batch: Count = 1024
    """positions in one update of a network"""
    searches: Count = 100
    """searches in one step of the learner; a network learns from them together"""
    explore: Share = 0.1
    """chance of a random move"""
    opening: CountOrZero = 0
    """every game begins with 0 to so many random moves"""
    average: Share = 0.0
    """decay per step of the exponential average of the weights that is measured and exported; 0: the weights
    themselves"""


class Method(NamedTuple):
    """Which nodes teach, and how."""

    name: str
    search: str
    """minimax or alphabeta"""
    nodes: bool
    """all interior nodes, or the root alone"""
    least: int = 1
    """shallowest depth of a node that teaches"""
    in_turn: bool = False


class Step(NamedTuple):
    """How far weights move."""

    rate: float
    """c"""
    meta: float
    """the step rule's own knob"""
    in_turn: bool
    """see the module"""


class Samples(NamedTuple):
    """Scratch memory of an update."""

    active: np.ndarray
    """int32 [A + 1]"""
    value: np.ndarray
    """float32 [A + 1]"""
    gradient: np.ndarray
    """float64 [A + 1]"""
    errors: np.ndarray
    """float64 [R]"""
    slopes: np.ndarray
    """float64 [R]"""


def make_samples(active: int, room: int) -> Samples:
    """For at most so many active features, the bias not counted, and so many nodes."""
    lists = np.zeros(active + 1, np.int32), np.zeros(active + 1, np.float32), np.zeros(active + 1)
    return Samples(*lists, np.zeros(room), np.zeros(room))


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def node_error(value, lower, upper):
    """How far `value` is outside [lower, upper]: a - H if H < a, b - H if H > b, else 0."""
    if value < lower:
        return lower - value
    return upper - value if value > upper else 0.0


@kernel
def gradient_of(rules, weights, state, samples):
    """(entries of the gradient in the lists of `samples`, bias last; the value; its slope). Precondition: the game is
    on."""
    n = rules.features(state, weights.spec, samples.active, samples.value)
    value, slope = predict(weights.weight, weights.head, weights.scale, samples.active, samples.value, n)
    for j in range(n):
        samples.gradient[j] = slope * samples.value[j]
    samples.active[n] = len(weights.weight) - 1
    samples.gradient[n] = slope
    return n + 1, value, slope


@kernel
def learn_from_nodes(rules, weights, nodes, rule, samples, step, sums):
    """The module's update of a linear evaluator: the errors of all nodes, then all moves of the weights; or each node's
    at once."""
    for k in range(nodes.counts[KEPT]):
        samples.errors[k] = 0.0
        state = rules.load(nodes.rows[k])
        if rules.outcome(state)[0]:
            continue
        n, value, slope = gradient_of(rules, weights, state, samples)
        error = node_error(value, nodes.bounds[k, LOWER], nodes.bounds[k, UPPER])
        sums[KNOWN] += 1.0
        if error != 0.0:
            sums[OUTSIDE] += 1.0
            samples.errors[k], samples.slopes[k] = error, slope
            if step.in_turn:
                apply_to(weights, rule, samples, n, error, step)
    if step.in_turn:
        return
    for k in range(nodes.counts[KEPT]):
        if samples.errors[k] != 0.0:
            n, _, _ = gradient_of(rules, weights, rules.load(nodes.rows[k]), samples)
            for j in range(n - 1):  # once more, but with the slope at the weights that were searched with
                samples.gradient[j] = samples.slopes[k] * samples.value[j]
            samples.gradient[n - 1] = samples.slopes[k]
            apply_to(weights, rule, samples, n, samples.errors[k], step)


@kernel
def apply_to(weights, rule, samples, n, error, step):
    rule.apply(weights.weight, rule.memory, samples.active, samples.gradient, n, error, step.rate, step.meta)


@kernel
def play_and_note(rules, search, leaf, visitor, nodes, position, settings):
    """One search and one move. `nodes` then holds what has been proven; nothing is learned."""
    begin_nodes(nodes)
    state, value, best = look(rules, search, leaf, visitor, position, settings)
    keep_node(nodes, state, np.int64(settings.depth), value, value)
    own = leaf.evaluate(rules, leaf.weights, state, search.desk.work)
    position.sums[ERROR] += (value - own) ** 2
    position.sums[LOST] += nodes.counts[DROPPED]
    move_on(rules, search.desk.root, position, settings, best)


@kernel
def copy_decisions(rules, nodes, rows, bounds):
    """Positions and bounds of the nodes where the game is on, to rows [R, W] and bounds [R, 2]; returns how many they
    are."""
    n = 0
    for k in range(nodes.counts[KEPT]):
        if not rules.outcome(rules.load(nodes.rows[k]))[0]:
            rows[n] = nodes.rows[k]
            bounds[n] = nodes.bounds[k]
            n += 1
    return n


@kernel
def play_and_learn(rules, search, leaf, visitor, nodes, position, settings, rule, samples, step, searches):
    """Self-play with an update of a linear evaluator after every search."""
    for _ in range(searches):
        play_and_note(rules, search, leaf, visitor, nodes, position, settings)
        learn_from_nodes(rules, leaf.weights, nodes, rule, samples, step, position.sums)


# --- the learners -------------------------------------------------------------------------------------------------


class Searched(ABC):
    """A `Learner` whose self-play is searched; its subclasses say what is learned from the searches."""

    def __init__(self, name: str, search: str, options: Any, start: Evaluator, *, seed: int, budget: int) -> None:
        check(options)
        check_game(start.game, name, chance=False)
        self.name, self.options, self.seed, self.budget, self.game = name, options, seed, budget, start.game
        self.pupil = make_pupil(start, name, options)
        self.search = make_search(
            self.game, search, options.depth, self.pupil.leaf, self.pupil.work, options.quiet_plies
        )
        self.position = new_position(self.game)
        self.positions = 0

    @property
    def games(self) -> int:
        return int(self.position.counts[FINISHED])

    def step(self) -> Metrics:
        """As many searches as the option `searches` says, and what is learned from them."""
        options, sums = self.options, self.position.sums
        rate = options.rate(self.games / self.budget)
        sums[:] = 0.0
        before = int(self.position.counts[SEARCHES])
        if isinstance(self.pupil, SearchedLinear):
            self._learn_compiled(self.pupil, rate)
        else:
            self._learn_in_batches(self.pupil, rate)
        self.positions += int(sums[KNOWN])
        self.pupil.average.update()
        searches = int(self.position.counts[SEARCHES]) - before
        return Metrics(self.games, self.positions, scalars_of(sums, searches) | {"train/step_size": rate})

    @abstractmethod
    def _learn_compiled(self, pupil: SearchedLinear, rate: float) -> None:
        """Searches, with an update after each."""

    @abstractmethod
    def _learn_in_batches(self, pupil: SearchedNetwork, rate: float) -> None:
        """Searches, and then an update from all of them."""

    def _settings(self) -> Settings:
        return Settings(self.seed, self.options.depth, self.options.explore, self.options.opening)

    def _trained(self) -> dict[str, Any]:
        """How the evaluator was trained, for its file."""
        return {"method": self.name, "depth": self.options.depth, "games": self.games, "seed": self.seed}

    def evaluator(self) -> Evaluator:
        return self.pupil.evaluator(self._trained())

    def finite(self) -> bool:
        return self.pupil.finite()

    def state(self) -> dict[str, Any]:
        counts = [self.positions, self.pupil.average.updates]
        return {"counts": counts, "pupil": self.pupil.state(), **position_state(self.position)}

    def restore(self, state: dict[str, Any]) -> None:
        self.positions, self.pupil.average.updates = state["counts"]
        self.pupil.restore(state["pupil"])
        restore_position(self.position, state)
        renew(self.search)


class Bootstrap(Searched):
    """RootStrap or TreeStrap, as `method` says."""

    def __init__(self, method: Method, options: Any, start: Evaluator, *, seed: int, budget: int) -> None:
        super().__init__(method.name, method.search, options, start, seed=seed, budget=budget)
        self.method = method
        self.nodes = make_nodes(self.game, ROOM if method.nodes else 1, method.least)
        self._samples = make_samples(self.pupil.max_active, len(self.nodes.rows))

    def _arguments(self) -> tuple:
        visitor = keeper(self.nodes) if self.method.nodes else NOBODY
        return self.game.rules, self.search, self.pupil.leaf, visitor, self.nodes, self.position, self._settings()

    def _learn_compiled(self, pupil: SearchedLinear, rate: float) -> None:
        step = Step(rate, self.options.meta_step_size, self.method.in_turn)
        play_and_learn(*self._arguments(), pupil.rule, self._samples, step, self.options.searches)

    def _learn_in_batches(self, pupil: SearchedNetwork, rate: float) -> None:
        found = []
        for _ in range(self.options.searches):
            play_and_note(*self._arguments())
            found.append(self._decisions())
        rows, bounds = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.position.sums[KNOWN] += len(rows)
        self.position.sums[OUTSIDE] += pupil.learn(rows, bounds, rate, self.options.batch, pupil.average.updates)

    def _decisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and bounds of the nodes that were kept and where the game is on."""
        kept = self.nodes.counts[KEPT]
        rows, bounds = self.nodes.rows[:kept].copy(), self.nodes.bounds[:kept].copy()
        n = copy_decisions(self.game.rules, self.nodes, rows, bounds)
        return rows[:n], bounds[:n]


def scalars_of(sums: np.ndarray, searches: int) -> dict[str, float]:
    """What a step logs. `train/td_error`: root mean square of searched value minus own value, of the positions played;
    `train/nodes`: of one search; `train/updates_per_search`: positions that moved the weights; `train/share_outside`:
    of the positions learned from; `train/lost`: nodes that found no room, of one search; `play/game_length`: plies."""
    scalars = {
        "train/td_error": math.sqrt(sums[ERROR] / searches),
        "train/nodes": sums[VISITED] / searches,
        "train/updates_per_search": sums[OUTSIDE] / searches,
        "train/share_outside": sums[OUTSIDE] / max(sums[KNOWN], 1.0),
        "train/lost": sums[LOST] / searches,
    }
    if sums[ENDED]:
        scalars["play/game_length"] = sums[LENGTH] / sums[ENDED]
    return {name: float(value) for name, value in scalars.items()}
