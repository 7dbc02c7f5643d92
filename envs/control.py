"""How a long kernel is watched, limited and stopped: one small array that it polls.

A kernel cannot be interrupted: a signal reaches Python when the kernel returns. So every search counts its nodes in
`control` and looks there whether it should stop; `supervised` has another thread write there when the time is up, the
user presses Ctrl-C, or SIGTERM comes.

    control[STOP]    not 0: return as soon as possible, with anything
    control[NODES]   nodes visited so far
    control[LIMIT]   stop when so many have been visited
    control[NOISY]   not 0: the move that led to the state where the search starts is noisy (for heuristic continuation)
    control[OPEN]    evaluations and other answers that prove nothing; a search that adds none rests on finished games
                     alone
    control[PATH]    where in this array the path of the game begins (`envs/path.py`), if a search keeps one
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel

STOP, NODES, LIMIT, NOISY, OPEN, PATH = range(6)

FOREVER = 1 << 62

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""what ends a process that has a handler for it: searches stop, and the handler decides what comes next"""


class Stopped(Exception):
    """A search was stopped before it had an answer."""


class Switch:
    """Stops, from any thread, what another one searches: those searches that run and those that it begins later.

    with switch:                    in the thread that searches
        agent.choose(state)
    switch.stop()                   in any other
    """

    def __init__(self) -> None:
        self.is_off = False
        self._controls: list[np.ndarray] = []
        self._lock = threading.Lock()

    def stop(self) -> None:
        with self._lock:
            self.is_off = True
            for control in self._controls:
                control[STOP] = 1

    def __enter__(self) -> Switch:
        _thread.switch = self
        return self

    def __exit__(self, *error: object) -> None:
        _thread.switch = None

    @contextlib.contextmanager
    def guarding(self, control: np.ndarray) -> Iterator[None]:
        with self._lock:
            self._controls.append(control)
            if self.is_off:
                control[STOP] = 1
        try:
            yield
        finally:
            with self._lock:
                self._controls.pop()  # the innermost search ends first


_thread = threading.local()


def make_control(nodes: int | None = None) -> np.ndarray:
    """A fresh `control`, int64 [6], that allows so many nodes (None: any number).

    Raises InputError for a negative limit.
    """
    if nodes is not None and nodes < 0:
        raise InputError(f"a limit of {nodes} nodes is negative")
    return np.array([0, 0, FOREVER if nodes is None else nodes, 0, 0, PATH + 1], np.int64)


@kernel
def enter(control):
    """Counts a node; True where the search must stop."""
    control[NODES] += 1
    return stopped(control)


@kernel
def stopped(control):
    return control[STOP] != 0 or control[NODES] > control[LIMIT]


def supervised(control: np.ndarray, seconds: float | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), told through `control` to stop after so many seconds (None: never), at a signal in
    `SIGNALS`, or by the thread's `Switch`.

    Returns what the function returned, also when it was stopped; after Ctrl-C KeyboardInterrupt is raised once the
    function has returned. Raises InputError for a negative time. Costs some 10 microseconds; with a time limit, another
    10.
    """
    if seconds is not None and not seconds >= 0:
        raise InputError(f"a limit of {seconds} seconds is negative")
    switch: Switch | None = getattr(_thread, "switch", None)
    with _watcher().watching(control, seconds), switch.guarding(control) if switch else contextlib.nullcontext():
        return function(*arguments)


class _Watcher:
    """A thread that writes stops into control arrays while the threads that asked for it are inside kernels.

    A deadline is a wait with a time limit. A signal reaches it because Python's signal handler, written in C, puts the
    signal's number into a socket at once (`signal.set_wakeup_fd`), whatever the main thread is doing.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._watched: dict[int, tuple[np.ndarray, float]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        threading.Thread(target=self._watch, name="deltaw-watcher", daemon=True).start()

    @contextlib.contextmanager
    def watching(self, control: np.ndarray, seconds: float | None) -> Iterator[None]:
        number = next(self._numbers)
        deadline = math.inf if seconds is None else time.perf_counter() + seconds
        with self._lock:
            self._watched[number] = (control, deadline)
        signals = threading.current_thread() is threading.main_thread()
        before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False) if signals else -1
        if seconds is not None:
            self._wake(0)
        try:
            yield
        finally:
            if signals:
                signal.set_wakeup_fd(before)
            with self._lock:
                del self._watched[number]

    def _wake(self, byte: int) -> None:
        with contextlib.suppress(BlockingIOError):  # a full socket wakes as well
            self._writer.send(bytes([byte]))

    def _watch(self) -> None:
        while True:
            with self._lock:
                next_deadline = min((deadline for _, deadline in self._watched.values()), default=math.inf)
            left = None if next_deadline == math.inf else max(0.0, next_deadline - time.perf_counter())
            ready, _, _ = select.select([self._reader], [], [], left)
            interrupted = bool(ready) and not set(SIGNALS).isdisjoint(self._reader.recv(4096))
            self._stop_what_is_due(interrupted)

    def _stop_what_is_due(self, all_of_them: bool) -> None:
        now = time.perf_counter()
        with self._lock:
            for number, (control, deadline) in self._watched.items():
                if all_of_them or deadline <= now:
                    control[STOP] = 1
                    self._watched[number] = (control, math.inf)


_watchers: list[_Watcher] = []
_making = threading.Lock()


def _watcher() -> _Watcher:
    """The process's watcher; a forked process needs a new one, since threads are not forked."""
    with _making:
        if not _watchers or _watchers[0].process != os.getpid():
            _watchers[:] = [_Watcher()]
        return _watchers[0]
