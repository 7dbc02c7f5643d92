"""Learning, backward view with eligibility traces, lambda 0.7, on one core, from the network of `material.trained`."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench_selfplay import speeds
from benchmarks.material import BUDGET, HIDDEN, SEED, SMALL_SET, trained
from benchmarks.measure import Row, Settings, rate
from deltaw.learn.learners import td_backward, td_sequential
from deltaw.learn.weights.networks import network_of

TRACE = 0.7
STEP_SIZE = 0.01
PLIES = 500
"""positions a call of the compiled learner: some ten games"""


def bench_sequential(settings: Settings) -> Iterator[Row]:
    """`learn/learners/td_sequential.py`: one game at a time, compiled."""
    player = trained(SMALL_SET, settings)
    options = td_sequential.Options(trace=TRACE, step_size=STEP_SIZE, plies=PLIES)
    learner = td_sequential.SequentialTD(player.learner.evaluator(), options, seed=SEED, budget=BUDGET)

    def work() -> int:
        learner.step()
        return PLIES

    name = f"backward TD compiled, {HIDDEN} hidden, {SMALL_SET}"
    yield from speeds(name, rate(work, settings.seconds), player, "one game at a time")


def bench_any_module(settings: Settings) -> Iterator[Row]:
    """`learn/learners/td_backward.py`: any torch module, some games side by side."""
    player = trained(SMALL_SET, settings)
    options = td_backward.Options(trace=TRACE, step_size=STEP_SIZE, plies=1)
    learner = td_backward.BackwardTD(network_of(player.learner.evaluator()), options, seed=SEED, budget=BUDGET)

    def work() -> int:
        learner.step()
        return options.slots

    name = f"backward TD torch, {HIDDEN} hidden, {SMALL_SET}"
    yield from speeds(name, rate(work, settings.seconds), player, f"{options.slots} games side by side")
