"""Many trees in arrays, and how a person reads them: notation, indented text, pictures. `envs/trees.py` makes games of
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError

SEAT, IS_CHANCE, IS_LEAF, IS_NOISY, HAS_PASS = 0x0F, 0x10, 0x20, 0x40, 0x80
"""bits of `Flat.flags`; the seat is a number of four bits"""
PASS = "pass"

INK, FAINT, ACCENT, PAPER = "#3a342c", "#9a9184", "#b3432b", "#f7f3e9"
LEAF_WIDTH, LEVEL_HEIGHT, MARGIN, RADIUS = 46, 74, 34, 15
"""pixels"""
WIDEST = 4000


class Flat(NamedTuple):
    """N nodes, level by level: the roots come first and children stand together. P players."""

    first: np.ndarray
    """int32 [N + 1]: node i has the children first[i] .. first[i + 1] - 1; the last of them is the passed subtree where
    HAS_PASS"""
    flags: np.ndarray
    """uint8 [N]"""
    worth: np.ndarray
    """float64 [N, P]: a leaf's payoff, any other node's static value; for two players [N, 1], to MAX"""
    odds: np.ndarray
    """float64 [N]: probability of the chance edge that leads here; 1 for other nodes"""
    view: np.ndarray
    """int32 [N]: the node an evaluator sees: before the dice"""
    parent: np.ndarray
    """int32 [N]: -1 for roots"""


@dataclass(frozen=True)
class Forest:
    """Named trees: the root of the i-th is node i."""

    names: tuple[str, ...]
    flat: Flat
    num_players: int

    # --- notation ---------------------------------------------------------------------------------------------------

    def below(self, node: int) -> range:
        """The children, the passed subtree included."""
        return range(int(self.flat.first[node]), int(self.flat.first[node + 1]))

    def has(self, node: int, flag: int) -> bool:
        return bool(self.flat.flags[node] & flag)

    def label(self, node: int) -> str:
        """How the parent calls this node: the number of the move or chance outcome, or `pass`; a root's name."""
        parent = int(self.flat.parent[node])
        if parent < 0:
            return self.names[node]
        last = node == self.below(parent)[-1]
        return PASS if last and self.has(parent, HAS_PASS) else str(node - self.below(parent)[0])

    def path(self, node: int) -> list[int]:
        """Root to `node`."""
        nodes = [node]
        while self.flat.parent[nodes[-1]] >= 0:
            nodes.append(int(self.flat.parent[nodes[-1]]))
        return nodes[::-1]

    def format(self, node: int) -> str:
        return "/".join(self.label(step) for step in self.path(node))

    def parse(self, text: str) -> int:
        """The node that `NAME/0/pass/1` names; raises InputError."""
        name, *steps = text.strip().split("/")
        if name not in self.names:
            raise InputError(f"{text.strip()!r} names no tree; there are: {_listed(self.names)}")
        node = self.names.index(name)
        for step in steps:
            ways = {self.label(child): child for child in self.below(node)}
            if step not in ways:
                raise InputError(
                    f"{text.strip()!r} leads nowhere: {self.format(node)} has {_listed(ways) or 'no children'}"
                )
            node = ways[step]
        return node

    def all_names(self) -> list[str]:
        """The notation of every node."""
        names: list[str] = []
        for node, parent in enumerate(self.flat.parent):
            names.append(f"{names[parent]}/{self.label(node)}" if parent >= 0 else self.names[node])
        return names

    # --- text ---------------------------------------------------------------------------------------------------------

    def player(self, node: int) -> str:
        """MAX and MIN, or A, B, C; "chance" or nothing where nobody decides."""
        if self.has(node, IS_LEAF):
            return ""
        if self.has(node, IS_CHANCE):
            return "chance"
        seat = int(self.flat.flags[node] & SEAT)
        return ("MAX", "MIN")[seat] if self.num_players == 2 else chr(ord("A") + seat)

    def worth(self, node: int) -> str:
        """A leaf's payoff, or a static value other than 0, as it is written in the tree."""
        row = self.flat.worth[node]
        if not self.has(node, IS_LEAF) and not row.any():
            return ""
        text = ",".join(f"{x:g}" for x in row)
        return f"({text})" if self.num_players > 2 else text

    def describe(self, node: int) -> str:
        """One node in words: `0  MIN  static 1 noisy`."""
        inner = not self.has(node, IS_LEAF)
        odds = f"p={self.flat.odds[node]:g}" if self.has(max(0, int(self.flat.parent[node])), IS_CHANCE) else ""
        worth = self.worth(node)
        words = [
            odds, self.player(node), "static" if inner and worth else "", worth, "noisy" * self.has(node, IS_NOISY),
        ]  # fmt: skip
        return " ".join([f"{self.label(node)} ", *filter(None, words)])

    def ansi(self, node: int, color: bool = False) -> str:
        """The whole tree as an indented list; `>` marks the node."""
        root = self.path(node)[0]
        lines = []
        for here, depth in self.walk(root):
            line = f"{'>' if here == node else ' '} {'  ' * depth}{self.describe(here)}"
            lines.append(f"\033[1m{line}\033[0m" if color and here == node else line)
        return "\n".join(lines)

    def walk(self, node: int, depth: int = 0) -> Iterator[tuple[int, int]]:
        """(node, depth) of a subtree, parents first."""
        yield node, depth
        for child in self.below(node):
            yield from self.walk(child, depth + 1)

    # --- picture ------------------------------------------------------------------------------------------------------

    def draw(self, node: int) -> Any:
        """The whole tree; the node and the way to it are marked."""
        from PIL import Image, ImageDraw

        path = self.path(node)
        places = self.places(path[0])
        size = [int(max(place[axis] for place in places.values())) + MARGIN for axis in (0, 1)]
        image = Image.new("RGB", (max(size[0], 160), max(size[1], 120)), PAPER)
        pen = ImageDraw.Draw(image)
        for child in places:
            if child != path[0]:
                self._draw_edge(pen, child, places, child in path)
        for here, place in places.items():
            self._draw_node(pen, here, place, here == node)
        return image

    def places(self, root: int) -> dict[int, tuple[float, float]]:
        """(x, y) of every node of a tree: leaves side by side, parents above the middle of their children."""
        order = list(self.walk(root))
        leaves = sum(self.has(node, IS_LEAF) for node, _ in order)
        step = min(LEAF_WIDTH * (1 if self.num_players == 2 else 1.6), WIDEST / leaves)
        x: dict[int, float] = {}
        for node, _ in order:
            if self.has(node, IS_LEAF):
                x[node] = MARGIN + step * len(x)
        for node, _ in reversed(order):  # children before parents
            if node not in x:
                x[node] = sum(x[child] for child in self.below(node)) / len(self.below(node))
        return {node: (x[node], MARGIN + LEVEL_HEIGHT * depth) for node, depth in order}

    def _draw_edge(self, pen: Any, child: int, places: Mapping[int, tuple[float, float]], taken: bool) -> None:
        parent = int(self.flat.parent[child])
        (x0, y0), (x1, y1) = places[parent], places[child]
        passed = self.label(child) == PASS
        pen.line([(x0, y0), (x1, y1)], fill=ACCENT if taken else FAINT, width=3 if taken else 1 if passed else 2)
        text = f"{self.flat.odds[child]:g}" if self.has(parent, IS_CHANCE) else PASS if passed else ""
        text += "!" if self.has(child, IS_NOISY) else ""
        _write(pen, ((x0 + x1) / 2, (y0 + y1) / 2), text, INK)

    def _draw_node(self, pen: Any, node: int, place: tuple[float, float], here: bool) -> None:
        """MAX is a triangle that points up, MIN one that points down, chance a circle, one of several players his
        letter."""
        (x, y), worth = place, self.worth(node)
        if self.has(node, IS_LEAF):
            _write(pen, place, worth, ACCENT if here else INK)
            return
        paint = {"outline": ACCENT if here else INK, "fill": "#f3c9a8" if here else "white"}
        if self.has(node, IS_CHANCE) or self.num_players > 2:
            pen.ellipse([x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS], **paint)
            pen.text((x, y), self.player(node) if self.player(node) != "chance" else "", fill=INK, anchor="mm")
        else:
            tip = RADIUS if self.has(node, SEAT) else -RADIUS
            pen.polygon([(x, y + tip), (x - RADIUS, y - tip), (x + RADIUS, y - tip)], **paint)
        pen.text((x + RADIUS + 3, y - 6), worth, fill=INK, anchor="lm")


def _write(pen: Any, place: tuple[float, float], text: str, ink: str) -> None:
    """Text in the middle of `place`, on paper, so that no line crosses it."""
    if text:
        pen.rectangle(pen.textbbox(place, text, anchor="mm", font_size=14), fill=PAPER)
        pen.text(place, text, fill=ink, anchor="mm", font_size=14)


def _listed(texts: Any) -> str:
    """At most a dozen of the texts."""
    texts = list(texts)
    return ", ".join(texts[:12]) + (", ..." if len(texts) > 12 else "")
