"""The checkers board as text and as a picture, Black at the top."""

from __future__ import annotations

from PIL import Image, ImageDraw

from deltaw.envs.games.checkers.notation import COLOURS, pieces_of
from deltaw.envs.games.checkers.rules import State, outcome

SCALE = 3
"""drawn so many times larger, then scaled down"""
SQUARE, MARGIN, FOOT = 52, 14, 24
SIZE = 2 * MARGIN + 8 * SQUARE
LIGHT, DARK, PAPER, INK, NUMBER = "#ecdcbb", "#7d9a6a", "#f7f3e9", "#6b6459", "#dfe6d3"
FILLS, EDGES = ("#33302b", "#fbf9f2"), ("#0c0b0a", "#8d8672")
"""of Black's pieces, of White's"""
RADIUS, GROOVE = 21, 15
CROWN = [(-10, 7), (-12, -7), (-5, 0), (0, -10), (5, 0), (12, -7), (10, 7)]
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


def draw(state: State) -> Image.Image:
    """A 444 x 468 picture; empty squares show their numbers."""
    image = Image.new("RGB", (SIZE * SCALE, (SIZE + FOOT) * SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    first, last = MARGIN * SCALE, (SIZE - MARGIN) * SCALE
    pen.rectangle([first, first, last, last], LIGHT)
    pieces = list(enumerate(pieces_of(state), start=1))
    for number, piece in pieces:
        x, y = _center(number)
        pen.rectangle([v * SCALE for v in (x - SQUARE // 2, y - SQUARE // 2, x + SQUARE // 2, y + SQUARE // 2)], DARK)
        if piece:
            _piece(pen, x, y, piece)
    image = image.resize((SIZE, SIZE + FOOT), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(image)
    for number, piece in pieces:
        if not piece:
            pen.text(_center(number), str(number), fill=NUMBER, anchor="mm")
    pen.text((SIZE // 2, SIZE + FOOT // 2 - 6), caption(state), fill=INK, anchor="mm")
    return image


def _center(number: int) -> tuple[int, int]:
    column, row = column_and_row(number)
    return MARGIN + SQUARE * column + SQUARE // 2, MARGIN + SQUARE * row + SQUARE // 2


def _piece(pen: ImageDraw.ImageDraw, x: int, y: int, piece: int) -> None:
    owner, king = (piece - 1) % 2, piece > 2
    for radius in (RADIUS, GROOVE):
        box = [v * SCALE for v in (x - radius, y - radius, x + radius, y + radius)]
        pen.ellipse(box, FILLS[owner], EDGES[1], SCALE)
    if king:
        pen.polygon([((x + dx) * SCALE, (y + dy) * SCALE) for dx, dy in CROWN], FILLS[1 - owner])
