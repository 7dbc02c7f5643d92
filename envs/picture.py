"""Boards as pictures: described once, then painted as pixels or written as SVG.

A piece is a few SVG elements in a square of 100 by 100, which a file holds by name (`read_shapes`), so that a web page
shows the same shapes. Of SVG they use circles, and paths of M, L, C and Z. An element without `fill` is a body in the
colours of its owner; one with the fill `none` or `currentColor` is a detail on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from PIL import Image, ImageDraw

SCALE = 3
"""pixels are painted so many times smaller, then averaged"""
UNIT = 100
"""side of a shape's square"""
STROKE = 3
"""width of its lines"""
PIECES_OF_CURVE = 12
TEXT_SIZE = 11

Points = list[tuple[float, float]]


class Colors(NamedTuple):
    """Of a piece."""

    fill: str
    edge: str
    detail: str


def read_shapes(package: str, name: str) -> dict[str, str]:
    """Name -> SVG elements, of every group with an id in a file of a package."""
    root = ElementTree.fromstring((resources.files(package) / name).read_text(encoding="utf-8"))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the name space, which the document around it says
    return {
        group.attrib["id"]: "".join(ElementTree.tostring(part, encoding="unicode").strip() for part in group)
        for group in root.iter("g")
        if "id" in group.attrib
    }


class Picture:
    """Boxes, pieces and words, later ones over earlier ones, with (0, 0) at the top left."""

    def __init__(self, width: int, height: int, paper: str) -> None:
        self.width, self.height, self.paper = width, height, paper
        self._boxes: list[tuple[float, float, float, float, str]] = []
        self._shapes: list[tuple[str, float, float, float, Colors]] = []
        self._words: list[tuple[str, float, float, str]] = []

    def box(self, left: float, top: float, width: float, height: float, fill: str) -> None:
        self._boxes.append((left, top, width, height, fill))

    def shape(self, shape: str, left: float, top: float, size: float, colors: Colors) -> None:
        """A piece, above all boxes."""
        self._shapes.append((shape, left, top, size, colors))

    def text(self, words: str, x: float, y: float, ink: str) -> None:
        """Words around a point, above all pieces."""
        self._words.append((words, x, y, ink))

    # --- pixels -------------------------------------------------------------------------------------------------------

    def image(self) -> Image.Image:
        image = Image.new("RGB", (self.width * SCALE, self.height * SCALE), self.paper)
        pen = ImageDraw.Draw(image)
        for left, top, width, height, fill in self._boxes:
            right, bottom = (left + width) * SCALE - 1, (top + height) * SCALE - 1
            pen.rectangle([left * SCALE, top * SCALE, right, bottom], fill)
        for shape, left, top, size, colors in self._shapes:
            for element in ElementTree.fromstring(f"<g>{shape}</g>"):
                _paint(pen, element, left * SCALE, top * SCALE, size * SCALE / UNIT, colors)
        image = image.resize((self.width, self.height), Image.Resampling.LANCZOS)
        pen = ImageDraw.Draw(image)
        for words, x, y, ink in self._words:
            pen.text((x, y), words, fill=ink, anchor="mm")
        return image

    # --- SVG ----------------------------------------------------------------------------------------------------------

    def svg(self) -> str:
        return "\n".join([*self._svg_lines(), ""])

    def _svg_lines(self) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}">'
        )
        yield f'<rect width="{self.width}" height="{self.height}" fill="{self.paper}"/>'
        for left, top, width, height, fill in self._boxes:
            yield f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="{fill}"/>'
        for shape, left, top, size, colors in self._shapes:
            yield (
                f'<g transform="translate({left} {top}) scale({size / UNIT})" fill="{colors.fill}" '
                f'stroke="{colors.edge}" color="{colors.detail}" stroke-width="{STROKE}" stroke-linejoin="round" '
                f'stroke-linecap="round">{shape}</g>'
            )
        yield f'<g font-family="sans-serif" font-size="{TEXT_SIZE}" text-anchor="middle" dominant-baseline="central">'
        for words, x, y, ink in self._words:
            yield f'<text x="{x}" y="{y}" fill="{ink}">{escape(words)}</text>'
        yield "</g>"
        yield "</svg>"


def _paint(
    pen: ImageDraw.ImageDraw, element: ElementTree.Element, left: float, top: float, unit: float, colors: Colors
) -> None:
    kind = element.get("fill")
    fill = {None: colors.fill, "none": None, "currentColor": colors.detail}[kind]
    edge = colors.edge if kind is None else colors.detail
    width = round(STROKE * unit)
    for points in outlines(element):
        placed = [(left + x * unit, top + y * unit) for x, y in points]
        if fill is not None:
            pen.polygon(placed, fill)
        pen.line(placed, edge, width, joint="curve")


# --- outlines ---------------------------------------------------------------------------------------------------------


def outlines(element: ElementTree.Element) -> list[Points]:
    """The lines of a circle or a path; those of a closed figure end where they begin."""
    if element.tag == "circle":
        x, y, r = (float(element.attrib[name]) for name in ("cx", "cy", "r"))
        k = 0.5523 * r  # the handles of the four curves that come closest to a circle
        found = [(x, y - r)]
        found += _curve((x, y - r), (x + k, y - r), (x + r, y - k), (x + r, y))
        found += _curve((x + r, y), (x + r, y + k), (x + k, y + r), (x, y + r))
        found += _curve((x, y + r), (x - k, y + r), (x - r, y + k), (x - r, y))
        found += _curve((x - r, y), (x - r, y - k), (x - k, y - r), (x, y - r))
        return [found]
    return _path_outlines(element.attrib["d"])


def _path_outlines(text: str) -> list[Points]:
    found: list[Points] = []
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        values = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
        points = list(zip(values[::2], values[1::2], strict=True))
        if command == "M":
            found.append(points)
        elif command == "L":
            found[-1] += points
        elif command == "C":
            for i in range(0, len(points), 3):
                found[-1] += _curve(found[-1][-1], *points[i : i + 3])
        elif command == "Z":
            found[-1].append(found[-1][0])
        else:
            raise ValueError(f"{command} in the path {text!r}; M, L, C and Z are right")
    return found


def _curve(*corners: tuple[float, float]) -> Points:
    """Points of a cubic Bezier curve behind its first one."""
    found = []
    for i in range(1, PIECES_OF_CURVE + 1):
        t = i / PIECES_OF_CURVE
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x, y = (sum(w * corner[axis] for w, corner in zip(weights, corners, strict=True)) for axis in (0, 1))
        found.append((x, y))
    return found
