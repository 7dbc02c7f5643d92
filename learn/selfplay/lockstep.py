"""Self-play in lock-step: B games side by side, compiled, the same for any number of threads.

Letters: B slots (games in progress), W integers a state, K outputs of the evaluator, T positions of a game so far, C
capacity of a slot's history, R evaluators (rows) in the population.

    choose (1 ply) -> record -> play -> ... -> game over -> lambda-returns of the whole game -> batch of (state, target)

Slot i plays the games i, i + B, i + 2B, ...; every random number is keyed by (seed, game, ply, purpose). So the games
do not depend on how the slots are shared among threads, on exploration elsewhere, or on when a run was interrupted.

The lambda-return of position t, from its mover's side ([1] section 12.1, the forward view):

    G_t = (1 - lambda) v_{t+1} + lambda G_{t+1},   G_{T-1} = z  (the result, a draw as Settings.draw),
    v and G with the other sign wherever the seat changes

[1] Sutton & Barto, Reinforcement Learning, 2nd ed. 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.game import FeatureSet, Game, Rules
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path, make_path, reach
from deltaw.envs.turn import end, explore, roll, value_for
from deltaw.learn.weights.population import member
from deltaw.learn.workers.backend import Backend, Serial, Shared
from deltaw.search.evaluators.leaf import CLASSES, Leaf, forget
from deltaw.search.players.plies import ALL_MOVES, ONE_PLY, make_bench, score_moves


class Slots(NamedTuple):
    """Games in progress: everything that is needed to go on exactly. Arrays, first axis B."""

    game: np.ndarray
    """int64 [B]: number of the game being played"""
    ply: np.ndarray
    """int64 [B]: positions recorded in `rows`, the current one included"""
    rows: np.ndarray
    """int64 [B, C, W]: the positions, each as it was valued: before the dice"""
    outputs: np.ndarray
    """float32 [B, C, K]: the evaluator's outputs on them when they were reached"""
    explored: np.ndarray
    """int8 [B, C]: 1 where the move made from there was exploratory"""


class Settings(NamedTuple):
    seed: int
    trace: float
    """lambda, 0 .. 1"""
    explore: float
    """chance of a random move"""
    plies: int
    """positions each slot moves on in one call"""
    draw: float = 0.0
    """value of a drawn game for seat 0, where one value is learned; a head over classes learns draws as an outcome of
    their own"""


class Batch(NamedTuple):
    """Positions of finished games and what their values should have been."""

    rows: np.ndarray
    """int64 [N, W]"""
    targets: np.ndarray
    """float32 [N, K]: lambda-returns"""
    outputs: np.ndarray
    """float32 [N, K]: what the evaluator said when the position was reached"""
    games: int
    """games that ended"""
    results: np.ndarray
    """int64 [games]: for the first player (seat 0)"""
    lengths: np.ndarray
    """int64 [games]: positions of each game"""


class Shard(NamedTuple):
    """Some slots to be moved on, with everything that this needs, so that another process can do it."""

    game: Game
    leaf: Shared[Leaf]
    """its weights have a leading axis R"""
    slots: Slots
    """views of the engine's: a worker in this process moves them on in place, any other a copy, which it returns"""
    assign: np.ndarray
    stride: int
    """B: from a slot's game to its next"""
    settings: Settings


@dataclass
class SelfPlay:
    """The lock-step engine for evaluators in compiled form; `population` holds R of them, stacked."""

    game: Game
    leaf: Leaf
    """its weights have a leading axis R"""
    slots: Slots
    assign: np.ndarray
    """int64 [B, seats]: which of the R evaluators plays the seat"""
    backend: Backend = field(default_factory=Serial)

    def __post_init__(self) -> None:
        parts = np.array_split(np.arange(len(self.slots.game)), self.backend.workers)
        self._parts = [slice(int(p[0]), int(p[-1]) + 1) for p in parts if len(p)]

    def play(self, settings: Settings) -> Batch:
        """Every slot moves on by `settings.plies` positions; what ended comes back."""
        self._make_room(settings.plies)
        leaf = self.backend.share(self.leaf)
        shards = [
            Shard(
                self.game,
                leaf,
                Slots(*(array[part] for array in self.slots)),
                self.assign[part],
                len(self.slots.game),
                settings,
            )
            for part in self._parts
        ]
        played = self.backend.map(play_shard, shards)
        for shard, (_, slots) in zip(shards, played, strict=True):
            if slots is not shard.slots:  # a worker elsewhere had a copy
                for mine, moved in zip(shard.slots, slots, strict=True):
                    mine[...] = moved
        parts = [batch for batch, _ in played]
        return Batch(
            rows=np.concatenate([p.rows for p in parts]),
            targets=np.concatenate([p.targets for p in parts]),
            outputs=np.concatenate([p.outputs for p in parts]),
            games=sum(p.games for p in parts),
            results=np.concatenate([p.results for p in parts]),
            lengths=np.concatenate([p.lengths for p in parts]),
        )

    def _make_room(self, plies: int) -> None:
        """At least double the histories' capacity when a game may outgrow it."""
        capacity, needed = self.slots.rows.shape[1], int(self.slots.ply.max()) + plies + 1
        if needed <= capacity:
            return
        more = max(needed - capacity, capacity)
        longer = (np.pad(a, [(0, 0), (0, more)] + [(0, 0)] * (a.ndim - 2)) for a in self.slots[2:])
        self.slots = Slots(self.slots.game, self.slots.ply, *longer)


def new_slots(game: Game, outputs: int, size: int, capacity: int = 256) -> Slots:
    """B fresh slots; game i starts in slot i when it is first played."""
    return Slots(
        game=np.arange(size, dtype=np.int64),
        ply=np.zeros(size, np.int64),
        rows=np.zeros((size, capacity, game.rules.width), np.int64),
        outputs=np.zeros((size, capacity, outputs), np.float32),
        explored=np.zeros((size, capacity), np.int8),
    )


def trimmed(slots: Slots) -> Slots:
    """The slots without the unused end of their histories (which may hold old games)."""
    used = int(slots.ply.max()) + 1
    return Slots(slots.game, slots.ply, *(np.ascontiguousarray(a[:, :used]) for a in slots[2:]))


def play_shard(shard: Shard) -> tuple[Batch, Slots]:
    """Move the slots of the shard on; returns what ended, and the slots."""
    slots, settings = shard.slots, shard.settings
    leaf = shard.leaf.value
    bench = make_bench(leaf._replace(weights=member(leaf.weights, 0)), shard.game)
    most = int(slots.ply.sum()) + len(slots.ply) * settings.plies
    rows = np.empty((most, slots.rows.shape[2]), np.int64)
    targets = np.empty((most, slots.outputs.shape[2]), np.float32)
    outputs = np.empty_like(targets)
    ended = np.empty((2, len(slots.game) * settings.plies), np.int64)
    n, games = play_slots(
        shard.game.rules, leaf, slots, shard.assign, shard.stride, settings, bench, rows, targets, outputs, ended
    )
    return Batch(rows[:n], targets[:n], outputs[:n], int(games), ended[0, :games], ended[1, :games]), slots


def dense(game: Game, features: FeatureSet, rows: np.ndarray) -> np.ndarray:
    """float32 [N, F]: the features of states rows [N, W]."""
    out = np.empty((len(rows), features.num_features), np.float32)
    lists = np.empty(features.max_active, np.int32), np.empty(features.max_active, np.float32)
    dense_features(game.rules, np.array(features.spec, np.int64), np.ascontiguousarray(rows), *lists, out)
    return out


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_slots(rules, leaf, slots, assign, stride, settings, bench, rows, targets, outputs, ended):
    """Move every slot on by settings.plies positions; append finished games. Returns (positions, games)."""
    n, games = np.int64(0), 0  # a literal 0 would compile `lambda_returns` twice
    for slot in range(len(slots.game)):
        for _ in range(settings.plies):
            if slots.ply[slot] == 0:
                begin_game(rules, leaf, slots, slot, assign[slot, 0], bench)
            result, over = play_one(rules, leaf, slots, slot, assign[slot], settings, bench)
            if over:
                ended[0, games] = result
                ended[1, games] = slots.ply[slot]
                games += 1
                n = lambda_returns(rules, leaf.weights, slots, slot, result, settings, n, rows, targets, outputs)
                slots.ply[slot] = 0
                slots.game[slot] += stride
    return n, games


@kernel
def begin_game(rules, leaf, slots, slot, r, bench):
    state = rules.initial()
    rules.store(state, slots.rows[slot, 0])
    forget(bench.work)
    leaf.evaluate(rules, member(leaf.weights, r), state, bench.work)
    slots.outputs[slot, 0] = bench.work.chances
    slots.explored[slot, 0] = 0
    slots.ply[slot] = 1


@kernel
def play_one(rules, leaf, slots, slot, assign, settings, bench):
    """Dice and move from the slot's last position; returns (result for seat 0, over)."""
    t = slots.ply[slot] - 1
    state = rules.load(slots.rows[slot, t])
    retrace(rules, slots.rows[slot], t, bench.path)
    chooser = Leaf(leaf.evaluate, member(leaf.weights, assign[rules.seat(state)]), leaf.expect)
    best, explored, over, result = take_turn(
        rules, chooser, state, settings.seed, slots.game[slot], t, settings.explore, bench
    )
    if explored:
        slots.explored[slot, t] = 1
    if not over:
        slots.rows[slot, t + 1] = bench.rows[0, best]
        slots.outputs[slot, t + 1] = bench.outputs[best]
        slots.explored[slot, t + 1] = 0
        slots.ply[slot] += 1
    return result, over


def counts_and_path(rules: Rules, size: int) -> np.ndarray:
    """So many counts, zero, and behind them the path of a game that begins: what a checkpoint keeps in one array."""
    return np.concatenate([np.zeros(size, np.int64), make_path(rules)])


@kernel
def retrace(rules, rows, t, path):
    """The path of a game whose position number t is due, from all its positions rows [C, W]."""
    begin_path(rules, path)
    if rules.repetition != 0:
        for earlier in range(max(t - rules.path_plies, 0), t):
            reach(rules, path, rules.load(rows[earlier]))


@kernel
def take_turn(rules, leaf, state, seed, game, ply, probability, bench):
    """The dice, and the best move at 1 ply or, with this probability, a random one: (its index in `bench`, whether
    it is random, whether the game is over, its result for seat 0). The decision joins bench.path."""
    bench.word[0] = random_word(seed, game, ply, WORLD)
    decision = roll(rules, state, seed, game, ply)
    n, best = score_moves(rules, leaf, decision, ONE_PLY, ALL_MOVES, 0.0, bench)
    best, explored = explore(seed, game, ply, probability, n, best)
    child = rules.load(bench.rows[0, best])
    reach(rules, bench.path, decision)
    over, value = end(rules, bench.path, child, ply + 1)
    return best, explored, over, value_for(rules, child, value, 0)


@kernel
def go_on(rules, row, counts, path, chosen, over):
    """The position `row` [W] of a learner that plays one game at a time becomes `chosen` [W], or the first of its next
    game, whose path is empty; counts: number of the game, moves made, games finished."""
    row[:] = chosen
    counts[1] += 1
    if over:
        begin_path(rules, path)
        rules.store(rules.initial(), row)
        counts[0] += 1
        counts[1] = 0
        counts[2] += 1


@kernel
def lambda_returns(rules, weights, slots, slot, result, settings, n, rows, targets, outputs):
    """Append the positions of a finished game with their lambda-returns; see the module's equation. The position in
    which an exploratory move was made learns nothing from it, and the positions before learn nothing from what follows
    it, unless the move ended the game."""
    length = slots.ply[slot]
    classes = weights.head == CLASSES
    size = targets.shape[1]
    target = np.zeros(size, targets.dtype)
    seat = 0
    if classes:
        for k in range(size):
            target[k] = 1.0 if weights.outcomes[k] == result else 0.0
    else:
        target[0] = settings.draw if result == 0 else result
    for t in range(length - 1, -1, -1):
        own_seat = rules.seat(rules.load(slots.rows[slot, t]))
        if own_seat != seat:
            flip(target, classes)
            seat = own_seat
        last = t == length - 1
        if not slots.explored[slot, t] or last:
            rows[n] = slots.rows[slot, t]
            targets[n] = target
            outputs[n] = slots.outputs[slot, t]
            n += 1
        keep = 0.0 if slots.explored[slot, t] and not last else settings.trace
        for k in range(size):  # now v_t and G_t become what t - 1 looks at
            target[k] = (1.0 - keep) * slots.outputs[slot, t, k] + keep * target[k]
    return n


@kernel
def flip(target, classes):
    """The same outputs from the other side."""
    if classes:
        for k in range(len(target) // 2):
            other = len(target) - 1 - k
            target[k], target[other] = target[other], target[k]
    else:
        target[0] = -target[0]


@kernel
def dense_features(rules, spec, rows, index, value, out):
    """Features of states rows [N, W] as a dense matrix out [N, F]."""
    out[:] = 0.0
    for i in range(len(rows)):
        n = rules.features(rules.load(rows[i]), spec, index, value)
        for j in range(n):
            out[i, index[j]] = value[j]
