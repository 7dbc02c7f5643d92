"""English draughts on a dictionary, written from the rules alone: number of a square -> b, w, and B, W for kings."""

from __future__ import annotations

from collections.abc import Iterator

Board = dict[int, str]
Move = tuple[tuple[int, ...], Board]
"""the squares that it touches, and the board after it"""


def place(number: int) -> tuple[int, int]:
    """(row, column) of a dark square, from 0 at the top left."""
    row, k = (number - 1) // 4, (number - 1) % 4
    return row, (2 * k + 1 if row % 2 == 0 else 2 * k)


NUMBERS = {place(number): number for number in range(1, 33)}


def neighbours(number: int, piece: str, distance: int) -> Iterator[tuple[int, int]]:
    """(the square beside it, the one `distance` away) in every direction in which the piece may go."""
    row, column = place(number)
    for down in {"b": (1,), "w": (-1,)}.get(piece, (1, -1)):
        for right in (1, -1):
            far = NUMBERS.get((row + distance * down, column + distance * right))
            if far is not None:
                yield NUMBERS[row + down, column + right], far


def crowned(piece: str, number: int) -> bool:
    return (piece == "b" and number >= 29) or (piece == "w" and number <= 4)


def jumps(board: Board, number: int, path: tuple[int, ...]) -> Iterator[Move]:
    """Every way for the piece on `number` to jump until it cannot go on."""
    piece = board[number]
    ways = [
        (over, far)
        for over, far in neighbours(number, piece, 2)
        if far not in board and over in board and board[over].lower() != piece.lower()
    ]
    if not ways and len(path) > 1:
        yield path, board
    for over, far in ways:
        after = {square: other for square, other in board.items() if square not in (number, over)}
        if crowned(piece, far):
            yield (*path, far), after | {far: piece.upper()}
        else:
            yield from jumps(after | {far: piece}, far, (*path, far))


def moves(board: Board, side: str) -> list[Move]:
    """All legal moves of `side`, "b" or "w"."""
    own = [number for number, piece in board.items() if piece.lower() == side]
    found = [move for number in own for move in jumps(board, number, (number,))]
    if found:
        return found
    for number in own:
        for _, far in neighbours(number, board[number], 1):
            if far not in board:
                rest = {square: piece for square, piece in board.items() if square != number}
                piece = board[number]
                found.append(((number, far), rest | {far: piece.upper() if crowned(piece, far) else piece}))
    return found
