"""Backends: the same results everywhere, whatever dies.

Workers die by `os._exit` or SIGKILL, as they do when memory is short. The jobs are in `backend_jobs.py`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import backend_jobs as jobs
import numpy as np
import pytest
from conftest import ROOT
from toy_games import random_evaluator

from envs import games
from envs.errors import InputError
from envs.trees import Max, Min, forest_game
from learn import backend as backends
from learn.backend import BACKENDS, DEATHS, Backend, Pool, Serial, Threads, make_backend
from learn.selfplay import Batch, SelfPlay, Settings, new_slots, stack
from search.leaf import Leaf


@pytest.fixture(scope="module")
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


@pytest.fixture(params=BACKENDS)
def backend(request, pool):
    return {"pool": pool, "threads": Threads(3), "serial": Serial()}[request.param]


# --- jobs and results -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_results_are_in_the_order_of_the_jobs(backend, number):
    assert backend.map(jobs.squared_late, list(range(number))) == [k * k for k in range(number)]


def test_an_exception_is_itself_and_that_of_the_first_job(backend):
    with pytest.raises(InputError) as caught:
        backend.map(jobs.failing, [1, 2, 3, 4, 5])
    assert str(caught.value) == "3 is unlucky"
    with pytest.raises(EOFError) as other:
        backend.map(jobs.failing, [6, 1])
    assert str(other.value) == "the end of some file"
    assert backend.map(jobs.squared, [7, 8, 9]) == [49, 64, 81]


def test_what_cannot_be_sent_is_an_error_and_the_pool_goes_on(pool):
    with pytest.raises(RuntimeError, match="Picky: fivesix"):
        pool.map(jobs.failing, [1, 5])
    with pytest.raises(Exception, match="lambda"):
        pool.map(jobs.lambda_of, [1, 2])
    with pytest.raises(Exception, match="lambda"):
        pool.map(jobs.squared, [1, lambda: 2, 3])
    assert pool.map(jobs.squared, [7, 8, 9]) == [49, 64, 81]


def test_an_error_of_a_worker_shows_where(pool):
    with pytest.raises(InputError) as caught:
        pool.map(jobs.failing, [4])
    assert "in failing" in "".join(caught.value.__notes__)


def test_jobs_run_in_as_many_processes_as_asked_for(pool):
    first = set(pool.map(jobs.process, range(20)))
    assert os.getpid() not in first
    assert len(first) <= 2
    assert first >= set(pool.map(jobs.process, range(20)))


def test_games_and_kernels_travel_by_name(backend):
    game = games.load("tic_tac_toe")
    evaluator = random_evaluator(game, 4)
    here = jobs.value_of((game, evaluator.leaf))
    assert here != 0.0
    assert backend.map(jobs.value_of, [(game, evaluator.leaf)] * 2) == [here, here]


def test_a_game_that_nobody_else_can_find(pool):
    own = forest_game("my_own_tree", "A tree", {"mine": Max([Min([3, 12]), Min([2, 4])])})
    with pytest.raises(InputError, match=r"'my_own_tree' is no file of envs/games.*backend=threads"):
        pool.map(jobs.value_of, [(own, random_evaluator(games.load("nim"), 1).leaf)])


def test_backends_by_name():
    assert isinstance(make_backend("threads", 1), Serial)
    assert isinstance(make_backend("serial", 4), Serial)
    for name in BACKENDS:
        made: Backend = make_backend(name, 2)
        assert made.workers == (1 if name == "serial" else 2)
        made.close()


# --- workers that die -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_worker_that_dies_is_replaced_and_its_job_repeated(pool, tmp_path, capfd, how):
    tasks = [jobs.Fragile(k, DEATHS - 1 if k == 2 else k % 2, str(tmp_path), how) for k in range(5)]
    assert pool.map(jobs.fragile, tasks) == [0, 1, 4, 9, 16]
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 4
    ending = "killed by SIGKILL" if how == "kill" else "exit status 3"
    assert all(line.startswith(f"a worker was lost, {ending}; job ") for line in lines)
    assert sum("job 3 of 5 of fragile" in line for line in lines) == 2


def test_a_job_that_kills_every_worker_is_named(pool, tmp_path):
    tasks = [jobs.Fragile(k, DEATHS if k == 1 else 0, str(tmp_path)) for k in range(3)]
    with pytest.raises(
        InputError, match=rf"^job 2 of 3 of fragile has cost {DEATHS} workers, the last killed by SIGKILL"
    ):
        pool.map(jobs.fragile, tasks)
    assert pool.map(jobs.squared, [7, 8, 9]) == [49, 64, 81]


def test_a_worker_that_died_between_two_calls(pool):
    for number in set(pool.map(jobs.process, range(20))):
        os.kill(number, signal.SIGKILL)
    assert pool.map(jobs.squared, [7, 8, 9]) == [49, 64, 81]


def test_an_interrupted_call_leaves_nothing_to_the_next(pool):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            pool.map(jobs.sleep, [30.0, 30.0, 30.0])
        assert time.monotonic() - began < 20.0, "the workers were not waited for"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert pool.map(jobs.squared, [7, 8, 9]) == [49, 64, 81]


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import backend_jobs as jobs
import numpy as np
from learn.backend import Pool
if __name__ == "__main__":
    pool = Pool(2)
    shared = pool.share([np.zeros(100)])
    print(*sorted(set(pool.map(jobs.process, range(50)))), *pool._files.folders, flush=True)
    pool.map(jobs.sleep, [60.0, 60.0, 60.0])
"""


@pytest.fixture
def script(tmp_path):
    """A process of its own group whose pool is at work: (process, its workers, its folders of shared values)."""
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.format(tests=str(ROOT / "tests")))
    command = [sys.executable, str(file)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    words = process.stdout.readline().split()
    time.sleep(0.2)
    workers = [int(word) for word in words if word.isdigit()]
    folders = [Path(word) for word in words if not word.isdigit()]
    assert workers, process.communicate()
    assert all(folder.exists() for folder in folders)
    yield process, workers, folders
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def assert_gone(workers: list[int], folders: list[Path]) -> None:
    patience = time.monotonic() + 20.0
    while time.monotonic() < patience and (any(map(alive, workers)) or any(f.exists() for f in folders)):
        time.sleep(0.02)
    assert not [number for number in workers if alive(number)]
    assert not [folder for folder in folders if folder.exists()]


def alive(number: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(script, number):
    process, workers, folders = script
    process.send_signal(number)
    process.wait()
    assert_gone(workers, folders)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_ctrl_c_is_the_parents_to_answer(script):
    process, workers, folders = script
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert err.count("Traceback") == 1, err
    assert err.strip().endswith("KeyboardInterrupt")
    assert_gone(workers, folders)


# --- shared values ----------------------------------------------------------------------------------------------------

ARRAYS = (
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.zeros((2, 0)),
    np.array([1 << 62, -5]),
    np.arange(24.0).reshape(4, 6)[:, ::2],
    np.array(3, np.int8),
)


def test_a_shared_value_is_the_same_everywhere(backend):
    handle = backend.share(ARRAYS)
    for seen in backend.map(jobs.describe, [handle] * 3):
        for (kind, shape, _, writeable, values), array in zip(seen, ARRAYS, strict=True):
            assert (kind, shape, values) == (str(array.dtype), array.shape, array.tolist())
            assert writeable
        assert [entry[2] for entry in seen][:3] == [True, True, True]


@pytest.mark.parametrize("value", [(), (np.zeros(0),), (np.zeros((0, 5)), np.zeros(0, np.int64))])
def test_shared_values_without_a_byte(pool, value):
    expected = [[(str(a.dtype), a.shape, True, True, a.tolist()) for a in value]]
    assert pool.map(jobs.describe, [pool.share(value)]) == expected


def test_a_shared_value_is_sent_once_and_is_the_workers_own(pool):
    weights = np.ones(1_000_000)
    handle = pool.share((weights,))
    assert len(ForkingPickler.dumps(handle)) < 2000
    assert pool.map(jobs.scribble, [handle, handle]) == [-1e6, -1e6]
    assert weights.min() == 1.0


def test_the_file_of_a_shared_value_lives_as_long_as_its_handle():
    pool = Pool(1)
    handle = pool.share((np.ones(10),))
    files = [path for folder in pool._files.folders for path in Path(folder).iterdir()]
    assert len(files) == 1
    newer = pool.share((np.full(10, 2.0),))
    assert pool.map(jobs.scribble, [handle]) == [-10.0]
    del handle
    assert not files[0].exists()
    assert pool.map(jobs.describe, [newer])[0][0][-1] == [2.0] * 10
    folders = [Path(folder) for folder in pool._files.folders]
    pool.close()
    assert not [folder for folder in folders if folder.exists()]


def test_memory_without_room_for_a_shared_value(monkeypatch):
    """A container's /dev/shm is small by default: the disk is next."""
    pool, write, tried = Pool(1), backends._write, []

    def full(path, parts):
        tried.append(path)
        if len(tried) in (1, 3, 4):
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, parts)

    monkeypatch.setattr(backends, "_write", full)
    if len(pool._files.folders) < 2:
        pytest.skip("there is one place only")
    assert pool.map(jobs.describe, [pool.share((np.ones(2),))])[0][0][-1] == [1.0, 1.0]
    with pytest.raises(InputError, match="No space left on device"):
        pool.share((np.ones(2),))
    assert not [path for path in tried if path.exists()]
    pool.close()


# --- self-play --------------------------------------------------------------------------------------------------------


def engine(name: str, backend: Backend) -> SelfPlay:
    """11 slots, and a population of two evaluators that play both seats."""
    game = games.load(name)
    leaves = [random_evaluator(game, seed).leaf for seed in (1, 2)]
    leaf = Leaf(leaves[0].evaluate, stack([leaf.weights for leaf in leaves]))
    assign = np.array([[k % 2, (k // 2) % 2] for k in range(11)])
    return SelfPlay(game, leaf, new_slots(game, len(leaf.weights.outcomes), 11, capacity=8), assign, backend)


def played(engine: SelfPlay, calls: int) -> list[Batch]:
    """Some calls, with other weights after each."""
    batches = []
    for _ in range(calls):
        batches.append(engine.play(Settings(seed=5, trace=0.7, explore=0.1, plies=6)))
        engine.leaf.weights.first[...] *= 0.9
    return batches


def assert_same(one: SelfPlay, other: SelfPlay, calls: int) -> None:
    """To the bit: what ended and what goes on."""
    for a, b in zip(played(one, calls), played(other, calls), strict=True):
        for x, y in zip(a, b, strict=True):
            assert np.array_equal(x, y)
    assert np.array_equal(one.slots.game, other.slots.game)
    assert np.array_equal(one.slots.ply, other.slots.ply)
    for slot, ply in enumerate(one.slots.ply):
        for x, y in zip(one.slots[2:], other.slots[2:], strict=True):
            assert np.array_equal(x[slot, :ply], y[slot, :ply])


@pytest.mark.parametrize("name", ["tic_tac_toe", "backgammon"])
def test_self_play_is_the_same_in_every_backend(pool, name):
    calls = {"tic_tac_toe": 6, "backgammon": 20}[name]
    for backend in (Threads(2), Threads(5), pool):
        assert_same(engine(name, Serial()), engine(name, backend), calls)
    assert sum(batch.games for batch in played(engine(name, Serial()), calls)) > 5


class Deadly(Pool):
    """A pool whose workers are killed in the middle of self-play."""

    def __init__(self, folder: Path) -> None:
        super().__init__(2)
        self.folder = folder

    def map(self, function, shards):
        return super().map(jobs.play_and_perhaps_die, [(shard, str(self.folder)) for shard in shards])


def test_self_play_whose_workers_are_killed_is_the_same(tmp_path, capfd):
    for number in range(2):
        (tmp_path / f"death_{number}").touch()
    deadly = Deadly(tmp_path)
    assert_same(engine("tic_tac_toe", Serial()), engine("tic_tac_toe", deadly), 6)
    deadly.close()
    assert "killed by SIGKILL; job " in capfd.readouterr().err
