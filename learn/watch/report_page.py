"""The parts that a report is made of: an HTML page without any other file, charts and boards as SVG, pictures as PNG
inside the page.

Every text from outside goes through `tag`, which escapes it. Colours run from blue (bad for the mover) over white to
orange (good).
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from deltaw.learn.selfplay.sample import Reliability
from deltaw.search.analysis.tree_picture import tag

COLORS = ("#b3432b", "#2b5c8a", "#3d8a4f", "#8a5ea8", "#b58a1b", "#4a9aa5", "#7d6a58", "#c46a93")
GOOD, BAD, NEUTRAL = (209, 104, 30), (38, 98, 160), (253, 252, 248)
INK, SOFT, FAINT = "#3a342c", "#857b6d", "#ddd5c6"
TICKS = 5
"""lines across a chart, about so many"""
PALETTE = 96
"""colours of a picture: boards have few, and the page stays small"""

VOID = ("img",)
"""elements that have no end"""

STYLE = f"""
body {{ font: 15px/1.45 Helvetica, Arial, sans-serif; color: {INK}; background: #f7f3e9; margin: 0 auto;
  max-width: 1180px; padding: 24px; }}
h1 {{ font-size: 26px; margin: 0 0 4px; }}
.headline {{ font-size: 17px; margin-bottom: 14px; }}
h2 {{ font-size: 20px; margin: 34px 0 8px; border-bottom: 1px solid {FAINT}; padding-bottom: 4px; }}
h3 {{ font-size: 15px; margin: 18px 0 6px; }}
p {{ max-width: 900px; margin: 6px 0; }}
.note, figcaption {{ color: {SOFT}; font-size: 13px; }}
.row {{ display: flex; flex-wrap: wrap; gap: 22px; align-items: flex-start; }}
figure {{ margin: 0; max-width: 100%; }}
img, svg {{ display: block; max-width: 100%; height: auto; }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; font-size: 14px; }}
td, th {{ padding: 2px 14px 2px 0; text-align: left; vertical-align: top; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
code, pre {{ font: 13px Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }}
details {{ margin: 8px 0; }}
summary {{ cursor: pointer; color: {SOFT}; }}
.bar {{ display: flex; height: 12px; background: #fff; border: 1px solid {FAINT}; }}
svg text {{ font: 12px Helvetica, Arial, sans-serif; fill: {INK}; }}
svg .soft {{ fill: {SOFT}; }}
"""


def page(title: str, body: Sequence[str]) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{element('title', title)}<style>{STYLE}</style>"
    )
    icon = '<link rel="icon" href="data:,">'  # a browser would ask a server for one
    content = "\n".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}{icon}</head>\n<body>\n{content}\n</body></html>\n'


def element(name: str, content: str = "", *, raw: bool = False, **attributes: str | int | float) -> str:
    """An HTML element; unlike SVG's, an empty one is closed by a tag of its own."""
    text = tag(name, content, raw=raw, **attributes)
    return f"{text[:-2]}></{name}>" if text.endswith("/>") and name not in VOID else text


def heading(text: str, level: int = 2) -> str:
    return element(f"h{level}", text)


def paragraph(text: str, class_: str = "") -> str:
    return element("p", text, class_=class_) if class_ else element("p", text)


def row(parts: Sequence[str]) -> str:
    return element("div", "\n".join(parts), class_="row", raw=True)


def figure(content: str, caption: str, width: int | None = None) -> str:
    """`width`: pixels beyond which the caption is broken."""
    style = {"style": f"max-width:{width}px"} if width else {}
    below = element("figcaption", caption) if caption else ""
    return element("figure", content + below, raw=True, **style)


def details(summary: str, content: str) -> str:
    return element("details", element("summary", summary) + content, raw=True)


def table(head: Sequence[str], lines: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """`lines` of texts under `head` (empty: none); columns in `numbers` stand on the right."""

    def cells(name: str, texts: Sequence[str]) -> str:
        return "".join(
            element(name, t, class_="number") if i in numbers else element(name, t) for i, t in enumerate(texts)
        )

    rows = ([cells("th", head)] if head else []) + [cells("td", line) for line in lines]
    return element("table", "".join(element("tr", line, raw=True) for line in rows), raw=True)


def picture(image: Image.Image, width: int, about: str) -> str:
    """The image `width` pixels wide, or as wide as it is, inside the page."""
    if image.width > width:
        image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.convert("RGB").quantize(PALETTE).save(file, "PNG", optimize=True)
    source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return element("img", src=source, alt=about, width=image.width, height=image.height)


def svg(width: float, height: float, content: str, about: str) -> str:
    size = {"width": math.ceil(width), "height": math.ceil(height)}
    box = f"0 0 {size['width']} {size['height']}"
    return tag("svg", tag("title", about) + content, **size, viewBox=box, role="img", raw=True)


# --- colours ------------------------------------------------------------------------------------------------------


def shade(value: float, largest: float) -> str:
    """From blue (-largest) over white to orange (+largest)."""
    share = min(max(value / largest, -1.0), 1.0) if largest > 0 else 0.0
    end = GOOD if share > 0 else BAD
    mixed = (round(n + (e - n) * abs(share) ** 0.8) for n, e in zip(NEUTRAL, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink(value: float, largest: float) -> str:
    """A colour in which text can be read on `shade`."""
    return "#ffffff" if largest > 0 and abs(value) > 0.62 * largest else INK


# --- charts -------------------------------------------------------------------------------------------------------


class Series(NamedTuple):
    """One line of a chart; arrays [n]."""

    name: str
    x: np.ndarray
    y: np.ndarray
    reach: np.ndarray
    """half the height of the band around it"""


WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 540, 300, 52, 40, 12, 14


class _Frame:
    """A chart's axes: the places of numbers, and the lines at round ones."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = x, y

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    def points(self, x: np.ndarray, y: np.ndarray) -> str:
        return " ".join("{:.1f},{:.1f}".format(*self.place(*point)) for point in zip(x, y, strict=True))

    def grid(self, x_label: str, y_label: str, whole: bool = False) -> str:
        """`whole`: only whole numbers are marked below."""
        parts = []
        for tick in round_numbers(*self.y):
            (x0, y0), (x1, _) = self.place(self.x[0], tick), self.place(self.x[1], tick)
            parts.append(tag("line", x1=x0, y1=y0, x2=x1, y2=y0, stroke=SOFT if tick == 0 else FAINT))
            parts.append(tag("text", short(tick), x=x0 - 6, y=y0 + 4, text_anchor="end"))
        for tick in round_numbers(*self.x, least=float(whole)):
            x0, y0 = self.place(tick, self.y[0])
            parts.append(tag("line", x1=x0, y1=y0, x2=x0, y2=y0 + 4, stroke=SOFT))
            parts.append(tag("text", short(tick), x=x0, y=y0 + 18, text_anchor="middle"))
        middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
        parts.append(tag("text", x_label, x=middle, y=HEIGHT - 4.0, text_anchor="middle", class_="soft"))
        parts.append(tag("text", y_label, x=LEFT + 6.0, y=TOP + 10.0, class_="soft"))
        return "".join(parts)


def curves(series: Sequence[Series], x_label: str, y_label: str, limits: tuple[float, float] | None = None) -> str:
    """Lines with bands; `limits`: of the upright axis, if not those of the lines."""
    low = min(float((s.y - s.reach).min()) for s in series)
    high = max(float((s.y + s.reach).max()) for s in series)
    most = max(float(s.x.max()) for s in series)
    least = min(float(s.x.min()) for s in series)
    room = 0.06 * (high - low) or 0.1
    frame = _Frame((least, most if most > least else least + 1.0), limits or (low - room, high + room))
    bands, lines, legend = [], [], []
    for k, s in enumerate(series):
        color = COLORS[k % len(COLORS)]
        x, edge = np.concatenate([s.x, s.x[::-1]]), np.concatenate([s.y + s.reach, (s.y - s.reach)[::-1]])
        bands.append(tag("polygon", points=frame.points(x, edge), fill=color, opacity="0.18"))
        lines.append(tag("polyline", points=frame.points(s.x, s.y), fill="none", stroke=color, stroke_width="2"))
        for place in (frame.place(*point) for point in zip(s.x, s.y, strict=True)) if len(s.x) <= 60 else ():
            lines.append(tag("circle", cx=place[0], cy=place[1], r="2.6", fill=color))
        if s.name:
            legend.append(element("span", "■", style=f"color:{color}") + " " + element("span", s.name))
    whole = all((s.x == np.round(s.x)).all() for s in series)
    chart = svg(
        WIDTH, HEIGHT, "".join([frame.grid(x_label, y_label, whole), *bands, *lines]), f"{y_label} by {x_label}"
    )
    return chart + (element("div", "&nbsp;&nbsp; ".join(legend), raw=True) if legend else "")


def histogram(counts: np.ndarray, edges: np.ndarray, x_label: str) -> str:
    """Shares of numbers between `edges` [n + 1], `counts` [n]."""
    share = counts / max(counts.sum(), 1)
    frame = _Frame((float(edges[0]), float(edges[-1])), (0.0, 1.06 * float(share.max()) or 1.0))
    parts = []
    for height, left, right in zip(share, edges, edges[1:], strict=False):
        (x0, y0), (x1, y1) = frame.place(left, 0.0), frame.place(right, height)
        parts.append(tag("rect", x=x0 + 0.5, y=y1, width=x1 - x0 - 1, height=y0 - y1, fill=COLORS[1], opacity="0.75"))
    return svg(WIDTH, HEIGHT, frame.grid(x_label, "share") + "".join(parts), f"shares by {x_label}")


def reliability_chart(found: Reliability) -> str:
    """Score that came true against predicted score; a circle a bin, its area the share of positions."""
    side, margin = 260.0, 40.0

    def point(x: float, y: float) -> tuple[float, float]:
        return margin + x * side, margin / 2 + (1 - y) * side

    (x0, y0), (x1, y1) = point(0, 0), point(1, 1)
    parts = [
        tag("rect", x=x0, y=y1, width=side, height=side, fill="#fffdf7", stroke=FAINT),
        tag("line", x1=x0, y1=y0, x2=x1, y2=y1, stroke=SOFT, stroke_dasharray="4 4"),
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("text", short(share), x=point(share, 0)[0], y=y0 + 16, text_anchor="middle"))
        parts.append(tag("text", short(share), x=x0 - 6, y=point(0, share)[1] + 4, text_anchor="end"))
    total = max(int(found.positions.sum()), 1)
    for predicted, scored, positions in zip(*found, strict=True):
        x, y = point(float(predicted), float(scored))
        about = tag("title", f"predicted {predicted:.3f}, came true {scored:.3f}, {positions:,} positions")
        radius = max(22 * math.sqrt(positions / total), 3.0)
        parts.append(tag("circle", about, cx=x, cy=y, r=radius, fill=COLORS[1], opacity="0.75", raw=True))
    parts.append(tag("text", "predicted score", x=margin + side / 2, y=y0 + 34, text_anchor="middle", class_="soft"))
    parts.append(tag("text", "score that came true", x=x0 + 6, y=y1 + 16, class_="soft"))
    return svg(side + 1.5 * margin, side + 1.5 * margin, "".join(parts), "calibration")


def round_numbers(low: float, high: float, least: float = 0.0) -> list[float]:
    """About TICKS round numbers from `low` to `high`, at least `least` apart."""
    raw = max((high - low) / TICKS, least)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def short(number: float) -> str:
    """1500000 -> 1.5M."""
    for letter, unit in (("M", 1e6), ("k", 1e3)):
        if abs(number) >= unit:
            return f"{number / unit:.4g}{letter}"
    return f"{number:.4g}".replace("-", "−")


def bars(names: Sequence[str], values: Sequence[float], notes: Sequence[str]) -> str:
    """One line a name: a bar to the left (negative) or right, the number, and a note."""
    largest = max((abs(v) for v in values), default=0.0) or 1.0
    letter, line, half = 7.0, 18.0, 130.0
    left = letter * max(map(len, names), default=0) + 10
    parts = []
    for i, (name, value, note) in enumerate(zip(names, values, notes, strict=True)):
        y, zero, length = i * line + 4, left + half, half * abs(value) / largest
        parts.append(tag("text", name, x=left - 8, y=y + 11, text_anchor="end"))
        start = zero if value >= 0 else zero - length
        color = shade(math.copysign(0.8, value), 1.0)
        parts.append(tag("rect", x=start, y=y, width=max(length, 0.5), height=line - 5, fill=color))
        parts.append(tag("text", f"{value:+.3f}", x=zero + half + 10, y=y + 11))
        parts.append(tag("text", note, x=zero + half + 68, y=y + 11, class_="soft"))
    width = left + 2 * half + 78 + letter * max(map(len, notes), default=0)
    return svg(width, len(names) * line + 8, "".join(parts), "weights")
