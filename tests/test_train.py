"""Training runs: what they write, that they go on exactly after any end, and that bad input is one line before anything is written.

The debug preset runs in processes of its own where a signal ends it; everything else runs here, mostly on tic-tac-toe.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import importlib
import itertools
import json
import multiprocessing
import os
import pkgutil
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from conftest import ROOT
from hydra import compose, initialize_config_module
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

import learn
from envs import games
from envs.errors import InputError
from learn import export, train
from learn.checkpoint import load_checkpoint, save_checkpoint
from learn.config import RunConfig, checked, learner_module
from learn.hydra_app import _each_value
from learn.networks import Network, network_of
from learn.strength import MEASURE_SEED
from learn.td_forward import ForwardTD
from learn.train import Run
from learn.verify import Agreement, played
from search.arena import match
from search.evaluator import Evaluator, load_evaluator, save_evaluator
from search.inputs import inputs_of
from search.onnx_file import load_onnx
from search.players import EvaluatorPlayer, RandomPlayer, find_player

CONF = ROOT / "conf"
PRESETS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
LEARNERS = sorted(path.stem for path in (CONF / "learner").glob("*.yaml"))
SMALL = ("game=tic_tac_toe", "evaluator.hidden=[8]", "workers=1", "measure.games=20", "measure.final_games=20")
DEBUG = ("experiment=debug", "workers=1", "games=1500", "measure.every=500", "checkpoint_minutes=0.0005")
"""the debug preset, a little longer, and with a checkpoint after almost every step"""


LINEAR = ("evaluator=linear", "evaluator.hidden=[]", "evaluator.head=tanh")
SEARCHED = (*LINEAR, "learner.depth=2", "learner.searches=4", "learner.batch=16")
TEAM = (*LINEAR, "game.features=cells", "learner.teams=4")
NEEDS: dict[str, tuple[str, ...]] = {
    "automata_continuous": TEAM,
    "automata_discrete": (*TEAM, "learner.algorithm=lri", "learner.step_size=0.5"),
    "dynamic": (*LINEAR, "learner.pairs=2"),
    "evolution": (*LINEAR, "learner.population=6", "learner.elites=2", "learner.rounds=[4]"),
    "root_strap": SEARCHED,
    "td_leaf": SEARCHED,
    "td_linear": (*LINEAR, "learner.slots=16"),
    "tree_strap": SEARCHED,
    "true_online": (*LINEAR, "evaluator.head=identity", "learner.plies=11"),
}
"""what a learner needs to be tried on tic-tac-toe with a small step: an evaluator that it can train, and little work; the others train any"""


def config(*overrides: str) -> RunConfig:
    with initialize_config_module("conf", version_base="1.3"):
        return checked(compose("train", overrides=list(overrides)))


def small(*overrides: str) -> RunConfig:
    return config(*SMALL, *overrides)


def final(folder: Path) -> dict[str, np.ndarray]:
    return load_evaluator(folder / "evaluator.safetensors").tensors


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    """To the bit."""
    return a.keys() == b.keys() and all(np.array_equal(t, b[name]) for name, t in a.items())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def start(folder: Path, *overrides: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "learn.train", *overrides, f"hydra.run.dir={folder}"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_and_wait_for_checkpoint(folder: Path) -> subprocess.Popen:
    process = start(folder, *DEBUG)
    while not (folder / "checkpoint.pt").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    return process


@pytest.fixture
def run_main(monkeypatch, capsys):
    """run_main(module, *overrides) -> (exit status, standard error) of `python -m module`, in this process."""

    def call(module, *overrides: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [module.__name__, *overrides])
        try:
            module.main()
        except SystemExit as end:
            return int(end.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return call


@pytest.fixture(scope="module")
def debug_run(tmp_path_factory) -> tuple[Path, str]:
    """The folder of an undisturbed debug run, and what it printed."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    process = start(folder, *DEBUG)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return folder, out


# --- the configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_and_opens_with_its_command(name):
    run = config(f"experiment={name}")
    game = games.load(run.game.name)
    assert run.game.features in game.feature_sets
    first, second, *_ = (CONF / "experiment" / f"{name}.yaml").read_text().splitlines()
    assert first == "# @package _global_"
    assert second.startswith(f"# python -m learn.train experiment={name} ")


@pytest.mark.parametrize("group", ["game", "evaluator", "learner"])
def test_every_choice_of_every_group_is_valid(group):
    for path in (CONF / group).glob("*.yaml"):
        config(f"{group}={path.stem}")


def test_every_learner_has_a_yaml_with_every_knob():
    modules = {m.name for m in pkgutil.iter_modules(learn.__path__)}
    found = {n for n in modules if hasattr(importlib.import_module(f"learn.{n}"), "Options")}
    assert found == set(LEARNERS)
    for name in LEARNERS:
        knobs = {field.name for field in dataclasses.fields(learner_module(name).Options)}
        assert set(yaml.safe_load((CONF / "learner" / f"{name}.yaml").read_text())) == knobs | {"name"}


# --- what a run writes ------------------------------------------------------------------------------------------------


def test_a_run_writes_its_files(debug_run):
    folder, out = debug_run
    names = {f.name for f in folder.iterdir() if not f.name.startswith("events.")}
    evaluators = {"best.safetensors", "evaluator.safetensors", "past"}
    assert names == {".hydra", "checkpoint.pt", "strength.jsonl"} | evaluators
    evaluator = load_evaluator(folder / "evaluator.safetensors")
    assert evaluator.description.sizes[1:-1] == (16,)
    assert evaluator.description.trained["games"] >= 1500
    assert load_checkpoint(folder / "checkpoint.pt")["learner"]["counts"][0] == evaluator.description.trained["games"]
    assert "pubeval" in out
    for command in ("search.play", "search.analyze", "tensorboard --logdir"):
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
    process = start_and_wait_for_checkpoint(folder)
    time.sleep(random.uniform(0.0, 0.25))
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "killed before it ended by itself"
    games_then = load_checkpoint(folder / "checkpoint.pt")["learner"]["counts"][0]
    assert games_then < 1500
    again = start(folder, *DEBUG)
    _, err = again.communicate()
    assert again.returncode == 0, err
    assert f"at {games_then:,} games" in err
    assert equal(final(folder), final(debug_run[0])), f"killed after {games_then} games"
    assert curve(folder) == curve(debug_run[0])


def curve(folder: Path) -> list[dict]:
    """The strength curve without its clock."""
    return [json.loads(line) | {"seconds": 0} for line in (folder / "strength.jsonl").read_text().splitlines()]


def test_ctrl_c_saves_and_says_how_to_go_on(debug_run, tmp_path):
    folder = tmp_path / "a run"
    process = start_and_wait_for_checkpoint(folder)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    command = err.split("To go on:\n")[1].strip()
    python, *words = shlex.split(command)
    assert python == "python"
    again = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert equal(final(folder), final(debug_run[0]))


def test_a_finished_run_stays_as_it_is(tmp_path):
    run = small("games=100", "learner.slots=16", "measure.every=50")
    assert Run(run, tmp_path).go() == 0
    weights, measured = final(tmp_path), curve(tmp_path)
    assert Run(run, tmp_path).go() == 0
    assert equal(final(tmp_path), weights)
    assert curve(tmp_path) == measured


def test_the_games_are_the_same_for_any_number_of_workers(tmp_path):
    tensors = []
    for words in (["workers=1"], ["workers=2"], ["workers=5"], ["backend=serial"], ["backend=pool", "workers=2"]):
        run = Run(small("learner.slots=13", "learner.explore=0.2", *words), tmp_path)
        for _ in range(15):
            run.learner.step()
        tensors.append(run.learner.evaluator().tensors)
        run.backend.close()
    assert all(equal(tensors[0], others) for others in tensors[1:])


def test_a_run_in_processes_is_the_same_and_ends_them(tmp_path):
    words = ("games=100", "learner.slots=13", "measure.every=50")
    run = Run(small(*words, "backend=pool", "workers=2"), tmp_path / "pool")
    assert run.go() == 0
    assert not [child for child in multiprocessing.active_children() if child.name == "deltaw worker"]
    assert Run(small(*words, "backend=serial"), tmp_path / "serial").go() == 0
    assert equal(final(tmp_path / "pool"), final(tmp_path / "serial"))
    assert curve(tmp_path / "pool") == curve(tmp_path / "serial")


def test_a_resume_may_change_workers_and_minutes_only(tmp_path):
    Run(small("games=50", "learner.slots=16"), tmp_path).go()
    other = ("workers=2", "backend=serial", "minutes=9", "checkpoint_minutes=5")
    Run(small("games=50", "learner.slots=16", *other), tmp_path).checkpoint()
    with pytest.raises(InputError, match=r"games: 50 then, 60 now"):
        Run(small("games=60", "learner.slots=16"), tmp_path).checkpoint()


def test_the_best_evaluator_is_kept_also_after_a_resume(tmp_path):
    run = Run(small("games=200", "learner.slots=16", "learner.step_size=0.05", "measure.every=40"), tmp_path)
    assert run.go() == 0
    points = [record for record in curve(tmp_path) if record["opponent"] == "random"]
    assert len(points) > 4
    strongest = max(points, key=lambda record: record["ppg"])
    best = load_evaluator(tmp_path / "best.safetensors")
    assert best.description.trained["games"] == strongest["games"]
    assert run.best.games == strongest["games"]
    again = Run(run.config, tmp_path)
    assert again.go() == 0
    assert again.best == run.best
    assert equal(load_evaluator(tmp_path / "best.safetensors").tensors, best.tensors)


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
    """The best evaluator is the strongest on the average of both, and every number is that of the match it stands for."""
    searches = 'measure.searches=["depth=3,ties=random"]'
    words = (
        "evaluator=linear",
        "games=150",
        "learner.slots=16",
        "measure.every=50",
        "measure.past=1",
        "measure.noise=0.2",
    )
    run = Run(small(*words, searches), tmp_path)
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


# --- training that goes wrong -----------------------------------------------------------------------------------------


def assert_one_error(err: str, named: str) -> None:
    lines = [line for line in err.splitlines() if not re.match(r" *[\d,]+ games", line)]  # measurements
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert named in lines[0]


def test_nan_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    update, updates = ForwardTD._update, []

    def poisoned(self, batch):
        scalars = update(self, batch)
        updates.append(self.games)
        if len(updates) == 6:
            with torch.no_grad():
                self.network.layers[0].weight[0, 0] = float("nan")
        return scalars

    monkeypatch.setattr(ForwardTD, "_update", poisoned)
    run = small("games=500", "learner.slots=16", "checkpoint_minutes=0")
    kept = r"checkpoint.pt; the best evaluator so far is .*best.safetensors \(random .* after 0 games\)"
    with pytest.raises(InputError, match=rf"the weights after {updates[5:] or '.*'} games.*{kept}"):
        Run(run, tmp_path).go()
    assert load_checkpoint(tmp_path / "checkpoint.pt")["learner"]["counts"][0] == updates[4]
    assert all(np.isfinite(t).all() for t in final(tmp_path).values())


DIVERGING = ("td_backward", "td_forward", "td_sequential", "true_online")


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_wild_step_size(tmp_path, learner):
    """It is refused, or stops the run where nothing bounds the weights; whatever the method, what is kept has finite weights."""
    if not hasattr(learner_module(learner).Options, "step_size"):
        pytest.skip("it has no step size")
    sgd = ("learner.optimizer=sgd",) if learner == "td_forward" else ()
    words = (f"learner={learner}", *NEEDS.get(learner, ()), "learner.step_size=1e30")
    run = small("games=3000" if learner in DIVERGING else "games=100", "checkpoint_minutes=0", *words, *sgd)
    said = ""
    try:
        Run(run, tmp_path).go()
    except InputError as error:
        said = str(error)
    if said.startswith("learner.step_size=1e+30 must be"):
        return
    if said or learner in DIVERGING:
        assert re.search(r"diverged: .* after \d+ games; .*best.safetensors \(random .*step_size", said)
    assert all(np.isfinite(t).all() for t in final(tmp_path).values())
    assert all(np.isfinite(t).all() for t in load_evaluator(tmp_path / "best.safetensors").tensors.values())


def test_divergence_is_one_line_and_exit_status_2(tmp_path, run_main):
    words = [*SMALL, "learner.optimizer=sgd", "learner.step_size=1e30", f"hydra.run.dir={tmp_path / 'run'}"]
    status, err = run_main(train, *words)
    assert status == 2
    assert_one_error(err, "training diverged")


@pytest.mark.parametrize("last", [3, 8, 13])
def test_a_full_disk_leaves_a_checkpoint_to_go_on_from(tmp_path, monkeypatch, last):
    """Every write after the first `last` fails: of checkpoints, evaluators, past selves and the curve."""
    run = small("games=120", "learner.slots=16", "measure.every=50", "checkpoint_minutes=0")
    with monkeypatch.context() as patch:
        fsync, writes = os.fsync, []

        def full(descriptor):
            writes.append(descriptor)
            if len(writes) > last:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(descriptor)

        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"cannot write .*No space left on device$"):
            Run(run, tmp_path / "run").go()
    assert not [name for name in contents(tmp_path) if "/." in name], "no half-written files"
    if last > 5:
        assert load_checkpoint(tmp_path / "run" / "checkpoint.pt")["learner"]["counts"][0] < 120
    assert Run(run, tmp_path / "run").go() == 0
    assert Run(run, tmp_path / "undisturbed").go() == 0
    assert equal(final(tmp_path / "run"), final(tmp_path / "undisturbed"))
    assert curve(tmp_path / "run") == curve(tmp_path / "undisturbed")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_disk_that_fills_up_under_tensorboard(tmp_path, monkeypatch, capfd):
    write, writes = RecordWriter.write, []

    def full(self, data):
        writes.append(len(data))
        if len(writes) > 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, data)

    monkeypatch.setattr(RecordWriter, "write", full)
    run = small("games=800", "learner.slots=16", "measure.every=100", "checkpoint_minutes=0", "log_every=1")
    with pytest.raises(InputError, match=r"cannot write to .*No space left on device$"):
        Run(run, tmp_path).go()
    assert "Traceback" not in capfd.readouterr().err
    assert load_checkpoint(tmp_path / "checkpoint.pt")["learner"]["counts"][0] < 800


def test_damaged_checkpoints_are_one_line(tmp_path):
    run = small("games=30", "learner.slots=16")
    Run(run, tmp_path).go()
    path = tmp_path / "checkpoint.pt"
    data, dice = path.read_bytes(), np.random.default_rng(3)
    damaged = [data[: len(data) // 2], data[:-1], b"", dice.bytes(500), b"\x80\x02" + dice.bytes(200)]
    for number in range(40):  # the pickled part is where an unpickler may stumble
        broken = bytearray(data)
        broken[dice.integers(3000)] ^= int(dice.integers(1, 256))
        damaged.append(bytes(broken))
        assert len(damaged) == number + 6
    refused = 0
    for broken in damaged:
        path.write_bytes(broken)
        with contextlib.suppress(InputError):
            load_checkpoint(path)
            continue
        refused += 1
    assert refused > 10


def test_a_file_that_is_no_checkpoint_of_ours(tmp_path):
    for stranger in ({"weights": torch.zeros(2)}, torch.zeros(3), {"version": 99, "settings": {}, "learner": {}}):
        torch.save(stranger, tmp_path / "checkpoint.pt")
        with pytest.raises(InputError, match=r"no checkpoint|version 99"):
            load_checkpoint(tmp_path / "checkpoint.pt")


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
    "workers": (["workers=-2"], "workers=-2"),
    "seed": (["seed=-1"], "seed=-1"),
    "large seed": ([f"seed={2**64}"], f"seed={2**64}"),
    "odd match": (["measure.games=21"], "measure.games=21"),
    "empty match": (["measure.final_games=0"], "measure.final_games=0"),
    "negative interval": (["measure.every=-1"], "measure.every=-1"),
    "no search": (['measure.searches=["ties=random"]'], "'ties=random' is no search; write depth=8"),
    "unknown search": (['measure.searches=["depht=8"]'], "there is no setting 'depht'"),
    "hidden": (["evaluator.hidden=[8,0]"], "evaluator.hidden=[8, 0]"),
    "head": (["evaluator.head=soft"], "'soft'"),
    "activation": (["evaluator.activation=gelu"], "'gelu'"),
    "game": (["game.name=halma"], "'halma'"),
    "features": (["game.features=corners"], "'corners'"),
    "opponent": (["game.opponents=[wizard]"], "'wizard'"),
    "start_from": (["start_from=absent.safetensors"], "absent.safetensors"),
    "start_from a name": (["start_from=wizard"], "'wizard'"),
    "start_from a baseline": (["start_from=open_lines"], "open_lines"),
    "device": (["learner.device=abacus"], "learner.device=abacus"),
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
        (["evaluator.hidden=[8,0],[4]"], "evaluator.hidden=[8, 0]"),
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
        process = start(tmp_path / "run", *words)
        _, err = process.communicate()
        assert process.returncode == 2
        assert_one_error(err, "learner.trace")
        assert not list(tmp_path.iterdir())


# --- learning ---------------------------------------------------------------------------------------------------------


def tic_tac_toe_network(hidden: tuple[int, ...] = (5,), head: str = "tanh") -> Evaluator:
    game = games.load("tic_tac_toe")
    network = Network(game, game.features("cells"), list(hidden), head, "sigmoid")
    network.initialize(9)
    return network.evaluator({"method": "none"})


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
    monkeypatch.setattr("search.named.shipped", lambda game: {"sage": tmp_path / "start.safetensors"})
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
    """Against random play: 0 by playing at random, +0.3 to +0.7 by an untrained evaluator, which sees a win of its own; ± 0.03."""
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
    monkeypatch.setattr(export, "agreement", lambda *_: Agreement(2000, 0.01, 9000, 0))
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
