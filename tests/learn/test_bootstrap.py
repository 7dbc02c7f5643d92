"""TDLeaf, RootStrap and TreeStrap as learners: they go on exactly, learn tic-tac-toe, notice weights that diverge, and
refuse what makes no sense.

What each of them computes is in `test_td_leaf.py` and `test_tree_strap.py`.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from conftest import python_state
from search_learning import children, some_states, start

from deltaw.envs.errors import InputError
from deltaw.envs.path import make_path
from deltaw.learn.bootstrapping.games import make_search
from deltaw.learn.bootstrapping.pupil import SearchedNetwork
from deltaw.learn.bootstrapping.strap import node_error
from deltaw.learn.learners import root_strap, td_leaf, tree_strap
from deltaw.learn.workers.backend import Serial
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.deep import deep
from deltaw.search.tree.stack import NOBODY

METHODS = ("td_leaf", "root_strap", "tree_strap")
MODULES = {"td_leaf": td_leaf, "root_strap": root_strap, "tree_strap": tree_strap}


# --- the learners -------------------------------------------------------------------------------------------------


def make(name: str, evaluator: Evaluator | None = None, *, seed: int = 1, budget: int = 1000, **knobs: Any) -> Any:
    module = MODULES[name]
    options = module.Options(**{"depth": 2, "searches": 40, "opening": 2, **knobs})
    return module.make(options, evaluator or start(), seed=seed, budget=budget, backend=Serial())


def weights_of(evaluator: Evaluator) -> np.ndarray:
    return np.concatenate([evaluator.tensors[name].ravel() for name in sorted(evaluator.tensors)])


def test_treestrap_on_the_root_alone_is_rootstrap():
    knobs = {"depth": 2, "step_size": 0.01, "step_size_end": 0.01, "searches": 50, "opening": 2}
    root = make("root_strap", **knobs)
    tree = make("tree_strap", least_depth=2, **knobs)
    for _ in range(3):
        root.step()
        tree.step()
    assert root.games == tree.games > 5
    assert (root.pupil.weight == tree.pupil.weight).all()
    assert not (root.pupil.weight == make("root_strap").pupil.weight).all()


NETWORK = {"shape": "network", "average": 0.5}


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *itertools.product(METHODS, [{"step_rule": "tcl"}, {"average": 0.9}]),
        *itertools.product(("root_strap", "tree_strap"), [NETWORK]),
        pytest.param("td_leaf", NETWORK, marks=pytest.mark.slow),
    ],
)
def test_a_learner_goes_on_exactly(name, knobs):
    knobs = dict(knobs)
    evaluator = start(shape=knobs.pop("shape", "lines"))
    whole, first = make(name, evaluator, **knobs), make(name, evaluator, **knobs)
    for _ in range(5):
        metrics = whole.step()
    for _ in range(2):
        first.step()
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    other = make(name, evaluator, **knobs)
    other.step()  # what a learner did before it is restored does not matter
    other.restore(torch.load(file, weights_only=True))
    for _ in range(3):
        again = other.step()
    assert again == metrics
    assert (weights_of(other.evaluator()) == weights_of(whole.evaluator())).all()
    assert whole.finite()


@pytest.mark.parametrize("name", METHODS)
def test_a_seed_decides_everything(name):
    runs = [make(name, seed=seed) for seed in (1, 1, 2)]
    for run in runs:
        run.step()
    one, same, other = (weights_of(run.evaluator()) for run in runs)
    assert (one == same).all()
    assert not (one == other).all()


def test_the_step_counts_what_it_did():
    metrics = make("tree_strap", search="minimax", depth=2, explore=0.0, opening=0).step()
    scalars = metrics.scalars
    assert 0 < scalars["train/share_outside"] <= 1.0
    assert scalars["train/updates_per_search"] * 40 <= metrics.positions
    assert scalars["train/lost"] == 0
    assert 5 <= scalars["play/game_length"] <= 9
    assert scalars["train/nodes"] > 20


def test_treestrap_learns_never_to_lose_tic_tac_toe():
    """Two plies deep, against every line of the opponent, from either side."""
    knobs = {"step_size": 0.02, "step_size_end": 0.0005, "opening": 4, "explore": 0.2, "searches": 200}
    learner = make("tree_strap", in_turn=True, budget=4000, **knobs)
    while learner.games < 4000:
        learner.step()
    assert len(losses(start(), 2)) > 20
    assert not losses(learner.evaluator(), 2)


@pytest.mark.parametrize("name", METHODS)
def test_learning_loses_fewer_games_and_errs_less(name):
    learner = make(name, step_size=0.02, step_size_end=0.001, opening=4, explore=0.1, searches=200)
    errors = []
    while learner.games < 1000:
        errors.append(learner.step().scalars["train/td_error"])
    assert len(losses(learner.evaluator(), 2)) < len(losses(start(), 2)) / 3
    assert np.mean(errors[-3:]) < errors[0]


@pytest.mark.parametrize("name", METHODS)
def test_weights_that_diverge_are_noticed_and_break_nothing(name):
    learner = make(name, start(head="identity"), step_size=1e30, step_size_end=1e30)
    for _ in range(5):
        learner.step()
    assert not learner.finite()
    assert learner.games > 10


def losses(evaluator: Evaluator, depth: int) -> list[Any]:
    """Positions in which a player who searches so deep has lost, whatever side he plays and whatever the other one
    does."""
    game = evaluator.game
    view = deep(game, evaluator)
    search = make_search(game, "alphabeta", depth, view.leaf, view.work)

    @functools.cache
    def lost(state: Any, own_turn: bool) -> tuple:
        over, result = game.rules.outcome(state)
        if over:
            return (state,) if (result < 0) == own_turn and result != 0 else ()
        if own_turn:
            arguments = (view.leaf, NOBODY, make_path(game.rules), state, np.int64(depth), np.int64(1), search.desk)
            _, best, _ = search.run(game.rules, *arguments)
            return lost(python_state(game, game.rules.load(search.desk.root.rows[best])), False)
        return tuple(found for child, _ in children(game, state) for found in lost(child, True))

    initial = python_state(game, game.rules.initial())
    return [*lost(initial, True), *lost(initial, False)]


def test_a_network_is_drawn_into_the_bounds_and_not_further():
    pupil = make("tree_strap", start(shape="network"), optimizer="sgd").pupil
    assert isinstance(pupil, SearchedNetwork)
    rows = np.array([pupil.network.game.row(state) for state in some_states()])
    before, _ = pupil.network.evaluator().values(rows)
    wide = np.stack([before - 0.1, before + 0.1], axis=1)
    assert pupil.learn(rows, wide, 0.1, 8, 0) == 0
    assert (pupil.network.evaluator().values(rows)[0] == before).all()
    above = np.stack([before + 0.2, before + 0.3], axis=1)
    assert pupil.learn(rows, above, 0.1, 8, 0) == len(rows)
    after, _ = pupil.network.evaluator().values(rows)
    assert (after > before).any()
    assert np.abs(above[:, 0] - after).sum() < np.abs(above[:, 0] - before).sum()


def test_a_network_moves_by_the_mean_of_error_times_gradient():
    """One step of plain gradient descent, against central differences of the evaluator's values: here in the last
    bias."""
    pupil = make("tree_strap", start(shape="network"), optimizer="sgd").pupil
    rows = np.array([pupil.network.game.row(state) for state in some_states()])
    bounds = np.array([[0.5, 0.75], [-np.inf, -0.25], [-1.0, 1.0], [-np.inf, np.inf]])[: len(rows)]
    bias = pupil.network.layers[-1].bias

    def values(shift: float) -> np.ndarray:
        with torch.no_grad():
            bias.add_(shift)
            found, _ = pupil.network.evaluator().values(rows)
            bias.add_(-shift)
        return found

    slope = (values(1e-2) - values(-1e-2)) / 2e-2
    errors = [node_error(value, *bound) for value, bound in zip(values(0.0), bounds, strict=True)]
    assert sum(error != 0 for error in errors) == 2
    before = bias.item()
    pupil.learn(rows, bounds, 0.1, 8, 0)
    assert bias.item() - before == pytest.approx(0.1 * np.mean(errors * slope), rel=1e-2)


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "line"),
    [
        ("td_leaf", {"trace": 1.5}, "learner.trace=1.5 is outside 0 .. 1"),
        ("td_leaf", {"depth": 0}, "learner.depth=0 is outside 1 .. 64"),
        ("root_strap", {"depth": 65}, "learner.depth=65 is outside 1 .. 64"),
        ("root_strap", {"explore": -0.1}, "learner.explore=-0.1 is outside 0 .. 1"),
        ("root_strap", {"step_rule": "rmsprop"}, "learner.step_rule='rmsprop' is not one of"),
        ("tree_strap", {"search": "mtdf"}, "learner.search='mtdf' is not one of alphabeta, minimax"),
        ("tree_strap", {"least_depth": 3}, "learner.least_depth=3 is outside 1 .. 2"),
        ("tree_strap", {"searches": 0}, "learner.searches=0 is outside 1 .. 1,000,000"),
        ("tree_strap", {"opening": -1}, "learner.opening=-1 is outside 0 .. 1,000,000"),
        ("tree_strap", {"step_size": math.nan}, "learner.step_size=nan must be above 0"),
    ],
)
def test_knobs_that_make_no_sense(name, knobs, line):
    with pytest.raises(InputError, match=line.replace(".", r"\.")):
        make(name, **knobs)


@pytest.mark.parametrize("name", METHODS)
def test_games_and_evaluators_that_do_not_fit(name):
    with pytest.raises(InputError, match="searches games without chance; backgammon has dice"):
        make(name, start("backgammon", "default"))
    with pytest.raises(InputError, match="trains one value, not chances: "):
        make(name, start(head="classes"))
