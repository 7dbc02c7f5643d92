"""Training that goes wrong: weights that diverge, disks that fill up, damaged checkpoints.

Whatever happens, one line says it, and the last good checkpoint is there to go on from.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re

import numpy as np
import pytest
import torch
from tensorboard.summary.writer.record_writer import RecordWriter
from training_runs import LEARNERS, NEEDS, SMALL, assert_one_error, contents, curve, equal, final, small

from deltaw.envs.errors import InputError
from deltaw.learn import train
from deltaw.learn.run.checkpoint import load_checkpoint
from deltaw.learn.run.config import learner_module
from deltaw.learn.selfplay.forward import ForwardTD
from deltaw.learn.train import Run
from deltaw.search.evaluators.evaluator import load_evaluator


def test_nan_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    update, updates = ForwardTD._update, []

    def poisoned(self, batch):
        scalars = update(self, batch)
        updates.append(self.games)
        if len(updates) == 6:
            with torch.no_grad():
                self.updater.network.layers[0].weight[0, 0] = float("nan")
        return scalars

    monkeypatch.setattr(ForwardTD, "_update", poisoned)
    run = small("games=500", "learner.slots=16", "checkpoint_minutes=0")
    kept = r"checkpoint.pt; the best evaluator so far is .*best.safetensors \(open_lines .* after 0 games\)"
    with pytest.raises(InputError, match=rf"the weights after {updates[5:] or '.*'} games.*{kept}"):
        Run(run, tmp_path).go()
    assert load_checkpoint(tmp_path / "checkpoint.pt")["learner"]["counts"][0] == updates[4]
    assert all(np.isfinite(t).all() for t in final(tmp_path).values())


DIVERGING = ("td_backward", "td_forward", "td_sequential", "true_online")


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_wild_step_size(tmp_path, learner):
    """It is refused, or stops the run where nothing bounds the weights; whatever the method, what is kept has finite
    weights."""
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
        assert re.search(r"diverged: .* after \d+ games; .*best.safetensors \(open_lines .*step_size", said)
    assert all(np.isfinite(t).all() for t in final(tmp_path).values())
    assert all(np.isfinite(t).all() for t in load_evaluator(tmp_path / "best.safetensors").tensors.values())


def test_divergence_is_one_line_and_exit_status_2(tmp_path, run_main):
    words = [*SMALL, "learner.optimizer=sgd", "learner.step_size=1e30", f"hydra.run.dir={tmp_path / 'run'}"]
    status, err = run_main(train, *words)
    assert status == 2
    assert_one_error(err, "training diverged")


def test_memory_that_runs_out_is_one_line(tmp_path, run_main, monkeypatch):
    def greedy(self):
        raise MemoryError("Unable to allocate 4.00 TiB")

    monkeypatch.setattr(ForwardTD, "step", greedy)
    status, err = run_main(train, *SMALL, f"hydra.run.dir={tmp_path / 'run'}")
    assert status == 2
    assert_one_error(err, "there is not enough memory: Unable to allocate 4.00 TiB")


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
    assert [name for name in contents(tmp_path) if "/." in name] == ["run/.lock"], "no half-written files"
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
