"""The checkers board as text and as a picture, Black at the top."""

from __future__ import annotations

from PIL import Image

from deltaw.envs.games.checkers.notation import COLOURS, pieces_of
from deltaw.envs.games.checkers.rules import State, outcome
from deltaw.envs.picture import Colors, Picture, read_shapes

SQUARE, MARGIN, FOOT = 52, 14, 24
SIZE = 2 * MARGIN + 8 * SQUARE
LIGHT, DARK, PAPER, INK, NUMBER = "#ecdcbb", "#7d9a6a", "#f7f3e9", "#6b6459", "#dfe6d3"
PAINT = (Colors("#33302b", "#8d8672", "#fbf9f2"), Colors("#fbf9f2", "#8d8672", "#33302b"))
"""of Black's pieces, of White's"""
SHAPES = read_shapes("deltaw.envs.games.checkers", "pieces.svg")
MARKS = ".bwBW"
"""in text, by what `pieces_of` says"""
COLORS = {"b": "\033[1;36m", "w": "\033[1;33m"}
PLAIN = "\033[0m"


def column_and_row(number: int) -> tuple[int, int]:
    """Where the square with this number is, counted from 0 at the top left."""
    row, place = divmod(number - 1, 4)
    return 2 * place + 1 - row % 2, row


def ansi(state: State, color: bool = False) -> str:
    """The board in eight lines, each with the numbers of its squares: kings in upper case."""
    marks = [MARKS[piece] for piece in pieces_of(state)]
    lines = []
    for row in range(8):
        cells = [" "] * 8
        for place in range(4):
            number = 4 * row + place + 1
            mark = marks[number - 1]
            painted = color and mark != "."
            cells[column_and_row(number)[0]] = f"{COLORS[mark.lower()]}{mark}{PLAIN}" if painted else mark
        lines.append(" ".join(cells) + f"   {4 * row + 1:2} to {4 * row + 4:2}")
    return "\n".join([*lines, caption(state)])


def caption(state: State) -> str:
    """Whose move it is, or how the game has ended."""
    over, value = outcome(state)
    if over:
        return f"{COLOURS[1 - int(state.seat)]} wins" if value else "a draw: 40 moves without progress"
    return f"{COLOURS[int(state.seat)]} to move"


def picture(state: State) -> Picture:
    """444 x 468; empty squares show their numbers."""
    board = Picture(SIZE, SIZE + FOOT, PAPER)
    board.box(MARGIN, MARGIN, 8 * SQUARE, 8 * SQUARE, LIGHT)
    shapes = list(SHAPES.values())
    for number, piece in enumerate(pieces_of(state), start=1):
        column, row = column_and_row(number)
        left, top = MARGIN + SQUARE * column, MARGIN + SQUARE * row
        board.box(left, top, SQUARE, SQUARE, DARK)
        if piece:
            kind, owner = divmod(piece - 1, 2)
            board.shape(shapes[kind], left, top, SQUARE, PAINT[owner])
        else:
            board.text(str(number), left + SQUARE // 2, top + SQUARE // 2, NUMBER)
    board.text(caption(state), SIZE // 2, SIZE + FOOT // 2 - 6, INK)
    return board


def draw(state: State) -> Image.Image:
    return picture(state).image()


def svg(state: State) -> str:
    return picture(state).svg()
