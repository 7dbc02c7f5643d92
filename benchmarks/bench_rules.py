"""Rules: for every game, all results of a position's rolls, and its features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.material import in_turn, random_rows
from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel


@kernel
def expand_rolls(rules, rows, moves, children):
    """Expand each position with each of its chance outcomes; returns (decisions, results)."""
    decisions, results = 0, 0
    for i in range(len(rows)):
        state = rules.load(rows[i])
        k = rules.num_chance(state)
        if k == 0:
            results += rules.expand(state, moves, children)
        for j in range(k):
            rolled, _ = rules.chance(state, j)
            results += rules.expand(rolled, moves, children)
        decisions += max(k, 1)
    return decisions, results


@kernel
def describe_rows(rules, spec, rows, index, value):
    """Compute the features of each position; returns how many are active in all."""
    active = 0
    for i in range(len(rows)):
        active += rules.features(rules.load(rows[i]), spec, index, value)
    return active


def bench_expand(settings: Settings) -> Iterator[Row]:
    """Distinct results of all rolls (of the position, where there are no dice)."""
    for game in games.load_all():
        rows, buffers = random_rows(game.name, settings.positions), game.buffers()
        decisions, results = expand_rolls(game.rules, rows, *buffers)

        def work(rules=game.rules, rows=rows, buffers=buffers) -> int:
            return expand_rolls(rules, rows, *buffers)[0]

        dice = game.rules.max_chance > 0
        unit = "rolls/s" if dice else "positions/s"
        sample = "random games, each roll once" if dice else "random games"
        note = f"{sample}; {results / decisions:.1f} distinct results each"
        yield row(f"{game.name}: all results", unit, rate(work, settings.seconds), note)


def bench_features(settings: Settings) -> Iterator[Row]:
    """Sparse features of one position."""
    for game in games.load_all():
        for feature_set in game.feature_sets.values():
            yield _features(game, feature_set, settings)


def _features(game: Game, feature_set: FeatureSet, settings: Settings) -> Row:
    rows = random_rows(game.name, settings.positions)
    spec = np.array(feature_set.spec, np.int64)
    index, value = np.empty(feature_set.max_active, np.int32), np.empty(feature_set.max_active, np.float32)
    active = describe_rows(game.rules, spec, rows, index, value) / len(rows)
    work = in_turn(rows, len(rows), lambda part: describe_rows(game.rules, spec, part, index, value))
    note = f"{feature_set.num_features} features, {active:.0f} active"
    return row(f"{game.name}: features {feature_set.name}", "positions/s", rate(work, settings.seconds), note=note)
