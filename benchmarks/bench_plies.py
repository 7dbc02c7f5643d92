"""Decisions a second, on one core, on the decisions of the games of `material.trained`, forced ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.material import HIDDEN, SMALL_SET, Trained, in_turn, trained
from benchmarks.measure import Row, Settings, rate, row
from deltaw.search.players.plies import CANDIDATES, MARGIN, choose_rows, make_bench


def chooser(player: Trained, plies: int, candidates: int, chunk: int) -> Callable[[], int]:
    """Work for `rate`: the network decides the next `chunk` decisions."""
    rules, leaf = player.learner.play.game.rules, player.learner.evaluator().leaf
    bench = make_bench(leaf, player.learner.play.game)
    chosen, values = np.empty((chunk, rules.width), np.int64), np.empty(chunk)
    outputs = np.empty((chunk, len(leaf.weights.outcomes)), np.float32)

    def choose(rows: np.ndarray) -> None:
        choose_rows(rules, leaf, rows, plies, candidates, MARGIN, bench, chosen, values, outputs)

    return in_turn(player.decisions, chunk, choose)


def bench_plies(settings: Settings) -> Iterator[Row]:
    player = trained(SMALL_SET, settings)
    for name, plies, candidates, chunk, note in (
        ("1 ply", 1, 0, 500, "all moves"),
        ("2 plies, full width", 2, 0, 10, "all moves, 21 rolls, all replies"),
        ("2 plies, filtered", 2, CANDIDATES, 40, f"at most {CANDIDATES} moves within {MARGIN:g}"),
    ):
        timing = rate(chooser(player, plies, candidates, chunk), settings.seconds)
        yield row(f"{name}, {HIDDEN} hidden, {SMALL_SET}", "decisions/s", timing, note)
