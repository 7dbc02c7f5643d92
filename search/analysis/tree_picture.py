"""A searched tree as a picture: what an algorithm looked at, what it proved, and what it cut off. For teaching.

MAX, the player in seat 0, is a triangle that points up, MIN one that points down; values and bounds are MAX's. Grey is
what the search never looked at, a dashed line with two strokes the place where it was cut off, and the thick line the
best play.

The picture is drawn from what a `Visitor` hears while the algorithm runs, so it works for every algorithm for two
players. A search tells its visitor only what its window has proven; where the algorithm is exact, the bounds are drawn
as narrow as the visited nodes below make them.
"""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator, write_whole
from deltaw.search.tree.algorithm import Algorithm, Setup
from deltaw.search.tree.search_tree import EQUAL, Searched, Spot, searched_tree

# --- places -----------------------------------------------------------------------------------------------------------

RADIUS, LEVEL, MARGIN, HEAD, FOOT = 17.0, 84.0, 26.0, 84.0, 62.0
"""pixels: of a node, between levels, around everything, above and below the tree"""
FOLDED_FROM = 64
"""leaves: in a larger tree what was never looked at is only hinted at"""
LETTER = 0.56
"""width of an average letter, in font sizes"""
VALUE_SIZE, LABEL_SIZE, TITLE_SIZE, NOTE_SIZE = 15, 12, 20, 13
LABEL_AT = 0.6
"""where on its edge a move is written, 0 being the parent"""


def place(root: Spot, texts: dict[Spot, str]) -> tuple[float, float]:
    """Sets x and y of every node, parents above the middle of their children; returns width and height of the tree."""
    widths: dict[Spot, float] = {}
    spots = list(root.walk())
    gap = min(28.0, max(8.0, 400 / sum(not spot.below for spot in spots)))  # a small tree has room
    for spot in reversed(spots):
        own = 2 * half_width(spot, texts[spot]) + gap
        widths[spot] = max(own, sum(widths[child] for child in spot.below))
    level = LEVEL + min(80.0, widths[root] / 24)  # in a wide tree edges would lie flat
    _spread(root, MARGIN, MARGIN + HEAD, level, widths)
    return widths[root], max(spot.y for spot in spots) - root.y


def fold(root: Spot) -> set[Spot]:
    """In a large tree, takes away what lies below nodes that were cut off; returns those nodes."""
    if sum(not spot.below for spot in root.walk()) <= FOLDED_FROM:
        return set()
    folded = {spot for spot in root.walk() if spot.below and not spot.visited}
    for spot in folded:
        spot.below = []
    return folded


def half_width(spot: Spot, text: str) -> float:
    value, label = len(text) * VALUE_SIZE * LETTER, len(spot.label) * LABEL_SIZE * LETTER
    shape = RADIUS + 5 + value if spot.below else max(13.0, value / 2 + 6)
    return max(shape, label / 2 / LABEL_AT)


def _spread(spot: Spot, left: float, y: float, level: float, widths: dict[Spot, float]) -> None:
    spot.y = y
    inside = left + (widths[spot] - sum(widths[child] for child in spot.below)) / 2
    for child in spot.below:
        _spread(child, inside, y + level, level, widths)
        inside += widths[child]
    ends = [spot.below[0].x, spot.below[-1].x] if spot.below else [left, left + widths[spot]]
    spot.x = sum(ends) / 2


# --- the picture ------------------------------------------------------------------------------------------------------

PAPER, INK, SOFT, FAINT, RED, BLUE = "#f7f3e9", "#3a342c", "#857b6d", "#c4bcae", "#b3432b", "#2b5c8a"
FILLS = {"max": "#f3c9a8", "min": "#c3d7e8", "chance": "#e9dfc3", "leaf": "#fffdf7", "end": "#fffdf7"}

STYLE = f"""
text {{ font-family: Helvetica, Arial, sans-serif; fill: {INK}; }}
.title {{ font-size: {TITLE_SIZE}px; font-weight: bold; }}
.note {{ font-size: {NOTE_SIZE}px; fill: {SOFT}; }}
.value {{ font-size: {VALUE_SIZE}px; font-weight: bold; }}
.label {{ font-size: {LABEL_SIZE}px; fill: {SOFT}; text-anchor: middle; }}
.inside {{ text-anchor: middle; }}
.left {{ text-anchor: end; }}
.edge {{ stroke: {INK}; stroke-width: 1.4px; fill: none; }}
.edge.best {{ stroke: {RED}; stroke-width: 4.5px; stroke-linecap: round; }}
.edge.cut, .edge.gone {{ stroke: {FAINT}; stroke-dasharray: 5 4; }}
.strokes {{ stroke: {RED}; stroke-width: 2px; stroke-linecap: round; }}
.shape {{ stroke: {INK}; stroke-width: 1.6px; stroke-linejoin: round; }}
.shape.end {{ stroke-width: 2.4px; }}
.shape.best {{ stroke: {RED}; stroke-width: 2.8px; }}
.shape.gone {{ stroke: {FAINT}; fill: {PAPER}; stroke-width: 1.2px; }}
.gone text, .label.gone {{ fill: {FAINT}; font-weight: normal; }}
"""


def draw_tree(
    game: Game,
    evaluator: Evaluator | Baseline,
    state: Any,
    depth: int,
    algorithm: Algorithm | str = "alphabeta",
    path: str | Path | None = None,
    *,
    options: Any = None,
) -> str:
    """The tree below `state` as the algorithm searches it, as SVG; written to `path` as well, if there is one.

    Raises InputError for more than `MOST_LEAVES` leaves, more than two players, and where algorithm, evaluator and game
    do not fit.
    """
    found = searched_tree(game, evaluator, state, depth, algorithm, options=options)
    heading = _heading(found)
    folded = fold(found.root)
    texts = {spot: "…" if spot in folded else _worth(found.setup, spot) for spot in found.root.walk()}
    text = _svg(game, found.root, texts, heading)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _worth(setup: Setup, spot: Spot) -> str:
    """What is written at a node: its value, or what is known of it; at unvisited leaves what the search would have
    found."""
    if spot.visited:
        return interval(spot.lower, spot.upper)
    if spot.below:
        return ""
    rules, leaf = setup.game.rules, setup.deep.leaf
    over, result = rules.outcome(spot.state)
    if not over and setup.algorithm.vectors:
        return ""
    value = result if over else leaf.evaluate(rules, leaf.weights, spot.state, setup.deep.work)
    return number(value if spot.for_max else -value)


def interval(lower: float, upper: float) -> str:
    if lower >= upper - EQUAL:
        return number(lower)
    if math.isinf(lower) and math.isinf(upper):
        return ""
    if math.isinf(lower):
        return f"≤ {number(upper)}"
    return f"≥ {number(lower)}" if math.isinf(upper) else f"{number(lower)} … {number(upper)}"


def number(value: float) -> str:
    return f"{float(value) + 0.0:.3g}".replace("-", "−")


def _heading(found: Searched) -> tuple[str, str]:
    """Title and caption."""
    setup, root, depth = found.setup, found.root, found.root.depth
    spots = list(root.walk())
    leaves = [spot for spot in spots if not spot.below]
    seen, seen_leaves = (sum(spot.visited for spot in some) for some in (spots, leaves))
    cuts = sum(spot.visited and not child.visited for spot in spots for child in spot.below)
    names = getattr(setup.options, "_fields", ())
    knobs = ", ".join(f"{name} {x:g}" for name, x in zip(names, setup.options, strict=True))
    title = f"{setup.algorithm.title}, {_several(depth, 'move', 'moves')} deep{f' ({knobs})' if knobs else ''}"
    counts = f"{seen} of {len(spots)} nodes visited, {seen_leaves} of {len(leaves)} leaves"
    cut = f"{_several(cuts, 'branch', 'branches')} cut off"
    position = f"{setup.game.title}, {setup.game.format(root.state)}"
    return title, f"{position}: worth {number(found.value)} to MAX. {counts}, {cut}."


def _several(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _svg(game: Game, root: Spot, texts: dict[Spot, str], heading: tuple[str, str]) -> str:
    width, height = place(root, texts)
    legend = _legend(game, root)
    room = max(
        width, len(heading[0]) * TITLE_SIZE * LETTER * 1.15, len(heading[1]) * NOTE_SIZE * LETTER * 0.9, legend[1]
    )
    for spot in root.walk():
        spot.x += (room - width) / 2
    size = math.ceil(room + 2 * MARGIN), math.ceil(height + HEAD + FOOT + 2 * MARGIN)
    body = [
        tag("rect", width=size[0], height=size[1], fill=PAPER),
        tag("text", heading[0], x=MARGIN, y=MARGIN + 16, class_="title"),
        tag("text", heading[1], x=MARGIN, y=MARGIN + 40, class_="note"),
        tag("g", _tree(game, root, texts), class_="tree", raw=True),
        tag("g", legend[0], transform=f"translate({MARGIN:g} {size[1] - MARGIN - 8:g})", class_="legend", raw=True),
    ]
    content = "\n".join([tag("title", f"{heading[0]}. {heading[1]}"), f"<style>{STYLE}</style>", *body])
    box = {"width": size[0], "height": size[1], "viewBox": f"0 0 {size[0]} {size[1]}"}
    return tag("svg", f"\n{content}\n", xmlns="http://www.w3.org/2000/svg", role="img", **box, raw=True) + "\n"


def _tree(game: Game, root: Spot, texts: dict[Spot, str]) -> str:
    """Edges, the best line's above the others, then nodes, then what is written on edges."""
    edges = [(spot, child) for spot in root.walk() for child in spot.below]
    lines = [_edge(spot, child) for spot, child in sorted(edges, key=lambda edge: edge[1].best)]
    nodes = [_node(game, child, texts[child], child.x < spot.x - 1) for spot, child in edges]
    labels = [_label(spot, child) for spot, child in edges]
    return "\n".join(["", *lines, _node(game, root, texts[root], False), *nodes, *labels, ""])


def tag(name: str, content: str = "", *, raw: bool = False, **attributes: Any) -> str:
    """An element; `raw` content is elements itself. `class_` is the attribute class."""
    texts = {
        key.rstrip("_").replace("_", "-"): f"{x:.1f}" if isinstance(x, float) else str(x)
        for key, x in attributes.items()
    }
    listed = "".join(f' {key}="{html.escape(text)}"' for key, text in texts.items())
    inside = content if raw else html.escape(content, quote=False)
    return f"<{name}{listed}>{inside}</{name}>" if inside else f"<{name}{listed}/>"


def _edge(spot: Spot, child: Spot) -> str:
    cut = spot.visited and not child.visited
    mark = "best" if child.best else "cut" if cut else "" if child.visited else "gone"
    line = tag("line", x1=spot.x, y1=spot.y, x2=child.x, y2=child.y, class_=f"edge {mark}".strip())
    return line + (_strokes(spot, child) if cut else "")


def _strokes(spot: Spot, child: Spot) -> str:
    """Two short strokes across an edge."""
    across, down = child.x - spot.x, child.y - spot.y
    length = math.hypot(across, down)
    u, v = across / length, down / length
    path = ""
    for along in (0.40 * length - 2.5, 0.40 * length + 2.5):
        x, y = spot.x + u * along, spot.y + v * along
        path += f"M{x + 6 * v:.1f} {y - 6 * u:.1f}L{x - 6 * v:.1f} {y + 6 * u:.1f}"
    return tag("path", d=path, class_="strokes")


def _label(spot: Spot, child: Spot) -> str:
    x, y = (a + LABEL_AT * (b - a) for a, b in ((spot.x, child.x), (spot.y, child.y)))
    wide = len(child.label) * LABEL_SIZE * LETTER + 5
    paper = tag("rect", x=x - wide / 2, y=y - 7.5, width=wide, height=15.0, rx=4, fill=PAPER)
    return paper + tag("text", child.label, x=x, y=y + 4, class_="label" if child.visited else "label gone")


def kind(game: Game, spot: Spot) -> str:
    if not spot.below:
        return "end" if game.rules.outcome(spot.state)[0] else "leaf"
    if game.rules.num_chance(spot.state):
        return "chance"
    return "max" if spot.for_max else "min"


def _node(game: Game, spot: Spot, text: str, to_the_left: bool) -> str:
    """The shape, what is known beside it, where no edge arrives (in it, for a leaf), and the position as a tooltip."""
    what = kind(game, spot)
    mark = "best" if spot.best else "" if spot.visited else "gone"
    wide = max(13.0, len(text) * VALUE_SIZE * LETTER / 2 + 6)
    shape = _shape(what, spot.x, spot.y, wide, f"shape {what} {mark}".strip())
    if what in ("leaf", "end"):
        words = tag("text", text, x=spot.x, y=spot.y + 5, class_="value inside")
    elif to_the_left:
        words = tag("text", text, x=spot.x - RADIUS - 4, y=spot.y - 3, class_="value left")
    else:
        words = tag("text", text, x=spot.x + RADIUS + 4, y=spot.y - 3, class_="value")
    about = tag("title", game.format(spot.state))
    return tag("g", about + shape + words, class_=f"node {mark}".strip(), raw=True)


def _shape(what: str, x: float, y: float, wide: float, class_: str) -> str:
    fill, r = FILLS[what], RADIUS
    if what in ("leaf", "end"):
        rounded = 10.0 if what == "leaf" else 0.0
        return tag("rect", x=x - wide, y=y - 12, width=2 * wide, height=24.0, rx=rounded, fill=fill, class_=class_)
    if what == "chance":
        return tag("circle", cx=x, cy=y, r=r - 2, fill=fill, class_=class_)
    tip = -r if what == "max" else r
    points = f"{x:.1f},{y + tip:.1f} {x - r:.1f},{y - tip * 0.8:.1f} {x + r:.1f},{y - tip * 0.8:.1f}"
    return tag("polygon", points=points, fill=fill, class_=class_)


MEANINGS = {
    "max": "MAX moves", "min": "MIN moves", "chance": "dice", "leaf": "evaluated", "end": "the game is over",
    "best": "best play", "cut": "cut off",
}  # fmt: skip


def _legend(game: Game, root: Spot) -> tuple[str, float]:
    """What the signs mean, those that occur; and its width."""
    spots = list(root.walk())
    occur = {kind(game, spot) for spot in spots} | ({"best"} if any(spot.best for spot in root.below) else set())
    occur |= {"cut"} if not all(spot.visited for spot in spots) else set()
    parts, x = [], 0.0
    for sign in (sign for sign in MEANINGS if sign in occur):
        if sign in ("best", "cut"):
            ends = (
                Spot(None, 0, True, x=x, y=0.0, visited=True),
                Spot(None, 0, True, x=x + 34, y=0.0, visited=sign == "best", best=sign == "best"),
            )
            parts.append(_edge(*ends))
        else:
            parts.append(_shape(sign, x + RADIUS, 0.0, 13.0, f"shape {sign}"))
        parts.append(tag("text", MEANINGS[sign], x=x + 42, y=4.5, class_="note"))
        x += 42 + len(MEANINGS[sign]) * NOTE_SIZE * LETTER + 26
    return "".join(parts), x
