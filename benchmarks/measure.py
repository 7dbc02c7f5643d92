"""What a measurement is: a row of the table, and the clock behind it.

A rate is the median of at least five repeats, each a fixed amount of work, after one untimed round (which
compiles). Wall time is what counts; CPU time is kept beside it, because on a busy machine the two differ and every
rate is then too low.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

REPEATS = 5
QUIET = 0.9
"""share of a core below which a single-threaded measurement was disturbed by other work"""


class Settings(NamedTuple):
    """How much is measured. The defaults take 3 to 4 minutes; tests take less."""

    seconds: float = 2.0
    """a measurement"""
    games: int = 4000
    """self-play games that train the network whose play is measured"""
    positions: int = 2000
    """in a sample"""
    decisions: int = 10_000
    """in a sample of trained play"""
    batch: int = 8192
    """positions of a batched evaluation"""
    starts: int = REPEATS
    """repeats of a start-up"""
    cold: bool = True
    """also start up without compiled kernels, once: the best part of a minute"""
    peers: bool = False
    """also measure other programs, where they are installed"""


class Timing(NamedTuple):
    """Repeats of one measurement."""

    values: list[float]
    """units a second, or seconds"""
    cpu: float | None = None
    """CPU seconds a wall second; None where another process did the work"""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


class Row(NamedTuple):
    """One line of the table."""

    name: str
    unit: str
    value: float
    """median"""
    low: float
    high: float
    repeats: int
    cpu: float | None
    note: str


def row(name: str, unit: str, timing: Timing, note: str = "", scale: float = 1.0) -> Row:
    """A table row; the timing's values are multiplied by `scale`."""
    values = [scale * value for value in timing.values]
    median, low, high = statistics.median(values), min(values), max(values)
    return Row(name, unit, median, low, high, len(values), timing.cpu, note)


def rate(work: Callable[[], int], seconds: float) -> Timing:
    """Units a second of `work`, a function that returns how many units it has just done."""
    work()
    calls = _calls(work, seconds / REPEATS)
    values: list[float] = []
    wall, cpu = 0.0, 0.0
    while len(values) < REPEATS or wall < seconds:
        units, spent, used = _timed(work, calls)
        values.append(units / spent)
        wall, cpu = wall + spent, cpu + used
    return Timing(values, cpu / wall)


def _calls(work: Callable[[], int], seconds: float) -> int:
    """Calls of `work` that take about so long. Single calls differ (a forced move costs nothing), so a quarter of
    the time is tried."""
    calls = 1
    while True:
        _, spent, _ = _timed(work, calls)
        if spent > seconds / 4:
            return max(1, math.floor(calls * seconds / spent))
        calls *= 2


def _timed(work: Callable[[], int], calls: int) -> tuple[int, float, float]:
    """(units, wall seconds, CPU seconds of this process) of some calls."""
    cpu, start = time.process_time(), time.perf_counter()
    units = sum(work() for _ in range(calls))
    return units, max(time.perf_counter() - start, 1e-9), time.process_time() - cpu
