"""Pictures for the log and for reports: what an evaluator thinks of a position, and images that lie inside a page."""

from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from deltaw.envs.game import Game
from deltaw.search.evaluators.evaluator import Opinion

GROUND, BRIGHT = "#202428", "#e8e6e0"
PAPER, INK, SOFT, FAINT = "#f7f3e9", "#3a342c", "#857b6d", "#ddd5c6"
"""of a report"""
PALETTE = 96
"""colours of a board in a page: it has few, and the page stays small"""


def opinion_picture(game: Game, state: Any, opinion: Opinion) -> Image.Image:
    """The board with a strip below: the value, and a bar of the chances of every outcome."""
    board = game.draw(state).convert("RGB")
    strip = 56
    picture = Image.new("RGB", (board.width, board.height + strip), GROUND)
    picture.paste(board, (0, 0))
    pen = ImageDraw.Draw(picture)
    top = board.height + 30
    chances = opinion.chances or two_sided(opinion.value, max(game.rules.outcomes))
    outcomes = game.rules.outcomes if opinion.chances else (-1, 1)
    pen.text(
        (12, board.height + 6),
        f"value {opinion.value:+.3f} for the side to move",
        fill=BRIGHT,
        font=ImageFont.load_default(16),
    )
    left = 12.0
    for outcome, chance in reversed(list(zip(outcomes, chances, strict=True))):
        width = chance * (board.width - 24)
        pen.rectangle([left, top, left + width, top + 16], fill=outcome_color(outcome, max(outcomes)))
        left += width
    return picture


def two_sided(value: float, largest: float) -> tuple[float, float]:
    win = min(max(0.5 + value / (2 * largest), 0.0), 1.0)
    return 1.0 - win, win


def outcome_color(outcome: int, largest: int) -> str:
    """Greens for wins, reds for losses, grey for a draw; the darker, the more it counts."""
    if outcome == 0:
        return "#8a8a8a"
    strength = 1.0 - 0.25 * (abs(outcome) - 1)
    base = (70, 170, 90) if outcome > 0 else (200, 80, 60)
    return "#" + "".join(f"{int(c * strength):02x}" for c in base)


# --- images inside a page -----------------------------------------------------------------------------------------


class Picture(NamedTuple):
    """An image that needs no file."""

    source: str
    """a `data:` address"""
    width: int
    """pixels"""
    height: int
    about: str


def embedded_image(image: Image.Image, width: int, about: str) -> Picture:
    """`width` pixels wide, or as wide as the image is if that is less."""
    if image.width > width:
        image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.convert("RGB").quantize(PALETTE).save(file, "PNG", optimize=True)
    return Picture(_address("png", file), image.width, image.height, about)


def embedded_chart(figure: Figure, about: str) -> Picture:
    """As SVG; the same chart gives the same bytes."""
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "deltaw"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    width, height = (round(figure.dpi * inches) for inches in figure.get_size_inches())
    return Picture(_address("svg+xml", file), width, height, about)


def _address(kind: str, file: io.BytesIO) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
