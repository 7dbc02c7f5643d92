"""Strength curves of runs, and their picture.

Runs are compared at equal games and at equal seconds of training; measurements are not counted in either. A method has
one colour, an experiment of it one style of line, so runs that differ in their seed look alike and have one entry in
the legend.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from deltaw.envs.errors import InputError
from deltaw.learn.run.strength import INTERVAL, PAST

T = TypeVar("T")
STYLES = ("-", "--", ":", "-.")
AXES = {"games": ("games", 1e-3, "thousand games of training"), "seconds": ("seconds", 1 / 60, "minutes of training")}
"""--by: key of a record, factor, label of the axis"""


class Curve(NamedTuple):
    """One run against one opponent."""

    method: str
    """the learner's name; the folder's where there is no configuration"""
    experiment: str
    """the preset's name, or nothing"""
    records: list[dict[str, Any]]
    """lines of strength.jsonl, in order"""

    @property
    def label(self) -> str:
        return f"{self.experiment} ({self.method})" if self.experiment else self.method


def read_records(path: Path) -> list[dict[str, Any]]:
    """All measurements of a run; raises InputError."""
    file = path if path.suffix == ".jsonl" else path / "strength.jsonl"
    try:
        records = [json.loads(line) for line in file.read_text().splitlines()]
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{file} is no strength curve: {error}") from None
    if not records:
        raise InputError(f"{file} holds no measurement yet")
    return records


def headline_opponent(records: Sequence[dict[str, Any]], against: Any = None) -> str:
    """Whom a run's headline is about: `against`, which is its `measure.against`, where it was measured; else the last
    opponent that is no past self and was met at 1 ply, since opponents stand from the weakest to the strongest."""
    names = list(dict.fromkeys(str(record["opponent"]) for record in records))
    if against in names:
        return str(against)
    named = [name for name in names if not name.startswith(PAST)]
    at_one_ply = [name for name in named if not any(name.startswith(f"{other}_") for other in named)]
    return (at_one_ply or names)[-1]


def read_curve(path: Path, opponent: str, from_games: int) -> Curve:
    """The measurements of one run against one opponent; raises InputError."""
    records = read_records(path)
    wanted = [r for r in records if r["opponent"] == opponent and r["games"] >= from_games]
    if not wanted:
        known = ", ".join(sorted({str(r["opponent"]) for r in records}))
        raise InputError(f"{path} has no measurement against {opponent!r} after {from_games} games; it has: {known}")
    folder = path.parent if path.suffix == ".jsonl" else path
    learner = (read_yaml(folder / ".hydra" / "config.yaml", dict) or {}).get("learner", {})
    hydra = (read_yaml(folder / ".hydra" / "hydra.yaml", dict) or {}).get("hydra", {})
    choices = hydra.get("runtime", {}).get("choices", {})
    return Curve(str(learner.get("name", folder.name)), str(choices.get("experiment") or ""), wanted)


def read_yaml(file: Path, kind: type[T]) -> T | None:
    """What Hydra noted beside the run, a dictionary or a list; None where there is no such thing."""
    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    return found if isinstance(found, kind) else None


def draw(curves: list[Curve], opponent: str, by: tuple[str, ...], log: bool, target: Path) -> None:
    """One panel for each way to compare; raises InputError."""
    figure = Figure(figsize=(7 * len(by), 4.5), layout="constrained")
    panels = figure.subplots(1, len(by), sharey=True, squeeze=False)
    for axes, way in zip(panels[0], by, strict=True):
        panel(axes, curves, way, log)
    panels[0][0].set_ylabel(f"points per game against {opponent} (95 %)")
    panels[0][0].legend(fontsize="small")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, dpi=120)
    except (OSError, ValueError) as error:  # ValueError: no format of that name
        raise InputError(f"cannot write {target}: {error}") from None


def panel(axes: Axes, curves: Sequence[Curve], way: str, log: bool = False) -> None:
    """Draws the curves; `way`: a key of AXES."""
    key, factor, text = AXES[way]
    methods = list(dict.fromkeys(curve.method for curve in curves))
    named: set[str] = set()
    for curve in curves:
        siblings = list(dict.fromkeys(c.experiment for c in curves if c.method == curve.method))
        style = STYLES[siblings.index(curve.experiment) % len(STYLES)]
        colour = to_hex(f"C{methods.index(curve.method) % 10}")
        label = "_" if curve.label in named else curve.label  # a legend leaves out what begins so
        named.add(curve.label)
        records = [r for r in curve.records if r[key] > 0 or not log]
        x, mean = [r[key] * factor for r in records], [r["ppg"] for r in records]
        reach = [INTERVAL * r["standard_error"] for r in records]
        axes.plot(x, mean, style, color=colour, marker="o", markersize=3, label=label)
        low, high = ([m + side * r for m, r in zip(mean, reach, strict=True)] for side in (-1, 1))
        axes.fill_between(x, low, high, alpha=0.2, color=colour, linewidth=0)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel(text)
    if log:
        axes.set_xscale("log", subs=())
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
