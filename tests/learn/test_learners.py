"""What holds for every learner."""

from __future__ import annotations

import numpy as np
import pytest
from toy_games import endless_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.learner import Learner
from deltaw.learn.run.config import EvaluatorConfig, learner_module, learner_names
from deltaw.learn.run.start import fresh
from deltaw.learn.workers.backend import Serial
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator

KNOBS = {
    "td_forward": {"optimizer": "sgd", "slots": 4},
    "td_linear": {"step_rule": "constant", "slots": 4},
    "td_backward": {"slots": 2, "plies": 12},
    "td_sequential": {"plies": 50},
    "true_online": {"plies": 50},
    "dynamic": {"positions": "both"},
    "td_leaf": {"depth": 2},
    "root_strap": {"depth": 2},
    "tree_strap": {"depth": 2},
    "tree_strap with minimax": {"depth": 2, "search": "minimax"},
}
"""of every learner that moves the value of a position towards that of the next; the others know nothing but results"""

FAST = ("td_linear", "td_backward", "td_sequential", "root_strap")
CASES = [pytest.param(case, marks=() if case in FAST else pytest.mark.slow) for case in KNOBS]


def learner(name: str, start: Evaluator, **knobs) -> Learner:
    module = learner_module(name)
    return module.make(module.Options(**knobs), start, seed=1, budget=10_000_000, backend=Serial())


@pytest.mark.parametrize("name", learner_names())
def test_games_for_three_are_refused(name):
    game = games.load("tic_tac_toe_three")
    with pytest.raises(InputError, match=f"tic_tac_toe_three has 3 players; learner {name} needs a game for two"):
        learner(name, fresh(game, game.default_features, EvaluatorConfig(head="identity"), 1))


@pytest.mark.parametrize("case", CASES)
def test_a_game_that_is_broken_off_is_learned_as_a_draw(case):
    """The start says everywhere that the first player wins: nothing but the end of the game can teach otherwise."""
    game = endless_game(3)
    tensors = {"weight0": np.array([[0.8], [-0.8]]), "bias0": np.zeros(1)}
    start = make_evaluator(game, tensors, features=game.features(), head="identity")
    ours = learner(case.split()[0], start, step_size=0.1, **KNOBS[case])
    for _ in range(100):
        ours.step()
    assert abs(ours.evaluator().opinion(game.rules.initial()).value) < 0.1
    assert start.opinion(game.rules.initial()).value == pytest.approx(0.8), "the start itself must not change"
