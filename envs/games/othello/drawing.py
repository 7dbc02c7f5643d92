"""The Othello board as text and as a picture."""

from __future__ import annotations

from PIL import Image, ImageDraw

from deltaw.envs.games.othello.notation import moves_of, side_to_move, squares_of
from deltaw.envs.games.othello.rules import State

SCALE = 3
"""drawn so many times larger, then scaled down"""
SQUARE, MARGIN, FOOT = 50, 26, 26
SIZE = 2 * MARGIN + 8 * SQUARE
BOARD, LINES, PAPER, INK = "#2f7d4f", "#1f5636", "#f7f3e9", "#6b6459"
BLACK, WHITE = ("#20221f", "#000000"), ("#f4f1e8", "#b9b4a4")
"""(fill, edge) of a disc"""

COLORS = {"X": "\033[1;30;42m", "O": "\033[1;37;42m"}
PLAIN = "\033[0m"


def ansi(state: State, color: bool = False) -> str:
    """The board in eight lines; X is black and moves first. `*` marks where the mover can play."""
    moves = moves_of(state)
    squares = ["*" if i in moves else square.replace("-", ".") for i, square in enumerate(squares_of(state))]
    if color:
        squares = [f"{COLORS[c]}{c}{PLAIN}" if c in COLORS else c for c in squares]
    rows = [f"{row + 1} " + " ".join(squares[8 * row : 8 * row + 8]) for row in range(8)]
    return "\n".join(["  " + " ".join("abcdefgh"), *rows, caption(state)])


def caption(state: State) -> str:
    squares = squares_of(state)
    return f"X {squares.count('X')}, O {squares.count('O')}; {side_to_move(state)} to move"


def draw(state: State) -> Image.Image:
    """A 452 x 478 picture; dots mark where the mover can play."""
    image = Image.new("RGB", (SIZE * SCALE, (SIZE + FOOT) * SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    _grid(pen)
    moves = moves_of(state)
    for i, square in enumerate(squares_of(state)):
        if square != "-":
            _circle(pen, i, 21, *(BLACK if square == "X" else WHITE))
        elif i in moves:
            _circle(pen, i, 4, *(BLACK if side_to_move(state) == "X" else WHITE))
    image = image.resize((SIZE, SIZE + FOOT), Image.Resampling.LANCZOS)
    _label(ImageDraw.Draw(image), state)
    return image


def _grid(pen: ImageDraw.ImageDraw) -> None:
    first, last = MARGIN * SCALE, (SIZE - MARGIN) * SCALE
    pen.rectangle([first, first, last, last], BOARD, LINES, 2 * SCALE)
    for k in range(1, 8):
        at = first + k * SQUARE * SCALE
        pen.line([at, first, at, last], LINES, SCALE)
        pen.line([first, at, last, at], LINES, SCALE)


def _circle(pen: ImageDraw.ImageDraw, square: int, radius: int, fill: str, edge: str) -> None:
    x, y = (MARGIN + SQUARE * k + SQUARE // 2 for k in (square % 8, square // 8))
    pen.ellipse([v * SCALE for v in (x - radius, y - radius, x + radius, y + radius)], fill, edge, SCALE)


def _label(pen: ImageDraw.ImageDraw, state: State) -> None:
    for k in range(8):
        at = MARGIN + SQUARE * k + SQUARE // 2
        pen.text((at, MARGIN // 2), "abcdefgh"[k], fill=INK, anchor="mm")
        pen.text((MARGIN // 2, at), str(k + 1), fill=INK, anchor="mm")
    black, white = (squares_of(state).count(side) for side in "XO")
    turn = "black" if side_to_move(state) == "X" else "white"
    pen.text((SIZE // 2, SIZE + FOOT // 2 - 8), f"black {black}, white {white}; {turn} to move", fill=INK, anchor="mm")
