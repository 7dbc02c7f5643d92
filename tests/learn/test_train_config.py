"""Configurations of training: every preset and choice is valid, and bad input is one line before anything is
written."""

from __future__ import annotations

import copy
import os

import pytest
import torch
from hydra.core.config_store import ConfigStore
from training_runs import (
    CONF,
    LEARNERS,
    NEEDS,
    PRESETS,
    assert_one_error,
    config,
    contents,
    curve,
    equal,
    final,
    start,
    tic_tac_toe_network,
)

from deltaw.learn import train
from deltaw.learn.run.config import learner_module
from deltaw.learn.run.hydra_app import _each_value
from deltaw.learn.train import Run
from deltaw.search.evaluators.evaluator import load_evaluator, save_evaluator

# --- the configuration ------------------------------------------------------------------------------------------------


def test_every_preset_opens_with_its_command():
    for group in ("experiment", "debug", "hparams_search"):
        for path in (CONF / group).glob("*.yaml"):
            first, second, *_ = path.read_text().splitlines()
            assert first == "# @package _global_"
            assert second.startswith("# deltaw train ")
            assert f" {group}={path.stem} " in second


@pytest.mark.parametrize("group", ["game", "evaluator", "debug"])
def test_every_choice_of_every_group_is_valid(group):
    for path in (CONF / group).glob("*.yaml"):
        config(f"{group}={path.stem}")


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_defaults_of_a_learner_are_those_of_its_options(learner):
    name, options = config(f"learner={learner}").learner
    assert name == learner
    assert options == learner_module(learner).Options()


def test_every_game_is_measured_by_the_last_of_its_opponents():
    against = {path.stem: config(f"game={path.stem}").measure.against for path in (CONF / "game").glob("*.yaml")}
    assert against == {
        "backgammon": "pubeval", "connect_four": "points_2", "othello": "positional", "tic_tac_toe": "open_lines",
        "nim": "nim_sum", "tic_tac_toe_three": "shares", "chess": "material", "checkers": "material",
        "trees": "random", "trees_chance": "random", "trees_three": "random",
    }  # fmt: skip
    assert config("game=nim", "measure.against=parity").measure.against == "parity"
    assert config("game.opponents=[]").measure.against is None


QUICK = {"debug", "tic_tac_toe", "connect_four_td", "connect_four_levels", "backgammon_linear", "othello_sparring"}
"""presets that need few kernels of their own; the others run in `make test-all`"""
STARTS = {"connect_four_dynamic": ("start_from=linear",)}
"""a shipped evaluator in the place of another preset's"""


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in PRESETS])
def test_every_preset_runs(tmp_path, name):
    """With a small budget, and what makes its learner quick."""
    if name == "backgammon_cma":
        pytest.importorskip("cma")
    small = ("debug=default", "measure.every=0", "measure.games=4", "measure.final_games=4", "workers=1")
    words = (f"experiment={name}", *small, *STARTS.get(name, ()))
    quick = [word for word in NEEDS.get(config(*words).learner[0], ()) if word.startswith("learner.")]
    assert Run(config(*words, *quick), tmp_path).go() == 0
    first = load_evaluator(tmp_path / "past" / "games_000000000.safetensors")
    assert not equal(final(tmp_path), first.tensors)
    assert max(record["games"] for record in curve(tmp_path)) >= 300


# --- bad input --------------------------------------------------------------------------------------------------------

BAD = {
    "unknown option": (["learner.tracee=1"], "learner.tracee"),
    "added option": (["+learner.tracee=1"], "tracee"),
    "unknown experiment": (["experiment=nothing"], f"there is no experiment=nothing; there are: {', '.join(PRESETS)}"),
    "unknown choice": (["game=halma"], "there is no game=halma; there are: backgammon, checkers,"),
    "no choice": (["learner=null"], "Config group override must be a string or a list"),
    "a preset of another learner": (
        ["experiment=tic_tac_toe", "learner=evolution"],
        "In 'experiment/tic_tac_toe': learner.trace is no setting; there are: name, population,",
    ),
    "a setting of n-tuples": (
        ["evaluator.tuples.walks=3"],
        "evaluator.tuples is null: its settings need evaluator=ntuple",
    ),
    "unknown launcher": (["hydra/launcher=spaceship"], "there is no hydra/launcher=spaceship; there are: basic"),
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
    "against": (["measure.against=perfect"], "measure.against='perfect' is none of game.opponents: random, open_lines"),
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
        (["game=tic_tac_toe,halma", "seed=1,2"], "game=halma"),
        (["learner.trace=interval(0.5,1.5)"], "learner.trace=1.5"),
        (["learner.tracee=1,2"], "learner.tracee"),
        (["evaluator.hidden=[8,0],[4]"], "evaluator.hidden[1]=0"),
    ],
)
def test_a_sweep_with_bad_input_is_one_line_and_nothing_is_written(tmp_path, run_main, flag, words, named):
    status, err = run_main(train, flag, "game=tic_tac_toe", *words, f"hydra.sweep.dir={tmp_path / 'sweep'}")
    assert status == 2
    assert_one_error(err, named)
    assert not list(tmp_path.iterdir())


def test_a_sweep_that_a_preset_describes_is_looked_at_too(tmp_path, run_main, monkeypatch):
    store = ConfigStore.instance()
    monkeypatch.setattr(store, "repo", copy.deepcopy(store.repo))
    sweep = {"mode": "MULTIRUN", "sweeper": {"params": {"learner.trace": "0.5,2"}}}
    store.store("traces", {"hydra": sweep}, group="hparams_search", package="_global_")
    words = ("game=tic_tac_toe", "hparams_search=traces", "seed=1,2")
    status, err = run_main(train, *words, f"hydra.sweep.dir={tmp_path / 'sweep'}")
    assert status == 2
    assert_one_error(err, "learner.trace=2")
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
