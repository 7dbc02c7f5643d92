"""Dynamic evaluation as a learner: it starts from weights that self-play has learned, and goes on learning against one
opponent.

    deltaw train learner=dynamic learner.opponent=points_1 start_from=FILE ...

The rule, the games and the driver are `learn/selfplay/adapt.py`'s. Training is one game after the other, since every
move changes the weights that choose the next one: workers are used for the measurements alone. Each game is played a
second time with the weights of the start (`compare`): the gain of adapting is a paired difference over the same
openings, dice and noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch

from deltaw.learn.knobs import Count, OneOf, Positive, Share, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.adapt import POSITIONS, Adapter, Settings
from deltaw.learn.selfplay.duel import opening_plies_of
from deltaw.learn.selfplay.opponent_model import MOST_CRITERIA, NoisyPlayer, OpponentModel
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.players.find import find_player

HABITS = 24
"""number of the opponent's habits that are logged, the most certain first: all of a dozen criteria"""


@dataclass
class Options:
    opponent: str = "random"
    """whom to play: a baseline, a shipped evaluator, a file, random"""
    noise: Share = 0.1
    """chance of a random move of the opponent: without it deterministic players repeat their games"""
    step_size: Positive = 0.005
    """c"""
    trace: Share = 0.7
    """lambda, 0 .. 1"""
    explore: Share = 0.0
    """chance of a random move of one's own, which resets the trace"""
    positions: Annotated[str, OneOf(POSITIONS)] = "own"
    """own: learn from the positions after one's own moves; both: from all"""
    criteria: str = ""
    """feature set by which the opponent's choices are counted; empty: the evaluator's own, if it is no n-tuple
    network"""
    compare: bool = True
    """play every game again with the weights of the start, to show the gain"""
    pairs: Count = 10
    """pairs of games in one step of the learner"""
    opening_plies: int = 4
    """random moves at the start of games without dice; -1: as in matches"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> Dynamic:
    """The learner of this module; raises InputError."""
    check(options)
    check_game(start.game, "dynamic")
    return Dynamic(options, start, seed=seed)


class Dynamic:
    """A `Learner`."""

    def __init__(self, options: Options, start: Evaluator, *, seed: int) -> None:
        self.options, self.seed, self.games = options, seed, 0
        game = start.game
        opponent = NoisyPlayer(game, find_player(game, options.opponent, threads=1), options.noise)
        settings = settings_of(options, start, seed)
        self.model = model_of(start, options.criteria)
        self.adapter = Adapter(start, opponent, settings, self.model)
        self.frozen = Adapter(start, opponent, settings._replace(step_size=0.0, explore=0.0))
        self.totals = np.zeros(4)
        """pairs, sum of pair means, and of the gains' pair means and their squares"""

    def step(self) -> Metrics:
        """Scalars: dynamic/points, points a game of this step; dynamic/points_so_far, of all games; dynamic/gain and
        dynamic/gain_error, points a game that adapting has brought over all games so far, and their standard error;
        opponent/CRITERION_largest (_smallest), share of the opponent's choices by one criterion less that of random
        moves."""
        points = 0.0
        for _ in range(self.options.pairs):
            own = self._pair(self.adapter)
            gain = own - self._pair(self.frozen) if self.options.compare else 0.0
            points += own
            self.totals += (1.0, own, gain, gain * gain)
            self.games += 2
        scalars = {
            "dynamic/points": points / self.options.pairs,
            "dynamic/points_so_far": self.totals[1] / self.totals[0],
        }
        if self.options.compare:
            scalars["dynamic/gain"], scalars["dynamic/gain_error"] = self.gain
        return Metrics(self.games, self.adapter.plies, scalars | self._habits())

    def _pair(self, adapter: Adapter) -> float:
        """Points a game of the next pair."""
        return (adapter.play(self.games) + adapter.play(self.games + 1)) / 2.0

    @property
    def gain(self) -> tuple[float, float]:
        """Points a game that adapting has brought, and the standard error from pairs; 0 for a single pair."""
        pairs, _, total, squares = self.totals
        mean = total / pairs
        variance = max(squares / pairs - mean * mean, 0.0) * pairs / max(pairs - 1.0, 1.0)
        return float(mean), math.sqrt(variance / pairs)

    def _habits(self) -> dict[str, float]:
        if self.model is None:
            return {}
        return {f"opponent/{h.criterion}_{h.direction}": h.share - h.by_chance for h in self.model.habits()[:HABITS]}

    def evaluator(self) -> Evaluator:
        options = self.options
        trained = {"method": "dynamic", "opponent": options.opponent, "games": self.games, "seed": self.seed}
        return self.adapter.evaluator(trained)

    def finite(self) -> bool:
        return bool(np.isfinite(self.adapter.weight).all())

    def state(self) -> dict[str, Any]:
        arrays = {"weight": self.adapter.weight, "totals": self.totals}
        if self.model is not None:
            arrays |= self.model.state()
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        return {"games": self.games, "plies": self.adapter.plies, "arrays": tensors}

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.adapter.plies = state["games"], state["plies"]
        arrays = {name: tensor.numpy() for name, tensor in state["arrays"].items()}
        self.adapter.weight[:], self.totals[:] = arrays["weight"], arrays["totals"]
        if self.model is not None:
            self.model.restore(arrays)


def settings_of(options: Options, start: Evaluator, seed: int) -> Settings:
    """The driver's settings; raises InputError."""
    return Settings(
        step_size=options.step_size,
        trace=options.trace,
        explore=options.explore,
        own=options.positions == "own",
        opening_plies=opening_plies_of(start.game, options.opening_plies),
        seed=seed,
    )


def model_of(start: Evaluator, criteria: str) -> OpponentModel | None:
    """Counts by the feature set `criteria`; empty: the evaluator's own, and none for features too many to be
    criteria."""
    if criteria:
        return OpponentModel(start.game, start.game.features(criteria))
    return OpponentModel(start.game, start.features) if start.features.num_features <= MOST_CRITERIA else None
