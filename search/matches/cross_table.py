"""A league as a picture: the score of every player against every other one, strongest first, with ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from deltaw.envs.errors import InputError
from deltaw.search.matches.league import LeagueResult, cell, rating_text

INCHES_A_PLAYER, MARGIN_INCHES = 0.62, 2.6
DOTS_PER_INCH = 120


def check_picture(path: str) -> None:
    """InputError, before anything is played, where the picture could not be drawn or written."""
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"cannot write {path}: a picture ends with .png, .svg or .pdf")
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {Path(path).parent}")


def draw(result: LeagueResult, title: str, path: str, shares_of: Sequence[float] | None = None) -> None:
    """Write the picture. The colour of a cell shows the score of the row's player against the column's; `shares_of`:
    of each player in a Nash mixture. Raises InputError."""
    players = len(result.names)
    side = INCHES_A_PLAYER * players + MARGIN_INCHES
    figure = Figure(figsize=(side + 1.2, side), layout="constrained")
    axes = figure.subplots()
    shares = np.array(
        [[points / played if played else np.nan for points, played in zip(*rows, strict=True)]
         for rows in zip(result.points, result.played, strict=True)]
    )  # fmt: skip
    image = axes.imshow(shares, cmap="RdYlGn", vmin=0.0, vmax=1.0)
    for i in range(players):
        for j in range(players):
            dark = not 0.1 < shares[i, j] < 0.9 and i != j
            axes.text(
                j, i, cell(result, i, j), ha="center", va="center", fontsize=8, color="white" if dark else "black"
            )
    axes.set_xticks(range(players), result.names, rotation=45, ha="right", rotation_mode="anchor")
    labels = [f"{result.names[i]}\n{rating_text(result, i)}" for i in range(players)]
    if shares_of is not None:
        labels = [f"{label}\nNash {100 * share:.0f} %" for label, share in zip(labels, shares_of, strict=True)]
    axes.set_yticks(range(players), labels)
    axes.set_title(title)
    figure.colorbar(image, label="the row's share of the games, draws half", shrink=0.8)
    try:
        figure.savefig(path, dpi=DOTS_PER_INCH)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
