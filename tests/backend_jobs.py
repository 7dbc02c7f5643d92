"""Jobs for the tests of backends: what a worker imports, and no more."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from envs.errors import InputError
from envs.game import Game
from learn import selfplay
from learn.backend import Shared
from search.leaf import Leaf, make_work


class Fragile(NamedTuple):
    """A number to be squared, by a worker that dies of it the first `times`."""

    number: int
    times: int
    folder: str
    how: str = "kill"


def squared(number: int) -> int:
    return number * number


def squared_late(number: int) -> int:
    """The first jobs end last."""
    time.sleep(0.02 * (5 - number))
    return number * number


def fragile(job: Fragile) -> int:
    for life in range(job.times):
        mark = Path(job.folder) / f"{job.number}_{life}"
        if not mark.exists():
            mark.touch()
            if job.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
    return job.number**2


class Picky(Exception):
    """Cannot be unpickled: it wants two arguments and keeps one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def failing(number: int) -> int:
    if number == 3:
        time.sleep(0.1)  # a later job fails first
    if number in (3, 4):
        raise InputError(f"{number} is unlucky")
    if number == 5:
        raise Picky("five", "six")
    if number == 6:
        raise EOFError("the end of some file")
    return number


def lambda_of(number: int) -> Any:
    return lambda: number


def process(_: Any) -> int:
    return os.getpid()


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def describe(shared: Shared[Any]) -> list[tuple[Any, ...]]:
    """What the arrays look like where the job runs."""
    return [(str(a.dtype), a.shape, a.flags.c_contiguous, a.flags.writeable, a.tolist()) for a in shared.value]


def scribble(shared: Shared[Any]) -> float:
    shared.value[0][:] = -1.0
    return float(shared.value[0].sum())


def value_of(job: tuple[Game, Leaf]) -> float:
    """The initial position's."""
    game, leaf = job
    return float(leaf.evaluate(game.rules, leaf.weights, game.rules.initial(), make_work(leaf, game)))


def play_and_perhaps_die(job: tuple[selfplay.Shard, str]) -> Any:
    """Self-play whose worker is killed in the middle of it, once for every file in the folder."""
    shard, folder = job
    for mark in sorted(Path(folder).iterdir()):
        mark.unlink(missing_ok=True)
        threading.Timer(0.001, os.kill, (os.getpid(), signal.SIGKILL)).start()
        while True:
            selfplay.play_shard(shard)
    return selfplay.play_shard(shard)
