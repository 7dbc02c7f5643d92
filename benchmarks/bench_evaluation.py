"""Evaluations: one position at a time in a kernel, and a batch in torch. Backgammon networks with random weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.material import BACKGAMMON, HIDDEN, SMALL_SET, decisions_of, families, in_turn, network, random_rows
from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.learn.selfplay.lockstep import dense
from deltaw.learn.weights.networks import Network
from deltaw.search.evaluators.evaluator import evaluate_rows
from deltaw.search.evaluators.leaf import forget
from deltaw.search.evaluators.work import make_work

WIDE = 256
FAMILIES = 300
"""decisions whose results are the siblings: 18 x 48 bytes each, so that the sample stays in the processor's cache"""


@kernel
def evaluate_families(rules, leaf, rows, begins, work):
    """Evaluate the results of decision after decision, as a search does: the first afresh, its siblings by
    differences."""
    total = 0.0
    for d in range(len(begins) - 1):
        forget(work)
        for i in range(begins[d], begins[d + 1]):
            total += leaf.evaluate(rules, leaf.weights, rules.load(rows[i]), work)
    return total


def bench_evaluation(settings: Settings) -> Iterator[Row]:
    game = games.load(BACKGAMMON)
    for features, hidden in ((SMALL_SET, HIDDEN), (game.default_features, HIDDEN), (game.default_features, WIDE)):
        net = network(features, hidden)
        name = f"evaluate {net.features.num_features}-{hidden}-{len(net.outcomes)} {features}"
        yield _siblings(game, net, name, settings)
        yield _unrelated(game, net, name, settings)
        yield _batch(game, net, name, settings)


def _siblings(game: Game, net: Network, name: str, settings: Settings) -> Row:
    leaf = net.evaluator().leaf
    kin = families(game, decisions_of(game, random_rows(game.name, min(FAMILIES, settings.positions))))
    work = make_work(leaf, game)

    def evaluate() -> int:
        evaluate_families(game.rules, leaf, kin.rows, kin.begins, work)
        return len(kin.rows)

    note = f"compiled, by differences; {len(kin.rows) / (len(kin.begins) - 1):.0f} siblings a decision"
    return row(f"{name}, siblings", "evaluations/s", rate(evaluate, settings.seconds), note=note)


def _unrelated(game: Game, net: Network, name: str, settings: Settings) -> Row:
    leaf = net.evaluator().leaf
    rows = random_rows(game.name, settings.positions)
    work, values = make_work(leaf, game), np.empty(len(rows))
    outputs = np.empty((len(rows), len(net.outcomes)), np.float32)
    evaluate = in_turn(rows, len(rows), lambda part: evaluate_rows(game.rules, leaf, part, work, values, outputs))
    note = "compiled, each afresh from sparse features"
    return row(f"{name}, unrelated", "evaluations/s", rate(evaluate, settings.seconds), note=note)


def _batch(game: Game, net: Network, name: str, settings: Settings) -> Row:
    rows = random_rows(game.name, settings.batch)
    x = torch.from_numpy(dense(game, net.features, rows))

    def evaluate() -> int:
        with torch.inference_mode():
            net.values(x)
        return len(x)

    note = f"torch, batch {len(rows)}, one thread, features ready"
    return row(f"{name}, batch", "evaluations/s", rate(evaluate, settings.seconds), note=note)
