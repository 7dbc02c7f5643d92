"""Iterations of counterfactual regret minimisation a second, on one core; OpenSpiel's C++ makes 92 on Leduc."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.search.equilibria.cfr import DISCOUNTS, Cfr
from deltaw.search.equilibria.external_sampling import ExternalSampling
from deltaw.search.equilibria.tree import flatten

ITERATIONS = {"kuhn_poker": 1000, "leduc_poker": 20}
"""of a call"""


def bench_cfr(settings: Settings) -> Iterator[Row]:
    for name, iterations in ITERATIONS.items():
        tree = flatten(games.load(name)).tree
        for title, run in (("CFR", Cfr(tree, DISCOUNTS["cfr"])), ("external sampling", ExternalSampling(tree))):
            work: Callable[[], int] = functools.partial(repeat, run, iterations)
            yield row(f"{name}: {title}", "iterations/s", rate(work, settings.seconds))


def repeat(run: Cfr | ExternalSampling, iterations: int) -> int:
    run.run(iterations)
    return iterations
