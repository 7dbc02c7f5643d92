"""Opening books of chess in the format of Polyglot, which most chess programs read.

A book is a list of records of 16 bytes, the most significant byte of a number first, sorted by key:

    key     8 bytes    of the position, by the table in `search/databases/polyglot_random.py`
    move    2 bytes    bits 0-5 the square entered, 6-11 the square left, 12-14 what a pawn becomes, as White counts
                       squares; a castling king enters the square of his rook
    weight  2 bytes    how often to play the move, compared with the other moves of the position
    learn   4 bytes    not used here

The key counts en passant wherever a pawn stands beside the one that has made a double step. A `State` knows en passant
only where the capture is legal, so that a position in which the capturing pawn is pinned is not found.

`book_of` makes a book from games: a move weighs two for each game that its side has won, and one for each draw.

Source: F. Letouzey, Polyglot (2004); M. Bourdellès and H. G. Muller describe the format in
<http://hgm.nubati.net/book_format.html>.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.games.chess.boards import RANK_1, RANK_8
from deltaw.envs.games.chess.notation import as_white, men, moves_of
from deltaw.envs.record import GameRecord, replay, turn_of
from deltaw.search.databases.polyglot_random import RANDOM64

SUFFIX = ".bin"
RECORD = np.dtype([("key", ">u8"), ("move", ">u2"), ("weight", ">u2"), ("learn", ">u4")])
KINDS = "pPnNbBrRqQkK"
CASTLING, EN_PASSANT, WHITE_MOVES = 768, 772, 780
MOST = 0xFFFF
"""greatest weight"""


class PolyglotBook:
    """A book in memory. It answers as a `Knowledge` of `search/players/agent.py` does."""

    def __init__(self, records: np.ndarray) -> None:
        """`records`: of RECORD, in any order."""
        self.records = records[np.argsort(records["key"], kind="stable")]
        self._keys = self.records["key"].astype(np.uint64)

    def __len__(self) -> int:
        return len(self.records)

    def weights(self, state: Any) -> dict[int, int]:
        """The book's moves of the position that are legal, the weightiest first, with their weights."""
        key, found = np.uint64(polyglot_key(state)), {}
        first, last = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        for record in self.records[first:last] if last > first else ():
            found[swapped(state, int(record["move"]))] = int(record["weight"])
        legal = set(moves_of(state)) if found else set()
        return dict(sorted((pair for pair in found.items() if pair[0] in legal), key=lambda pair: -pair[1]))

    def moves(self, state: Any) -> list[int]:
        """The moves of the greatest weight; empty where the book does not know the position."""
        known = self.weights(state)
        return [move for move, weight in known.items() if weight == max(known.values())]

    def pick(self, state: Any, word: int) -> int | None:
        """A move of the book, drawn by 63 random bits in proportion to the weights; None where there is none."""
        known = self.weights(state)
        sums = list(accumulate(known.values()))
        if not sums or sums[-1] == 0:
            return None
        return next(move for move, total in zip(known, sums, strict=True) if word % sums[-1] < total)


def polyglot_key(state: Any) -> int:
    """The key of a position: 64 bits."""
    seen, placed, key = as_white(state), men(state), 0
    for square, letter in placed.items():
        key ^= RANDOM64[64 * KINDS.index(letter) + square]
    for side, rank in enumerate((RANK_1, RANK_8)):
        king = next(square for square, letter in placed.items() if letter == "Kk"[side])
        for rook in _squares(seen.castling & rank):
            key ^= RANDOM64[CASTLING + 2 * side + (rook < king)]
    for passed in _squares(seen.en_passant):
        key ^= RANDOM64[EN_PASSANT + passed % 8]
    return key ^ (RANDOM64[WHITE_MOVES] if state.seat == 0 else 0)


def _squares(mask: int) -> list[int]:
    return [square for square in range(64) if mask >> square & 1]


def swapped(state: Any, move: int) -> int:
    """A move code as a book writes it, and what a book has written as a move code, which need not be legal: the two
    squares change places, and Black's are mirrored."""
    turn = 0 if state.seat == 0 else 56
    return (move >> 6 & 63) ^ turn | ((move & 63) ^ turn) << 6 | move >> 12 << 12


# --- files ------------------------------------------------------------------------------------------------------------


def load_polyglot(path: str | Path, game: Game) -> PolyglotBook:
    """The book in a file. Raises InputError, also for another game than chess."""
    if game.name != "chess":
        raise InputError(f"{path}: opening books in Polyglot format are for chess, not for {game.name}")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the book {path}: {error.strerror}") from None
    if len(data) == 0 or len(data) % RECORD.itemsize:
        raise InputError(f"{path} is no Polyglot book: {len(data)} bytes are no records of {RECORD.itemsize}")
    return PolyglotBook(np.frombuffer(data, RECORD))


def book_of(game: Game, games: Iterable[GameRecord], plies: int) -> PolyglotBook:
    """The book of the first `plies` of the games that were finished. Raises InputError where nothing is left."""
    points: Counter[tuple[int, int]] = Counter()
    for record in games:
        if record.payoffs is None:
            continue
        for state, event in islice(replay(game, record), plies):
            won = 1 + int(record.payoffs[turn_of(game, record.start, state)])
            points[polyglot_key(state), swapped(state, event.code)] += won
    most: Counter[int] = Counter()
    for (key, _), weight in points.items():
        most[key] = max(most[key], weight)
    records = [
        (key, move, weight * MOST // max(most[key], MOST), 0) for (key, move), weight in points.items() if weight
    ]
    if not records:
        raise InputError("the games give no book: none of them was finished, or nobody has won or drawn")
    return PolyglotBook(np.array(sorted(records, key=lambda record: (record[0], -record[2], record[1])), RECORD))
