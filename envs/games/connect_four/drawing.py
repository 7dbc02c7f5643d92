"""The Connect Four board as text and as a picture."""

from __future__ import annotations

from PIL import Image, ImageDraw

from deltaw.envs.games.connect_four.notation import first_player, format_state
from deltaw.envs.games.connect_four.rules import ACROSS, BOARD, COLUMNS, FALLING, HEIGHT, RISING, ROWS, UP, State

SCALE = 3
"""drawn so many times larger, then scaled down"""
WIDTH, TALL = 470, 430
SQUARE, LEFT, TOP = 64, 11, 12
RED, YELLOW, PAPER = "#c8402f", "#efc23b", "#f7f3e9"

COLORS = {"X": "\033[1;31m", "O": "\033[1;33m"}
PLAIN = "\033[0m"


def ansi(state: State, color: bool = False) -> str:
    """The board in seven lines, the numbers of the columns below; X moved first."""
    rows = [" ".join(row) for row in format_state(state).replace("-", ".").split("/")]
    board = "\n".join([*rows, " ".join(str(column + 1) for column in range(COLUMNS))])
    for player, code in COLORS.items() if color else ():
        board = board.replace(player, f"{code}{player}{PLAIN}")
    return board


def draw(state: State) -> Image.Image:
    """A 470 x 430 picture: red moved first; a line of four is marked."""
    image = _frame()
    pen = ImageDraw.Draw(image)
    red, line = first_player(state), _fours(state.me) | _fours(state.me ^ state.all)
    for bit in range(COLUMNS * HEIGHT):
        if BOARD >> bit & 1:
            fill = RED if red >> bit & 1 else YELLOW if state.all >> bit & 1 else PAPER
            _disc(pen, bit, fill, ("#ffffff", 5) if line >> bit & 1 else ("#1f456a", 2))
    image = image.resize((WIDTH, TALL), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(image)
    for column in range(COLUMNS):
        pen.text((LEFT + SQUARE * column + SQUARE // 2, TALL - 14), str(column + 1), fill="#6b6459", anchor="mm")
    return image


def _frame() -> Image.Image:
    image = Image.new("RGB", (WIDTH * SCALE, TALL * SCALE), PAPER)
    box = (LEFT - 5, TOP - 5, LEFT + COLUMNS * SQUARE + 5, TOP + ROWS * SQUARE + 5)
    ImageDraw.Draw(image).rounded_rectangle([x * SCALE for x in box], 14 * SCALE, fill="#2b5c8a")
    return image


def _disc(pen: ImageDraw.ImageDraw, bit: int, fill: str, edge: tuple[str, int]) -> None:
    """A disc, or a hole, with an edge of (color, width)."""
    x = LEFT + SQUARE * (bit // HEIGHT) + SQUARE // 2
    y = TOP + SQUARE * (ROWS - 1 - bit % HEIGHT) + SQUARE // 2
    pen.ellipse([v * SCALE for v in (x - 26, y - 26, x + 26, y + 26)], fill, edge[0], edge[1] * SCALE)


def _fours(stones: int) -> int:
    """The stones that are part of a line of four."""
    found = 0
    for step in (UP, ACROSS, FALLING, RISING):
        starts = stones & stones >> step & stones >> 2 * step & stones >> 3 * step
        found |= starts | starts << step | starts << 2 * step | starts << 3 * step
    return found
