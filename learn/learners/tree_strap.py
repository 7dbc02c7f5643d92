"""TreeStrap: every interior node of the search is moved towards its own minimax value, or into the bounds that
alpha-beta has proven for it.

    W <- W + c sum over nodes s of error(s) grad H(s)

The equations and the source are in `learn/bootstrapping/strap.py`. For games without chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from deltaw.learn.bootstrapping.strap import Bootstrap, Method, SearchedOptions
from deltaw.learn.knobs import OneOf, Range, check
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(SearchedOptions):
    """The knobs of `SearchedOptions` (learn/bootstrapping/strap.py), and what is TreeStrap's own."""

    search: Annotated[str, OneOf(("alphabeta", "minimax"))] = "alphabeta"
    """alphabeta: bounds, with far fewer nodes; minimax: exact values of all nodes"""
    least_depth: int = 1
    """shallowest search of a node that teaches: 1 for all interior nodes, `depth` for the root alone (RootStrap)"""
    in_turn: bool = False
    """each node's error is taken at the weights that the nodes before it have moved; otherwise all errors are taken at
    the weights of the search, and summed"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> Bootstrap:
    """The learner of this module; raises InputError. Games are played one after the other, so `backend` is not used."""
    check(options)
    Range(1, options.depth).check("learner.least_depth", options.least_depth)
    method = Method("tree_strap", options.search, nodes=True, least=options.least_depth, in_turn=options.in_turn)
    return Bootstrap(method, options, start, seed=seed, budget=budget)
