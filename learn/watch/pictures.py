"""Pictures for the log: what an evaluator thinks of a position, and whether its predictions come true."""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageDraw, ImageFont

from deltaw.envs.game import Game
from deltaw.learn.selfplay.sample import Reliability
from deltaw.search.evaluators.evaluator import Opinion

GROUND, INK, FAINT, MARK = "#202428", "#e8e6e0", "#5a6068", "#7ab8e8"
SIDE, MARGIN = 280, 44
"""pixels: side of the square of a reliability diagram, and the room around it"""
LARGEST = 12
"""pixels: radius of the mark of a bin that holds all positions"""


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
        fill=INK,
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


def reliability_picture(found: Reliability) -> Image.Image:
    """Score that came true (upwards) against predicted score (to the right), a mark a bin, its area the share of
    positions; the diagonal is perfect calibration."""
    size = SIDE + 2 * MARGIN
    picture = Image.new("RGB", (size, size), GROUND)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(14)

    def point(x: float, y: float) -> tuple[float, float]:
        return MARGIN + x * SIDE, MARGIN + (1.0 - y) * SIDE

    pen.rectangle([point(0.0, 1.0), point(1.0, 0.0)], outline=FAINT)
    pen.line([point(0.0, 0.0), point(1.0, 1.0)], fill=FAINT)
    total = max(int(found.positions.sum()), 1)
    for predicted, scored, positions in zip(*found, strict=True):
        x, y = point(float(predicted), float(scored))
        radius = max(LARGEST * (positions / total) ** 0.5, 2.0)
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=MARK)
    pen.text((MARGIN, 12), f"score that came true; error {found.error:.3f}", fill=INK, font=font)
    pen.text((MARGIN, size - MARGIN + 12), f"predicted score; {total:,} positions", fill=INK, font=font)
    return picture
