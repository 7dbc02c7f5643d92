"""What runs learn, and how they measure it: the best evaluator, searches beside one ply, fine-tuning, tic-tac-toe."""

from __future__ import annotations

import itertools

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training_runs import LEARNERS, NEEDS, curve, equal, final, small, tic_tac_toe_network

from deltaw.learn import export, train
from deltaw.learn.run.checkpoint import load_checkpoint, save_checkpoint
from deltaw.learn.run.strength import MEASURE_SEED, Strength
from deltaw.learn.train import Run
from deltaw.search.arena import match
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, save_evaluator
from deltaw.search.players.find import find_player
from deltaw.search.players.players import EvaluatorPlayer, RandomPlayer

# --- measuring --------------------------------------------------------------------------------------------------------


def test_the_best_evaluator_is_kept_also_after_a_resume(tmp_path):
    run = Run(small("games=200", "learner.slots=16", "learner.step_size=0.05", "measure.every=40"), tmp_path)
    assert run.go() == 0
    points = [record for record in curve(tmp_path) if record["opponent"] == "open_lines"]
    assert len(points) > 4
    strongest = max(points, key=lambda record: record["ppg"])
    best = load_evaluator(tmp_path / "best.safetensors")
    assert best.description.trained["games"] == strongest["games"]
    assert run.best.games == strongest["games"]
    again = Run(run.config, tmp_path)
    assert again.go() == 0
    assert again.best == run.best
    assert equal(load_evaluator(tmp_path / "best.safetensors").tensors, best.tensors)


def test_the_best_evaluator_is_chosen_by_the_opponent_that_can_tell(tmp_path, monkeypatch):
    """Everything beats random play from the first measurement on."""
    points = itertools.count()

    def measured(*_):
        return [Strength("random", 1.0, 0.0, 20), Strength("open_lines", next(points) / 10, 0.1, 20)]

    monkeypatch.setattr(train, "measure", measured)
    words = ("games=100", "learner.slots=16", "measure.every=40", "measure.past=0")
    run = Run(small(*words), tmp_path / "last")
    assert run.go() == 0
    last = load_evaluator(tmp_path / "last" / "best.safetensors")
    assert last.description.trained["games"] == run.best.games == run.learner.games
    assert run.headline(run.strengths) == run.best.strength == ("open_lines", (next(points) - 1) / 10, 0.1, 20)
    run = Run(small(*words, "measure.against=random"), tmp_path / "named")
    assert run.go() == 0
    assert run.best == (0, ("random", 1.0, 0.0, 20))
    run = Run(small(*words, "game.opponents=[]"), tmp_path / "nobody")
    monkeypatch.setattr(train, "measure", lambda *_: [])
    assert run.go() == 0
    assert run.headline(run.strengths) is None


def test_a_best_evaluator_that_another_opponent_chose_does_not_count(tmp_path):
    """Earlier versions compared by the first opponent, and a checkpoint of theirs goes on."""
    run = small("games=50", "learner.slots=16")
    assert Run(run, tmp_path).go() == 0
    state = load_checkpoint(tmp_path / "checkpoint.pt")
    save_checkpoint(tmp_path / "checkpoint.pt", state | {"best": [0, ("random", 1.0, 0.0, 20)]})
    again = Run(run, tmp_path)
    assert again.go() == 0
    assert again.best.strength.opponent == "open_lines"


def test_measurements_are_made_as_asked_for(tmp_path, monkeypatch):
    wanted, seen = train.measure, []

    def noted(*arguments):
        how = arguments[-1]
        seen.append((how.noise, how.first_only))
        return wanted(*arguments)

    monkeypatch.setattr(train, "measure", noted)
    assert Run(small("games=50", "learner.slots=16", "measure.noise=0.25"), tmp_path / "noisy").go() == 0
    assert seen == [(0.25, False)] * 2
    assert Run(small("games=50", "learner.slots=16", "measure.first_only=true"), tmp_path / "first").go() == 0
    assert seen[2:] == [(0.0, True)] * 2
    assert Run(small("games=50", "learner.slots=16"), tmp_path / "quiet").go() == 0
    assert curve(tmp_path / "noisy")[0] != curve(tmp_path / "quiet")[0] != curve(tmp_path / "first")[0]


def test_searches_are_measured_beside_one_ply(tmp_path):
    """The best evaluator is the strongest on the average of both, and every number is that of the match it stands
    for."""
    searches = 'measure.searches=["depth=3,ties=random"]'
    words = (
        "evaluator=linear",
        "games=150",
        "learner.slots=16",
        "measure.every=50",
        "measure.past=1",
        "measure.noise=0.2",
    )
    run = Run(small(*words, searches, "measure.against=random"), tmp_path)
    assert run.go() == 0
    records = curve(tmp_path)
    names = {record["opponent"] for record in records}
    assert names == {
        base + way for base in ("random", "open_lines", "past_1_2") for way in ("", "_depth_3_ties_random")
    }
    shallow = {record["games"]: record["ppg"] for record in records if record["opponent"] == "random"}
    deep = {record["games"]: record["ppg"] for record in records if record["opponent"] == "random_depth_3_ties_random"}
    assert shallow.keys() == deep.keys()
    assert shallow != deep
    both = {number: (shallow[number] + deep[number]) / 2 for number in shallow}
    assert run.best.games == max(both, key=lambda number: both[number])
    assert run.best.strength.ppg == pytest.approx(both[run.best.games], abs=1e-4)
    assert run.best.strength.opponent == "random and random_depth_3_ties_random"
    player = find_player(run.game, f"{tmp_path / 'evaluator.safetensors'}@depth=3,ties=random", threads=1)
    result = match(run.game, player, RandomPlayer(run.game), 20, MEASURE_SEED, noise=0.2)
    assert deep[max(deep)] == pytest.approx(result.mean, abs=1e-4)
    curves = EventAccumulator(str(tmp_path)).Reload().Tags()["scalars"]
    assert "strength/open_lines_depth_3_ties_random" in curves


# --- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
def test_fine_tuning_starts_with_the_weights_of_the_file(tmp_path, learner):
    head = "identity" if learner == "true_online" else "tanh"
    evaluator = tic_tac_toe_network(() if learner in NEEDS else (5,), head)
    save_evaluator(evaluator, tmp_path / "start.safetensors")
    words = (f"learner={learner}", *NEEDS.get(learner, ()), "games=600")
    run = Run(small(*words, f"start_from={tmp_path / 'start.safetensors'}"), tmp_path / "run")
    begun = run.learner.evaluator()
    assert equal(begun.tensors, evaluator.tensors)
    shape = ("features", "sizes", "head", "activation")
    assert all(getattr(begun.description, name) == getattr(evaluator.description, name) for name in shape)
    assert run.go() == 0
    assert not equal(final(tmp_path / "run"), evaluator.tensors)
    assert equal(export.evaluator_of_run(tmp_path / "run").tensors, final(tmp_path / "run"))


def test_a_shipped_evaluator_is_fine_tuned_by_its_name(tmp_path, monkeypatch):
    save_evaluator(tic_tac_toe_network(), tmp_path / "start.safetensors")
    monkeypatch.setattr("deltaw.search.evaluators.named.shipped", lambda game: {"sage": tmp_path / "start.safetensors"})
    assert Run(small("games=600", "start_from=sage"), tmp_path / "run").go() == 0
    assert final(tmp_path / "run")["weight0"].shape == (18, 5)
    assert equal(export.evaluator_of_run(tmp_path / "run").tensors, final(tmp_path / "run"))


LESSONS = {
    "network": ("learner.slots=32", "learner.step_size=0.01"),
    "linear": ("learner.slots=32", "learner.step_size=0.01", "evaluator.hidden=[]"),
    "sequential": ("learner=td_sequential", "learner.step_size=0.1"),
    "backward, linear": (
        "learner=td_backward",
        "learner.slots=4",
        "learner.step_size=0.05",
        "evaluator.hidden=[]",
        "games=500",
    ),
}


@pytest.mark.parametrize("lesson", LESSONS)
def test_tic_tac_toe_is_learned(tmp_path, lesson):
    """Against random play: 0 by playing at random, +0.3 to +0.7 by an untrained evaluator, which sees a win of its own;
    ± 0.03."""
    learner = Run(small("games=2000", "seed=2", "learner.explore=0.1", *LESSONS[lesson]), tmp_path).learner
    untrained = against_random(learner.evaluator())
    while learner.games < learner.budget:
        learner.step()
    trained = against_random(learner.evaluator())
    assert trained > 0.7
    assert trained > untrained + 0.1


def against_random(evaluator: Evaluator) -> float:
    player = EvaluatorPlayer(evaluator.game, evaluator.leaf, "evaluator", threads=1)
    return match(evaluator.game, player, RandomPlayer(evaluator.game), 400, 5, threads=1).mean
