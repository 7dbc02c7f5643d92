"""A game without its own notation, features and drawing: what a new one can begin with, made from its rules.

`plain_game` takes the rules of a game whose board is one or two bit masks of its State (the mover's pieces, and the
opponent's) and adds

    features   `pieces`: one input for each piece on each square; n-tuples come by themselves
    position   the integers of the State, `31,32505856,0`, each within the range of its field
    move       the squares that the mover's pieces leave and enter, `a2-b3`; its code where that fits several moves
    text and picture of the board, as the first player sees it

Each can be replaced by an argument, and later by a file like `envs/games/tic_tac_toe.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deltaw.envs.errors import InputError, short
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules
from deltaw.envs.texts import WHOLE, whole

if TYPE_CHECKING:
    from PIL import Image

FEATURES = "pieces"
MARKS = ".XO"
"""in text: an empty square, a piece of the first player, one of the second"""
SIDES = ("me", "opponent")
SQUARE, LEAST = 60, 100
"""pixels of a square, and of a picture's shorter side"""
GROUND, LINE, COLORS = "#f7f3e9", "#6b6459", ("#b3432b", "#2b5c8a")


def plain_game(
    name: str,
    title: str,
    state: type,
    *,
    board: tuple[int, int],
    masks: tuple[str, ...] = ("me", "opponent"),
    turned: bool = False,
    symmetries: np.ndarray | None = None,
    ranges: Mapping[str, range] | None = None,
    text: dict[str, Any] | None = None,
    **rules: Any,
) -> Game:
    """A `Game` of the given rules.

    `board`: rows and columns; square 0, bit 0 of every mask, is the top left one, and squares are numbered row by row.
    `masks`: the fields of `state` that hold the mover's pieces and, if there is a second, the opponent's; no square is
    in both. `turned`: `play` turns the board by half, so that every mover moves up. `ranges`: what each of the other
    fields can hold, such as {"last": range(-1, 25)}; that of `seat` is known. A position is read within these ranges,
    since kernels use fields as indices and check none. `text` replaces what is plain: arguments of `Game` such as
    move_text. `rules` are those of `make_rules`; `seat` may be left out where the state has a field `seat`. Raises
    InputError for a board that no mask can hold, and for a field without a range.
    """
    rows, columns = board
    squares = rows * columns
    given = {"seat": _seat, "outcomes": (-1, 1), **rules}
    ranges = {
        "seat": range(given.get("num_players", 2)),
        **(ranges or {}),
        **dict.fromkeys(masks, _mask_range(squares)),
    }
    unknown = [field for field in state._fields if field not in ranges]  # type: ignore[attr-defined]
    if unknown:
        raise InputError(
            f"{name}: what can the field {unknown[0]} hold? Give plain_game ranges={{{unknown[0]!r}: range(...)}}"
        )
    cells = _cells(tuple(state._fields.index(mask) for mask in masks), squares)  # type: ignore[attr-defined]
    count = len(masks) * squares
    pieces = FeatureSet(FEATURES, (len(masks),), count, count, lambda: _feature_names(masks, board))
    view = _View(given["seat"], cells, board, swapped=len(masks) == 2, turned=turned)
    texts: dict[str, Any] = {
        "parse": _reader(state, ranges, masks, board),
        "format": lambda state: ",".join(str(int(number)) for number in state),
        "move_text": lambda state, move: view.move_text(game, state, move),
        "ansi": view.ansi,
        "draw": view.draw,
    }
    game: Game = Game(
        name=name,
        title=title,
        state=state,
        rules=make_rules(
            state,
            features=_pieces(cells, squares),
            cells=cells,
            num_cells=squares,
            tuple_values=len(masks) + 1,
            **given,
        ),
        feature_sets={FEATURES: pieces},
        default_features=FEATURES,
        board=board,
        turned=turned,
        symmetries=symmetries,
        **(texts | (text or {})),
    )
    return game


def square_name(board: tuple[int, int], square: int) -> str:
    """Column letter and row number from the bottom: `a1` is the bottom left square."""
    row, column = divmod(square, board[1])
    return chr(ord("a") + column) + str(board[0] - row)


def _feature_names(masks: tuple[str, ...], board: tuple[int, int]) -> list[str]:
    squares = range(board[0] * board[1])
    return [f"{side}_{square_name(board, square)}" for side, _ in zip(SIDES, masks, strict=False) for square in squares]


# --- compiled -----------------------------------------------------------------------------------------------------


@kernel
def _seat(state):
    return state.seat


def _cells(fields, squares):
    mine, his = fields[0], fields[-1]
    two = len(fields) == 2

    @kernel
    def cells(state, out):
        """0 empty, 1 mine, 2 the opponent's."""
        for square in range(squares):
            out[square] = state[mine] >> square & 1
            if two:
                out[square] += 2 * (state[his] >> square & 1)

    return cells


def _pieces(cells, squares):
    @kernel
    def features(state, spec, index, value):
        """One input a square for my pieces, then one a square for the opponent's."""
        board = np.empty(squares, np.int64)
        cells(state, board)
        n = 0
        for piece in range(spec[0]):
            for square in range(squares):
                if board[square] == piece + 1:
                    index[n] = piece * squares + square
                    value[n] = 1.0
                    n += 1
        return n

    return features


# --- text and picture ---------------------------------------------------------------------------------------------


def _mask_range(squares: int) -> range:
    if squares > 64:
        raise InputError(f"a board of {squares} squares does not fit into a mask: 64 are the most")
    return range(1 << squares) if squares < 64 else WHOLE  # the 64th bit is the sign


def _reader(
    state: type, ranges: Mapping[str, range], masks: tuple[str, ...], board: tuple[int, int]
) -> Callable[[str], Any]:
    fields = state._fields  # type: ignore[attr-defined]

    def parse(text: str) -> Any:
        words = text.split(",")
        try:
            read = state(*(whole(word) for word in words)) if len(words) == len(fields) else None
        except ValueError:
            read = None
        if read is None:
            raise InputError(
                f"{short(text)} is no position: write {', '.join(fields)} as numbers with commas between them"
            )
        for field, number in zip(fields, read, strict=True):
            if number not in ranges[field]:
                least, most = ranges[field][0], ranges[field][-1]
                raise InputError(
                    f"{short(text)} is no position: {field} is {number}, it must be from {least} to {most}"
                )
        both = getattr(read, masks[0]) & getattr(read, masks[1]) if len(masks) == 2 else 0
        if both:
            square = square_name(board, (both & -both).bit_length() - 1)
            raise InputError(f"{short(text)} is no position: {' and '.join(masks)} both have a piece on {square}")
        return read

    return parse


class _View:
    """The board as the first player sees it."""

    def __init__(self, seat: Any, cells: Any, board: tuple[int, int], *, swapped: bool, turned: bool) -> None:
        self.seat, self.cells, self.board = seat, cells, board
        self.swapped, self.turned = swapped, turned

    def pieces(self, state: Any) -> np.ndarray:
        """int64 [rows, columns]: 0 empty, 1 the first player's, 2 the second's."""
        found = np.empty(self.board[0] * self.board[1], np.int64)
        self.cells(state, found)
        if self.seat(state) == 1:
            found = np.array([0, 2, 1])[found] if self.swapped else found
            found = found[::-1] if self.turned else found
        return found.reshape(self.board)

    def ansi(self, state: Any, color: bool = False) -> str:
        rows, columns = self.board
        lines = [
            f"{rows - r:2}  " + " ".join(MARKS[piece] for piece in row) for r, row in enumerate(self.pieces(state))
        ]
        letters = " ".join(chr(ord("a") + column) for column in range(columns))
        mover = MARKS[1 + int(self.seat(state))]
        return "\n".join([*lines, f"    {letters}", f"{mover} to move"])

    def move_text(self, game: Game, state: Any, move: int) -> str:
        texts = {code: self._squares_of_move(game, state, code) for code in game.moves(state)}
        text = texts.get(move, "")
        return text if text and list(texts.values()).count(text) == 1 else str(move)

    def _squares_of_move(self, game: Game, state: Any, move: int) -> str:
        before, after = self.pieces(state).ravel(), self.pieces(game.rules.play(state, move)).ravel()
        mine = 1 + int(self.seat(state)) if self.swapped else 1
        left, came = (before == mine) & (after != mine), (after == mine) & (before != mine)
        words = [
            "".join(square_name(self.board, int(square)) for square in np.flatnonzero(some)) for some in (left, came)
        ]
        return "-".join(word for word in words if word)

    def draw(self, state: Any) -> Image.Image:
        """At least SQUARE pixels a square."""
        from PIL import Image, ImageDraw

        rows, columns = self.board
        size = max(SQUARE, -(-LEAST // min(rows, columns)))
        image = Image.new("RGB", (columns * size + 1, rows * size + 1), GROUND)
        pen = ImageDraw.Draw(image)
        for (row, column), piece in np.ndenumerate(self.pieces(state)):
            left, top = column * size, row * size
            pen.rectangle([left, top, left + size, top + size], outline=LINE)
            if piece:
                pen.ellipse([left + 9, top + 9, left + size - 9, top + size - 9], fill=COLORS[piece - 1])
        return image
