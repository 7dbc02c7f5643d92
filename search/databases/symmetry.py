"""Symmetry classes: positions that a turn or a reflection of the board makes equal are one position.

The nine first moves of tic-tac-toe are then three (corner, edge and centre), and its 5,478 positions are 765. A game
names the permutations of its board in `Game.symmetries`. A *class* is the set of all images of one position under them,
and its `canonical_key` is the smallest key of these images:

    board               key
    at most 10 cells    exact: the cells, 6 bits each
    more cells          a hash of 63 bits: some two of n classes share a key with probability n^2 / 2^64 (10^-6 for four
                        million classes)

A key is made of the cells, and cells show the mover's view, so positions that differ only in the seats are one class
too. Therefore a game may name symmetries only if its cells, apart from the seat, say everything about a position. In
any other game each position is its own class, with the key `rules.key`.

Letters: S symmetries, C cells, W integers a state, n states.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel

CELL_BITS = 6
"""cells are below 64, as every game promises"""
WORD_CELLS = 10
"""cells in a non-negative int64"""


def symmetries_of(game: Game) -> np.ndarray:
    """The game's symmetries int64 [S, C] as kernels here take them; S = 0: it names none, and a position's key is
    `rules.key`."""
    if game.symmetries is None:
        return np.empty((0, game.rules.num_cells), np.int64)
    return np.ascontiguousarray(game.symmetries, np.int64)


@kernel
def canonical_key(rules, symmetries, state, board):
    """63 bits, equal for all states of one class; `board` int64 [C] is scratch memory."""
    if len(symmetries) == 0:
        return np.int64(rules.key(state))
    rules.cells(state, board)
    least = image_key(board, symmetries[0])
    for i in range(1, len(symmetries)):
        least = min(least, image_key(board, symmetries[i]))
    return least


@kernel
def image_key(board, permutation):
    """63 bits of the board [C] with cell permutation[i] at place i; one to one for at most 10 cells."""
    cells = len(permutation)
    if cells <= WORD_CELLS:
        return pack(board, permutation, 0, cells)
    word = mix(np.uint64(0))
    for begin in range(0, cells, WORD_CELLS):
        word = mix(word ^ np.uint64(pack(board, permutation, begin, min(begin + WORD_CELLS, cells))))
    return np.int64(word >> np.uint64(1))


@kernel
def pack(board, permutation, begin, end):
    """Cells begin..end - 1 of the image, six bits each."""
    word = np.int64(0)
    for i in range(begin, end):
        word = word << CELL_BITS | board[permutation[i]]
    return word


@kernel
def canonical_keys(rules, symmetries, rows, board, keys):
    """keys[i] = canonical key of the state rows[i]."""
    for i in range(len(rows)):
        keys[i] = canonical_key(rules, symmetries, rules.load(rows[i]), board)


def class_keys(game: Game, rows: np.ndarray) -> np.ndarray:
    """The canonical key, int64 [n], of each of the states `rows` int64 [n, W]."""
    keys = np.empty(len(rows), np.int64)
    board = np.empty(game.rules.num_cells, np.int64)
    canonical_keys(game.rules, symmetries_of(game), np.ascontiguousarray(rows, np.int64), board, keys)
    return keys
