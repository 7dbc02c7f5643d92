"""Text and picture of a table in a game with hidden cards or dice: what the player on turn sees, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

FACE_DOWN = "?"
LINE, MARGIN, WIDTH = 40, 24, 420
"""pixels"""


def table_text(lines: Sequence[tuple[str, str]]) -> str:
    """`lines` of a label and what is there."""
    widest = max(len(label) for label, _ in lines)
    return "\n".join(f"{label:<{widest}}  {text}".rstrip() for label, text in lines)


def table_picture(lines: Sequence[tuple[str, str]]) -> Image.Image:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, 2 * MARGIN + LINE * len(lines)), "#f7f3e9")
    pen = ImageDraw.Draw(image)
    for i, (label, text) in enumerate(lines):
        middle = MARGIN + LINE * i + LINE // 2
        pen.text((MARGIN, middle), label, fill="#6b6459", anchor="lm", font_size=16)
        pen.text((WIDTH // 3, middle), text, fill="#3a342c", anchor="lm", font_size=20)
    return image
