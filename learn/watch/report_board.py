"""Weights drawn where they belong: on the squares of a board, or on the points of backgammon.

No game declares which feature describes which square; it is found out from positions of random games, so it works for
any game. A feature belongs to a square and a piece if it is active exactly when `cells` says that this piece stands
there, always with the same value. A signed feature has one value for 1 and the opposite value for 2. Where that finds
nothing, names tell: as many features as there are squares, in their order, named alike but for what follows the last
`_` (middle_knight_a1, middle_knight_b1 ...). The orientation of the board is found out, too: in the game's own picture
pixels change where cells change. Backgammon's inputs count checkers, so each of its points is drawn as a stack that
shows what each further checker adds.

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
from deltaw.learn.watch.pictures import INK

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
SQUARE, CHECKER, SMALL_CHECKER = 44.0, 26.0, 9.2
"""pixels: of what has a number in it, and without numbers"""
SMALL_BOARD = 96.0
"""pixels: of a board without numbers"""
GOOD, BAD, NEUTRAL = (209, 104, 30), (38, 98, 160), (253, 252, 248)


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

    def where(self, cell: int) -> tuple[int, int]:
        """Row and column."""
        row, column = divmod(int(self.place[cell]), self.columns)
        return row, column


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
    return found or named_maps(names, len(cells[0]))


def named_maps(names: Sequence[str], squares: int) -> list[BoardMap]:
    """Runs of as many features as there are squares whose names begin alike."""
    runs = itertools.groupby(range(len(names)), lambda f: names[f].rpartition("_")[0])
    alike = [(title, np.array(list(run))) for title, run in runs]
    return [BoardMap(title, run) for title, run in alike if title and len(run) == squares]


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


class Mark(NamedTuple):
    value: float | None
    """gives the colour; None: a text alone"""
    text: str = ""
    about: str = ""
    """shown under the pointer"""


class Grid(NamedTuple):
    """Numbers on squares, or on backgammon's checkers, as `report.html.jinja` draws them."""

    rows: int
    columns: int
    marks: dict[tuple[int, int], Mark]
    """by row and column"""
    largest: float
    """the number with the deepest colour"""
    caption: str
    size: float
    """pixels: of a square"""
    letter: float = 0.25
    """font size in squares; 0: no texts"""
    checkers: bool = False


def shade(value: float, largest: float) -> str:
    """From blue (-largest, bad for the mover) over white to orange (+largest, good)."""
    share = min(max(value / largest, -1.0), 1.0) if largest > 0 else 0.0
    end = GOOD if share > 0 else BAD
    mixed = (round(n + (e - n) * abs(share) ** 0.8) for n, e in zip(NEUTRAL, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink(value: float, largest: float) -> str:
    """A colour in which text can be read on `shade`."""
    return "#ffffff" if abs(value) > 0.62 * largest > 0 else INK


def points_grid(weights: dict[str, float], side: str, largest: float, small: bool) -> Grid:
    """Backgammon's points with four checkers each, coloured by `stack_values`. The mover's home is bottom right; the
    opponent's points are drawn where they are on that board."""
    marks = {}
    for point, values in stack_values(weights, side).items():
        place = point if side == "me" else 25 - point
        column = 12 - place if place <= 12 else place - 13
        column += column > 5  # the bar
        edge, step = (10, -1) if place <= 12 else (0, 1)
        marks[edge, column] = Mark(None, str(place))
        for k, (which, value) in enumerate(zip(("first", "second", "third", "each further"), values, strict=True), 1):
            about = f"{which} checker of {side} on its point {point}: {value:+.4f}"
            marks[edge + step * k, column] = Mark(value, str(round(100 * value)).replace("-", "−"), about)
    if small:
        return Grid(11, 13, marks, largest, side, SMALL_CHECKER, 0, checkers=True)
    meaning = "what the first, second, third and each further checker adds, less the mean; in hundredths"
    return Grid(11, 13, marks, largest, f"{side}: {meaning}", CHECKER, 0.38, checkers=True)


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
        return [value for values in stack_values(self._named(weight), side).values() for value in values]

    def _named(self, weight: np.ndarray) -> dict[str, float]:
        return dict(zip(self.names, map(float, weight), strict=True))

    def grids(self, weight: np.ndarray, largest: float, *, small: bool = False) -> list[Grid]:
        """One for each piece or side of `weight` float [F]; none where nothing has a place."""
        if self.sides:
            return [points_grid(self._named(weight), side, largest, small) for side in self.sides]
        return [self._board(m, weight, largest, small) for m in self.maps]

    def _board(self, m: BoardMap, weight: np.ndarray, largest: float, small: bool) -> Grid:
        assert self.layout is not None
        rows, columns = self.layout.rows, self.layout.columns
        marks = {
            self.layout.where(cell): Mark(weight[f], f"{weight[f]:+.2f}", f"{self.names[f]} {weight[f]:+.4f}")
            for cell, f in enumerate(m.feature)
            if f >= 0
        }
        size, letter = (SMALL_BOARD / max(rows, columns), 0.0) if small else (SQUARE, 0.25)
        return Grid(rows, columns, marks, largest, m.title, size, letter)


def line_of_cells(game: Game) -> Layout:
    """Cells side by side, for a game without a board."""
    number = game.rules.num_cells
    return Layout(1, number, np.arange(number))
