"""Where jobs run: one after the other, in threads, or in processes. The same results in the same order everywhere.

A job is a call of a module-level function, and its result depends on its arguments alone; so nothing depends on how many workers there are.

Threads are the default: compiled work runs without the GIL, and nothing is copied. Processes serve work that holds the GIL, and they survive each other: a worker that
dies (out of memory, a crash in native code) is replaced and its job repeated. The standard library's `ProcessPoolExecutor` gives up all of its workers when one dies and does not say
whose job it was; hence `Pool`, one pipe a worker.

What a job holds is sent to the worker. Games and kernels travel by their names; large values that many jobs read go through `share`, once.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import mmap
import multiprocessing
import multiprocessing.connection
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from envs import games
from envs.errors import InputError
from envs.game import Game

Job = TypeVar("Job")
Result = TypeVar("Result")
Value = TypeVar("Value")

DEATHS = 3
"""workers that one job may cost before it is given up"""
ALIGNMENT = 64
"""bytes: arrays in shared files begin at multiples of this"""
PATIENCE = 5.0
"""seconds that a worker has to leave by itself"""


class Shared(Generic[Value]):
    """A value that many jobs read. A job holds this handle and looks at `value`, which nobody may change while jobs run. The value is
    shared as it is now: share it again after a change."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Backend(Protocol):
    in_place: bool
    """jobs see this process' memory: what they write into an array of theirs is there"""

    @property
    def workers(self) -> int:
        """How many jobs can run at once."""
        ...

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """function(job) for every job, in the order of the jobs. An exception is that of the first job that raised one."""
        ...

    def share(self, value: Value) -> Shared[Value]:
        """A handle to `value` (arrays, or NamedTuples of them) that is cheap to put into every job."""
        ...

    def close(self) -> None:
        """No job can run after this."""
        ...


class Serial:
    """One job after the other, here."""

    workers = 1
    in_place = True

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        return [function(job) for job in jobs]

    def share(self, value: Value) -> Shared[Value]:
        return Shared(value)

    def close(self) -> None:
        pass


class Threads:
    """Threads of this process: for compiled work, which runs without the GIL."""

    in_place = True

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: Any = ThreadPoolExecutor(workers)

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        return list(self._pool.map(function, jobs))

    def share(self, value: Value) -> Shared[Value]:
        return Shared(value)

    def close(self) -> None:
        self._pool.shutdown()


BACKENDS = ("threads", "pool", "serial")


def make_backend(name: str, workers: int) -> Backend:
    """The backend called `name` with so many workers, at least 1."""
    if name == "pool":
        return Pool(workers)
    return Serial() if name == "serial" or workers == 1 else Threads(workers)


# --- processes ----------------------------------------------------------------------------------------------------


class Worker(NamedTuple):
    process: Any
    pipe: Any
    """this process' end of it"""


class Pool:
    """Processes, started when they are first needed.

    They come from a fork server that has imported what this process uses of `learn`, so that a new one takes milliseconds; a plain `fork` could copy locks that torch's or Numba's
    threads hold. They ignore Ctrl-C, which is this process' to answer, and end with it, however it ends.
    """

    in_place = False

    def __init__(self, workers: int) -> None:
        self.workers = workers
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._staff: list[Worker] = []
        self._files = SharedFiles()

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """See `Backend`. A job whose worker dies is repeated; InputError names one that costs `DEATHS` workers."""
        errand = Errand(function, jobs)
        while len(self._staff) < min(self.workers, len(jobs)):
            self._hire()
        idle = list(self._staff)
        busy: dict[Any, tuple[Worker, int]] = {}
        try:
            while busy or errand.goes_on:
                while idle and errand.goes_on:
                    worker, index = idle.pop(), errand.waiting.popleft()
                    busy[worker.pipe] = (worker, index)
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died idle: noticed below
                        worker.pipe.send((function, jobs[index]))
                for pipe in multiprocessing.connection.wait(list(busy)):
                    worker, index = busy[pipe]
                    idle.append(self._hear(worker, index, errand))
                    del busy[pipe]
        except BaseException:  # Ctrl-C too: an answer that nobody waits for must not be the next call's
            for worker, _ in busy.values():
                if worker in self._staff:
                    self._dismiss(worker)
            raise
        if errand.errors:
            raise errand.errors[min(errand.errors)]
        return errand.results

    def _hear(self, worker: Worker, index: int, errand: Errand) -> Worker:
        """Note the worker's answer; returns who is free now."""
        try:
            data = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            self._staff.remove(worker)
            worker.pipe.close()
            worker.process.join()
            errand.died(index, worker.process.exitcode)
            return self._hire()
        fine, answer = pickle.loads(data)
        if fine:
            errand.results[index] = answer
        else:
            errand.errors[index] = answer
        return worker

    def share(self, value: Value) -> Shared[Value]:
        return self._files.add(value)

    def close(self) -> None:
        for worker in self._staff:
            worker.pipe.close()  # an idle worker leaves
        for worker in self._staff:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._staff.clear()
        self._files.close()

    def _hire(self) -> Worker:
        if self._context.get_start_method() == "forkserver":
            self._context.set_forkserver_preload(sorted(m for m in sys.modules if m.split(".")[0] == "learn"))
        pipe, far_end = self._context.Pipe()
        arguments = (far_end, self._files.folders)
        process = self._context.Process(target=_serve, args=arguments, name="deltaw worker", daemon=True)
        with _undisturbed():
            process.start()
        far_end.close()  # or the pipe would not end with the worker
        worker = Worker(process, pipe)
        self._staff.append(worker)
        return worker

    def _dismiss(self, worker: Worker) -> None:
        """End a worker in the middle of its job."""
        self._staff.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits, and what is started here never hears of it: the fork server is still importing when it could be struck."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Errand(Generic[Job, Result]):
    """One `map` in progress."""

    def __init__(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> None:
        self.waiting = deque(range(len(jobs)))
        """numbers of the jobs that nobody has, in order: so a job that was never begun comes after every one that was"""
        self.results: list[Any] = [None] * len(jobs)
        self.errors: dict[int, BaseException] = {}
        self._deaths = [0] * len(jobs)
        self._name = getattr(function, "__name__", str(function))

    @property
    def goes_on(self) -> bool:
        """Whether there is a job to give."""
        return bool(self.waiting) and not self.errors

    def died(self, index: int, exitcode: int | None) -> None:
        """A worker died with this job, which will be repeated. Raises InputError when it was one too many."""
        self._deaths[index] += 1
        how, job = _ending(exitcode), f"job {index + 1} of {len(self.results)} of {self._name}"
        if self._deaths[index] == DEATHS:
            raise InputError(
                f"{job} has cost {DEATHS} workers, the last {how}; is there enough memory? Try fewer workers, or backend=threads"
            )
        print(f"a worker was lost, {how}; {job} is repeated by another", file=sys.stderr)
        self.waiting.appendleft(index)


def _ending(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-exitcode).name}"
    return f"exit status {exitcode}"


# --- the worker's side --------------------------------------------------------------------------------------------


def _serve(pipe: Any, folders: list[str]) -> None:
    """Answer jobs until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(folders,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            _answer(pipe)


def _answer(pipe: Any) -> None:
    errand = pipe.recv_bytes()
    try:
        function, job = pickle.loads(errand)
        data = ForkingPickler.dumps((True, function(job)))
    except Exception as error:
        data = ForkingPickler.dumps((False, _portable(error)))
    pipe.send_bytes(data)


def _portable(error: Exception) -> Exception:
    """The error with the worker's traceback as a note; one that cannot be sent becomes a RuntimeError."""
    error.add_note(f"in a worker process:\n{''.join(traceback.format_exception(error))}")
    try:
        pickle.loads(bytes(ForkingPickler.dumps(error)))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def _end_with_parent(folders: list[str]) -> None:
    """Whatever this worker is at, when the process that wanted it has died; and remove what that one could not."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


# --- what travels, and how ----------------------------------------------------------------------------------------


def _game_by_name(game: Game) -> tuple[Any, ...]:
    if game.name not in games.names() or games.load(game.name) is not game:
        raise InputError(
            f"the game {game.name!r} is no file of envs/games: other processes cannot find it; use backend=threads"
        )
    return games.load, (game.name,)


def _kernel_by_name(kernel: Dispatcher) -> tuple[Any, ...]:
    """Numba would send its source, to be compiled anew in every worker."""
    module, name = kernel.py_func.__module__, kernel.py_func.__name__
    if getattr(importlib.import_module(module), name, None) is not kernel:
        raise InputError(f"the kernel {name} is not to be found in {module} by its name; use backend=threads")
    return _find_kernel, (module, name)


def _find_kernel(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


ForkingPickler.register(Game, _game_by_name)
ForkingPickler.register(CPUDispatcher, _kernel_by_name)


class SharedFiles:
    """Shared values in files: in memory where the system has a folder for that, else (or when it is full) on disk.

    A value is pickled with its arrays apart from it (PEP 574), and workers map the arrays from the file: copied once, whatever the number of jobs and workers. A file lives as
    long as its handle.
    """

    def __init__(self) -> None:
        roots = [root for root in ("/dev/shm", tempfile.gettempdir()) if os.access(root, os.W_OK)]
        self._folders = [tempfile.TemporaryDirectory(prefix="deltaw_", dir=root) for root in roots]
        self.folders = [folder.name for folder in self._folders]
        self._number = 0

    def add(self, value: Value) -> Shared[Value]:
        buffers: list[pickle.PickleBuffer] = []
        head = io.BytesIO()
        ForkingPickler(head, 5, True, buffers.append).dump(value)
        parts = [buffer.raw() for buffer in buffers]
        self._number += 1
        failure = None
        for folder in self.folders:
            path = Path(folder) / str(self._number)
            try:
                places = _write(path, parts)
            except OSError as error:
                failure = error
                path.unlink(missing_ok=True)
            else:
                return InFile(value, str(path), head.getvalue(), places)
        raise InputError(f"cannot share data with other processes in {' or '.join(self.folders)}: {failure}")

    def close(self) -> None:
        for folder in self._folders:
            folder.cleanup()


def _write(path: Path, parts: list[memoryview]) -> list[tuple[int, int]]:
    """Write the parts, each to a place (begin, end) of the file."""
    places = []
    with open(path, "wb") as file:
        for part in parts:
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            places.append((file.tell(), file.tell() + part.nbytes))
            file.write(part)
    return places


class InFile(Shared[Value]):
    """A handle whose copies in other processes read the file."""

    def __init__(self, value: Value, path: str, head: bytes, places: list[tuple[int, int]]) -> None:
        super().__init__(value)
        self._source = (path, head, tuple(places))
        weakref.finalize(self, Path(path).unlink, missing_ok=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_shared, self._source


@functools.lru_cache(maxsize=1)  # the jobs of one `map` share one value; what is kept here keeps its memory
def _open_shared(path: str, head: bytes, places: tuple[tuple[int, int], ...]) -> Shared:
    """The value with arrays that lie in the file. They are private copies as soon as they are written to: so they have the types of the originals."""
    if not places or places[-1][1] == 0:
        return Shared(pickle.loads(head, buffers=[bytearray() for _ in places]))
    with open(path, "rb") as file:
        memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return Shared(pickle.loads(head, buffers=[memory[begin:end] for begin, end in places]))
