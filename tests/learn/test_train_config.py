"""Configurations of training: every preset and choice is valid, and bad input is one line before anything is
written."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil

import pytest
import torch
import yaml
from training_runs import CONF, LEARNERS, assert_one_error, config, contents, start, tic_tac_toe_network

from deltaw.envs import games
from deltaw.learn import learners, train
from deltaw.learn.run.config import learner_module
from deltaw.learn.run.hydra_app import _each_value
from deltaw.search.evaluators.evaluator import save_evaluator

PRESETS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


# --- the configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_and_opens_with_its_command(name):
    run = config(f"experiment={name}")
    game = games.load(run.game.name)
    assert run.game.features in game.feature_sets
    first, second, *_ = (CONF / "experiment" / f"{name}.yaml").read_text().splitlines()
    assert first == "# @package _global_"
    assert second.startswith(f"# deltaw train experiment={name} ")


@pytest.mark.parametrize("group", ["game", "evaluator", "learner"])
def test_every_choice_of_every_group_is_valid(group):
    for path in (CONF / group).glob("*.yaml"):
        config(f"{group}={path.stem}")


def test_every_learner_has_a_yaml_with_every_knob():
    modules = {m.name for m in pkgutil.iter_modules(learners.__path__)}
    found = {n for n in modules if hasattr(importlib.import_module(f"deltaw.learn.learners.{n}"), "Options")}
    assert found == set(LEARNERS)
    for name in LEARNERS:
        knobs = {field.name for field in dataclasses.fields(learner_module(name).Options)}
        assert set(yaml.safe_load((CONF / "learner" / f"{name}.yaml").read_text())) == knobs | {"name"}


# --- bad input --------------------------------------------------------------------------------------------------------

BAD = {
    "unknown option": (["learner.tracee=1"], "learner.tracee"),
    "added option": (["+learner.tracee=1"], "tracee"),
    "unknown experiment": (["experiment=nothing"], "experiment/nothing"),
    "unknown choice": (["game=halma"], "game/halma"),
    "unknown learner": (["learner.name=config"], "'config'"),
    "no assignment": (["games"], "games"),
    "wrong type": (["learner.trace=abc"], "learner.trace: Value 'abc'"),
    "wrong type of a list": (["evaluator.hidden=[8,x]"], "'x'"),
    "trace": (["learner.trace=2"], "learner.trace=2"),
    "explore": (["learner.explore=-0.1"], "learner.explore=-0.1"),
    "slots": (["learner.slots=0"], "learner.slots=0"),
    "schedule": (["learner.schedule=steep"], "'steep'"),
    "optimizer": (["learner.optimizer=lion"], "'lion'"),
    "games": (["games=0"], "games=0"),
    "minutes": (["minutes=-1"], "minutes=-1"),
    "backend that is gone": (["backend=pool"], "backend='pool' is not one of threads, serial"),
    "workers": (["workers=-2"], "workers=-2"),
    "seed": (["seed=-1"], "seed=-1"),
    "large seed": ([f"seed={2**64}"], f"seed={2**64}"),
    "odd match": (["measure.games=21"], "measure.games=21"),
    "empty match": (["measure.final_games=0"], "measure.final_games=0"),
    "negative interval": (["measure.every=-1"], "measure.every=-1"),
    "no search": (['measure.searches=["ties=random"]'], "'ties=random' is no search; write depth=8"),
    "unknown search": (['measure.searches=["depht=8"]'], "there is no setting 'depht'"),
    "hidden": (["evaluator.hidden=[8,0]"], "evaluator.hidden[1]=0"),
    "head": (["evaluator.head=soft"], "'soft'"),
    "activation": (["evaluator.activation=gelu"], "'gelu'"),
    "game": (["game.name=halma"], "'halma'"),
    "features": (["game.features=corners"], "'corners'"),
    "opponent": (["game.opponents=[wizard]"], "'wizard'"),
    "start_from": (["start_from=absent.safetensors"], "absent.safetensors"),
    "start_from a name": (["start_from=wizard"], "'wizard'"),
    "start_from a baseline": (["start_from=open_lines"], "open_lines"),
    "device": (["learner.device=abacus"], "learner.device=abacus"),
    "device without numbers": (["learner.device=meta"], "learner.device=meta"),
    "negative step": (["learner.step_size=-1"], "learner.step_size=-1.0 must be above 0 and finite"),
    "step that is no number": (["learner.step_size=nan"], "learner.step_size=nan must be above 0 and finite"),
    "infinite step": (["learner.step_size_end=inf"], "learner.step_size_end=inf must be at least 0 and finite"),
    "minutes that are no number": (["minutes=nan"], "minutes=nan must be above 0 and finite"),
    "many slots": (["learner.slots=100000000"], "learner.slots=100000000 is outside 1 .. 65,536"),
    "many units": (["evaluator.hidden=[100000000]"], "evaluator.hidden[0]=100000000 is outside 1 .. 65,536"),
    "many weights": (["evaluator.hidden=[65536,65536]"], "evaluator.hidden=[65536, 65536] would make 4,"),
    "a knob in a knob": (
        ["learner=sparring", "evaluator=linear", "evaluator.head=tanh", "learner.partner.population=1"],
        "learner.partner.population=1 is outside 2 .. 1,000,000",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, run_main, case):
    words, named = BAD[case]
    status, err = run_main(train, "game=tic_tac_toe", *words, f"hydra.run.dir={tmp_path / 'run'}")
    assert status == 2
    assert_one_error(err, named)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flag", ["-m", "--multirun"])
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["seed=1,2", "learner.trace=0.1,2"], "learner.trace=2"),
        (["game=tic_tac_toe,halma", "seed=1,2"], "game/halma"),
        (["learner.tracee=1,2"], "learner.tracee"),
        (["evaluator.hidden=[8,0],[4]"], "evaluator.hidden[1]=0"),
    ],
)
def test_a_sweep_with_bad_input_is_one_line_and_nothing_is_written(tmp_path, run_main, flag, words, named):
    status, err = run_main(train, flag, "game=tic_tac_toe", *words, f"hydra.sweep.dir={tmp_path / 'sweep'}")
    assert status == 2
    assert_one_error(err, named)
    assert not list(tmp_path.iterdir())


def test_every_value_of_a_sweep_is_looked_at_once():
    words = ["game=nim", "seed=1,2,3", "learner.trace=0.1,0.2"]
    expected = [(1, 0.1), (2, 0.1), (3, 0.1), (1, 0.2)]
    assert _each_value(words) == [["game=nim", f"seed={s}", f"learner.trace={t}"] for s, t in expected]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("learner", ["td_forward", "td_backward"])
def test_no_gpu(tmp_path, run_main, learner):
    words = (f"learner={learner}", "learner.device=cuda", f"hydra.run.dir={tmp_path / 'run'}")
    status, err = run_main(train, *words)
    assert status == 2
    assert_one_error(err, "learner.device=cuda")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be(tmp_path, run_main):
    (tmp_path / "file").write_text("mine")
    status, err = run_main(train, f"hydra.run.dir={tmp_path / 'file' / 'run'}")
    assert status == 2
    assert_one_error(err, str(tmp_path / "file"))
    assert contents(tmp_path) == {"file": b"mine"}


def test_start_from_another_game(tmp_path, run_main):
    path = tmp_path / "other.safetensors"
    save_evaluator(tic_tac_toe_network(), path)
    status, err = run_main(train, "game=backgammon", f"start_from={path}", f"hydra.run.dir={tmp_path / 'run'}")
    assert status == 2
    assert_one_error(err, "evaluates tic_tac_toe, not backgammon")
    assert os.listdir(tmp_path) == [path.name]


def test_bad_input_in_a_process_of_its_own(tmp_path):
    for words in (["experiment=debug", "learner.tracee=1"], ["experiment=debug", "learner.trace=abc"]):
        with start(tmp_path / "run", *words) as process:
            _, err = process.communicate()
        assert process.returncode == 2
        assert_one_error(err, "learner.trace")
        assert not list(tmp_path.iterdir())
