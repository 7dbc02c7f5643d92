"""A pool of threads that think: so many searches at once, so many more waiting, and the next one is told that we are busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from search.control import Switch
from search.thinker import Thinker

WAITING = 16
"""searches that may wait for a thread, unless something else is said"""


class Busy(Exception):
    """All threads are searching, and enough others wait."""


class Pool:
    """`threads` searches at once, each thread with a `Thinker` of its own; the bound is on memory and time, not on who asks."""

    def __init__(self, threads: int, waiting: int = WAITING) -> None:
        self._executor = ThreadPoolExecutor(threads, "deltaw-search")
        self._room = threading.BoundedSemaphore(threads + waiting)
        self._own = threading.local()
        self._switches: set[Switch] = set()

    def submit(self, work: Callable[[Thinker], Any], switch: Switch) -> Future:
        """work(thinker) in one of the threads; `switch` is stopped when the pool is closed. Raises Busy."""
        if not self._room.acquire(blocking=False):
            raise Busy

        def run() -> Any:
            return work(self._thinker())

        def leave(future: Future) -> None:
            self._switches.discard(switch)
            self._room.release()

        self._switches.add(switch)
        try:
            future = self._executor.submit(run)
        except RuntimeError:  # closed in the meantime
            self._switches.discard(switch)
            self._room.release()
            raise Busy from None
        future.add_done_callback(leave)
        return future

    def _thinker(self) -> Thinker:
        if not hasattr(self._own, "thinker"):
            self._own.thinker = Thinker()
        return self._own.thinker

    def close(self) -> None:
        """Ends all searches; nothing that waits is begun."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        for switch in list(self._switches):
            switch.stop()
