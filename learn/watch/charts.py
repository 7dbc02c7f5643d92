"""Charts for reports and for TensorBoard, drawn by matplotlib in the colours of a report."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deltaw.learn.selfplay.sample import Reliability
from deltaw.learn.watch.curves import Curve, panel
from deltaw.learn.watch.pictures import FAINT, INK, PAPER, SOFT
from deltaw.learn.watch.report_board import Grid, shade

BLUE = "#2b5c8a"
COLORS = ("#b3432b", BLUE, "#3d8a4f", "#8a5ea8", "#b58a1b", "#4a9aa5", "#7d6a58", "#c46a93")
LOOK: dict[Any, Any] = {
    "axes.axisbelow": True, "axes.edgecolor": FAINT, "axes.facecolor": "none", "axes.grid": True,
    "axes.labelcolor": SOFT, "axes.prop_cycle": cycler(color=COLORS), "axes.spines.right": False,
    "axes.spines.top": False, "figure.facecolor": PAPER, "font.size": 9, "grid.color": FAINT, "legend.frameon": False,
    "text.color": INK, "xtick.color": FAINT, "xtick.labelcolor": INK, "ytick.color": FAINT, "ytick.labelcolor": INK,
}  # fmt: skip
WIDTH, HEIGHT = 5.4, 3.2
"""inches"""
CIRCLE = 1200.0
"""square points: the size of a circle that holds all positions"""

P = ParamSpec("P")


def chart(draw: Callable[Concatenate[Axes, P], None]) -> Callable[P, Figure]:
    """Turns a function that draws on axes into one that makes them and returns the figure."""

    @functools.wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Figure:
        with matplotlib.rc_context(LOOK):
            figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
            draw(figure.subplots(), *arguments, **options)
            figure.draw_without_rendering()  # ticks take their colours when they are drawn first
        return figure

    return drawn


@chart
def strength_chart(axes: Axes, curves: Sequence[Curve], by: str) -> None:
    panel(axes, curves, by)
    axes.set_ylabel("points a game")
    axes.legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize="medium")


def board_chart(grids: Sequence[Grid]) -> Figure:
    """Weights where they belong, six boards a row, all in the same colours."""
    columns = min(len(grids), 6)
    rows = -(-len(grids) // columns)
    with matplotlib.rc_context(LOOK | {"axes.grid": False}):
        figure = Figure(figsize=(1.8 * columns, 2.0 * rows), layout="constrained")
        for axes, grid in itertools.zip_longest(figure.subplots(rows, columns, squeeze=False).flat, grids):
            axes.set_axis_off()
            if grid is not None:
                colors = np.ones((grid.rows, grid.columns, 4)) * to_rgba(PAPER)
                for place, mark in grid.marks.items():
                    if mark.value is not None:
                        colors[place] = to_rgba(shade(mark.value, grid.largest))
                axes.imshow(colors)
                axes.set_title(grid.caption.partition(":")[0], fontsize=8)
    return figure


@chart
def value_chart(axes: Axes, ply: np.ndarray, value: np.ndarray, largest: float) -> None:
    """The first player's value in a game."""
    axes.plot(ply, value, color=COLORS[0], marker="o", markersize=3)
    axes.set(xlabel="ply", ylabel="value for the first player", ylim=(-1.05 * largest, 1.05 * largest))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


@chart
def error_chart(axes: Axes, errors: np.ndarray) -> None:
    """Shares of the TD errors."""
    largest = float(np.abs(errors).max()) or 1.0
    axes.hist(errors, bins=40, range=(-largest, largest), weights=np.full(len(errors), 1 / len(errors)), color=BLUE)
    axes.set(xlabel="TD error", ylabel="share")


@chart
def reliability_chart(axes: Axes, found: Reliability) -> None:
    """Score that came true against predicted score; a circle a bin, its area the share of positions; the diagonal is
    perfect calibration."""
    axes.axline((0, 0), slope=1, color=SOFT, linestyle=":", linewidth=1)
    total = found.positions.sum()
    sizes = np.maximum(CIRCLE * found.positions / total, 12)
    axes.scatter(found.predicted, found.scored, sizes, color=BLUE, alpha=0.8, clip_on=False)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted score", ylabel="score that came true", box_aspect=1)
    axes.set_title(f"error {found.error:.3f}, {total:,} positions", fontsize="medium")
    assert isinstance(axes.figure, Figure)
    axes.figure.set_size_inches(HEIGHT, HEIGHT)
