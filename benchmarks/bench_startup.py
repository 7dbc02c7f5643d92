"""Start-up: new processes, wall seconds from their start to their end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.material import BACKGAMMON, SMALL_SET, network
from benchmarks.measure import Row, Settings, Timing, row
from deltaw.envs import games
from deltaw.search.evaluators.evaluator import save_evaluator
from deltaw.search.evaluators.named import DEFAULT, shipped

ROOT = Path(__file__).parent.parent


def bench_import(settings: Settings) -> Iterator[Row]:
    """Python itself included."""
    timing = Timing([_seconds(["-c", "import search"]) for _ in range(settings.starts)])
    yield row("import search", "s", timing)
    timing = Timing([_seconds(["-c", "import deltaw.search.players.agent"]) for _ in range(settings.starts)])
    yield row("import deltaw.search.players.agent", "s", timing, note="what a program that plays imports")


def bench_analyze(settings: Settings) -> Iterator[Row]:
    """The first answer of a new process, without compiled kernels (in an empty cache folder) and with them."""
    with tempfile.TemporaryDirectory() as folder:
        evaluator = _evaluator(Path(folder))
        command = ["-m", "deltaw.search.analyze", BACKGAMMON, "start", "--dice", "31", "--evaluator", evaluator]
        cold = _seconds(command, NUMBA_CACHE_DIR=folder) if settings.cold else None
        cache = {"NUMBA_CACHE_DIR": folder} if settings.cold else {}
        warm = [_seconds(command, **cache) for _ in range(settings.starts)]
    yield row("first analysis, warm cache", "s", Timing(warm), f"evaluator {Path(evaluator).name}")
    if cold is not None:
        yield row("first analysis, cold cache", "s", Timing([cold]), "compiles; measured once")


def _evaluator(folder: Path) -> str:
    """The shipped evaluator; without one, a random network."""
    if DEFAULT in shipped(games.load(BACKGAMMON)):
        return DEFAULT
    path = folder / "random.safetensors"
    save_evaluator(network(SMALL_SET).evaluator(), path)
    return str(path)


def _seconds(arguments: list[str], **environment: str) -> float:
    """Wall seconds of `python ARGUMENTS`; raises CalledProcessError if it fails."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    return time.perf_counter() - start
