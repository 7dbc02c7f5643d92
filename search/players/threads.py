"""Threads that share a batch of work, each with scratch memory of its own."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from deltaw.envs.control import make_control, supervised

Scratch = TypeVar("Scratch")


class Workers(Generic[Scratch]):
    """Threads, each with scratch memory of its own, that share the rows of a batch. Kernels run without the GIL."""

    def __init__(self, threads: int | None, make: Callable[[], Scratch]) -> None:
        self._scratch = [make() for _ in range(threads or cores())]

    @property
    def own(self) -> Scratch:
        """Scratch memory of a caller that shares no batch, one thread at a time."""
        return self._scratch[0]

    def run(self, work: Callable[[slice, Scratch], None], n: int) -> None:
        """work(rows, scratch) for slices that cover 0 .. n - 1."""
        threads = min(len(self._scratch), n)
        if threads <= 1:
            work(slice(0, n), self._scratch[0])
            return
        cuts = [n * i // threads for i in range(threads + 1)]
        jobs: Iterable[slice] = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        list(_pool(len(self._scratch)).map(work, jobs, self._scratch[:threads]))

    def each(self, work: Callable[[int, Scratch], None], n: int) -> None:
        """work(i, scratch) for i = 0 .. n - 1, a free thread taking the next: for work whose pieces differ in
        length."""
        numbers, stop = itertools.count(), threading.Event()

        def share(scratch: Scratch) -> None:
            try:
                while not stop.is_set() and (i := next(numbers)) < n:
                    work(i, scratch)
            except BaseException:
                stop.set()
                raise

        threads = min(len(self._scratch), n)
        if threads <= 1:
            share(self._scratch[0])
            return
        try:  # supervised: Ctrl-C comes to this thread, and stops searches in the others too
            pool = _pool(len(self._scratch))
            supervised(make_control(), None, lambda: list(pool.map(share, self._scratch[:threads])))
        finally:
            stop.set()


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
