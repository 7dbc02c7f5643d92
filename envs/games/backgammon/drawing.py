"""The backgammon board as text and as a picture.

Text is seen from the mover, X, whose points run 24 -> 1 with his home bottom right. The picture keeps seat 0 at the
bottom, light checkers, so that the pictures of one game make a film; its points carry the numbers of the side to move,
as moves are written.
"""

from __future__ import annotations

import functools

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from deltaw.envs.games.backgammon import rules
from deltaw.envs.games.backgammon.notation import board, position_id, roll_text
from deltaw.envs.games.backgammon.rules import State

BAR, OFF = 24, 25
"""indices of a `board` side, after the points 0..23"""

# --- text -------------------------------------------------------------------------------------------------------

ROWS = 5
MOVER_COLOR, OPPONENT_COLOR, PLAIN = "\033[1;33m", "\033[1;36m", "\033[0m"


def ansi(state: State, color: bool = False) -> str:
    """The board in 15 lines: X the mover, O the opponent, a number where more than five checkers stand."""
    me, opponent = board(state)
    upper = [_half_row(me, opponent, row, upper=True) for row in range(ROWS)]
    lower = [_half_row(me, opponent, row, upper=False) for row in reversed(range(ROWS))]
    notes = {0: _side_note("O", opponent), 2 * ROWS: _side_note("X", me)}
    if state.roll > 0:
        notes[ROWS] = "X rolled " + "-".join(roll_text(state.roll))
    lines = []
    for i, row in enumerate([*upper, " " * 18 + "|BAR|" + " " * 18, *lower]):
        text = f"|{row}|"
        lines.append((_colored(text) if color else text) + (f"  {notes[i]}" if i in notes else ""))
    return "\n".join([
        f" Position ID: {position_id(state)}",
        "+13-14-15-16-17-18-+---+19-20-21-22-23-24-+",
        *lines,
        "+12-11-10--9--8--7-+---+-6--5--4--3--2--1-+",
    ])  # fmt: skip


def _half_row(me: list[int], opponent: list[int], row: int, upper: bool) -> str:
    """One line of checkers; `row` counts from the edge of the board, on the bar from the middle."""
    points = range(13, 25) if upper else range(12, 0, -1)
    cells = [f"{_cell(me[p - 1], opponent[24 - p], row):>2} " for p in points]
    height = ROWS - 1 - row
    bar = _cell(0, opponent[BAR], height) if upper else _cell(me[BAR], 0, height)
    return "".join(cells[:6]) + f"|{bar:>2} |" + "".join(cells[6:])


def _cell(mine: int, his: int, row: int) -> str:
    total, letter = (mine, "X") if mine else (his, "O")
    if total <= row:
        return " "
    return str(total) if row == ROWS - 1 and total > ROWS else letter


def _side_note(letter: str, side: list[int]) -> str:
    return f"{letter}: {_pips(side)} pips, {side[OFF]} off"


def _pips(side: list[int]) -> int:
    return sum((i + 1) * side[i] for i in range(25))


def _colored(text: str) -> str:
    return text.replace("X", f"{MOVER_COLOR}X{PLAIN}").replace("O", f"{OPPONENT_COLOR}O{PLAIN}")


# --- picture: measures in final pixels, drawn larger and scaled down --------------------------------------------------

SCALE = 3
WIDTH, HEIGHT = 900, 700
FRAME, RAIL = 26, 36
"""widths of the frame: left and right, top and bottom (where the numbers stand)"""
POINT, BAR_WIDTH, POST, TRAY = 59, 56, 16, 68
"""widths of a point, the bar, the post before the trays, a tray"""
RADIUS = 27
TRIANGLE = 258
DIE = 44
LEFT = FRAME
RIGHT = LEFT + 6 * POINT + BAR_WIDTH
"""left edges of the two halves of the board"""
TRAY_LEFT = RIGHT + 6 * POINT + POST
TOP, BOTTOM, MIDDLE = RAIL, HEIGHT - RAIL, HEIGHT // 2
TRAY_GAP = 62
"""half the height of the wood between the two trays"""

WOOD, WOOD_EDGE, WOOD_LIGHT = (104, 64, 38), (58, 34, 20), (146, 98, 62)
FELT = (35, 68, 60)
TONES = ((206, 178, 132), (142, 62, 44))
NUMBERS = (233, 212, 176)
LIGHT, DARK = (241, 230, 206), (52, 46, 50)
"""checkers of seat 0 and of seat 1"""
INK = {LIGHT: (74, 50, 34), DARK: (240, 228, 204)}


def draw(state: State) -> Image.Image:
    """The board, 900 x 700: light checkers are seat 0 and move to the bottom right."""
    me, opponent = board(state)
    bottom, top = (me, opponent) if state.seat == 0 else (opponent, me)
    image = _empty_board(state.seat).copy()
    for side, color, is_bottom in ((bottom, LIGHT, True), (top, DARK, False)):
        for i in range(24):
            _stack(image, side[i], color, *_point(i, is_bottom))
        start = MIDDLE + 2 + RADIUS if is_bottom else MIDDLE - 2 - RADIUS
        _stack(image, side[BAR], color, LEFT + 6 * POINT + BAR_WIDTH // 2, start, 1 if is_bottom else -1)
        _borne_off(image, side[OFF], color, is_bottom)
        _pip_count(image, _pips(side), is_bottom)
    if state.roll > 0:
        _dice(image, state)
    return image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def _point(i: int, is_bottom: bool) -> tuple[int, int, int]:
    """Centre of the first checker on a side's point i + 1, and the direction in which the stack grows."""
    column = i if i < 12 else 23 - i  # from the right
    x = (RIGHT if column < 6 else LEFT) + (5 - column % 6) * POINT + POINT // 2
    low = (i < 12) == is_bottom
    return x, (BOTTOM - 1 - RADIUS if low else TOP + 1 + RADIUS), -1 if low else 1


def _stack(image: Image.Image, count: int, color: tuple[int, int, int], x: int, y: int, direction: int) -> None:
    """Up to five checkers; more are written on the last one."""
    shown = min(count, 5)
    for k in range(shown):
        center = (x * SCALE, (y + direction * k * (2 * RADIUS - 2)) * SCALE)
        sprite = _checker(color)
        image.paste(sprite, (center[0] - sprite.width // 2, center[1] - sprite.height // 2), sprite)
    if count > 5:
        _text(image, (x, y + direction * 4 * (2 * RADIUS - 2)), str(count), 24, INK[color])


def _borne_off(image: Image.Image, count: int, color: tuple[int, int, int], is_bottom: bool) -> None:
    """Checkers seen from their edge, stacked from the rim."""
    pen = ImageDraw.Draw(image)
    height = 16
    for k in range(count):
        upper = BOTTOM - 4 - (k + 1) * height if is_bottom else TOP + 4 + k * height
        box = (TRAY_LEFT + 7, upper, TRAY_LEFT + TRAY - 8, upper + height - 2)
        pen.rounded_rectangle(_scaled(box), 4 * SCALE, fill=color, outline=_blend(color, (0, 0, 0), 0.55), width=SCALE)
        shine = (TRAY_LEFT + 11, upper + 3, TRAY_LEFT + TRAY - 12, upper + 5)
        pen.rounded_rectangle(_scaled(shine), SCALE, fill=_blend(color, (255, 255, 255), 0.35))


def _pip_count(image: Image.Image, pips: int, is_bottom: bool) -> None:
    x, y = TRAY_LEFT + TRAY // 2, MIDDLE + (32 if is_bottom else -32)
    _text(image, (x, y - 7), str(pips), 23, NUMBERS)
    _text(image, (x, y + 13), "pips", 13, _blend(NUMBERS, WOOD, 0.3))


def _dice(image: Image.Image, state: State) -> None:
    """In the mover's colour, on his right-hand half."""
    color = LIGHT if state.seat == 0 else DARK
    center = (RIGHT if state.seat == 0 else LEFT) + 3 * POINT
    for x, digit in zip((center - 32, center + 32), roll_text(state.roll), strict=True):
        _die(image, x, MIDDLE, int(digit), color)


def _die(image: Image.Image, x: int, y: int, number: int, color: tuple[int, int, int]) -> None:
    pen = ImageDraw.Draw(image)
    half = DIE // 2
    shadow = (x - half + 2, y - half + 3, x + half + 2, y + half + 3)
    pen.rounded_rectangle(_scaled(shadow), 8 * SCALE, fill=_blend(FELT, (0, 0, 0), 0.45))
    body = _scaled((x - half, y - half, x + half, y + half))
    pen.rounded_rectangle(body, 8 * SCALE, fill=color, outline=_blend(color, (0, 0, 0), 0.4), width=SCALE)
    for column, row in _pip_places(number):
        px, py, r = x + 12 * column, y + 12 * row, 4.5
        pen.ellipse(_scaled((px - r, py - r, px + r, py + r)), fill=INK[color])


def _pip_places(number: int) -> list[tuple[int, int]]:
    """(column, row) in -1, 0, 1 of the spots of a die."""
    places = [(0, 0)] if number % 2 else []
    if number > 1:
        places += [(-1, 1), (1, -1)]
    if number > 3:
        places += [(-1, -1), (1, 1)]
    if number == 6:
        places += [(-1, 0), (1, 0)]
    return places


# --- what does not change from picture to picture ---------------------------------------------------------------------


@functools.cache
def _empty_board(seat: int) -> Image.Image:
    """Frame, felt, triangles and the numbers of the points as `seat` counts them."""
    image = _wood()
    pen = ImageDraw.Draw(image)
    for left in (LEFT, RIGHT):
        _sink(image, (left, TOP, left + 6 * POINT, BOTTOM), FELT)
    for upper, lower in ((TOP, MIDDLE - TRAY_GAP), (MIDDLE + TRAY_GAP, BOTTOM)):
        _sink(image, (TRAY_LEFT, upper, TRAY_LEFT + TRAY - 2, lower), _blend(FELT, (0, 0, 0), 0.3))
    for i in range(24):
        x, _, direction = _point(i, is_bottom=True)
        edge, tip = (BOTTOM, BOTTOM - TRIANGLE) if direction < 0 else (TOP, TOP + TRIANGLE)
        corners = [(x - POINT // 2 + 1, edge), (x + POINT // 2, edge), (x + 0.5, tip)]
        tone = TONES[i % 2]
        pen.polygon([_scaled(corner) for corner in corners], fill=tone, outline=_blend(tone, FELT, 0.45), width=SCALE)
        number = i + 1 if seat == 0 else 24 - i
        _text(image, (x, BOTTOM + RAIL // 2 if direction < 0 else RAIL // 2), str(number), 16, NUMBERS)
    _hinge(pen)
    return image


def _wood() -> Image.Image:
    """Boards with a grain along their length."""
    size = (HEIGHT * SCALE, WIDTH * SCALE)
    noise = np.random.default_rng(7)
    columns = np.cumsum(noise.normal(size=size[1])) / 9
    y, x = np.mgrid[0 : size[0], 0 : size[1]].astype(np.float32)
    grain = np.sin(y / 19 + 1.6 * np.sin(x / 430) + 0.4 * np.sin(y / 61)) * 4 + columns[None, :] % 3 - 1.5
    pixels = np.array(WOOD, np.float32) + grain[..., None] * np.array((1.0, 0.75, 0.55), np.float32)
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    pen.rectangle(_scaled((0, 0, WIDTH - 0.4, HEIGHT - 0.4)), outline=WOOD_EDGE, width=4 * SCALE)
    pen.rectangle(_scaled((4, 4, WIDTH - 4.4, HEIGHT - 4.4)), outline=WOOD_LIGHT, width=SCALE)
    return image


def _sink(image: Image.Image, box: tuple[float, ...], color: tuple[int, int, int]) -> None:
    """A field let into the wood: a dark edge with a light one below it."""
    pen = ImageDraw.Draw(image)
    left, top, right, bottom = box
    pen.rectangle(_scaled((left - 4, top - 4, right + 4, bottom + 4)), fill=WOOD_EDGE)
    pen.line([_scaled((left - 4, bottom + 4)), _scaled((right + 4, bottom + 4))], fill=WOOD_LIGHT, width=SCALE)
    pen.line([_scaled((right + 4, top - 4)), _scaled((right + 4, bottom + 4))], fill=WOOD_LIGHT, width=SCALE)
    pen.rectangle(_scaled(box), fill=color)


def _hinge(pen: ImageDraw.ImageDraw) -> None:
    """The line where the board folds, on the bar."""
    x = LEFT + 6 * POINT + BAR_WIDTH / 2
    pen.line([_scaled((x, 6)), _scaled((x, HEIGHT - 6))], fill=WOOD_EDGE, width=2 * SCALE)
    pen.line([_scaled((x + 1.2, 6)), _scaled((x + 1.2, HEIGHT - 6))], fill=WOOD_LIGHT, width=SCALE // 2)


@functools.cache
def _checker(color: tuple[int, int, int]) -> Image.Image:
    """A round piece with its shadow, RGBA: lit from the top left, a groove around the middle."""
    size = (2 * RADIUS + 10) * SCALE
    y, x = (np.mgrid[0:size, 0:size] - (size - 1) / 2) / SCALE
    distance = np.hypot(x, y)
    lit = 1.03 - 0.10 * (x + y) / RADIUS
    ring = np.where(np.abs(distance - 0.68 * RADIUS) < 1.1, 0.86, 1.0)
    rim = np.where(distance > RADIUS - 2.2, 0.66, 1.0)
    face = np.array(color)[None, None] * (lit * ring * rim)[..., None]
    face += np.where(np.abs(distance - 0.68 * RADIUS - 1.6) < 0.8, 10, 0)[..., None]
    inside = np.clip((RADIUS - distance) * SCALE + 0.5, 0, 1)
    shadow = 0.42 * np.clip((RADIUS + 2.5 - np.hypot(x - 1.5, y - 2.5)) / 3.5, 0, 1)
    alpha = inside + (1 - inside) * shadow
    shown = face * (inside / np.maximum(alpha, 1e-6))[..., None]
    return Image.fromarray(np.dstack([shown.clip(0, 255), 255 * alpha]).astype(np.uint8), "RGBA")


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size * SCALE)


def _text(image: Image.Image, center: tuple[float, float], text: str, size: int, color: tuple[int, int, int]) -> None:
    ImageDraw.Draw(image).text(_scaled(center), text, font=_font(size), fill=color, anchor="mm")


def _scaled(place: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(SCALE * v for v in place)


def _blend(a: tuple[int, int, int], b: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    """`a` with `share` of `b` in it."""
    red, green, blue = (round(p + (q - p) * share) for p, q in zip(a, b, strict=True))
    return red, green, blue


assert RIGHT + 6 * POINT + POST + TRAY + FRAME == WIDTH
assert rules.BAR == BAR
