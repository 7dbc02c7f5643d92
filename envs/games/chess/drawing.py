"""The chess board as text and as a picture, White at the bottom."""

from __future__ import annotations

from PIL import Image, ImageDraw

from deltaw.envs.games.chess import rules
from deltaw.envs.games.chess.notation import COLOURS, men
from deltaw.envs.games.chess.rules import State

SCALE = 3
"""drawn so many times larger, then scaled down"""
SQUARE, MARGIN, FOOT = 52, 24, 22
SIZE = 2 * MARGIN + 8 * SQUARE
LIGHT, DARK, PAPER, INK = "#ecdcbb", "#b58a62", "#f7f3e9", "#6b6459"
FILLS, EDGES = ("#fbf9f2", "#33302b"), ("#33302b", "#0c0b0a")
"""of White's men, of Black's"""
DETAILS = ("#33302b", "#fbf9f2")
EDGE = 1.5
WHITE_COLOR, BLACK_COLOR, PLAIN = "\033[1;33m", "\033[1;36m", "\033[0m"

Points = list[tuple[int, int]]
BASE: Points = [(22, 90), (22, 83), (30, 77), (70, 77), (78, 83), (78, 90)]
OUTLINES: dict[str, list[Points]] = {
    "P": [[(42, 44), (58, 44), (66, 78), (34, 78)]],
    "N": [[
        (32, 78), (35, 64), (46, 53), (47, 46), (38, 50), (28, 57), (20, 52), (21, 44), (33, 29), (36, 15), (43, 24),
        (55, 25), (66, 36), (72, 54), (70, 78),
    ]],
    "B": [[(50, 17), (60, 29), (64, 42), (58, 57), (65, 78), (35, 78), (42, 57), (36, 42), (40, 29)]],
    "R": [[
        (31, 78), (37, 72), (37, 43), (29, 36), (29, 19), (40, 19), (40, 27), (45, 27), (45, 19), (55, 19), (55, 27),
        (60, 27), (60, 19), (71, 19), (71, 36), (63, 43), (63, 72), (69, 78),
    ]],
    "Q": [[(28, 78), (21, 34), (36, 54), (38, 23), (50, 50), (62, 23), (64, 54), (79, 34), (72, 78)]],
    "K": [
        [(47, 9), (53, 9), (53, 44), (47, 44)],
        [(40, 16), (60, 16), (60, 22), (40, 22)],
        [(30, 78), (21, 52), (28, 38), (42, 38), (50, 47), (58, 38), (72, 38), (79, 52), (70, 78)],
    ],
}  # fmt: skip
"""polygons of each man in a square of 100 by 100"""
DISCS: dict[str, list[tuple[int, int, int]]] = {
    "P": [(50, 33, 14)],
    "B": [(50, 14, 5)],
    "Q": [(21, 30, 6), (38, 19, 6), (62, 19, 6), (79, 30, 6)],
}
"""(x, y, radius)"""
STROKES: dict[str, list[Points]] = {
    "N": [[(40, 35), (43, 35)]],
    "B": [[(50, 33), (50, 49)], [(43, 41), (57, 41)]],
    "R": [[(37, 43), (63, 43)], [(37, 70), (63, 70)]],
    "Q": [[(31, 68), (50, 64), (69, 68)]],
    "K": [[(31, 68), (50, 64), (69, 68)]],
}


# --- text -------------------------------------------------------------------------------------------------------------


def ansi(state: State, color: bool = False) -> str:
    """The board in ten lines: White's men in upper case."""
    placed = men(state)
    rows = [[placed.get(8 * rank + file, ".") for file in range(8)] for rank in range(8)]
    if color:
        rows = [[_colored(man) for man in row] for row in rows]
    lines = [f"{rank + 1} " + " ".join(rows[rank]) for rank in range(7, -1, -1)]
    return "\n".join([*lines, "  " + " ".join("abcdefgh"), caption(state)])


def _colored(man: str) -> str:
    return man if man == "." else f"{WHITE_COLOR if man.isupper() else BLACK_COLOR}{man}{PLAIN}"


def caption(state: State) -> str:
    """Whose move it is, or how the game has ended."""
    check = rules.in_check(state)
    if not rules.can_move(state):
        return f"checkmate, {COLOURS[1 - state.seat]} wins" if check else "stalemate"
    if rules.outcome(state)[0]:
        return "drawn: nobody can mate" if rules.is_dead(state) else "drawn by the 50-move rule"
    return f"{COLOURS[state.seat]} to move" + (", in check" if check else "")


# --- picture ----------------------------------------------------------------------------------------------------------


def draw(state: State) -> Image.Image:
    """A 464 x 486 picture."""
    image = Image.new("RGB", (SIZE * SCALE, (SIZE + FOOT) * SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    for square in range(64):
        left, top = _corner(square)
        light = (square + square // 8) % 2
        pen.rectangle([left, top, left + SQUARE * SCALE - 1, top + SQUARE * SCALE - 1], LIGHT if light else DARK)
    for square, man in men(state).items():
        _man(pen, man, *_corner(square))
    image = image.resize((SIZE, SIZE + FOOT), Image.Resampling.LANCZOS)
    _label(ImageDraw.Draw(image), state)
    return image


def _corner(square: int) -> tuple[int, int]:
    """Left and top of a square, in the large picture."""
    return (MARGIN + SQUARE * (square % 8)) * SCALE, (MARGIN + SQUARE * (7 - square // 8)) * SCALE


def _man(pen: ImageDraw.ImageDraw, man: str, left: int, top: int) -> None:
    kind, colour = man.upper(), man.islower()
    unit = SQUARE * SCALE / 100
    width = round(EDGE * SCALE)

    def placed(points: Points) -> list[tuple[float, float]]:
        return [(left + x * unit, top + y * unit) for x, y in points]

    for outline in (*OUTLINES[kind], BASE):
        pen.polygon(placed(outline), FILLS[colour], EDGES[colour], width)
    for x, y, radius in DISCS.get(kind, ()):
        pen.ellipse(placed([(x - radius, y - radius), (x + radius, y + radius)]), FILLS[colour], EDGES[colour], width)
    for stroke in STROKES.get(kind, ()):
        pen.line(placed(stroke), DETAILS[colour], width)


def _label(pen: ImageDraw.ImageDraw, state: State) -> None:
    for k in range(8):
        at = MARGIN + SQUARE * k + SQUARE // 2
        pen.text((at, SIZE - MARGIN // 2), "abcdefgh"[k], fill=INK, anchor="mm")
        pen.text((MARGIN // 2, at), str(8 - k), fill=INK, anchor="mm")
    pen.text((SIZE // 2, SIZE + FOOT // 2 - 6), caption(state), fill=INK, anchor="mm")
