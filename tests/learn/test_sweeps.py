"""Sweeps: a run that fails is not the end of the others, every run returns its strength, and Optuna and joblib are
served."""

from __future__ import annotations

import pstats
import subprocess
import sys
from typing import Any, ClassVar

import pytest
import yaml
from command_lines import LONGEST
from hydra.experimental.callback import Callback
from training_runs import SMALL, curve

from deltaw.learn import train

QUICK = (*SMALL, "games=50", "learner.slots=16", "learner.optimizer=sgd")


class Noted(Callback):
    """What the jobs of a sweep returned."""

    jobs: ClassVar[list[tuple[str, Any]]] = []

    def on_job_end(self, job_return, **_):
        self.jobs.append((job_return.status.name, job_return._return_value))


def test_a_diverged_run_of_a_sweep_is_a_failed_job_and_the_others_return_their_strength(tmp_path, run_main):
    words = (*QUICK, "learner.step_size=0.01,1e30,0.02")
    noted = f"+hydra.callbacks.noted._target_={__name__}.Noted"
    Noted.jobs.clear()
    status, err = run_main(train, "-m", *words, noted, f"hydra.sweep.dir={tmp_path}")
    assert status == 1
    assert "Traceback" not in err
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: job 1 failed: training diverged: NaN")
    assert [status for status, _ in Noted.jobs] == ["COMPLETED", "FAILED", "COMPLETED"]
    for number in (0, 2):
        last = curve(tmp_path / str(number))[-1]
        assert last["opponent"] == "open_lines"
        assert Noted.jobs[number][1] == pytest.approx(last["ppg"], abs=1e-4)


def test_joblib_runs_them_in_processes_of_their_own(tmp_path):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    words = (*QUICK, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "seed=1,2", "learner.step_size=0.01,1e30")
    command = [sys.executable, "-m", "deltaw.learn.train", "-m", *words, f"hydra.sweep.dir={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 1
    assert sorted(line[:20] for line in done.stderr.splitlines() if line.startswith("error: ")) == [
        "error: job 1 failed:",
        "error: job 3 failed:",
    ]
    assert curve(tmp_path / "0") != curve(tmp_path / "2")


def test_optuna_maximises_the_strength_and_goes_on_where_it_was_stopped(tmp_path, run_main):
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    words = (*QUICK, "hparams_search=optuna", "hydra.sweeper.n_trials=5", "hydra.sweeper.sampler.n_startup_trials=2")
    words = (*words, "learner.step_size=choice(0.01,0.03,1e30)", f"hydra.sweep.dir={tmp_path}")
    status, err = run_main(train, *words)
    assert status == 0
    failed = [number for number in range(5) if f"error: job {number} failed: training diverged" in err]
    assert 0 < len(failed) < 5
    strengths = [curve(tmp_path / str(number))[-1]["ppg"] for number in range(5) if number not in failed]
    found = yaml.safe_load((tmp_path / "optimization_results.yaml").read_text())
    assert found["best_value"] == pytest.approx(max(strengths), abs=1e-4)
    assert found["best_params"]["learner.step_size"] in (0.01, 0.03)
    (tmp_path / "optimization_results.yaml").unlink()
    status, err = run_main(train, *words)
    assert status == 0
    assert err.count("going on from") == 5
    assert yaml.safe_load((tmp_path / "optimization_results.yaml").read_text()) == found


def test_debug_profile_says_where_the_time_went(tmp_path, run_main):
    status, _ = run_main(train, *SMALL, "games=50", "learner.slots=16", "debug=profile", f"hydra.run.dir={tmp_path}")
    assert status == 0
    functions = {name for _, _, name in pstats.Stats(str(tmp_path / "profile.prof")).stats}
    assert {"_measure", "step", "_update"} <= functions
