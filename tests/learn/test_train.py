"""Training runs: what they write, that they go on exactly after any end, and what is exported of them.

The debug preset runs in processes of its own where a signal ends it; everything else runs here, mostly on tic-tac-toe.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from conftest import ROOT
from game_names import mostly_slow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from training_runs import LEARNERS, NEEDS, SMALL, assert_one_error, contents, curve, equal, final, small, start

from deltaw.envs import games
from deltaw.envs.control import SIGNALS
from deltaw.envs.errors import InputError
from deltaw.learn import export, train
from deltaw.learn.exports.verify import Agreement, played
from deltaw.learn.run.checkpoint import load_checkpoint, locked, save_checkpoint
from deltaw.learn.run.strength import measure
from deltaw.learn.train import Run
from deltaw.learn.weights.networks import network_of
from deltaw.search.evaluators.evaluator import load_evaluator
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.onnx_file import load_onnx

DEBUG = ("experiment=debug", "workers=1", "games=1500", "measure.every=500", "checkpoint_minutes=0.0005")
"""the debug preset, a little longer, and with a checkpoint after almost every step"""


@contextlib.contextmanager
def started_with_checkpoint(folder: Path) -> Iterator[subprocess.Popen]:
    """A debug run that has saved for the first time."""
    with start(folder, *DEBUG) as process:
        while not (folder / "checkpoint.pt").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.002)
        yield process


@pytest.fixture(scope="module")
def debug_run(tmp_path_factory) -> tuple[Path, str]:
    """The folder of an undisturbed debug run, and what it printed."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    with start(folder, *DEBUG) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return folder, out


# --- what a run writes ------------------------------------------------------------------------------------------------


def test_a_run_writes_its_files(debug_run):
    folder, out = debug_run
    names = {f.name for f in folder.iterdir() if not f.name.startswith("events.")}
    evaluators = {"best.safetensors", "evaluator.safetensors", "past"}
    assert names == {".hydra", ".lock", "checkpoint.pt", "strength.jsonl"} | evaluators
    evaluator = load_evaluator(folder / "evaluator.safetensors")
    assert evaluator.description.sizes[1:-1] == (16,)
    assert evaluator.description.trained["games"] >= 1500
    assert load_checkpoint(folder / "checkpoint.pt")["learner"]["counts"][0] == evaluator.description.trained["games"]
    assert "pubeval" in out
    for command in ("deltaw play backgammon", "deltaw analyze backgammon", "tensorboard --logdir"):
        assert command in out


def test_the_strength_curve(debug_run):
    records = [json.loads(line) for line in (debug_run[0] / "strength.jsonl").read_text().splitlines()]
    points = [record["games"] for record in records if record["opponent"] == "pubeval"]
    assert points[0] == 0
    assert points[-1] >= 1500
    assert all(500 <= later - earlier < 600 for earlier, later in itertools.pairwise(points[:-1]))
    assert {record["opponent"] for record in records} == {"pubeval", "past_1_2"}
    assert all(-3 <= record["ppg"] <= 3 and record["match_games"] == 20 for record in records)


def test_the_tensorboard_events(debug_run):
    folder, _ = debug_run
    events = EventAccumulator(str(folder), dict.fromkeys(("scalars", "images", "histograms", "tensors"), 0)).Reload()
    tags = events.Tags()
    curves = {f"strength/{name}{end}" for name in ("pubeval", "past_1_2") for end in ("", "_low", "_high")}
    speeds = {"speed/games", "speed/positions"}
    assert curves | speeds | {"train/td_error", "train/loss", "final/pubeval"} <= set(tags["scalars"])
    records = [json.loads(line) for line in (folder / "strength.jsonl").read_text().splitlines()]
    points = [(r["games"], r["ppg"]) for r in records if r["opponent"] == "pubeval"]
    assert [(e.step, round(e.value, 4)) for e in events.Scalars("strength/pubeval")] == points
    labels = {f"probes/{label.replace(' ', '_')}" for label, _ in games.load("backgammon").probes}
    assert labels
    assert labels | {"sample/reliability"} == set(tags["images"])
    assert {f"weights/{t}{k}" for t in ("weight", "bias") for k in (0, 1)} <= set(tags["histograms"])
    assert_texts(folder, events)


def assert_texts(folder: Path, events: EventAccumulator) -> None:
    """The resolved configuration, the layout of the strength charts, and the settings beside the result."""
    text = events.Tensors("configuration/text_summary")[0].tensor_proto.string_val[0].decode()
    shown = yaml.safe_load(text.removeprefix("```yaml\n").removesuffix("```"))
    assert shown == load_checkpoint(folder / "checkpoint.pt")["settings"]
    layout = events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    assert b"strength/pubeval_low" in layout
    session = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    settings = plugin_data_pb2.HParamsPluginData.FromString(session).session_start_info.hparams
    assert settings["games"].number_value == 1500
    assert settings["learner.name"].string_value == "td_forward"


# --- going on exactly -------------------------------------------------------------------------------------------------

VARIANTS = {
    "td_forward": ("learner=td_forward", "learner.slots=16", "learner.explore=0.1"),
    "td_forward, average, sgd": ("learner.average=0.9", "learner.optimizer=sgd", "learner.slots=3", "learner.plies=7"),
    "td_forward, one slot": ("learner.slots=1", "learner.plies=4", "evaluator.head=tanh"),
    "td_backward": ("learner=td_backward", "learner.slots=3", "learner.plies=4", "learner.explore=0.1"),
    "td_sequential": ("learner=td_sequential", "learner.plies=11", "learner.explore=0.1"),
    "td_sequential, linear": (
        "learner=td_sequential",
        "evaluator=linear",
        "evaluator.head=identity",
        "learner.plies=4",
    ),
}

VARIANTS |= {name: (f"learner={name}", *needs) for name, needs in NEEDS.items()}


def test_every_learner_is_among_the_variants():
    assert {small(*overrides).learner[0] for overrides in VARIANTS.values()} == set(LEARNERS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_interrupted_after_any_step_the_weights_are_the_same(tmp_path, variant):
    run = small(*VARIANTS[variant], "games=60")
    undisturbed, learner = Run(run, tmp_path).learner, Run(run, tmp_path).learner
    for _ in range(12):
        save_checkpoint(tmp_path / "checkpoint.pt", {"settings": {}, "learner": learner.state()})
        learner = Run(run, tmp_path / "elsewhere").learner
        learner.restore(load_checkpoint(tmp_path / "checkpoint.pt")["learner"])
        expected, metrics = undisturbed.step(), learner.step()
        assert metrics[:2] == expected[:2]
        assert equal(learner.evaluator().tensors, undisturbed.evaluator().tensors)
    assert learner.games > 3
    assert not equal(learner.evaluator().tensors, Run(run, tmp_path / "elsewhere").learner.evaluator().tensors)


def test_killed_at_any_moment_the_same_command_ends_the_same(debug_run, tmp_path):
    folder = tmp_path / "run"
    with started_with_checkpoint(folder) as process:
        time.sleep(random.uniform(0.0, 0.25))
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL, "killed before it ended by itself"
    games_then = load_checkpoint(folder / "checkpoint.pt")["learner"]["counts"][0]
    assert games_then < 1500
    with start(folder, *DEBUG) as again:
        _, err = again.communicate()
    assert again.returncode == 0, err
    assert f"at {games_then:,} games" in err
    assert equal(final(folder), final(debug_run[0])), f"killed after {games_then} games"
    assert curve(folder) == curve(debug_run[0])


@pytest.mark.parametrize("number", mostly_slow(SIGNALS, [signal.SIGINT]))
def test_ctrl_c_and_sigterm_save_and_say_how_to_go_on(debug_run, tmp_path, number):
    folder = tmp_path / "a run"
    with started_with_checkpoint(folder) as process:
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    command = err.split("To go on:\n")[1].strip()
    again = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert equal(final(folder), final(debug_run[0]))


@pytest.mark.parametrize("number", SIGNALS)
def test_a_measurement_that_was_stopped_is_made_again(tmp_path, run_main, monkeypatch, number):
    """A signal stops searches in the middle: what they play then is not the evaluator's strength."""
    monkeypatch.chdir(tmp_path)
    words = (*SMALL, "games=100", "learner.slots=16", "measure.every=40")
    for stopped in (1, 2, 3, 4):  # the first, two in between, the last
        calls = itertools.count(1)

        def measured(*arguments, calls=calls, stopped=stopped):
            results = measure(*arguments)
            if next(calls) == stopped:
                signal.raise_signal(number)
                return [result._replace(ppg=9.0) for result in results]  # of searches that were stopped
            return results

        with monkeypatch.context() as patch:
            patch.setattr(train, "measure", measured)
            status, err = run_main(train, *words, f"hydra.run.dir={stopped}")
            assert status == 128 + number
            assert "To go on:" in err
        assert run_main(train, *words, f"hydra.run.dir={stopped}")[0] == 0
    assert run_main(train, *words, "hydra.run.dir=whole")[0] == 0
    for stopped in (1, 2, 3, 4):
        assert equal(final(tmp_path / str(stopped)), final(tmp_path / "whole"))
        assert curve(tmp_path / str(stopped)) == curve(tmp_path / "whole")


def test_a_second_process_in_the_same_folder_is_refused(tmp_path):
    folder = tmp_path / "run"
    with locked(folder):
        before = contents(folder)
        with start(folder, *DEBUG) as process:
            _, err = process.communicate()
    assert process.returncode == 2
    assert_one_error(err, f"{folder} is in use by another process")
    assert contents(folder) == before


def test_what_a_killed_run_left_half_written_is_removed(tmp_path):
    drafts = [tmp_path / ".checkpoint.pt.123", tmp_path / "past" / ".games_000000040.safetensors.9"]
    mine = tmp_path / ".notes.txt"
    (tmp_path / "past").mkdir()
    for file in (*drafts, mine):
        file.write_text("half")
    assert Run(small("games=30", "learner.slots=16"), tmp_path).go() == 0
    assert mine.exists()
    assert not any(file.exists() for file in drafts)


def test_a_finished_run_stays_as_it_is(tmp_path):
    run = small("games=100", "learner.slots=16", "measure.every=50")
    assert Run(run, tmp_path).go() == 0
    weights, measured = final(tmp_path), curve(tmp_path)
    assert Run(run, tmp_path).go() == 0
    assert equal(final(tmp_path), weights)
    assert curve(tmp_path) == measured


def test_the_games_are_the_same_for_any_number_of_workers(tmp_path):
    tensors = []
    for words in (["workers=1"], ["workers=2"], ["workers=5"], ["backend=serial"]):
        run = Run(small("learner.slots=13", "learner.explore=0.2", *words), tmp_path)
        for _ in range(15):
            run.learner.step()
        tensors.append(run.learner.evaluator().tensors)
        run.backend.close()
    assert all(equal(tensors[0], others) for others in tensors[1:])


def test_a_resume_may_change_workers_and_minutes_only(tmp_path):
    Run(small("games=50", "learner.slots=16"), tmp_path).go()
    other = ("workers=2", "backend=serial", "minutes=9", "checkpoint_minutes=5")
    Run(small("games=50", "learner.slots=16", *other), tmp_path).checkpoint()
    with pytest.raises(InputError, match=r"games: 50 then, 60 now"):
        Run(small("games=60", "learner.slots=16"), tmp_path).checkpoint()


def test_a_checkpoint_of_a_version_that_had_fewer_knobs_goes_on(tmp_path):
    """Only while the new ones keep their defaults; a knob that is gone is named."""
    words = ("games=50", "learner.slots=16")
    Run(small(*words), tmp_path).go()
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    del state["settings"]["learner"]["average"], state["settings"]["measure"]["noise"]
    torch.save(state, tmp_path / "checkpoint.pt")
    Run(small(*words), tmp_path).checkpoint()
    with pytest.raises(InputError, match=r"learner.average: 0.0 then, 0.5 now; measure.noise: 0.0 then, 0.1 now"):
        Run(small(*words, "learner.average=0.5", "measure.noise=0.1"), tmp_path).checkpoint()
    state["settings"]["learner"]["gone"] = 3
    torch.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(InputError, match=r"learner.gone: 3 then, None now"):
        Run(small(*words), tmp_path).checkpoint()


def test_a_checkpoint_whose_backend_is_gone_goes_on_and_is_exported(tmp_path):
    """It never changed a result."""
    words = ("games=50", "learner.slots=16")
    Run(small(*words), tmp_path).go()
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    state["settings"]["backend"] = "pool"
    del state["settings"]["learner"]["average"]
    torch.save(state, tmp_path / "checkpoint.pt")
    assert equal(export.evaluator_of_run(tmp_path).tensors, final(tmp_path))
    assert Run(small(*words), tmp_path).checkpoint() is not None


def test_another_configuration_does_not_go_on(debug_run, run_main):
    folder, _ = debug_run
    before = contents(folder)
    status, err = run_main(train, *DEBUG, "learner.trace=0.1", "seed=2", f"hydra.run.dir={folder}")
    assert status == 2
    assert_one_error(err, "learner.trace: 0.6 then, 0.1 now")
    assert "seed: 1 then, 2 now" in err
    assert contents(folder) == before


def test_histories_have_room_for_one_call(tmp_path):
    """However many positions a call plays, and however short the games were when a checkpoint was made."""
    learner = Run(small("learner.slots=2", "learner.plies=700"), tmp_path).learner
    learner.step()
    assert learner.play.slots.rows.shape[1] > 700
    other = Run(small("learner.slots=2", "learner.plies=700"), tmp_path).learner
    save_checkpoint(tmp_path / "checkpoint.pt", {"settings": {}, "learner": learner.state()})
    other.restore(load_checkpoint(tmp_path / "checkpoint.pt")["learner"])
    other.step()
    assert other.play.slots.rows.shape[1] > 700


# --- export -----------------------------------------------------------------------------------------------------------


def test_export_writes_what_the_run_learned(debug_run, tmp_path, run_main, monkeypatch):
    folder, _ = debug_run
    monkeypatch.chdir(tmp_path)
    assert run_main(export, f"run={folder}", "to=my.safetensors", "golden=0")[0] == 0
    assert contents(tmp_path) == {"my.safetensors": (folder / "evaluator.safetensors").read_bytes()}
    assert run_main(export, f"run={folder}", "to=my.safetensors", "+note.minutes=12")[0] == 0
    noted = load_evaluator("my.safetensors")
    assert noted.description.trained["minutes"] == 12
    assert equal(noted.tensors, final(folder))


def test_export_says_what_it_wrote(debug_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["export", f"run={debug_run[0]}", f"to={tmp_path / 'my.safetensors'}"])
    monkeypatch.chdir(tmp_path)
    export.main()
    out = capsys.readouterr().out
    assert str(tmp_path / "my.safetensors") in out
    assert float(re.search(r"equal the trained ones to ([\d.e-]+)", out)[1]) < 1e-6


def test_export_to_onnx_computes_what_the_trainer_computes(debug_run, tmp_path, run_main, monkeypatch):
    """onnxruntime against the torch module of the run, on 1,000 positions of its games."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    assert run_main(export, f"run={debug_run[0]}", "to=x.onnx") == (0, "")
    trained = export.evaluator_of_run(debug_run[0])
    rows = played(trained, 1000).rows
    with torch.no_grad():
        x = torch.from_numpy(inputs_of(trained.game, trained.features, rows))
        expected = network_of(trained).values(x).numpy()
    assert np.abs(load_onnx("x.onnx").values(rows)[0] - expected).max() < 1e-6


def test_export_refuses_a_file_that_differs(debug_run, tmp_path, run_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deltaw.learn.exports.export.agreement", lambda *_: Agreement(2000, 0.01, 9000, 0))
    status, err = run_main(export, f"run={debug_run[0]}", "to=my.safetensors")
    assert status == 2
    assert_one_error(err, "differ from what was trained by 0.01")
    assert not contents(tmp_path)


EXPORTS = {
    "no run": (["to=x.safetensors"], "run=FOLDER_OF_A_RUN"),
    "no target": (["run={run}"], "to=FILE"),
    "not a run": (["run={empty}", "to=x.safetensors"], "there is no checkpoint"),
    "unwritable": (["run={run}", "to={run}/strength.jsonl/x.safetensors"], "cannot write"),
    "no file name": (["run={run}", "to=/"], "to=/ must end in .safetensors"),
    "positions": (["run={run}", "to=x.safetensors", "positions=0"], "positions=0"),
    "positions that are none": (["run={run}", "to=x.safetensors", "positions=many"], "positions=many"),
    "note": (["run={run}", "to=x.safetensors", "note=hello"], "note=hello"),
    "unknown option": (["run={run}", "too=x.safetensors"], "too"),
}


@pytest.mark.parametrize("case", EXPORTS)
def test_export_of_bad_input_is_one_line(debug_run, tmp_path, run_main, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    before = contents(debug_run[0])
    words, named = EXPORTS[case]
    status, err = run_main(export, *(word.format(run=debug_run[0], empty=tmp_path) for word in words))
    assert status == 2
    assert_one_error(err, named)
    assert not list(tmp_path.iterdir())
    assert contents(debug_run[0]) == before
