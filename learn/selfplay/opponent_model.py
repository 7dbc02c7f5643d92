"""A model of an opponent: how often it chooses the move that makes a criterion largest or smallest, compared with moves
drawn at random.

A criterion is one feature of a feature set, looked at after the move. It is then the other side's turn, so in a
feature's name `me` is whoever plays against the opponent, and `opponent` the opponent itself: "opponent_corners
largest" says that he takes corners, "me_moves smallest" that he leaves few moves. Only decisions count in which the
criterion tells moves apart.

Letters: F features, M most moves, W integers a state.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.turn import noisy_move
from deltaw.search.players.players import Chosen, Decisions, Player

MOST_CRITERIA = 1000
"""criteria are looked at one by one, at every move: no n-tuples"""
LARGEST, SMALLEST = 0, 1


class Habit(NamedTuple):
    """How often the opponent chose by one criterion."""

    criterion: str
    direction: str
    """largest or smallest"""
    decisions: int
    """in which the criterion told moves apart"""
    share: float
    """of them in which the opponent chose a move with that largest or smallest value"""
    by_chance: float
    """the same for moves drawn at random, from the numbers of moves"""

    @property
    def sigmas(self) -> float:
        """How certain the habit is: the share above by_chance, in standard errors of random moves. This is approximate,
        since chances differ among decisions."""
        spread = math.sqrt(max(self.by_chance * (1.0 - self.by_chance), 1e-9) / max(self.decisions, 1))
        return (self.share - self.by_chance) / spread


class OpponentModel:
    """Counts of one opponent's choices."""

    def __init__(self, game: Game, features: FeatureSet) -> None:
        if features.num_features > MOST_CRITERIA:
            raise InputError(
                f"{features.num_features} features of {features.name!r} are no criteria to count: "
                f"choose a set of at most {MOST_CRITERIA}, such as {game.default_features}"
            )
        self.game, self.names = game, features.names()
        self._spec = np.array(features.spec, np.int64)
        size = features.num_features
        self.decisions = np.zeros(size, np.int64)
        self.chosen = np.zeros((2, size), np.int64)
        """[2, F]: largest and smallest values chosen"""
        self.expected = np.zeros((2, size))
        """[2, F]: by random moves"""
        self._buffers = game.buffers()
        self._active = np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32)
        self._table = np.empty((game.rules.max_moves, size), np.float32)

    def see(self, decision: np.ndarray, result: np.ndarray) -> None:
        """Count the choice of the position `result` [W] at `decision` [W] (dice rolled)."""
        count_choice(
            self.game.rules, self._spec, decision, result, *self._buffers, *self._active, self._table,
            self.decisions, self.chosen, self.expected,
        )  # fmt: skip

    def habits(self) -> list[Habit]:
        """All criteria in both directions, the surest habit first."""
        found = []
        for i in np.flatnonzero(self.decisions):
            for way, direction in ((LARGEST, "largest"), (SMALLEST, "smallest")):
                n = int(self.decisions[i])
                habit = Habit(self.names[i], direction, n, self.chosen[way, i] / n, self.expected[way, i] / n)
                found.append(habit)
        return sorted(found, key=lambda habit: -habit.sigmas)

    def state(self) -> dict[str, Any]:
        return {"decisions": self.decisions.copy(), "chosen": self.chosen.copy(), "expected": self.expected.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        for name in ("decisions", "chosen", "expected"):
            getattr(self, name)[...] = state[name]


class NoisyPlayer:
    """A player that makes a random move with a given chance, so that no two games are the same."""

    def __init__(self, game: Game, player: Player, chance: float) -> None:
        self.game, self.player, self.chance = game, player, chance
        self.name = f"{player.name} with {chance:.0%} noise" if chance else player.name
        self._buffers = game.buffers()

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = self.player.choose(decisions, seed)
        if self.chance:
            add_noise(self.game.rules, decisions, np.int64(seed), self.chance, *self._buffers, chosen)
        return chosen


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def count_choice(rules, spec, decision, result, moves, rows, index, value, table, decisions, chosen, expected):
    """For each feature: does `result` have the largest, the smallest value of all results of the decision?"""
    n = rules.expand(rules.load(decision), moves, rows)
    own = 0
    for i in range(n):
        table[i] = 0.0
        active = rules.features(rules.load(rows[i]), spec, index, value)
        for j in range(active):
            table[i, index[j]] = value[j]
        if (rows[i] == result).all():
            own = i
    for feature in range(table.shape[1]):
        column = table[:n, feature]
        largest, smallest = column.max(), column.min()
        if largest > smallest:
            decisions[feature] += 1
            chosen[0, feature] += column[own] == largest
            chosen[1, feature] += column[own] == smallest
            expected[0, feature] += (column == largest).sum() / n
            expected[1, feature] += (column == smallest).sum() / n


@kernel
def add_noise(rules, decisions, seed, chance, moves, results, chosen):
    """Replaces moves by random ones, each with the given chance; drawn by (seed, game, ply)."""
    rows, keys, paths = decisions
    for i in range(len(rows)):
        noisy = noisy_move(rules, paths[i], rules.load(rows[i]), seed, keys[i, 0], keys[i, 1], chance, moves, results)
        if noisy >= 0:
            chosen.moves[i] = moves[noisy]
            chosen.rows[i] = results[noisy]
