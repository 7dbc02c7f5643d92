"""Where jobs run: one after the other, or in threads. The same results in the same order everywhere.

A job is a call of a module-level function, and its result depends on its arguments alone; so nothing depends on how
many workers there are.

Threads are the default: compiled work runs without the GIL, and nothing is copied. The contract also fits workers in
other processes or on other machines, which receive copies: a job returns everything that it changed, as self-play
returns its slots, and what many jobs read goes through `share`, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Value = TypeVar("Value")


class Shared(Generic[Value]):
    """A value that many jobs read. A job holds this handle and reads `value`, which nobody may change while jobs run.
    The handle has the value of this moment: share the value again after a change."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Backend(Protocol):
    @property
    def workers(self) -> int:
        """How many jobs can run at once."""
        ...

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """function(job) for every job, in the order of the jobs. An exception is that of the first job that raised
        one."""
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

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        return [function(job) for job in jobs]

    def share(self, value: Value) -> Shared[Value]:
        return Shared(value)

    def close(self) -> None:
        pass


class Threads:
    """Threads of this process: for compiled work, which runs without the GIL."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers)

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        return list(self._pool.map(function, jobs))

    def share(self, value: Value) -> Shared[Value]:
        return Shared(value)

    def close(self) -> None:
        self._pool.shutdown()


BACKENDS = ("threads", "serial")


def make_backend(name: str, workers: int) -> Backend:
    """The backend called `name` with so many workers, at least 1."""
    return Serial() if name == "serial" or workers == 1 else Threads(workers)
