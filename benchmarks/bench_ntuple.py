"""Learning n-tuple networks on one core: self-play and updates of `experiment=connect_four_ntuple`, and of Othello's
lines."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.learn.learners.td_linear import Options, make
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.workers.backend import Serial

WARM_UP_GAMES = 20_000
"""fresh weights see few different positions: memory is read faster than it will be"""


def bench_connect_four(settings: Settings) -> Iterator[Row]:
    """70 tables of eight cells for either mover: 9.2 million weights."""
    yield from _training("connect_four", TuplesConfig(walks=70, length=8, per_seat=True), settings)


def bench_othello(settings: Settings) -> Iterator[Row]:
    """All straight lines of two and of three squares: 936 weights."""
    yield from _training("othello", TuplesConfig(lines=[2, 3]), settings)


def _training(name: str, tuples: TuplesConfig, settings: Settings) -> Iterator[Row]:
    start = fresh(games.load(name), "", EvaluatorConfig(hidden=[], head="tanh", tuples=tuples), 1)
    learner = make(Options(), start, seed=1, budget=1_000_000, backend=Serial())
    while learner.games < min(WARM_UP_GAMES, WARM_UP_GAMES * settings.seconds):
        learner.step()

    def work() -> int:
        before = learner.games
        while learner.games == before:  # slots begin together, so first games end together too
            learner.step()
        return learner.games - before

    weights = f"{start.features.num_features + 1:,} weights"
    yield row(f"n-tuple training, {name}", "games/s", rate(work, settings.seconds), weights)
