"""The forward view for linear evaluators and n-tuples: its update against plain arithmetic, its average, its games, and
going on."""

from __future__ import annotations

import copy
import dataclasses
import io

import numpy as np
import pytest
import torch

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.learner import Learner
from deltaw.learn.learners.td_linear import LinearTD, Options, make
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.lockstep import Settings
from deltaw.learn.weights.average import EVERY, Average
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator

SHAPES = {
    "tuples": EvaluatorConfig(hidden=[], head="tanh", tuples=TuplesConfig(lines=[3], walks=2, length=4)),
    "features": EvaluatorConfig(hidden=[], head="identity"),
}


def start(kind: str, game: str = "tic_tac_toe") -> Evaluator:
    return fresh(games.load(game), games.load(game).default_features, SHAPES[kind], 3)


def learner(kind: str, backend=None, **options) -> LinearTD:
    given = {"slots": 7, "plies": 6, "step_size": 0.05, "step_size_end": 0.01, "schedule": "linear"} | options
    return make(Options(**given), start(kind), seed=5, budget=400, backend=backend or Serial())


def naive_update(evaluator: Evaluator, weight: np.ndarray, row: np.ndarray, target: float, rate: float) -> None:
    """One position, w_i <- w_i + c (G - v) dv/dw_i, with the features written out."""
    rules, spec = evaluator.game.rules, np.array(evaluator.description.spec)
    index, value = (
        np.zeros(evaluator.features.max_active, np.int32),
        np.zeros(evaluator.features.max_active, np.float32),
    )
    n = rules.features(rules.load(row), spec, index, value)
    x = np.zeros(len(weight))
    np.add.at(x, index[:n], value[:n])
    x[-1] = 1.0
    a = float(weight @ x)
    tanh = evaluator.description.head == "tanh"
    v, slope = (np.tanh(a), 1 - np.tanh(a) ** 2) if tanh else (a, 1.0)
    weight += rate * (target - v) * slope * x


@pytest.mark.parametrize("kind", SHAPES)
def test_an_update_is_the_sum_over_positions_in_their_order(kind):
    it = learner(kind, step_rule="constant", schedule="constant", step_size=0.01, explore=0.2)
    expected = it.weight.astype(float)
    for _ in range(4):
        twin = copy.copy(it.play)
        twin.slots = type(it.play.slots)(*(a.copy() for a in it.play.slots))
        batch = twin.play(Settings(5, it.options.trace, 0.2, 6))
        it.step()
        for row, target in zip(batch.rows, batch.targets[:, 0], strict=True):
            naive_update(it.start, expected, row, float(target), 0.01)
        np.testing.assert_allclose(it.weight, expected, atol=2e-6)
    assert np.abs(expected).max() > 0.005


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("rule", ["constant", "tcl", "tcl_exp"])
def test_the_same_for_any_number_of_workers(kind, rule):
    one, two = learner(kind, step_rule=rule), learner(kind, Threads(2), step_rule=rule)
    for _ in range(5):
        assert one.step() == two.step()
    np.testing.assert_array_equal(one.weight, two.weight)


@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_resumed_run_goes_on_exactly(kind, cycles):
    """Through the bytes of a checkpoint."""
    options = {"step_rule": "tcl", "average": 0.99, "cycles": cycles}
    whole, first = learner(kind, **options), learner(kind, **options)
    for _ in range(2 * EVERY + 5):
        whole.step()
    for _ in range(EVERY + 3):
        first.step()
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    second: Learner = learner(kind, **options)
    second.restore(torch.load(file, weights_only=True))
    for _ in range(EVERY + 2):
        second.step()
    assert second.games == whole.games > 50
    np.testing.assert_array_equal(second.evaluator().tensors["weight0"], whole.evaluator().tensors["weight0"])


def test_every_cycle_begins_with_the_first_step_size_and_without_memory():
    """And goes on with the weights; beyond the budget the last cycle stays at its end."""
    it = learner("tuples", step_rule="tcl", cycles=4)  # 100 games each, from 0.05 to 0.01
    cycle = 0
    while it.games < 420:
        before, total = it.weight.copy(), float(it.rule.memory[1].sum())
        rate = it.step().scalars.get("train/step_size")
        if rate is None:  # no game ended
            continue
        assert rate == pytest.approx(0.05 - 0.04 * min(it.games / 100 - min(it.games // 100, 3), 1))
        begins = min(it.games // 100, 3) > cycle
        assert (it.rule.memory[1].sum() < total) == begins
        if begins:
            assert 0 < np.abs(it.weight - before).max() < np.abs(before).max()
        cycle += begins
    assert cycle == 3


def test_the_average_is_that_of_the_definition():
    source = np.zeros(3, np.float32)
    average, expected, rng = Average(source, 0.999), np.zeros(3), np.random.default_rng(1)
    for u in range(1, 20 * EVERY + 1):
        source += rng.normal(size=3).astype(np.float32)
        average.update()
        if u % EVERY == 0:
            decay = min(0.999**EVERY, u / (u + 10 * EVERY))
            expected = decay * expected + (1 - decay) * source
    np.testing.assert_allclose(average.weight, expected, rtol=1e-4)
    assert np.abs(average.weight - source).max() > 0.1


def test_without_a_decay_the_average_is_the_weights_themselves():
    source = np.ones(3, np.float32)
    average = Average(source, 0.0)
    source[1] = 5
    average.update()
    np.testing.assert_array_equal(average.weight, source)


def test_it_learns_tic_tac_toe_from_nothing():
    """Errors of its own games fall, and random opponents lose nearly always."""
    from deltaw.search.matches.match import match
    from deltaw.search.players.find import player_of
    from deltaw.search.players.players import RandomPlayer

    it = learner("tuples", slots=32, plies=9, step_size=0.02)
    it.budget = 3000
    early = [it.step().scalars["train/td_error"] for _ in range(3)]
    while it.games < 3000:
        late = it.step().scalars["train/td_error"]
    assert late < 0.7 * max(early)
    game = it.start.game
    assert match(game, player_of(game, it.evaluator(), "it"), RandomPlayer(game), 400, 3).mean > 0.7


def test_a_draw_that_counts_as_a_loss_keeps_the_first_mover_from_settling_for_it():
    """From tic-tac-toe's start, a draw by best play, the value goes where the score of a draw is."""
    values = []
    for score in (-0.8, 0.0, 0.8):
        it = learner("tuples", slots=32, plies=9, step_size=0.02, draw_score=score)
        it.budget = 3000
        while it.games < 3000:
            it.step()
        game = it.start.game
        values.append(float(it.evaluator().values(game.row(game.rules.initial())[None])[0][0]))
    assert values[0] < -0.3 < values[1] < 0.5 < values[2]


@pytest.mark.parametrize("score", [-1.01, 2.0, float("nan")])
def test_a_score_of_draws_beyond_a_win_is_refused(score):
    with pytest.raises(InputError, match=rf"learner.draw_score={score} is outside -1 .. 1"):
        learner("tuples", draw_score=score)


def test_what_it_cannot_train_is_refused():
    classes = fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(hidden=[], head="classes"), 1)
    network = fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(hidden=[5], head="tanh"), 1)
    for evaluator, named in ((classes, "evaluator.head=classes"), (network, r"evaluator.hidden=\[5\]")):
        with pytest.raises(InputError, match=named):
            make(Options(), evaluator, seed=1, budget=10, backend=Serial())


@pytest.mark.parametrize("module", ["td_forward", "td_backward", "td_sequential"])
def test_learners_of_networks_refuse_tuples(module):
    import importlib

    chosen = importlib.import_module(f"deltaw.learn.learners.{module}")
    with pytest.raises(InputError, match="n-tuples; try learner=td_linear"):
        chosen.make(chosen.Options(), start("tuples"), seed=1, budget=10, backend=Serial())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"trace": 1.5}, "learner.trace=1.5"),
        ({"explore": -0.1}, "learner.explore=-0.1"),
        ({"average": 2.0}, "learner.average=2.0"),
        ({"slots": 0}, "learner.slots=0"),
        ({"plies": 0}, "learner.plies=0"),
        ({"schedule": "steps"}, "learner.schedule='steps'"),
        ({"step_rule": "adam"}, "learner.step_rule='adam'"),
        ({"step_size": 0.0}, "learner.step_size=0.0"),
    ],
)
def test_bad_options_are_named(changes, named):
    with pytest.raises(InputError, match=named):
        make(dataclasses.replace(Options(), **changes), start("features"), seed=1, budget=10, backend=Serial())
