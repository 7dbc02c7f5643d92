"""Weights drawn where they belong: on the squares of a board, or on the points of backgammon.

Which feature describes which square is found out, not declared, so that it works for a game nobody here has seen: over
positions of random games, a feature belongs to a square and a piece if it is active exactly where `cells` says that
this piece stands there, always with the same value; or, signed, with one value for 1 and its opposite for 2. Which way
up the board stands is found out too, from the game's own picture: where pixels change as cells change. Backgammon's
inputs count checkers, so its points are drawn as stacks of what each further checker adds.

Letters: N positions, F features, C cells, W integers a state.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deltaw.envs.game import FeatureSet, Game
from deltaw.learn.exports.export import random_positions
from deltaw.learn.selfplay.lockstep import dense_features
from deltaw.learn.watch.report_page import FAINT, figure, ink, shade, svg
from deltaw.search.analysis.tree_picture import tag

POSITIONS = 1500
"""of random games, by which features and squares are matched"""
MOST_NUMBERS = 20_000_000
"""of a dense table of features: fewer positions for a large feature set"""
PAIRS = 14
"""of positions that are drawn to see which way up the board stands"""
POINT = re.compile(r"(me|opponent)_(\d+)_(1|2|3|more)")
PARTS = ("1", "2", "3", "more")
"""inputs of a point: 1 if at least 1, 2, 3 checkers stand there, and (n - 3)/2"""
MOST_CELLS = 400
"""a larger board is not drawn"""


class BoardMap(NamedTuple):
    """The features of one piece on every square."""

    title: str
    feature: np.ndarray
    """int64 [C]: the feature of each cell, -1 where there is none"""


class Layout(NamedTuple):
    """How a game's board is drawn."""

    rows: int
    columns: int
    place: np.ndarray
    """int64 [C]: row * columns + column of each cell in the picture, from the top left"""


def dense(game: Game, features: FeatureSet, rows: np.ndarray) -> np.ndarray:
    """float32 [N, F]: all features of positions `rows` int64 [N, W]; fewer of them for a large feature set."""
    rows = rows[: max(2, MOST_NUMBERS // features.num_features)]
    out = np.empty((len(rows), features.num_features), np.float32)
    room = features.max_active + 4
    work = np.empty(room, np.int32), np.empty(room, np.float32)
    dense_features(game.rules, np.array(features.spec, np.int64), np.ascontiguousarray(rows), *work, out)
    return out


def random_rows(game: Game, number: int = POSITIONS) -> np.ndarray:
    """int64 [number, W]: successive positions of random games."""
    return random_positions(game, 1, number)


def cells_of(game: Game, rows: np.ndarray, kernel: str = "cells") -> np.ndarray:
    """int64 [N, C]: what stands where, by the game's `cells` or `tuple_cells`."""
    out = np.empty((len(rows), game.rules.num_cells), np.int64)
    for i, row in enumerate(rows):
        getattr(game.rules, kernel)(game.rules.load(row), out[i])
    return out


# --- which feature is which square --------------------------------------------------------------------------------


def board_maps(game: Game, features: FeatureSet) -> list[BoardMap]:
    """The features that describe one square each, piece by piece; none where the game has no board."""
    if game.board is None or game.rules.num_cells > MOST_CELLS:
        return []
    rows = random_rows(game)
    x = dense(game, features, rows)
    cells = cells_of(game, rows[: len(x)])
    names = features.names()
    found = []
    signed = _matching(x, np.where(cells == 1, 1.0, np.where(cells == 2, -1.0, 0.0)))
    for piece, feature in [(0, signed), *((v, _matching(x, (cells == v) * 1.0)) for v in range(1, cells.max() + 1))]:
        known = [names[f] for f in feature if f >= 0]
        if 2 * len(known) > len(feature):
            found.append(BoardMap(_title(known, piece), feature))
    return found


def _matching(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """int64 [C]: the first feature that is a positive multiple of each column of `wanted` [N, C]; -1: none."""
    scale = np.abs(x).max(axis=0)
    unit = x / np.where(scale > 0, scale, 1)
    squares = (unit**2).sum(axis=0)[:, None] + (wanted**2).sum(axis=0)[None] - 2 * unit.T @ wanted
    equal = (squares < 1e-3) & (scale > 0)[:, None] & (wanted != 0).any(axis=0)[None]
    return np.where(equal.any(axis=0), equal.argmax(axis=0), -1)


def _title(names: Sequence[str], piece: int) -> str:
    alike = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in alike).strip("_ ")
    return common or ("mine +, the opponent's −" if piece == 0 else f"piece {piece}")


def layout_of(game: Game) -> Layout:
    """The board as the game's own picture shows it to the first player."""
    assert game.board is not None
    rows, columns = game.board
    down, right = _directions(game)
    grid = np.arange(rows * columns).reshape(rows, columns)
    grid = grid[::-1] if not down else grid
    grid = grid[:, ::-1] if not right else grid
    place = np.empty(rows * columns, np.int64)
    place[grid.ravel()] = np.arange(rows * columns)
    return Layout(rows, columns, place)


def _directions(game: Game) -> tuple[bool, bool]:
    """Whether row numbers grow downwards and column numbers to the right: do pixels change lower where cells change in
    higher rows?"""
    assert game.board is not None
    states = [game.unrow(row) for row in random_rows(game, 40 * PAIRS)]
    first = [state for state in states if game.rules.seat(state) == 0]  # a board that turns with the mover stands still
    pairs = list(itertools.pairwise(first))[:: max(1, len(first) // PAIRS)]
    places = []
    for before, after in pairs:
        a, b = cells_of(game, np.array([game.row(before), game.row(after)]))
        changed = np.flatnonzero(a != b)
        pixels = np.argwhere(_picture(game, before) != _picture(game, after))
        if len(changed) and len(pixels):
            cell = np.divmod(changed, game.board[1])
            places.append([cell[0].mean(), cell[1].mean(), pixels[:, 0].mean(), pixels[:, 1].mean()])
    if len(places) < 3:
        return True, True
    row, column, y, x = np.array(places).T
    return _rises(row, y), _rises(column, x)


def _picture(game: Game, state: object) -> np.ndarray:
    return np.asarray(game.draw(state).convert("L"), np.int64)


def _rises(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a - a.mean()) * (b - b.mean())).sum() >= 0)


# --- drawing ------------------------------------------------------------------------------------------------------


def board_svg(
    layout: Layout, values: np.ndarray, names: Sequence[str], largest: float, *, size: float = 44.0, texts: bool = True
) -> str:
    """The board in the colours of `values` float [C] (NaN: nothing there); `names` [C] are shown under the pointer."""
    parts = []
    for cell, place in enumerate(layout.place):
        row, column = divmod(int(place), layout.columns)
        x, y, value = column * size + 1, row * size + 1, float(values[cell])
        if np.isnan(value):
            parts.append(tag("rect", x=x, y=y, width=size, height=size, fill="none", stroke=FAINT))
            continue
        about = tag("title", f"{names[cell]} {value:+.4f}")
        fill = shade(value, largest)
        parts.append(tag("rect", about, x=x, y=y, width=size, height=size, fill=fill, stroke=FAINT, raw=True))
        if texts:
            style = f"fill:{ink(value, largest)};font-size:{size / 4:g}px;pointer-events:none"
            parts.append(
                tag("text", f"{value:+.2f}", x=x + size / 2, y=y + size / 2 + 4, text_anchor="middle", style=style)
            )
    return svg(layout.columns * size + 2, layout.rows * size + 2, "".join(parts), "weights on the board")


def points_svg(weights: dict[str, float], side: str, largest: float, *, size: float = 13.0, texts: bool = True) -> str:
    """Backgammon's points with four checkers each, coloured by `stack_values`. The mover's home is bottom right; the
    opponent's points are drawn where they are on that board."""
    values = stack_values(weights, side)
    width, height = 13.4 * 2 * size, 2 * (len(PARTS) + 1.6) * 2 * size
    parts = [tag("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, fill="#f1ead9", stroke=FAINT)]
    for point in range(1, 25):
        place = point if side == "me" else 25 - point
        column = 12 - place if place <= 12 else place - 13
        x = (column + 0.7 + (column > 5) * 0.6) * 2 * size
        edge, step = (height - 1.6 * size, -2 * size) if place <= 12 else (1.6 * size, 2 * size)
        if texts:
            parts.append(tag("text", str(place), x=x, y=edge - step / 4 * 1.4 + 4, text_anchor="middle", class_="soft"))
        for k, value in enumerate(values[point]):
            y = edge + step * (k + 0.85)
            which = ("first", "second", "third", "each further")[k]
            about = tag("title", f"{which} checker of {side} on its point {point}: {value:+.4f}")
            fill = shade(value, largest)
            parts.append(tag("circle", about, cx=x, cy=y, r=size - 0.8, fill=fill, stroke=FAINT, raw=True))
            if texts:
                style = f"fill:{ink(value, largest)};font-size:{size * 0.62:g}px;pointer-events:none"
                text = str(round(100 * value)).replace("-", "−")
                parts.append(tag("text", text, x=x, y=y + size * 0.22, text_anchor="middle", style=style))
    return svg(width, height, "".join(parts), f"what checkers of {side} are worth, point by point")


def stack_values(weights: dict[str, float], side: str) -> dict[int, list[float]]:
    """What the first, second, third and every further checker on each point 1..24 adds, less the mean of all these: a
    side always has fifteen checkers, so that the same number more for each would change nothing."""
    steps = {
        point: [weights[f"{side}_{point}_{part}"] / (2 if part == "more" else 1) for part in PARTS]
        for point in range(1, 25)
    }
    mean = float(np.mean(list(steps.values())))
    return {point: [value - mean for value in values] for point, values in steps.items()}


class Drawing:
    """Draws a weight for every feature, those that have a place on the game's board."""

    def __init__(self, game: Game, features: FeatureSet) -> None:
        self.names = features.names()
        self.maps = board_maps(game, features)
        self.layout = layout_of(game) if self.maps else None
        points = {match[1] for match in map(POINT.fullmatch, self.names) if match}
        self.sides = [side for side in ("me", "opponent") if side in points] if not self.maps else []

    @property
    def drawn(self) -> set[int]:
        """Features that are on the pictures."""
        if self.sides:
            return {i for i, name in enumerate(self.names) if POINT.fullmatch(name)}
        return {int(f) for m in self.maps for f in m.feature if f >= 0}

    def largest(self, weight: np.ndarray) -> float:
        """The number with the deepest colour, for `weight` float [F] or [F, K]."""
        if self.sides:
            columns = weight if weight.ndim == 2 else weight[:, None]
            return max(abs(v) for column in columns.T for side in self.sides for v in self._stacks(column, side))
        return float(np.abs(weight[sorted(self.drawn)]).max()) if self.maps else 0.0

    def _stacks(self, weight: np.ndarray, side: str) -> list[float]:
        named = dict(zip(self.names, map(float, weight), strict=True))
        return [value for values in stack_values(named, side).values() for value in values]

    def pictures(self, weight: np.ndarray, largest: float, *, small: bool = False) -> list[str]:
        """A figure for each piece or side of `weight` float [F]; empty where nothing has a place."""
        named = dict(zip(self.names, map(float, weight), strict=True))
        if self.sides:
            size = 4.6 if small else 13.0
            hundredths = (
                ""
                if small
                else ": what the first, second, third and each further checker adds, less the mean; in hundredths"
            )
            return [
                figure(points_svg(named, side, largest, size=size, texts=not small), side + hundredths, int(27 * size))
                for side in self.sides
            ]
        return [self._board(m, weight, largest, small) for m in self.maps]

    def _board(self, m: BoardMap, weight: np.ndarray, largest: float, small: bool) -> str:
        assert self.layout is not None
        values = np.where(m.feature >= 0, weight[m.feature], np.nan)
        names = [self.names[f] if f >= 0 else "" for f in m.feature]
        size = 96.0 / max(self.layout.columns, self.layout.rows) if small else 44.0
        return figure(board_svg(self.layout, values, names, largest, size=size, texts=not small), m.title)


def tuple_svg(layout: Layout, cells: Sequence[int], marks: Sequence[str], fill: str, size: float) -> str:
    """The board with a tuple's cells filled, and a mark in each."""
    parts = []
    marked = dict(zip(cells, marks, strict=True))
    for cell, place in enumerate(layout.place):
        row, column = divmod(int(place), layout.columns)
        x, y = column * size + 1, row * size + 1
        color = fill if cell in marked else "none"
        parts.append(tag("rect", x=x, y=y, width=size, height=size, fill=color, stroke=FAINT))
        if marked.get(cell):
            style = f"font-size:{size * 0.7:g}px"
            parts.append(
                tag("text", marked[cell], x=x + size / 2, y=y + size * 0.75, text_anchor="middle", style=style)
            )
    return svg(layout.columns * size + 2, layout.rows * size + 2, "".join(parts), "cells " + " ".join(map(str, cells)))


def line_of_cells(game: Game) -> Layout:
    """Cells side by side, for a game without a board."""
    number = game.rules.num_cells
    return Layout(1, number, np.arange(number))
