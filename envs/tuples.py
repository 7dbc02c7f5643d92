"""N-tuple networks as a feature set that every game has: tables indexed by what stands on a few cells of the board.

A *tuple* is a list of n cells. What stands there, read as the digits of a number in base V, is the index into the
tuple's table of V^n weights; the value of a position is the sum of one weight from every table. So an n-tuple network
is a linear evaluator whose features are the entries of all tables, exactly one of each active, and whatever learns or
searches with linear evaluators does so with n-tuples.

**Symmetry.** A tuple may have several *placements*, its images under the symmetries of the board, which share the
tuple's table: the index of an entry then occurs several times, or twice the same, among the active ones.

**Seats.** With two seats each side to move has tables of its own: where it matters who will move into the last square
(zugzwang in Connect Four), the same board has another value for the first player than for the second.

The network is plain integers, a feature set's `spec`, stored in the evaluator's file:

    TUPLES, V, seats, number of tables, then for each table: n, number of placements, n cells of each placement

Letters: V values of a cell, n cells of a tuple, P placements of all tuples together.

W. Bledsoe and I. Browning, "Pattern recognition and reading by machine" (1959); S. Lucas, "Learning to play Othello
with n-tuple systems" (2008), also for random walks; M. Thill, P. Koch and W. Konen, "Reinforcement learning with
n-tuples on the game Connect-4" (2012), for tables of each seat.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel

TUPLES = -1
"""spec[0] of such a feature set; games number their own sets from 0"""
NAME = "tuples"
HEADER = 4
MOST_WEIGHTS = 2**31 - 1
"""indices are int32"""
TOO_LONG = MOST_WEIGHTS.bit_length()
"""cells of a tuple that has more weights than that, even where a cell has two values only"""


# --- compiled -----------------------------------------------------------------------------------------------------


@kernel
def active_entries(cells, spec, seat, index):
    """index[:P] = the active entry of every placement, table by table; returns P. `cells`: what stands where, 0 .. V -
    1."""
    values, tables, at, n = spec[1], spec[3], HEADER, 0
    first = np.int64(0)
    for _ in range(tables):
        length, placements = spec[at], spec[at + 1]
        at += 2
        size = 1
        for _ in range(length):
            size *= values
        own = first + seat * size if spec[2] == 2 else first
        for _ in range(placements):
            entry = np.int64(0)
            for k in range(at, at + length):
                entry = entry * values + cells[spec[k]]
            index[n] = own + entry
            n += 1
            at += length
        first += size * spec[2]
    return n


# --- the spec -----------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """One tuple of a network."""

    first: int
    """index of its first weight"""
    size: int
    """V^n; each seat that has weights of its own has so many"""
    placements: tuple[tuple[int, ...], ...]
    """cells of each placement; the first is the tuple itself"""


def make_spec(
    values: int, seats: int, tuples: Sequence[Sequence[int]], num_cells: int, symmetries: np.ndarray | None
) -> tuple[int, ...]:
    """The spec of a network over `tuples` of cells; `symmetries` int64 [S, num_cells] or None: tuples have one
    placement only."""
    if not tuples:
        raise InputError("an n-tuple network needs at least one tuple")
    spec = [TUPLES, values, seats, len(tuples)]
    for cells in tuples:
        bad = [cell for cell in cells if not 0 <= cell < num_cells]
        if bad or not cells or len(set(cells)) < len(cells):
            raise InputError(f"tuple {list(cells)} must name different cells from 0 to {num_cells - 1}")
        images = [tuple(cells)] if symmetries is None else [tuple(int(p[cell]) for cell in cells) for p in symmetries]
        placements = list(dict.fromkeys(images))
        spec += [len(cells), len(placements), *itertools.chain.from_iterable(placements)]
    return tuple(spec)


def tables(spec: tuple[int, ...]) -> Iterator[Table]:
    """The tuples of a network; raises InputError where `spec` is none. Whether it fits a game, `Game.described`
    checks."""
    at, first = HEADER, 0
    if len(spec) < HEADER or spec[0] != TUPLES or spec[1] < 2 or spec[2] not in (1, 2) or spec[3] < 1:
        raise InputError(f"{spec[:HEADER]} begins no description of an n-tuple network")
    for _ in range(spec[3]):
        length, count = (*spec[at : at + 2], 0, 0)[:2]
        end = at + 2 + length * count
        if length < 1 or count < 1 or end > len(spec):
            raise InputError("the description of an n-tuple network is cut off or damaged")
        placements = tuple(spec[i : i + length] for i in range(at + 2, end, length))
        for cells in placements:
            if min(cells) < 0 or len(set(cells)) < length:
                raise InputError(f"tuple {list(cells)} must name different cells from 0 upwards")
        size = min(spec[1], MOST_WEIGHTS + 1) ** min(length, TOO_LONG)
        if first + size * spec[2] > MOST_WEIGHTS:
            raise InputError(f"an n-tuple network has at most {MOST_WEIGHTS:,} weights; these tuples have more")
        yield Table(first, size, placements)
        first, at = first + size * spec[2], end
    if at != len(spec):
        raise InputError("the description of an n-tuple network is too long")


def num_weights(spec: tuple[int, ...]) -> int:
    return sum(table.size for table in tables(spec)) * spec[2]


def num_placements(spec: tuple[int, ...]) -> int:
    return sum(len(table.placements) for table in tables(spec))


def entry_names(spec: tuple[int, ...]) -> list[str]:
    """`0,1,2=201` is the entry for 2 on cell 0, 0 on cell 1, 1 on cell 2; with tables for each seat `first:` or
    `second:` stands before it."""
    names = []
    for table in tables(spec):
        cells = ",".join(map(str, table.placements[0]))
        for seat in ("first:", "second:") if spec[2] == 2 else ("",):
            digits = itertools.product(range(spec[1]), repeat=len(table.placements[0]))
            names += [f"{seat}{cells}={''.join(map(str, word))}" for word in digits]
    return names


# --- choosing tuples ----------------------------------------------------------------------------------------------


def random_walks(board: tuple[int, int], count: int, length: int, seed: int) -> list[tuple[int, ...]]:
    """`count` tuples of `length` cells, each a walk over the board (rows, columns) from a random cell to neighbours,
    diagonal ones included, that have not been visited; no two have the same cells. The cells are sorted: their order
    does not matter."""
    rows, columns = board
    if not 1 <= length <= rows * columns:
        raise InputError(f"a walk of {length} cells does not fit a board of {rows * columns}")
    random = np.random.default_rng(seed)
    found: dict[tuple[int, ...], None] = {}
    for _ in range(1000 * count):
        if len(found) == count:
            return list(found)
        walk = [int(random.integers(rows * columns))]
        while len(walk) < length:
            ways = [cell for cell in _neighbours(board, walk[-1]) if cell not in walk]
            if not ways:
                break
            walk.append(ways[int(random.integers(len(ways)))])
        if len(walk) == length:
            found[tuple(sorted(walk))] = None
    if len(found) == count:
        return list(found)
    raise InputError(f"found only {len(found)} of {count} different walks of {length} cells; ask for fewer")


def straight_lines(board: tuple[int, int], length: int, symmetries: np.ndarray | None) -> list[tuple[int, ...]]:
    """Every straight line of `length` neighbouring cells, in rows, columns and diagonals; of those that are each
    other's images only the first (W. Jaśkowski, "Systematic n-tuple networks for Othello position evaluation",
    2014)."""
    rows, columns = board
    lines: dict[frozenset[int], tuple[int, ...]] = {}
    for row, column, (down, right) in itertools.product(range(rows), range(columns), ((0, 1), (1, 0), (1, 1), (1, -1))):
        end_row, end_column = row + down * (length - 1), column + right * (length - 1)
        if not (end_row < rows and 0 <= end_column < columns):
            continue
        line = tuple((row + down * i) * columns + column + right * i for i in range(length))
        images = [line] if symmetries is None else [tuple(int(p[cell]) for cell in line) for p in symmetries]
        if not any(frozenset(image) in lines for image in images):
            lines[frozenset(line)] = line
    return list(lines.values())


def _neighbours(board: tuple[int, int], cell: int) -> list[int]:
    rows, columns = board
    row, column = divmod(cell, columns)
    around = [(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    return [r * columns + c for r, c in around if 0 <= r < rows and 0 <= c < columns]
