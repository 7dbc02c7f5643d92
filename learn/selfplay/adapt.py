"""Dynamic evaluation: weights that change during play, against the opponent that is being played.

The idea: "when an opponent is seen to play some criteria more often, the weights change during play". The rule is TD's,
dW_t = c (v_{t+1} - v_t) sum_{k <= t} lambda^(t-k) grad v_k, after every move of the games that are really played, with
v always from the side of the player who adapts, and v_T the result. The opponent's moves lead from one position to the
next, so v learns what happens *against this opponent*. Where the opponent plays one criterion too often, this differs
from what happens in self-play.

The player can learn from two sets of positions:

    both    all positions of the games
    own     those after its own moves, among which it chooses; the opponent is then part of the environment

Learning is online: games are played one after the other, with an update after every move. The trace is kept as the list
of the game's positions, so its cost does not grow with the number of features. Games 2p and 2p + 1 have the same
opening or dice with seats swapped, and `play_and_adapt` plays them a second time with the weights of the start. So the
gain is a paired difference.

Letters: A most active features, C capacity of the memory, F features, W integers a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import reach
from deltaw.envs.turn import end, explore, open_game, roll, value_for
from deltaw.learn.selfplay.opponent_model import OpponentModel
from deltaw.learn.weights.linear import linear_weights, predict, with_weights
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.matches.match import paired
from deltaw.search.players.players import Decisions, Player
from deltaw.search.players.plies import ALL_MOVES, ONE_PLY, make_bench, score_moves

POSITIONS = ("own", "both")


class Settings(NamedTuple):
    """How the player adapts."""

    step_size: float
    """c; 0: the weights stand still"""
    trace: float
    """lambda, 0 .. 1"""
    explore: float
    """chance of a random move, which resets the trace"""
    own: bool
    """learn from the positions after one's own moves alone"""
    opening_plies: int
    """random moves at the start of games without dice"""
    seed: int


class Memory(NamedTuple):
    """One game in progress."""

    row: np.ndarray
    """int64 [W]: the position, before the roll"""
    indices: np.ndarray
    """int32 [C, A]: active features of the positions that are learned from"""
    values: np.ndarray
    """float32 [C, A]: their values"""
    active: np.ndarray
    """int64 [C]: how many they are"""
    slope: np.ndarray
    """float64 [C]: derivative of v with respect to the sum, from the adapting player's side"""
    place: np.ndarray
    """int64 [3]: plies played; positions in memory; the first of them that has a trace"""


class Adaptation(NamedTuple):
    """A series of games against one opponent."""

    before: Evaluator
    after: Evaluator
    results: np.ndarray
    """int64 [games]: for the player who adapts"""
    frozen: np.ndarray
    """int64 [games]: the same games with the weights of `before`; empty if they were not played"""
    model: OpponentModel | None

    @property
    def gain(self) -> tuple[float, float]:
        """Points a game that adapting brought, and the standard error from pairs."""
        return paired((self.results - self.frozen).astype(np.float64))


def play_and_adapt(
    start: Evaluator,
    opponent: Player,
    games: int,
    settings: Settings,
    *,
    criteria: str | None = None,
    compare: bool = True,
) -> Adaptation:
    """Play `games` games (even) against `opponent`, adapting from `start`. `criteria`: the feature set by which the
    opponent's choices are counted; `compare`: play the same games again with the weights of the start. Raises
    InputError where `start` is not linear with a scalar head."""
    model = OpponentModel(start.game, start.game.features(criteria)) if criteria else None
    adapter = Adapter(start, opponent, settings, model)
    results = np.array([adapter.play(number) for number in range(games)], np.int64)
    unchanged = Adapter(start, opponent, settings._replace(step_size=0.0, explore=0.0))
    frozen = np.array([unchanged.play(number) for number in range(games if compare else 0)], np.int64)
    return Adaptation(start, adapter.evaluator({"method": "dynamic", "games": games}), results, frozen, model)


@dataclass
class Adapter:
    """A linear evaluator that plays at 1 ply and learns from each move."""

    start: Evaluator
    opponent: Player
    settings: Settings
    model: OpponentModel | None = None

    def __post_init__(self) -> None:
        self.game: Game = self.start.game
        self.weight = linear_weights(self.start, "dynamic")
        leaf = self.start.leaf
        self._leaf = leaf._replace(weights=leaf.weights._replace(first=self.weight[:, None]))  # a view: always current
        self._bench = make_bench(self._leaf, self.game)
        self._memory = self._room(128)
        self._rolled = np.empty((1, self.game.rules.width), np.int64)
        self.plies = 0

    def _room(self, capacity: int) -> Memory:
        most = self.start.features.max_active + 4
        return Memory(
            row=np.empty(self.game.rules.width, np.int64),
            indices=np.empty((capacity, most), np.int32),
            values=np.empty((capacity, most), np.float32),
            active=np.empty(capacity, np.int64),
            slope=np.empty(capacity),
            place=np.zeros(3, np.int64),
        )

    def evaluator(self, trained: dict) -> Evaluator:
        return with_weights(self.start, self.weight.copy(), trained)

    def play(self, number: int) -> int:
        """Play the game of this number and learn from it; the result for the player who adapts."""
        rules, settings, me = self.game.rules, self.settings, np.int64(number % 2)
        seed, game = np.int64(settings.seed), np.int64(number)
        begin(rules, self._leaf.weights, self.weight, self._memory, me, game, settings, self._bench)
        while True:
            self._make_room()
            memory = self._memory
            mine, ply = decide(rules, memory, me, seed, game, self._rolled, self._bench)
            if mine:
                over, result = own_move(
                    rules, self._leaf, self.weight, memory, me, game, settings, self._rolled[0], self._bench
                )
            else:
                decision = Decisions(self._rolled, np.array([[game, ply]], np.int64), self._bench.path[None])
                chosen = self.opponent.choose(decision, settings.seed).rows[0]
                if self.model is not None:
                    self.model.see(self._rolled[0], chosen)
                over, result = move_on(
                    rules, self._leaf.weights, self.weight, memory, me, settings, self._rolled[0], chosen, False, False,
                    self._bench,
                )  # fmt: skip
            if over:
                self.plies += int(memory.place[0])
                return int(result)

    def _make_room(self) -> None:
        """Twice the memory when a long game has filled it."""
        old = self._memory
        n = len(old.active)
        if old.place[1] + 1 >= n:
            self._memory = self._room(2 * n)
            for name in ("indices", "values", "active", "slope"):
                getattr(self._memory, name)[:n] = getattr(old, name)
            self._memory.row[:], self._memory.place[:] = old.row, old.place


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def begin(rules, weights, weight, memory, me, number, settings, bench):
    """A new game: the first position after the random opening of its pair."""
    moves, rows = bench.moves[0], bench.rows[0]
    ply = open_game(rules, settings.seed, number // 2, settings.opening_plies, memory.row, bench.path, moves, rows)
    memory.place[0], memory.place[1], memory.place[2] = ply, 0, 0
    if not settings.own:
        remember(rules, weights, weight, memory, me, rules.load(memory.row))


@kernel
def decide(rules, memory, me, seed, number, rolled, bench):
    """The decision, dice rolled, to rolled[0] [W]; returns (whether it is mine, ply)."""
    ply = memory.place[0]
    bench.word[0] = random_word(seed, number // 2, ply, WORLD)
    state = roll(rules, rules.load(memory.row), seed, number // 2, ply)
    rules.store(state, rolled[0])
    return rules.seat(state) == me, ply


@kernel
def own_move(rules, leaf, weight, memory, me, number, settings, rolled, bench):
    """Choose at 1 ply, or explore, and learn; returns (over, result for me)."""
    n, best = score_moves(rules, leaf, rules.load(rolled), ONE_PLY, ALL_MOVES, 0.0, bench)
    best, explored = explore(settings.seed, number, memory.place[0], settings.explore, n, best)
    chosen = bench.rows[0, best]
    return move_on(rules, leaf.weights, weight, memory, me, settings, rolled, chosen, explored, True, bench)


@kernel
def move_on(rules, weights, weight, memory, me, settings, rolled, chosen, explored, mine, bench):
    """The game goes on from the decision rolled [W] to the position chosen [W], and the last remembered position learns
    from it; returns (over, result for me)."""
    place = memory.place
    memory.row[:] = chosen
    place[0] += 1
    child = rules.load(chosen)
    reach(rules, bench.path, rules.load(rolled))
    over, value = end(rules, bench.path, child, place[0])
    result = value_for(rules, child, value, me)
    if explored and not over:
        place[2] = place[1]
    if over:
        learn_from(weights, weight, memory, settings, np.float64(result))
    elif mine or not settings.own:
        following = remember(rules, weights, weight, memory, me, child)
        place[1] -= 1
        learn_from(weights, weight, memory, settings, following)
        place[1] += 1
    return over, result


@kernel
def remember(rules, weights, weight, memory, me, state):
    """Append the features of `state`; returns its value for me. The slope keeps the sign of the side to move until the
    position learns."""
    t = memory.place[1]
    n = rules.features(state, weights.spec, memory.indices[t], memory.values[t])
    memory.active[t] = n
    memory.slope[t] = 1.0 if rules.seat(state) == me else -1.0
    memory.place[1] += 1
    value, _ = predict(weight, weights.head, weights.scale, memory.indices[t], memory.values[t], n)
    return memory.slope[t] * value


@kernel
def learn_from(weights, weight, memory, settings, following):
    """dW = c (following - v_t) sum_{k <= t} lambda^(t-k) grad v_k for the last remembered position t, v_t and its
    gradient by the weights of now."""
    t, bias = memory.place[1] - 1, len(weight) - 1
    if settings.step_size == 0.0 or t < memory.place[2]:
        return
    value, slope = predict(weight, weights.head, weights.scale, memory.indices[t], memory.values[t], memory.active[t])
    error = following - memory.slope[t] * value
    memory.slope[t] *= slope
    step = settings.step_size * error
    for k in range(t, memory.place[2] - 1, -1):
        share = step * memory.slope[k]
        for j in range(memory.active[k]):
            weight[memory.indices[k, j]] += share * memory.values[k, j]
        weight[bias] += share
        step *= settings.trace
        if step == 0.0:
            break
