"""The forward view, of linear evaluators, n-tuples and networks: its update against plain arithmetic, its average, its
games, and going on."""

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
from deltaw.learn.learners import td_forward, td_linear
from deltaw.learn.learners.td_forward import loss_of
from deltaw.learn.learners.td_linear import Options, make
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.forward import ForwardTD
from deltaw.learn.selfplay.lockstep import Batch, Settings, dense
from deltaw.learn.weights.average import EVERY, Average
from deltaw.learn.weights.networks import network_of
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator

SHAPES = {
    "tuples": EvaluatorConfig(hidden=[], head="tanh", tuples=TuplesConfig(lines=[3], walks=2, length=4)),
    "features": EvaluatorConfig(hidden=[], head="identity"),
    "network": EvaluatorConfig(hidden=[8], head="tanh"),
}
LINEAR = ("tuples", "features")


def start(kind: str, game: str = "tic_tac_toe") -> Evaluator:
    return fresh(games.load(game), games.load(game).default_features, SHAPES[kind], 3)


def learner(kind: str, backend=None, **options) -> ForwardTD:
    given = {"slots": 7, "plies": 6, "step_size": 0.05, "step_size_end": 0.01, "schedule": "linear"} | options
    module = td_forward if kind == "network" else td_linear
    return module.make(module.Options(**given), start(kind), seed=5, budget=400, backend=backend or Serial())


def next_batch(it: ForwardTD, explore: float, draw_score: float = 0.0) -> Batch:
    """What the learner will learn from in its next step."""
    twin = copy.copy(it.play)
    twin.slots = type(it.play.slots)(*(a.copy() for a in it.play.slots))
    return twin.play(Settings(5, it.options.trace, explore, 6, draw_score))


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


@pytest.mark.parametrize("kind", LINEAR)
def test_an_update_is_the_sum_over_positions_in_their_order(kind):
    it = learner(kind, step_rule="constant", schedule="constant", step_size=0.01, explore=0.2)
    expected = it.updater.weight.astype(float)
    for _ in range(4):
        batch = next_batch(it, 0.2)
        it.step()
        for row, target in zip(batch.rows, batch.targets[:, 0], strict=True):
            naive_update(it.updater.start, expected, row, float(target), 0.01)
        np.testing.assert_allclose(it.updater.weight, expected, atol=2e-6)
    assert np.abs(expected).max() > 0.005


def test_an_update_of_a_network_is_one_step_down_its_loss():
    """With draws that count for the second player."""
    it = learner("network", optimizer="sgd", schedule="constant", step_size=0.1, explore=0.2, draw_score=-0.5)
    expected, drawn = network_of(start("network")), 0
    for _ in range(8):
        batch = next_batch(it, 0.2, -0.5)
        it.step()
        if not len(batch.rows):
            continue
        drawn += int((batch.results == 0).sum())
        x = torch.from_numpy(dense(expected.game, expected.features, batch.rows))
        slopes = torch.autograd.grad(loss_of(expected, x, torch.from_numpy(batch.targets)), list(expected.parameters()))
        with torch.no_grad():
            for parameter, slope in zip(expected.parameters(), slopes, strict=True):
                parameter -= 0.1 * slope
        for name, tensor in it.evaluator().tensors.items():
            np.testing.assert_allclose(tensor, expected.tensors()[name], rtol=1e-4, atol=1e-6)
    assert drawn > 0


@pytest.mark.parametrize(
    ("kind", "options"),
    [(kind, {"step_rule": rule}) for kind in LINEAR for rule in ("constant", "tcl", "tcl_exp")] + [("network", {})],
)
def test_the_same_for_any_number_of_workers(kind, options):
    one, two = learner(kind, **options), learner(kind, Threads(2), **options)
    for _ in range(5):
        assert one.step() == two.step()
    for name, tensor in one.evaluator().tensors.items():
        np.testing.assert_array_equal(tensor, two.evaluator().tensors[name])


@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_resumed_run_goes_on_exactly(kind, cycles):
    """Through the bytes of a checkpoint."""
    options = {"average": 0.99, "cycles": cycles} | ({"step_rule": "tcl"} if kind in LINEAR else {})
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


def remembered(it: ForwardTD) -> float:
    """A sum over the updates of this cycle."""
    if isinstance(it.updater, td_linear.LinearUpdater):
        return float(it.updater.rule.memory[1].sum())
    return max((float(kept["step"]) for kept in it.updater.optimizer.state.values()), default=0.0)


@pytest.mark.parametrize("kind", ["tuples", "network"])
def test_every_cycle_begins_with_the_first_step_size_and_without_memory(kind):
    """And goes on with the weights; beyond the budget the last cycle stays at its end."""
    it = learner(kind, cycles=4, **({"step_rule": "tcl"} if kind == "tuples" else {}))  # 100 games each, 0.05 to 0.01
    cycle = 0
    while it.games < 420:
        before, total = it.evaluator().tensors["weight0"], remembered(it)
        rate = it.step().scalars.get("train/step_size")
        if rate is None:  # no game ended
            continue
        assert rate == pytest.approx(0.05 - 0.04 * min(it.games / 100 - min(it.games // 100, 3), 1))
        begins = min(it.games // 100, 3) > cycle
        assert (remembered(it) < total) == begins
        if begins:
            assert 0 < np.abs(it.evaluator().tensors["weight0"] - before).max() < np.abs(before).max()
        cycle += begins
    assert cycle == 3


@pytest.mark.parametrize("every", [1, EVERY])
def test_the_average_is_that_of_the_definition(every):
    source = torch.zeros(3)
    average, expected, rng = Average({"w": source}, 0.999, every), np.zeros(3), np.random.default_rng(1)
    for u in range(1, 20 * every + 1):
        source += torch.from_numpy(rng.normal(size=3)).float()
        average.update()
        if u % every == 0:
            decay = min(0.999**every, u / (u + 10 * every))
            expected = decay * expected + (1 - decay) * source.numpy()
    np.testing.assert_allclose(average.weights["w"], expected, rtol=1e-4)
    assert (average.weights["w"] - source).abs().max() > 0.1


def test_without_a_decay_the_average_is_the_weights_themselves():
    source = torch.ones(3)
    average = Average({"w": source}, 0.0)
    source[1] = 5
    average.update()
    assert (average.weights["w"] == source).all()


def test_a_restored_average_is_where_the_weights_are():
    """A checkpoint is read onto the CPU, and the weights may be on a device."""
    average = Average({"w": torch.zeros(3, device="meta")}, 0.9)
    average.restore({"w": torch.ones(3)})
    average.update()
    assert average.weights["w"].device.type == "meta"


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
    game = it.play.game
    assert match(game, player_of(game, it.evaluator(), "it"), RandomPlayer(game), 400, 3).mean > 0.7


def test_a_draw_that_counts_as_a_loss_keeps_the_first_mover_from_settling_for_it():
    """From tic-tac-toe's start, a draw by best play, the value goes where the score of a draw is."""
    values = []
    for score in (-0.8, 0.0, 0.8):
        it = learner("tuples", slots=32, plies=9, step_size=0.02, draw_score=score)
        it.budget = 3000
        while it.games < 3000:
            it.step()
        game = it.play.game
        values.append(float(it.evaluator().values(game.row(game.rules.initial())[None])[0][0]))
    assert values[0] < -0.3 < values[1] < 0.5 < values[2]


@pytest.mark.parametrize("score", [-1.01, 2.0, float("nan")])
def test_a_score_of_draws_beyond_a_win_is_refused(score):
    with pytest.raises(InputError, match=rf"learner.draw_score={score} is outside -1 .. 1"):
        learner("tuples", draw_score=score)


def test_a_score_of_draws_is_refused_where_draws_are_an_outcome():
    classes = fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(hidden=[5], head="classes"), 1)
    with pytest.raises(InputError, match=r"learner.draw_score=-0.5 means nothing for evaluator.head=classes"):
        td_forward.make(td_forward.Options(draw_score=-0.5), classes, seed=1, budget=10, backend=Serial())


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
