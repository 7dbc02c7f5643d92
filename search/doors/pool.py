"""A pool of threads that answer requests. It runs a limited number of jobs, lets a limited number wait, and refuses any
other as busy."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from deltaw.envs.control import Switch
from deltaw.search.doors.thinker import Thinker

WAITING = 16
"""jobs that may wait for a thread, unless something else is said"""

Work = Callable[[Thinker], Any]


class Busy(Exception):
    """All threads have work, and enough others wait."""


class Pool:
    """`threads` jobs at once, each thread with a `Thinker` of its own; the bound is on memory and time, not on who
    asks.

    The threads are daemons: those of an executor are waited for when the program ends, and a kernel that is being
    compiled cannot be stopped. `submit` and `close` are called by one thread.
    """

    def __init__(self, threads: int, waiting: int = WAITING) -> None:
        self._room = threading.BoundedSemaphore(threads + waiting)
        self._jobs: queue.SimpleQueue[tuple[Future, Work] | None] = queue.SimpleQueue()
        self._switches: dict[Future, Switch] = {}
        self._open = True
        self._threads = [threading.Thread(target=self._serve, name="deltaw-pool", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work, switch: Switch) -> Future:
        """Runs work(thinker) in one of the threads; `switch` is stopped when the pool is closed. Raises Busy."""
        if not self._open or not self._room.acquire(blocking=False):
            raise Busy
        future: Future = Future()
        self._switches[future] = switch
        future.add_done_callback(self._leave)
        self._jobs.put((future, work))
        return future

    def _leave(self, future: Future) -> None:
        del self._switches[future]
        self._room.release()

    def _serve(self) -> None:
        thinker = Thinker()
        while (job := self._jobs.get()) is not None:
            future, work = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work(thinker))
                except BaseException as error:
                    future.set_exception(error)

    def close(self) -> None:
        """Ends all searches and begins no job that still waits."""
        self._open = False
        for future, switch in list(self._switches.items()):
            future.cancel()
            switch.stop()
        for _ in self._threads:
            self._jobs.put(None)
