"""RootStrap: after every search the value of the position is moved towards the value that the search has found
(Samuel's idea of 1959, with a gradient).

    W <- W + c (V(s) - H(s)) grad H(s),    V(s): minimax value, `depth` plies deep, over leaves valued by H

The equations and the source are in `learn/bootstrapping/strap.py`. For games without chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from deltaw.learn.bootstrapping.strap import Bootstrap, Method, SearchedOptions
from deltaw.learn.knobs import NotNegative, Positive
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(SearchedOptions):
    """The knobs of `SearchedOptions` (learn/bootstrapping/strap.py), with a step size for one position a search."""

    step_size: Positive = 0.001
    step_size_end: NotNegative = 0.0001


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> Bootstrap:
    """The learner of this module; raises InputError. Games are played one after the other, so `backend` is not used."""
    return Bootstrap(Method("root_strap", "alphabeta", nodes=False), options, start, seed=seed, budget=budget)
