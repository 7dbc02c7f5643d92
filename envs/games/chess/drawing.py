"""The chess board as text and as a picture, White at the bottom."""

from __future__ import annotations

from PIL import Image

from deltaw.envs.games.chess import rules
from deltaw.envs.games.chess.notation import COLOURS, LETTERS, men
from deltaw.envs.games.chess.rules import State
from deltaw.envs.picture import Colors, Picture, read_shapes

SQUARE, MARGIN, FOOT = 52, 24, 22
SIZE = 2 * MARGIN + 8 * SQUARE
LIGHT, DARK, PAPER, INK = "#ecdcbb", "#b58a62", "#f7f3e9", "#6b6459"
COLORS = (Colors("#fbf9f2", "#33302b", "#33302b"), Colors("#3a3732", "#0c0b0a", "#fbf9f2"))
"""of White's men, of Black's"""
WHITE_COLOR, BLACK_COLOR, PLAIN = "\033[1;33m", "\033[1;36m", "\033[0m"
SHAPES = read_shapes("deltaw.envs.games.chess", "pieces.svg")


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


def picture(state: State) -> Picture:
    """464 x 486."""
    board = Picture(SIZE, SIZE + FOOT, PAPER)
    for square in range(64):
        board.box(*_corner(square), SQUARE, SQUARE, LIGHT if (square + square // 8) % 2 else DARK)
    shapes = list(SHAPES.values())
    for square, man in men(state).items():
        board.shape(shapes[LETTERS.index(man.upper())], *_corner(square), SQUARE, COLORS[man.islower()])
    for k in range(8):
        at = MARGIN + SQUARE * k + SQUARE // 2
        board.text("abcdefgh"[k], at, SIZE - MARGIN // 2, INK)
        board.text(str(8 - k), MARGIN // 2, at, INK)
    board.text(caption(state), SIZE // 2, SIZE + FOOT // 2 - 6, INK)
    return board


def _corner(square: int) -> tuple[int, int]:
    """Left and top of a square."""
    return MARGIN + SQUARE * (square % 8), MARGIN + SQUARE * (7 - square // 8)


def draw(state: State) -> Image.Image:
    return picture(state).image()


def svg(state: State) -> str:
    return picture(state).svg()
