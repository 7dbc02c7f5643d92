"""A searched tree as a picture: what an algorithm looked at, what it proved, and what it cut off. For teaching.

MAX, the player in seat 0, is a triangle that points up, MIN one that points down; values and bounds are MAX's. Grey is
what the search never looked at, a dashed line with two strokes the place where it was cut off, and the thick line the
best play.

The picture is drawn from what a `Visitor` hears while the algorithm runs, so it works for every algorithm for two
players. A search tells its visitor only what its window has proven; where the algorithm is exact, the bounds are drawn
as narrow as the visited nodes below make them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from deltaw.envs.game import Baseline, Game
from deltaw.search.analysis.template import template
from deltaw.search.evaluators.evaluator import Evaluator, write_whole
from deltaw.search.tree.algorithm import Algorithm, Setup
from deltaw.search.tree.search_tree import EQUAL, Searched, Spot, searched_tree

# --- places -----------------------------------------------------------------------------------------------------------

RADIUS, LEVEL, MARGIN, HEAD, FOOT = 17.0, 84.0, 26.0, 84.0, 62.0
"""pixels: of a node, between levels, around everything, above and below the tree"""
FOLDED_FROM = 64
"""leaves: in a larger tree what was never looked at is only hinted at"""
SIZES = {"title": 20, "note": 13, "value": 15, "label": 12}
"""pixels: font sizes"""
LETTER = 0.56
"""width of an average letter, in font sizes"""
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
    _spread(root, 0.0, HEAD, level, widths)
    return widths[root], max(spot.y for spot in spots)


def fold(root: Spot) -> set[Spot]:
    """In a large tree, takes away what lies below nodes that were cut off; returns those nodes."""
    if sum(not spot.below for spot in root.walk()) <= FOLDED_FROM:
        return set()
    folded = {spot for spot in root.walk() if spot.below and not spot.visited}
    for spot in folded:
        spot.below = []
    return folded


def text_width(text: str, what: str) -> float:
    return len(text) * SIZES[what] * LETTER


def half_width(spot: Spot, text: str) -> float:
    shape = RADIUS + 5 + text_width(text, "value") if spot.below else leaf_width(text)
    return max(shape, text_width(spot.label, "label") / 2 / LABEL_AT)


def leaf_width(text: str) -> float:
    """Half of it."""
    return max(13.0, text_width(text, "value") / 2 + 6)


def _spread(spot: Spot, left: float, y: float, level: float, widths: dict[Spot, float]) -> None:
    spot.y = y
    inside = left + (widths[spot] - sum(widths[child] for child in spot.below)) / 2
    for child in spot.below:
        _spread(child, inside, y + level, level, widths)
        inside += widths[child]
    ends = [spot.below[0].x, spot.below[-1].x] if spot.below else [left, left + widths[spot]]
    spot.x = sum(ends) / 2


# --- the picture ------------------------------------------------------------------------------------------------------


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
    kinds = {spot: kind(game, spot) for spot in root.walk()}
    edges = [(spot, child) for spot in root.walk() for child in spot.below]
    legend, legend_width = _legend({*kinds.values(), *(edge_mark(*edge) for edge in edges)})
    title_width, note_width = 1.15 * text_width(heading[0], "title"), 0.9 * text_width(heading[1], "note")
    room = max(width, title_width, note_width, legend_width)
    for spot in kinds:
        spot.x += (room - width) / 2
    return template(Path(__file__).with_name("tree_picture.svg.jinja")).render(
        width=math.ceil(room + 2 * MARGIN),
        height=math.ceil(height + FOOT + 2 * MARGIN),
        margin=MARGIN,
        sizes=SIZES,
        radius=RADIUS,
        label_at=LABEL_AT,
        heading=heading,
        root=root,
        edges=edges,
        edge_mark=edge_mark,
        kinds=kinds,
        texts=texts,
        leaf_width=leaf_width,
        position=game.format,
        legend=legend,
    )


def edge_mark(spot: Spot, child: Spot) -> str:
    if child.best:
        return "best"
    return "" if child.visited else "cut" if spot.visited else "gone"


def kind(game: Game, spot: Spot) -> str:
    if not spot.below:
        return "end" if game.rules.outcome(spot.state)[0] else "leaf"
    if game.rules.num_chance(spot.state):
        return "chance"
    return "max" if spot.for_max else "min"


MEANINGS = {
    "max": "MAX moves", "min": "MIN moves", "chance": "dice", "leaf": "evaluated", "end": "the game is over",
    "best": "best play", "cut": "cut off",
}  # fmt: skip


def _legend(signs: set[str]) -> tuple[list[tuple[str, str, float]], float]:
    """The signs that occur, what they mean, and where they stand; and the width of them all."""
    legend, x = [], 0.0
    for sign, meaning in MEANINGS.items():
        if sign in signs:
            legend.append((sign, meaning, x))
            x += 42 + text_width(meaning, "note") + 26
    return legend, x
