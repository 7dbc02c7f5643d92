"""Populations: evaluators of one shape, stacked into one whose arrays have a leading axis R, so that kernels can take
any of them."""

from __future__ import annotations

import numpy as np

from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.leaf import Weights


def stack(weights: list[Weights]) -> Weights:
    """A population: the arrays of equally shaped evaluators stacked along a new first axis R; the rest is common."""
    return weights[0]._replace(first=np.stack([w.first for w in weights]), dense=np.stack([w.dense for w in weights]))


@kernel
def member(population, r):
    """Evaluator r of a population, as views."""
    return Weights(
        population.first[r],
        population.dense[r],
        population.sizes,
        population.activation,
        population.head,
        population.scale,
        population.outcomes,
        population.spec,
    )
