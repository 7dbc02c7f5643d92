"""Speed on this machine: `python -m benchmarks.run`, or `make bench`.

    python -m benchmarks.run --only plies selfplay --seconds 5 --json bench.json

Prints a table; with `--json` it also keeps what was measured, the machine and the versions.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import pkgutil
import platform
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch

import benchmarks
from benchmarks.measure import QUIET, Row, Settings
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.evaluators.evaluator import write_whole

PREFIX = "bench_"
PACKAGES = ("numpy", "numba", "torch")


class Bench(NamedTuple):
    """One function that measures."""

    name: str
    """area.function, without their prefixes"""
    function: Callable[[Settings], Iterator[Row]]


def discover() -> list[Bench]:
    """All benches: files by name, in a file as they are written."""
    found = []
    for file in sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__)):
        if file.startswith(PREFIX):
            module = importlib.import_module(f"benchmarks.{file}")
            for name, function in vars(module).items():
                if name.startswith(PREFIX) and getattr(function, "__module__", "") == module.__name__:
                    found.append(Bench(f"{file.removeprefix(PREFIX)}.{name.removeprefix(PREFIX)}", function))
    return found


def chosen(names: list[str] | None) -> list[Bench]:
    """The benches called `names` (an area or area.function; None: all); raises InputError with what there is."""
    benches = discover()
    for name in names or []:
        if not any(name in (bench.name, bench.name.split(".")[0]) for bench in benches):
            raise InputError(f"no benchmark {name!r}; there are: {', '.join(bench.name for bench in benches)}")
    return [b for b in benches if not names or b.name in names or b.name.split(".")[0] in names]


def collect(benches: list[Bench], settings: Settings, watch: Callable[[str], object] = lambda name: None) -> list[Row]:
    """Run the benches, torch with one thread; `watch` hears the name of each."""
    rows: list[Row] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for bench in benches:
            watch(bench.name)
            rows += bench.function(settings)
    finally:
        torch.set_num_threads(threads)
    return rows


# --- the report -----------------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def as_json(rows: list[Row], settings: Settings, about: dict[str, Any]) -> str:
    """The whole report as one JSON object."""
    lines = [row._asdict() for row in rows]
    return json.dumps({"machine": about, "settings": settings._asdict(), "rows": lines}, indent=1)


def show(rows: list[Row], about: dict[str, Any]) -> None:
    """The table on stdout."""
    from rich.console import Console
    from rich.table import Table

    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    title = f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, {versions}, {about['date']}"
    table = Table(title=title, title_justify="left")
    for heading in ("name", "value", "unit", "note"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for row in rows:
        table.add_row(row.name, number(row.value), row.unit, row.note)
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)
    shares = [row.cpu for row in rows if row.cpu is not None]
    if shares and min(shares) < QUIET:
        console.print(f"The machine was busy: these measurements had {min(shares):.0%} to {max(shares):.0%} of a core.")


def number(value: float) -> str:
    """Three digits are enough: 1,234,000, 456, 7.89, 0.123."""
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:,.3g}"


# --- the command line -------------------------------------------------------------------------------------------------


def parser() -> Parser:
    p = Parser(prog="python -m benchmarks.run", description="Measure speed on this machine.")
    p.add_argument("--only", nargs="+", metavar="NAME", help="areas (rules) or single benchmarks (rules.expand)")
    p.add_argument("--list", action="store_true", help="print the names and measure nothing")
    p.add_argument("--seconds", type=float, default=Settings().seconds, help="a measurement (default %(default)g)")
    p.add_argument("--games", type=int, default=Settings().games, help="that train the network (default %(default)s)")
    p.add_argument("--no-cold", action="store_true", help="leave out the start-up without compiled kernels")
    p.add_argument(
        "--peers", action="store_true", help='also measure gnubg-nn and OpenSpiel (pip install "deltaw[peers]")'
    )
    p.add_argument("--json", metavar="FILE", help="also write everything to this file")
    return p


def read_settings(options: Namespace) -> Settings:
    """Settings from the command line; raises InputError."""
    if not 0.0 < options.seconds <= 3600.0:
        raise InputError(f"--seconds must be above 0 and at most 3600, not {options.seconds:g}")
    if options.games < 1:
        raise InputError(f"--games must be at least 1, not {options.games}")
    peers = options.peers or any(name.split(".")[0] == "peers" for name in options.only or [])
    return Settings(seconds=options.seconds, games=options.games, cold=not options.no_cold, peers=peers)


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    settings, benches = read_settings(options), chosen(options.only)
    if options.list:
        print("\n".join(bench.name for bench in benches))
        return 0
    about = machine()
    with _status() as watch:
        rows = collect(benches, settings, watch)
    show(rows, about)
    if options.json:
        write_whole(options.json, as_json(rows, settings, about).encode())
    return 0


@contextlib.contextmanager
def _status() -> Iterator[Callable[[str], object]]:
    """Shows on a terminal's stderr what is being measured."""
    from rich.console import Console

    with Console(stderr=True).status("measuring ...") as status:
        yield lambda name: status.update(f"measuring {name} ...")


if __name__ == "__main__":
    raise SystemExit(main())
